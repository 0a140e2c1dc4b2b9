import type { PropertyFilter } from "@/filters";
import { choiceOf, type Given, pageOf, present, textOf } from "@/lib/searchParams";

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
  /** Id of a column, with `-` for descending. */
  sort?: string;
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

export const readPersonsSearch = (given: Given): PersonsSearch =>
  present<PersonsSearch>({
    q: textOf(given.q),
    in: choiceOf(["name"], given.in),
    filters: filtersOf(given.filters),
    sort: textOf(given.sort),
  });

export const readPersonSearch = (given: Given): PersonSearch =>
  present<PersonSearch>({
    tab: choiceOf(PERSON_TABS, given.tab),
    kind: choiceOf(TIMELINE_KINDS, given.kind),
    event: textOf(given.event),
    open: textOf(given.open),
    id: textOf(given.id),
    groups: groupsOf(given.groups),
    page: pageOf(given.page),
    merge: textsOf(given.merge),
  });

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
  return Array.isArray(given) ? given.flatMap((text) => textOf(text) ?? []) : undefined;
}

function filtersOf(given: unknown): PropertyFilter[] | undefined {
  const filters = Array.isArray(given) ? given.filter(isFilter) : [];
  return filters.length > 0 ? filters : undefined;
}
