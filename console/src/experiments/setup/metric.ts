import {
  isObject,
  type MathName,
  nameOfSeries,
  Reading,
  readSeries,
  type Series,
  writeSeries,
} from "@/insights";
import { type Given, present } from "@/lib/searchParams";
import { words } from "@/words/experiments";

// A metric as the API stores it, including parts that are not known here.

export const METRIC_TYPES = ["funnel", "mean", "ratio", "retention"] as const;
export type MetricType = (typeof METRIC_TYPES)[number];
export const GOALS = ["increase", "decrease"] as const;
export type Goal = (typeof GOALS)[number];
export const UNITS = ["minute", "hour", "day", "week"] as const;
type Unit = (typeof UNITS)[number];

/** What can be measured of the events of a mean. */
export const MATHS: readonly MathName[] = [
  ...(["total", "dau", "unique_session", "unique_group"] as const),
  ...(["sum", "avg", "min", "max"] as const),
];

export interface Metric {
  /** The metric as the API has it. */
  raw: Given;
  type: MetricType;
  name: string;
  goal: Goal;
  /** Events count for so long after the exposure; null: until the end. */
  window: number | null;
  windowUnit: Unit;
  /** The steps of a funnel; of others the one event that is counted, or that starts. */
  series: readonly Series[];
  /** The denominator of a ratio, or the event that people come back for. */
  second: readonly Series[];
  /** A person comes back so many days after the start. */
  from: number;
  to: number;
  /** Of a guardrail: the harm that is acceptable, as a share of the baseline. */
  tolerance: number | null;
}

/** The names of the fields in which each type has its events. */
const EVENTS: Record<MetricType, readonly [first: string, second?: string]> = {
  funnel: ["series"],
  mean: ["source"],
  ratio: ["numerator", "denominator"],
  retention: ["start_event", "completion_event"],
};
// The fields of any type; those of other types are left out when the type changes.
const COMMON = ["uuid", "fingerprint", "name", "goal", "tolerance"];
const WINDOW = ["conversion_window", "conversion_window_unit"];

const FIRST: Omit<Metric, "raw"> = {
  type: "funnel",
  name: "",
  goal: "increase",
  window: null,
  windowUnit: "day",
  series: [],
  second: [],
  from: 1,
  to: 7,
  tolerance: null,
};

export const newMetric = (): Metric => changedMetric({ ...FIRST, raw: {} }, {});

/** Return the metric with other values. */
export function changedMetric(metric: Metric, change: Partial<Omit<Metric, "raw">>): Metric {
  const next = { ...metric, ...change };
  return { ...next, raw: writeMetric(next) };
}

function writeMetric(metric: Metric): Given {
  const { raw, type, name, goal, window, windowUnit, tolerance } = metric;
  const isOfType = raw.metric_type === type;
  const kept = Object.entries(raw).filter(
    ([key]) => (isOfType || COMMON.includes(key)) && key !== "name" && !WINDOW.includes(key),
  );
  return {
    ...Object.fromEntries(kept),
    kind: "ExperimentMetric",
    metric_type: type,
    ...(name !== "" && { name }),
    goal,
    ...(window !== null && { conversion_window: window, conversion_window_unit: windowUnit }),
    ...(tolerance !== null && { tolerance }),
    ...eventsOf(metric),
  };
}

function eventsOf({ type, series, second, from, to }: Metric): Given {
  const nodes = series.map(nodeOf);
  if (type === "funnel") return { series: nodes };
  const [first, other] = EVENTS[type];
  return present<Given>({
    [first]: nodes[0],
    ...(other !== undefined && { [other]: second.map(nodeOf)[0] }),
    ...(type === "retention" && {
      retention_window_start: from,
      retention_window_end: to,
      retention_window_unit: "day",
    }),
  });
}

const nodeOf = (series: Series): Given => ({ kind: "EventsNode", ...writeSeries(series) });

/** Return a stored metric, or null if an editor of parts would lose something of it. */
export function readMetric(raw: Given): Metric | null {
  const reading = new Reading();
  if (raw.kind !== "ExperimentMetric") return null;
  const type = METRIC_TYPES.find((one) => one === raw.metric_type);
  if (type === undefined) return null;
  const [first, second] = EVENTS[type];
  const unit = raw.retention_window_unit ?? "day";
  const metric: Metric = {
    raw,
    type,
    name: reading.text("name", raw.name) ?? "",
    goal: reading.choice("goal", raw.goal, GOALS) ?? "increase",
    window: numberOf(raw.conversion_window),
    windowUnit: reading.choice("unit", raw.conversion_window_unit, UNITS) ?? "day",
    series: nodesOf(reading, raw[first]),
    second: second === undefined ? [] : nodesOf(reading, raw[second]),
    from: numberOf(raw.retention_window_start) ?? 1,
    to: numberOf(raw.retention_window_end) ?? 7,
    tolerance: numberOf(raw.tolerance),
  };
  return reading.problems.length > 0 || (type === "retention" && unit !== "day") ? null : metric;
}

const numberOf = (given: unknown): number | null => (typeof given === "number" ? given : null);

function nodesOf(reading: Reading, given: unknown): Series[] {
  const nodes: readonly unknown[] = Array.isArray(given) ? given : [given];
  return nodes.filter(isObject).flatMap((node) => readSeries(reading, "event", node) ?? []);
}

/** Return a stored metric by its name, or by its kind and events; null if it cannot be shown. */
export function textOfMetric(raw: Given): string | null {
  if (typeof raw.name === "string" && raw.name !== "") return raw.name;
  const metric = readMetric(raw);
  if (metric === null) return null;
  const events = [...metric.series, ...metric.second].map(nameOfSeries);
  return `${words.metric.types[metric.type]}: ${events.join(", ")}`;
}

/** Return whether everything that the metric needs is chosen. */
export function isComplete({ type, series, second }: Metric): boolean {
  const needsTwo = type === "ratio" || type === "retention";
  const isChosen = (one: Series) =>
    !["sum", "avg", "min", "max"].includes(one.math) || one.mathProperty !== undefined;
  return (
    series.length > 0 &&
    (!needsTwo || second.length > 0) &&
    (type === "funnel" || [...series.slice(0, 1), ...second.slice(0, 1)].every(isChosen))
  );
}

/** Return the place of an event in a metric's list as the errors of the API name it: of a mean
 * `series__0__math` is `source__math`. */
export function placeInMetric(type: MetricType, isSecond: boolean, attr: string): string {
  const [first, second = first] = EVENTS[type];
  const field = isSecond ? second : first;
  return type === "funnel" ? attr : attr.replace(/^series(__0)?/, field);
}
