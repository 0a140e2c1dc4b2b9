import { createRoute } from "@tanstack/react-router";
import { lazyScreen } from "@/app/lazyScreen";
import { projectRoute } from "@/app/parents";
import { readCohortSearch, readCohortsSearch } from "./search";

const cohortsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "cohorts",
  validateSearch: readCohortsSearch,
  component: lazyScreen(() => import("./CohortsPage")),
});

const newCohortRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "cohorts/new",
  component: lazyScreen(() => import("./NewCohortPage")),
});

const cohortRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "cohorts/$cohortId",
  validateSearch: readCohortSearch,
  component: lazyScreen(() => import("./CohortPage")),
});

export const cohortsRoutes = [cohortsRoute, newCohortRoute, cohortRoute] as const;
