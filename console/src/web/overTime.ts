import type { Interval } from "@/charts";
import type { TrendFilters } from "@/insights";
import { type DateRange, datesOf, instantsOf } from "@/ui/ranges";
import type { ApiGroup } from "./conditions";
import type { FigureName } from "./figures";
import { type ApiGoal, commonOf, type Question } from "./queries";

/** The events that count as views: of pages, and of app screens. */
export const VIEWS = ["$pageview", "$screen"] as const;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// Longer periods would have more points than can be told apart.
const HOURS_MAX = 2;
const DAYS_MAX = 100;
const WEEKS_MAX = 400;

/** Return the intervals for a period that give more than one point, but not too many to tell apart. */
export function intervalOf(range: DateRange, zone: string, now: Date): Interval {
  const { since, until } = instantsOf(range, zone, now);
  if (since === null) return "month";
  const days = ((until ?? now).getTime() - since.getTime()) / DAY_MS;
  if (days <= HOURS_MAX) return "hour";
  if (days <= DAYS_MAX) return "day";
  return days <= WEEKS_MAX ? "week" : "month";
}

export interface OverTime {
  range: DateRange;
  interval: Interval;
  isCompared: boolean;
  properties: ApiGroup | undefined;
  hidesTests: boolean;
  goal: ApiGoal | undefined;
}

type Series = Readonly<Record<string, unknown>>;

const ofViews = (math: Series): Series[] => VIEWS.map((id, order) => ({ id, order, ...math }));

/** The trends query for each figure; figures that trends do not chart are missing. */
const ASKED: Partial<Record<FigureName, (goal: Series) => Readonly<Record<string, unknown>>>> = {
  visitors: () => ({ events: ofViews({ math: "dau" }) }),
  views: () => ({ events: ofViews({ math: "total" }) }),
  sessions: () => ({ events: ofViews({ math: "unique_session" }) }),
  "total conversions": (goal) => ({ events: [{ ...goal, math: "total" }] }),
  "unique conversions": (goal) => ({ events: [{ ...goal, math: "dau" }] }),
};

function seriesOf(goal: ApiGoal | undefined): Series {
  if (goal === undefined) return {};
  return "actionId" in goal ? { id: goal.actionId, type: "actions" } : { id: goal.customEventName };
}

/** Return the question for a figure over time. */
export function trendOf(figure: FigureName, asked: OverTime): TrendFilters {
  const { range, interval, isCompared, properties, hidesTests, goal } = asked;
  return {
    insight: "TRENDS",
    ...ASKED[figure]?.(seriesOf(goal)),
    interval,
    ...datesOf(range),
    ...(isCompared && { compare: true }),
    ...(properties !== undefined && { properties }),
    ...(hidesTests && { filter_test_accounts: true }),
  } as TrendFilters;
}

/** Figures of whole sessions, which no point lists persons for, with the metric of each. */
const METRICS: Partial<Record<FigureName, string>> = {
  "session duration": "AverageSessionDuration",
  "bounce rate": "BounceRate",
};

/** Return the question for a figure of sessions over time, or null for any other figure. */
export function pointsOf(figure: FigureName, asked: OverTime): Question | null {
  const metric = METRICS[figure];
  if (metric === undefined) return null;
  const { interval, ...common } = asked;
  return {
    kind: "WebTrendsQuery",
    ...commonOf({ ...common, goal: undefined }),
    interval,
    metrics: [metric],
  };
}

/** Return the index of an event among the counted ones. */
export const orderOfEvent = (event: string): number =>
  Math.max(0, VIEWS.indexOf(event as (typeof VIEWS)[number]));
