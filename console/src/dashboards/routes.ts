import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readDashboardSearch, readDashboardsSearch } from "./search";

const dashboardsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "dashboards",
  validateSearch: readDashboardsSearch,
  component: lazyScreen(() => import("./DashboardsPage")),
});

const dashboardRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "dashboards/$dashboardId",
  validateSearch: readDashboardSearch,
  component: lazyScreen(() => import("./DashboardPage")),
});

export const dashboardsRoutes = [dashboardsRoute, dashboardRoute] as const;
