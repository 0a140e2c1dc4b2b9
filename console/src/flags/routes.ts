import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";
import { readFlagListSearch } from "./list/search";
import { flagSearch } from "./search";

const flagsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "flags",
  validateSearch: readFlagListSearch,
  component: lazyRouteComponent(() => import("./FlagsPage")),
});

const newFlagRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "flags/new",
  component: lazyRouteComponent(() => import("./NewFlagPage")),
});

const flagRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "flags/$flagId",
  validateSearch: flagSearch,
  component: lazyRouteComponent(() => import("./FlagPage")),
});

export const flagsRoutes = [flagsRoute, newFlagRoute, flagRoute] as const;
