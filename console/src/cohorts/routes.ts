import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";
import { readCohortSearch, readCohortsSearch } from "./search";

const cohortsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "cohorts",
  validateSearch: readCohortsSearch,
  component: lazyRouteComponent(() => import("./CohortsPage")),
});

const newCohortRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "cohorts/new",
  component: lazyRouteComponent(() => import("./NewCohortPage")),
});

const cohortRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "cohorts/$cohortId",
  validateSearch: readCohortSearch,
  component: lazyRouteComponent(() => import("./CohortPage")),
});

export const cohortsRoutes = [cohortsRoute, newCohortRoute, cohortRoute] as const;
