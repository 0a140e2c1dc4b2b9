import { words } from "@/words/experimentResults";
import type { Unit } from "@/words/format";
import type { MetricResult, Results, VariantResult } from "../resultQueries";

type Interval = VariantResult["lift"];

/** What is drawn of a comparison: the change relative to the baseline. */
export interface Bounds {
  estimate: number;
  low: number;
  high: number;
}

export function boundsOf({ estimate, low, high }: Interval): Bounds | null {
  return estimate === null || low === null || high === null ? null : { estimate, low, high };
}

export interface Axis {
  least: number;
  most: number;
  ticks: readonly number[];
}

// Wider intervals are cut and marked, so that they do not flatten the others.
const LEAST = -1;
const MOST = 2;
const NARROWEST = 0.02;
const TICKS = 4;

/** The axis of all intervals, with 0 on it. */
export function axisOf(all: readonly Bounds[]): Axis {
  const low = Math.max(LEAST, Math.min(-NARROWEST, ...all.map((one) => one.low)));
  const high = Math.min(MOST, Math.max(NARROWEST, ...all.map((one) => one.high)));
  const step = stepOf((high - low) / TICKS);
  const least = Math.floor(low / step) * step;
  const most = Math.ceil(high / step) * step;
  const count = Math.round((most - least) / step);
  return {
    least,
    most,
    ticks: Array.from({ length: count + 1 }, (_, place) => rounded(least + place * step)),
  };
}

// Room for half of a label at either end, in percent of the width.
const EDGE = 6;

/** Return where a value stands on the axis, as a share of the width. */
export const placeOn = ({ least, most }: Axis, value: number): string =>
  `${rounded(EDGE + ((value - least) / (most - least)) * (100 - 2 * EDGE))}%`;

function stepOf(raw: number): number {
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw) ?? 10 * power;
}

const rounded = (value: number): number => Number(value.toFixed(6));

export type Outcome = keyof typeof words.outcomes;

/** Return what can be said of a comparison now. An unprotected method decides at its planned end. */
export function outcomeOf(
  { outcome }: Pick<VariantResult, "outcome">,
  { role }: Pick<MetricResult, "role">,
  results: Pick<Results, "method" | "planned">,
): Outcome {
  if (outcome === null || outcome === undefined) return "none";
  const isOfGuardrail = role === "guardrail";
  const holds = results.method.peeking === "protected" || (results.planned.reached ?? 0) >= 1;
  return holds || isOfGuardrail ? outcome : "unclear";
}

/** "+15%", "−0.3"; null where nothing can be compared */
export function changeText({ lift, difference }: Pick<VariantResult, "lift" | "difference">) {
  if (lift.estimate !== null) return words.change(lift.estimate);
  return difference.estimate === null ? null : words.plain(difference.estimate);
}

/** "between +1.2% and +30.8%" */
export function rangeText({
  lift,
  difference,
}: Pick<VariantResult, "lift" | "difference">): string {
  const relative = boundsOf(lift);
  if (relative !== null)
    return words.range(words.change(relative.low), words.change(relative.high));
  const absolute = boundsOf(difference);
  return absolute === null
    ? words.noRange
    : words.range(words.plain(absolute.low), words.plain(absolute.high));
}

/** The mean of an arm; a share for metrics that count people. */
export function valueText(mean: number | null, type: MetricResult["metric_type"]): string {
  if (mean === null) return words.none;
  return type === "funnel" || type === "retention" ? words.percent(mean) : words.short(mean);
}

/** What is wrong with a metric, each thing once. */
export function problemsOf(metric: MetricResult, unit: Unit): string[] {
  const arms = [...(metric.baseline ? [metric.baseline] : []), ...(metric.variants ?? [])];
  const codes = [...(metric.problems ?? []), ...arms.flatMap((arm) => arm.validation_failures)];
  const said = [...new Set(codes)].flatMap((code) => words.problems[code]?.(unit) ?? []);
  const unknown = metric.unknown_event ?? [];
  return unknown.length === 0 ? said : [...said, words.unknownEvent(unknown.join(", "))];
}
