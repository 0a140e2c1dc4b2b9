import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";

const cohortsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "cohorts",
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
  component: lazyRouteComponent(() => import("./CohortPage")),
});

export const cohortsRoutes = [cohortsRoute, newCohortRoute, cohortRoute] as const;
