import { isObject } from "@/insights";
import type { Given } from "@/lib/searchParams";
import type { Experiment, ExperimentChanges } from "../queries";
import { type Variant, variantsOf } from "../variants";
import { isComplete, type Metric, newMetric, readMetric } from "./metric";

export const ROLES = ["primary", "secondary", "guardrail"] as const;
export type Role = (typeof ROLES)[number];

/** A metric of an experiment. `saved` is the id of a saved metric, which is changed elsewhere. */
export type Entry =
  | { id: string; metric: Metric }
  | { id: string; unknown: Given }
  | { id: string; saved: number; name: string };

/** Everything of an experiment that its setup shows. */
export interface Fields {
  name: string;
  description: string;
  flagKey: string;
  metrics: Readonly<Record<Role, readonly Entry[]>>;
  criteria: Given;
  holdoutId: number | null;
  variants: readonly Variant[];
  /** The share of people who take part, in percent; null: as the conditions of the flag say. */
  rollout: number | null;
  /** The least change to find, in percent. */
  effect: number;
  /** Further values that are kept. */
  parameters: Given;
}

export const isSaved = (entry: Entry): boolean => "saved" in entry;

export const EVENT_LISTS: Record<Role, "metrics" | "metrics_secondary" | "guardrail_metrics"> = {
  primary: "metrics",
  secondary: "metrics_secondary",
  guardrail: "guardrail_metrics",
};
const USUAL_EFFECT = 10;
const EVEN: readonly Variant[] = [
  { key: "control", share: 50 },
  { key: "test", share: 50 },
];

let lastId = 0;
export function entryId(): string {
  lastId += 1;
  return `metric-${lastId}`;
}

export const newEntry = (metric: Metric = newMetric()): Entry => ({ id: entryId(), metric });

export const newFields = (name: string, flagKey: string): Fields => ({
  name,
  description: "",
  flagKey,
  metrics: { primary: [newEntry()], secondary: [], guardrail: [] },
  criteria: { filterTestAccounts: true },
  holdoutId: null,
  variants: EVEN,
  rollout: 100,
  effect: USUAL_EFFECT,
  parameters: {},
});

export function fieldsOf(experiment: Experiment): Fields {
  const parameters = experiment.parameters ?? {};
  const { rollout_percentage: rollout, minimum_detectable_effect: effect } = parameters;
  return {
    name: experiment.name,
    description: experiment.description ?? "",
    flagKey: experiment.feature_flag_key,
    metrics: {
      primary: entriesOf(experiment, "primary"),
      secondary: entriesOf(experiment, "secondary"),
      guardrail: entriesOf(experiment, "guardrail"),
    },
    criteria: experiment.exposure_criteria ?? {},
    holdoutId: experiment.holdout_id,
    variants: variantsOf(experiment),
    rollout: typeof rollout === "number" ? rollout : null,
    effect: typeof effect === "number" ? effect : USUAL_EFFECT,
    parameters,
  };
}

function entriesOf(experiment: Experiment, role: Role): Entry[] {
  const own = experiment[EVENT_LISTS[role]] ?? [];
  const saved = experiment.saved_metrics.filter(
    ({ metadata }) => (metadata.type ?? "primary") === role,
  );
  return [
    ...own.map((raw): Entry => {
      const metric = readMetric(raw);
      return metric === null ? { id: entryId(), unknown: raw } : { id: entryId(), metric };
    }),
    ...saved.map(({ saved_metric, name }): Entry => ({ id: entryId(), saved: saved_metric, name })),
  ];
}

type Body = Required<
  Pick<
    ExperimentChanges,
    | "name"
    | "description"
    | "metrics"
    | "metrics_secondary"
    | "guardrail_metrics"
    | "saved_metrics_ids"
    | "exposure_criteria"
    | "holdout_id"
    | "parameters"
  >
>;

/** Return the body of a request. A metric of which nothing is chosen yet is left out. */
export function bodyOf(fields: Fields): Body {
  return {
    name: fields.name.trim(),
    description: fields.description,
    metrics: ownMetrics(fields, "primary"),
    metrics_secondary: ownMetrics(fields, "secondary"),
    guardrail_metrics: ownMetrics(fields, "guardrail"),
    saved_metrics_ids: ROLES.flatMap((role) =>
      fields.metrics[role].flatMap((entry) =>
        "saved" in entry ? [{ id: entry.saved, metadata: { type: role } }] : [],
      ),
    ),
    exposure_criteria: fields.criteria,
    holdout_id: fields.holdoutId,
    parameters: parametersOf(fields),
  };
}

const ownMetrics = (fields: Fields, role: Role): Given[] =>
  sentEntries(fields.metrics[role]).map((entry) =>
    "metric" in entry ? entry.metric.raw : entry.unknown,
  );

type Own = Exclude<Entry, { saved: number }>;

/** Return the entries that a request contains, in its order. */
export const sentEntries = (entries: readonly Entry[]): Own[] =>
  entries.filter(
    (entry): entry is Own =>
      !("saved" in entry) && (!("metric" in entry) || !isBlank(entry.metric)),
  );

const isBlank = ({ series, second, name }: Metric): boolean =>
  series.length === 0 && second.length === 0 && name === "";

function parametersOf({ parameters, variants, rollout, effect }: Fields): Given {
  const stored = parameters.feature_flag_variants;
  const known = new Map(
    (Array.isArray(stored) ? stored.filter(isObject) : []).map((one) => [one.key, one]),
  );
  return {
    ...parameters,
    ...(variants.length > 0 && {
      feature_flag_variants: variants.map(({ key, share }) => ({
        ...known.get(key),
        key,
        rollout_percentage: share,
        split_percent: share,
      })),
    }),
    ...(rollout !== null && { rollout_percentage: rollout }),
    minimum_detectable_effect: effect,
  };
}

/** The metric that the plan is for: the first primary one that is complete. */
export function plannedMetric({ metrics }: Fields): Metric | undefined {
  for (const entry of metrics.primary) {
    if ("metric" in entry && isComplete(entry.metric)) return entry.metric;
  }
  return undefined;
}

/** The event that exposes a person, if it is not the call of the flag. */
export function exposureEvent({ criteria }: Fields): string | null {
  const config = criteria.exposure_config;
  return isObject(config) && typeof config.event === "string" ? config.event : null;
}

/** Return the fields with another event of the exposure; null: the call of the flag. */
export function withExposureEvent(fields: Fields, event: string | null): Fields {
  const { exposure_config: config, ...others } = fields.criteria;
  if (event === null) return { ...fields, criteria: others };
  const kept = isObject(config) ? config : {};
  const changed = { ...kept, kind: "ExperimentEventExposureConfig", event };
  return { ...fields, criteria: { ...others, exposure_config: changed } };
}
