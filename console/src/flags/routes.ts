import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readFlagListSearch } from "./list/search";
import { flagSearch } from "./search";

const flagsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "flags",
  validateSearch: readFlagListSearch,
  component: lazyScreen(() => import("./FlagsPage")),
});

const newFlagRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "flags/new",
  component: lazyScreen(() => import("./NewFlagPage")),
});

const flagRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "flags/$flagId",
  validateSearch: flagSearch,
  component: lazyScreen(() => import("./FlagPage")),
});

export const flagsRoutes = [flagsRoute, newFlagRoute, flagRoute] as const;
