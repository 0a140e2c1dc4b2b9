import { type Behind, readBehind } from "@/charts/behind";
import { choiceOf, type Given, pageOf, present, textOf } from "@/lib/searchParams";
import { type RangeSearch, readRangeSearch } from "@/ui/ranges";

export const KINDS = ["all", "custom", "system"] as const;
export const MARKS = ["all", "verified", "hidden", "every"] as const;
export const OWNERS = ["event", "person", "group"] as const;
export type Kind = (typeof KINDS)[number];
export type Mark = (typeof MARKS)[number];
export type Owner = (typeof OWNERS)[number];

export interface EventsSearch {
  q?: string;
  kind?: Kind;
  mark?: Mark;
  /** A column, with a minus for descending. */
  sort?: string;
}

/** The period of an event's volume is the last 30 days by default. */
export interface EventSearch extends RangeSearch {
  /** The number of the volume whose persons are shown. */
  behind?: Behind;
  /** The page of the changes. */
  page?: number;
}

export interface PropertiesSearch {
  of?: Owner;
  q?: string;
  /** Name of the property that is open. */
  open?: string;
  group?: number;
  sort?: string;
}

/** Changes parameters of the screen of properties; undefined removes one. */
export type ChangeProperties = (
  changes: {
    [Name in keyof PropertiesSearch]?: PropertiesSearch[Name] | undefined;
  },
) => void;

export const readEventsSearch = (given: Given): EventsSearch =>
  present<EventsSearch>({
    q: textOf(given.q),
    kind: choiceOf(KINDS, given.kind),
    mark: choiceOf(MARKS, given.mark),
    sort: textOf(given.sort),
  });

export const readEventSearch = (given: Given): EventSearch => ({
  ...readRangeSearch(given),
  ...present<EventSearch>({ behind: readBehind(given.behind), page: pageOf(given.page) }),
});

export const readPropertiesSearch = (given: Given): PropertiesSearch =>
  present<PropertiesSearch>({
    of: choiceOf(OWNERS, given.of),
    q: textOf(given.q),
    open: textOf(given.open),
    group: typeof given.group === "number" ? given.group : undefined,
    sort: textOf(given.sort),
  });
