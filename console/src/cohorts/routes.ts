import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";

export const COHORT_TABS = [
  "members",
  "criteria",
  "explain",
  "history",
  "usage",
  "activity",
] as const;
export type CohortTab = (typeof COHORT_TABS)[number];

export const COHORT_KINDS = ["dynamic", "static"] as const;
export type CohortKind = (typeof COHORT_KINDS)[number];

export interface CohortsSearch {
  q?: string;
  kind?: CohortKind;
}

export interface CohortSearch {
  tab?: CohortTab;
  /** The text that the members are searched for. */
  q?: string;
  /** The page of the activity. */
  page?: number;
}

type Given = Record<string, unknown>;

const textOf = (given: unknown): string | undefined =>
  typeof given === "number"
    ? String(given)
    : typeof given === "string" && given
      ? given
      : undefined;

const cohortsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "cohorts",
  validateSearch: (given: Given): CohortsSearch => {
    const q = textOf(given.q);
    const kind = COHORT_KINDS.find((one) => one === given.kind);
    return { ...(q !== undefined && { q }), ...(kind !== undefined && { kind }) };
  },
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
  validateSearch: (given: Given): CohortSearch => {
    const q = textOf(given.q);
    const tab = COHORT_TABS.find((one) => one === given.tab);
    const { page } = given;
    return {
      ...(tab !== undefined && { tab }),
      ...(q !== undefined && { q }),
      ...(typeof page === "number" && page > 1 && { page: Math.floor(page) }),
    };
  },
  component: lazyRouteComponent(() => import("./CohortPage")),
});

export const cohortsRoutes = [cohortsRoute, newCohortRoute, cohortRoute] as const;
