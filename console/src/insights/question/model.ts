import type { Interval } from "@/charts";
import type { PropertyFilter } from "@/filters";
import type { Given } from "@/lib/searchParams";
import type { DateRange } from "@/ui/ranges";
import type { MathName } from "./maths";

export const KIND_NAMES = [
  "trends",
  "funnels",
  "retention",
  "stickiness",
  "lifecycle",
  "paths",
] as const;
export type KindName = (typeof KIND_NAMES)[number];

/** The kinds of queries of the API. */
export const QUERY_KINDS: Readonly<Record<KindName, string>> = {
  trends: "TrendsQuery",
  funnels: "FunnelsQuery",
  retention: "RetentionQuery",
  stickiness: "StickinessQuery",
  lifecycle: "LifecycleQuery",
  paths: "PathsQuery",
};

/** Events of a question: a line of a trend, a step of a funnel. */
export interface Series {
  /** null: any event */
  event: string | null;
  /** The name given to it by the user. */
  name?: string;
  math: MathName;
  /** The property of maths of properties. */
  mathProperty?: string;
  isOfPerson?: true;
  /** The type of the groups that are counted. */
  groupTypeIndex?: number;
  /** Conditions that all hold. */
  filters: readonly PropertyFilter[];
}

export const BREAKDOWN_TYPES = ["event", "person", "group", "session", "cohort"] as const;

/** A property whose values have their own numbers, or a cohort. */
export interface Breakdown {
  type: (typeof BREAKDOWN_TYPES)[number];
  /** The name of the property; the id of the cohort, or `all`. */
  property: string;
  groupTypeIndex?: number;
  /** Numbers are put into so many ranges. */
  bins?: number;
}

/** A question of any kind. What a kind does not use is kept for when the kind is changed again. */
export interface Question {
  kind: KindName;
  series: readonly Series[];
  /** Conditions on all events, which all hold. */
  filters: readonly PropertyFilter[];
  /** Whether the project's conditions on test accounts hold, too. */
  withoutTests: boolean;
  breakdowns: readonly Breakdown[];
  /** The number of values shown; 25 by default. */
  breakdownLimit?: number;
  /** Whether the sum of all other values is left out. */
  hidesOther?: true;
  dates: DateRange;
  interval: Interval;
  /** With the previous period, or with one that is so much earlier, such as `-1w`. */
  compare?: true | string;
  /** The type of groups that are counted in place of persons. */
  groupTypeIndex?: number;
  /** What only one kind has, as it stands in the address: each kind reads its own. */
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
