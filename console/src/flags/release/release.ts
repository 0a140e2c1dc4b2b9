import { words } from "@/words/guardedRelease";
import { isObject, isObjects } from "../model";
import type { Release } from "./queries";

export type State = Release["state"];
type Step = Release["steps"][number];

const HOUR = 60;
const DAY = 24 * HOUR;

export const isActive = ({ state }: Pick<Release, "state">): boolean =>
  state === "running" || state === "holding" || state === "paused";

/** "6 hours", "2 days"; null for a step that is not held. */
export function holdText(minutes: Step["hold_minutes"]): string | null {
  if (minutes === null || minutes === undefined) return null;
  if (minutes % DAY === 0) return words.days(minutes / DAY);
  return minutes % HOUR === 0 ? words.hours(minutes / HOUR) : words.minutes(minutes);
}

/** "Step 2 of 4, 25%: goes on to 50% on 1 Dec 2026, 09:00 at the earliest" */
export function progressText(release: Release, now: number, at: (time: string) => string): string {
  const { state, step, steps, rollout_percentage: share } = release;
  const where = words.step(step + 1, steps.length, share);
  return `${where}: ${whatFollows(release, state, now, at)}`;
}

function whatFollows(
  { step, steps, next_step_at: time }: Release,
  state: State,
  now: number,
  at: (time: string) => string,
): string {
  const next = steps[step + 1]?.rollout_percentage ?? null;
  if (state === "paused") return words.isPaused;
  if (state === "holding") return words.waits(next);
  if (time === null || Date.parse(time) <= now) return words.due(next);
  return next === null ? words.ends(at(time)) : words.next(next, at(time));
}

/** What became of a release that has ended. */
export function endText(release: Release): string {
  const { state, rollout_percentage: share } = release;
  if (state === "completed") return words.completed(share);
  return state === "rolled_back"
    ? words.rolledBack(share, formerOf(release))
    : words.cancelled(share);
}

/** The percentage before the release. */
export const formerOf = (release: Release): number => release.former_rollout_percentage ?? 100;

/** Why it is in its state; null where the state says all. */
export function reasonText({ reason, minimum_exposures: least }: Release): string | null {
  if (reason === null || reason === "by_user") return null;
  return reason === "too_few" ? words.reasons.too_few(least) : words.reasons[reason];
}

export type Outcome = "harmed" | "safe" | "not_harmed_so_far" | "none";

/** A guardrail with the last check of it. */
export interface Guardrail {
  id: string;
  name: string;
  /** Which change is worse, and how much of it is tolerated. */
  limit: string;
  outcome: Outcome;
  /** How much worse it is than tolerated; below 0 it is within the limit. null: not measured */
  harm: number | null;
  lower: number | null;
  unit: string;
  /** The factor to show shares as percentage points. */
  scale: number;
}

export function guardrailsOf(release: Release): Guardrail[] {
  return release.metrics.map((metric, place) => {
    const isShare = metric.metric_type === "funnel" || metric.metric_type === "retention";
    const scale = isShare ? 100 : 1;
    const isMean = metric.metric_type === "mean";
    return {
      id: typeof metric.uuid === "string" ? metric.uuid : String(place),
      name: metricName(metric),
      limit: words.limit(metric.goal !== "decrease", Number(metric.tolerance ?? 0)),
      outcome: outcomeOf(metric.outcome),
      harm: numberOf(metric.harm, scale),
      lower: numberOf(metric.lower, scale),
      unit: isShare ? words.points : isMean ? words.perPerson : words.plain,
      scale,
    };
  });
}

const outcomeOf = (found: unknown): Outcome =>
  found === "harmed" || found === "safe" || found === "not_harmed_so_far" ? found : "none";

const numberOf = (found: unknown, scale: number): number | null =>
  typeof found === "number" ? found * scale : null;

/** The metric's own name, else what it counts. */
export function metricName(metric: Readonly<Record<string, unknown>>): string {
  if (typeof metric.name === "string" && metric.name !== "") return metric.name;
  const { source, series } = metric;
  if (isObjects(series) && series.length > 0) return words.metric.people(eventOf(series.at(-1)));
  if (!isObject(source)) return words.metric.other;
  const { math, math_property: property } = source;
  if (typeof property === "string") return words.metric.average(property, eventOf(source));
  return math === "dau"
    ? words.metric.people(eventOf(source))
    : words.metric.events(eventOf(source));
}

const eventOf = (node: Readonly<Record<string, unknown>> | undefined): string =>
  typeof node?.event === "string" ? node.event : words.metric.anyEvent;

/** The last check of a guardrail, in words. */
export function harmText({ harm, lower, unit, outcome }: Guardrail): string {
  if (harm === null) return words.notMeasured;
  if (lower !== null) return `${words.harm(harm, unit)} ${words.lower(lower, unit)}`;
  return outcome === "harmed"
    ? `${words.harm(harm, unit)} ${words.everyone}`
    : words.harm(harm, unit);
}
