import { isComplete, type PropertyFilter, readFilter, readFilters } from "@/filters";
import type { components } from "@/lib/schema";

// The criteria of a cohort as the API has them: groups of groups or of conditions. What is not known
// here is kept as it is, and sent again.

/** A condition, with whatever is stored in it. */
export type Leaf = Readonly<Record<string, unknown>>;

export interface Group {
  type: "AND" | "OR";
  /** Groups or conditions, never both. */
  values: readonly Criterion[];
}

export type Criterion = Group | Leaf;

export const BEHAVIORS = [
  "performed_event",
  "performed_event_multiple",
  "performed_event_first_time",
  "performed_event_regularly",
  "performed_event_sequence",
  "stopped_performing_event",
  "restarted_performing_event",
] as const;
export type Behavior = (typeof BEHAVIORS)[number];

export type LeafKind = "person" | "cohort" | Behavior;

export const UNITS = ["minute", "hour", "day", "week", "month", "year"] as const;
export const COUNT_OPERATORS = ["gte", "lte", "gt", "lt", "eq"] as const;

function isRecord(found: unknown): found is Record<string, unknown> {
  return typeof found === "object" && found !== null && !Array.isArray(found);
}

export function isGroup(found: unknown): found is Group {
  return isRecord(found) && Array.isArray(found.values) && isGroupType(found.type);
}

function isGroupType(found: unknown): found is Group["type"] {
  return found === "AND" || found === "OR";
}

/** `filters` of a cohort as a group; a list counts as AND, and nothing as an empty one. */
export function readCriteria(filters: unknown): Group {
  const properties = isRecord(filters) ? filters.properties : undefined;
  const values: readonly unknown[] = Array.isArray(properties) ? properties : [];
  if (isRecord(properties) && Array.isArray(properties.values)) return groupOf(properties);
  return { type: "AND", values: values.filter(isRecord) };
}

function groupOf(found: Record<string, unknown>): Group {
  const type = String(found.type).toUpperCase() === "OR" ? "OR" : "AND";
  const values = Array.isArray(found.values) ? found.values.filter(isRecord) : [];
  return {
    ...found,
    type,
    values: values.map((one) => (Array.isArray(one.values) ? groupOf(one) : one)),
  };
}

/** All conditions, at whatever depth. */
export function leavesOf(group: Group): Leaf[] {
  return group.values.flatMap((one) => (isGroup(one) ? leavesOf(one) : [one]));
}

/** null: of a kind that is not known here */
export function kindOf(leaf: Leaf): LeafKind | null {
  if (leaf.type === "behavioral") {
    const types = [leaf.event_type, leaf.seq_event_type ?? "events"];
    const isKnown = types.every((type) => type === "events" || type === "actions");
    return isKnown ? (BEHAVIORS.find((one) => one === leaf.value) ?? null) : null;
  }
  const filter = readFilter(leaf);
  return filter?.type === "person" || filter?.type === "cohort" ? filter.type : null;
}

const OFTEN = { operator: "gte", operator_value: 2 };
const WINDOW = { time_value: 30, time_interval: "day" };
const LATELY = { seq_time_value: 7, seq_time_interval: "day" };

// The fields of each kind besides the event and its window.
const PARTS: Record<Behavior, Leaf> = {
  performed_event: {},
  performed_event_multiple: OFTEN,
  performed_event_first_time: {},
  performed_event_regularly: {
    ...OFTEN,
    time_value: 1,
    time_interval: "week",
    min_periods: 3,
    total_periods: 4,
  },
  performed_event_sequence: { seq_event: "", seq_event_type: "events", ...LATELY },
  stopped_performing_event: LATELY,
  restarted_performing_event: LATELY,
};

/** Kinds that know conditions on the event, and a date in place of a window. */
export const hasEventFilters = (kind: Behavior): boolean =>
  kind === "performed_event" || kind === "performed_event_multiple";

export function emptyLeaf(kind: LeafKind): Leaf {
  if (kind === "person") return { type: "person", key: "", operator: "exact" };
  if (kind === "cohort") return { type: "cohort", key: "id", operator: "in" };
  return {
    type: "behavioral",
    key: "",
    event_type: "events",
    value: kind,
    ...WINDOW,
    ...PARTS[kind],
  };
}

/** Return a condition of another kind with the same event and window. */
export function withKind(leaf: Leaf, kind: LeafKind): Leaf {
  if (kind === "person" || kind === "cohort" || leaf.type !== "behavioral") return emptyLeaf(kind);
  const empty = emptyLeaf(kind);
  const shared = [
    ...["key", "event_type", "negation", "time_value", "time_interval"],
    ...["operator", "operator_value"],
  ];
  const kept = hasEventFilters(kind) ? [...shared, "event_filters", "explicit_datetime"] : shared;
  const isKept = ([name]: [string, unknown]) =>
    kept.includes(name) &&
    (name in empty || ["negation", ...kept.slice(shared.length)].includes(name));
  return { ...empty, ...Object.fromEntries(Object.entries(leaf).filter(isKept)) };
}

/** Return whether the condition is complete. The server decides. */
export function isCompleteLeaf(leaf: Leaf): boolean {
  const kind = kindOf(leaf);
  if (kind === null) return true;
  if (kind === "person" || kind === "cohort") {
    const filter = readFilter(leaf);
    return filter !== null && isComplete(filter);
  }
  const isNamed = leaf.key !== "" && leaf.seq_event !== "";
  const numbers = [
    "time_value",
    "seq_time_value",
    "operator_value",
    "min_periods",
    "total_periods",
  ];
  const isCounted = numbers.every((name) => !(name in leaf) || Number(leaf[name]) > 0);
  return isNamed && isCounted && eventFiltersOf(leaf).every((one) => isComplete(one));
}

export function eventFiltersOf(leaf: Leaf): PropertyFilter[] {
  return Array.isArray(leaf.event_filters) ? readFilters(leaf.event_filters, "event") : [];
}

export function isCompleteGroup(group: Group): boolean {
  const leaves = leavesOf(group);
  return leaves.length > 0 && leaves.every(isCompleteLeaf) && group.values.every(isFilled);
}

const isFilled = (one: Criterion): boolean =>
  !isGroup(one) || (one.values.length > 0 && one.values.every(isFilled));

type Schemas = components["schemas"];

/** Return criteria as the API accepts them. It rejects others and names the place. */
export function wireFilters(group: Group): Schemas["CohortFilters"] {
  return { properties: wireGroup(group) };
}

function wireGroup(group: Group): Schemas["CohortGroup"] {
  const groups = group.values.filter(isGroup);
  const leaves = group.values.filter((one): one is Leaf => !isGroup(one));
  return groups.length > 0
    ? { ...group, values: groups.map(wireGroup) }
    : { ...group, values: leaves.map(wireLeaf) };
}

// The schema has a type for each kind of condition; these were read from or made for one of them.
const wireLeaf = (leaf: Leaf): Schemas["CohortCondition"] =>
  ({ ...leaf }) as Schemas["CohortCondition"];
