import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readGroupSearch, readGroupsSearch } from "./search";

const groupsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "groups",
  validateSearch: readGroupsSearch,
  component: lazyScreen(() => import("./GroupsPage")),
});

const groupRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "groups/$typeIndex/$groupKey",
  validateSearch: readGroupSearch,
  component: lazyScreen(() => import("./GroupPage")),
});

export const groupsRoutes = [groupsRoute, groupRoute] as const;
