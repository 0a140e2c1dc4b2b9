import type { Given } from "@/lib/searchParams";
import type { Variant } from "../variants";
import { type Fields, plannedMetric } from "./fields";
import type { NewPlan, Plan } from "./queries";

/** The event by which people are counted that will take part; unless set, that of the exposure. */
export type PlanEvent = { isSet: false } | { isSet: true; event: string | null };

const BASELINE = "control";
const DAYS_LEAST = 7;

/** Return the request for a plan; null while no primary metric is complete. */
export function newPlan(fields: Fields, event: string | null): NewPlan | null {
  const metric = plannedMetric(fields);
  if (metric === undefined) return null;
  const { variants, effect, parameters } = fields;
  const group = parameters.aggregation_group_type_index;
  const isUneven = variants.some(({ share }) => share !== variants[0]?.share);
  const { fingerprint: _, ...raw } = metric.raw;
  return {
    metric: raw,
    minimum_detectable_effect: effect,
    variants: Math.max(2, variants.length),
    ...(event !== null && { exposure_event: event }),
    ...(isUneven && isUsable(variants) && { rollout_percentages: sharesOf(variants) }),
    ...(typeof group === "number" && { aggregation_group_type_index: group }),
  };
}

const isUsable = (variants: readonly Variant[]): boolean =>
  variants.every(({ share }) => share > 0) &&
  Math.abs(variants.reduce((sum, { share }) => sum + share, 0) - 100) < 0.5;

/** The share of the baseline first. */
const sharesOf = (variants: readonly Variant[]): number[] =>
  variants
    .toSorted((a, b) => Number(b.key === BASELINE) - Number(a.key === BASELINE))
    .map(({ share }) => share);

/** Return the days that the experiment takes if only a share of the people takes part. */
export function daysOfPlan(plan: Plan, rollout: number | null): number | null {
  const { recommended_running_time: days, recommended_sample_size: size } = plan;
  const { daily_exposures: daily } = plan;
  if (rollout === null || rollout === 100 || days === null || size === null) return days;
  if (!daily || rollout === 0) return null;
  if (days > DAYS_LEAST) return Math.ceil((days * 100) / rollout);
  return Math.max(DAYS_LEAST, Math.ceil(size / ((daily * rollout) / 100)));
}

/** Return parameters with the numbers of the plan, which the verdict is measured against. */
export function withPlan(parameters: Given, plan: Plan | undefined, rollout: number | null): Given {
  if (plan === undefined || plan.recommended_sample_size === null) return parameters;
  const days = daysOfPlan(plan, rollout);
  return {
    ...parameters,
    recommended_sample_size: plan.recommended_sample_size,
    ...(days !== null && { recommended_running_time: days }),
  };
}
