import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readNamedItemsSearch } from "@/namedItems";

const actionsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "actions",
  validateSearch: readNamedItemsSearch,
  component: lazyScreen(() => import("./ActionsPage")),
});

const newActionRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "actions/new",
  component: lazyScreen(() => import("./NewActionPage")),
});

const actionRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "actions/$actionId",
  component: lazyScreen(() => import("./ActionPage")),
});

export const actionsRoutes = [actionsRoute, newActionRoute, actionRoute] as const;
