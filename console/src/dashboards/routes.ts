import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute, rootRoute } from "@/app/parents";
import { queryClient } from "@/app/queries";
import { dashboardQuery, loadReader } from "./queries";
import { readDashboardSearch, readDashboardsSearch } from "./search";

// The query of the dashboard fails for the same reason, and says so.
const ignore = () => undefined;

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
  // Reading a dashboard counts as opening it, so it is not read when a pointer only passes its link.
  loader: ({ params: { projectId, dashboardId }, preload }) => {
    if (!preload) void queryClient.prefetchQuery(dashboardQuery(projectId, Number(dashboardId)));
    // While the answers are on their way.
    void loadReader().then(({ loadLines }) => loadLines(queryClient), ignore);
  },
  component: lazyScreen(() => import("./DashboardPage")),
});

export const dashboardsRoutes = [dashboardsRoute, dashboardRoute] as const;

const sharedRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "shared/$token",
  component: lazyScreen(() => import("./SharedPage")),
});

/** The shared dashboard, which needs no account. */
export const sharedRoutes = [sharedRoute] as const;
