import type { Interval } from "@/charts";
import type { PropertyFilter } from "@/filters";
import type { Given } from "@/lib/searchParams";
import type { DateRange } from "@/ui/ranges";
import type { MathName } from "./maths";

/** The kinds of the builder. */
export const KIND_NAMES = [
  "trends",
  "funnels",
  "retention",
  "stickiness",
  "lifecycle",
  "paths",
] as const;
/** The kinds that have a screen; that of SQL is no builder. */
export const ALL_KIND_NAMES = [...KIND_NAMES, "sql"] as const;
export type KindName = (typeof ALL_KIND_NAMES)[number];

/** The query kinds of the API. */
export const QUERY_KINDS: Readonly<Record<KindName, string>> = {
  trends: "TrendsQuery",
  funnels: "FunnelsQuery",
  retention: "RetentionQuery",
  stickiness: "StickinessQuery",
  lifecycle: "LifecycleQuery",
  paths: "PathsQuery",
  sql: "HogQLQuery",
};

/** A named union of events, which a series counts in place of one event. */
export interface SeriesAction {
  id: number;
  name: string;
}

/** An event, any event, or the events of an action. */
export interface SeriesEvent {
  /** null: any event, or those of the action */
  event: string | null;
  action?: SeriesAction;
}

/** The events of a question: a line in a trend, a step in a funnel. */
export interface Series extends SeriesEvent {
  /** Further events, any of which counts as well. */
  others?: readonly SeriesEvent[];
  /** The user's own name for the series. */
  name?: string;
  math: MathName;
  /** The property that is aggregated. */
  mathProperty?: string;
  isOfPerson?: true;
  /** What each value of the property is multiplied by. */
  multiplier?: number;
  /** The aggregate in SQL that is counted. */
  sql?: string;
  /** The type of groups that are counted. */
  groupTypeIndex?: number;
  /** Whether a step of a funnel may be skipped. */
  isOptional?: true;
  /** Conditions that must all hold. */
  filters: readonly PropertyFilter[];
}

export const BREAKDOWN_TYPES = ["event", "person", "group", "session", "cohort", "hogql"] as const;

/** A breakdown by the values of a property, or by a cohort. */
export interface Breakdown {
  type: (typeof BREAKDOWN_TYPES)[number];
  /** The property name, the cohort id or `all`, or an expression in SQL. */
  property: string;
  groupTypeIndex?: number;
  /** Group numeric values into this many ranges. */
  bins?: number;
}

/** A question of any kind. Parts that a kind does not use are kept for switching back. */
export interface Question {
  kind: KindName;
  series: readonly Series[];
  /** Conditions on all events, which must all hold. */
  filters: readonly PropertyFilter[];
  /** Whether test accounts are filtered out. */
  withoutTests: boolean;
  breakdowns: readonly Breakdown[];
  /** The number of values shown; 25 by default. */
  breakdownLimit?: number;
  /** Whether the sum of all other values is hidden. */
  hidesOther?: true;
  dates: DateRange;
  interval: Interval;
  /** Compare with the previous period, or with one earlier by a distance such as `-1w`. */
  compare?: true | string;
  /** The type of groups that are counted instead of persons. */
  groupTypeIndex?: number;
  /** Options of a single kind, in the format of the URL; each kind parses its own. */
  options: Readonly<Partial<Record<KindName, Given>>>;
}

export const USUAL_DATES: DateRange = { from: "-30d" };
export const USUAL_LIMIT = 25;
export const BREAKDOWNS_MAX = 3;

export const seriesOf = (event: string | null): Series => ({ event, math: "total", filters: [] });

/** The question before anything is chosen. */
export const FIRST: Question = {
  kind: "trends",
  series: [],
  filters: [],
  withoutTests: true,
  breakdowns: [],
  dates: USUAL_DATES,
  interval: "day",
  options: {},
};

/** The letter of a series in formulas. */
export const letterOf = (place: number): string => String.fromCharCode(65 + place);
