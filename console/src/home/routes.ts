import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";
import { readHomeSearch } from "./search";

const homeRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "/",
  validateSearch: readHomeSearch,
  component: lazyRouteComponent(() => import("./HomePage")),
});

export const homeRoutes = [homeRoute] as const;
