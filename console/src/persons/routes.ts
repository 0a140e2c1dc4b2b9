import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { projectRoute } from "@/app/parents";
import type { PropertyFilter } from "@/filters";

export const PERSON_TABS = [
  "timeline",
  "properties",
  "cohorts",
  "flags",
  "ids",
  "activity",
] as const;
export type PersonTab = (typeof PERSON_TABS)[number];

export const TIMELINE_KINDS = ["event", "properties", "cohort"] as const;
export type TimelineKind = (typeof TIMELINE_KINDS)[number];

export interface PersonsSearch {
  /** The search text: an e-mail address or an id, or with `in` a name. */
  q?: string;
  in?: "name";
  filters?: PropertyFilter[];
}

export interface PersonSearch {
  tab?: PersonTab;
  /** Parameters of the timeline: the kind of entries, the name of events, the open event. */
  kind?: TimelineKind;
  event?: string;
  open?: string;
  /** Parameters of the flags: the distinct id and the groups for which they are evaluated. */
  id?: string;
  groups?: Record<string, string>;
  page?: number;
  /** Persons to merge into this one. */
  merge?: string[];
}

type Given = Record<string, unknown>;

// A URL may be written by hand, so parameters without a meaning are ignored.
const textOf = (given: unknown): string | undefined =>
  typeof given === "number"
    ? String(given)
    : typeof given === "string" && given
      ? given
      : undefined;

const oneOf = <T extends string>(choices: readonly T[], given: unknown): T | undefined =>
  choices.find((one) => one === given);

function isFilter(given: unknown): given is PropertyFilter {
  if (typeof given !== "object" || given === null) return false;
  return ["type", "key", "operator"].every(
    (name) => typeof Object.entries(given).find(([key]) => key === name)?.[1] === "string",
  );
}

function groupsOf(given: unknown): Record<string, string> | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const entries = Object.entries(given).flatMap(([type, key]): [string, string][] => {
    const text = textOf(key);
    return text === undefined ? [] : [[type, text]];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

function textsOf(given: unknown): string[] | undefined {
  return Array.isArray(given) ? given.flatMap((one) => textOf(one) ?? []) : undefined;
}

function filtersOf(given: unknown): PropertyFilter[] | undefined {
  const filters = Array.isArray(given) ? given.filter(isFilter) : [];
  return filters.length > 0 ? filters : undefined;
}

/** Return the object without undefined values. */
function present<T extends object>(given: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(given).filter(([, one]) => one !== undefined)) as T;
}

const personsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "persons",
  validateSearch: (given: Given): PersonsSearch =>
    present<PersonsSearch>({
      q: textOf(given.q),
      in: oneOf(["name"], given.in),
      filters: filtersOf(given.filters),
    }),
  component: lazyRouteComponent(() => import("./PersonsPage")),
});

const personRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: "persons/$personId",
  validateSearch: (given: Given): PersonSearch =>
    present<PersonSearch>({
      tab: oneOf(PERSON_TABS, given.tab),
      kind: oneOf(TIMELINE_KINDS, given.kind),
      event: textOf(given.event),
      open: textOf(given.open),
      id: textOf(given.id),
      groups: groupsOf(given.groups),
      page: typeof given.page === "number" && given.page > 1 ? Math.floor(given.page) : undefined,
      merge: textsOf(given.merge),
    }),
  component: lazyRouteComponent(() => import("./PersonPage")),
});

export const personsRoutes = [personsRoute, personRoute] as const;
