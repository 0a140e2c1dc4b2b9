import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";
import { readGroupSearch, readGroupsSearch } from "./search";

const groupsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "groups",
  validateSearch: readGroupsSearch,
  component: lazyRouteComponent(() => import("./GroupsPage")),
});

const groupRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "groups/$typeIndex/$groupKey",
  validateSearch: readGroupSearch,
  component: lazyRouteComponent(() => import("./GroupPage")),
});

export const groupsRoutes = [groupsRoute, groupRoute] as const;
