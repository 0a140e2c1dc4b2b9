import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";

const groupsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "groups",
  component: lazyRouteComponent(() => import("./GroupsPage")),
});

const groupRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "groups/$typeIndex/$groupKey",
  component: lazyRouteComponent(() => import("./GroupPage")),
});

export const groupsRoutes = [groupsRoute, groupRoute] as const;
