import { choiceOf, type Given, pageOf, present, textOf } from "@/lib/searchParams";

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
  /** Shows the deleted cohorts, and not the others. */
  deleted?: true;
}

export interface CohortSearch {
  tab?: CohortTab;
  /** The text that the members are searched for. */
  q?: string;
  /** The page of the activity. */
  page?: number;
}

export const readCohortsSearch = (given: Given): CohortsSearch =>
  present<CohortsSearch>({
    q: textOf(given.q),
    kind: choiceOf(COHORT_KINDS, given.kind),
    deleted: given.deleted === true ? true : undefined,
  });

export const readCohortSearch = (given: Given): CohortSearch =>
  present<CohortSearch>({
    tab: choiceOf(COHORT_TABS, given.tab),
    q: textOf(given.q),
    page: pageOf(given.page),
  });
