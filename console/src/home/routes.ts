import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readHomeSearch } from "./search";

const homeRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "/",
  validateSearch: readHomeSearch,
  component: lazyScreen(() => import("./HomePage")),
});

export const homeRoutes = [homeRoute] as const;
