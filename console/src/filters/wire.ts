import type { components } from "@/lib/schema";
import { words } from "@/words/filters";
import { type FilterKind, isOfSet, isScalar, type Operator, type PropertyFilter } from "./model";

type Schemas = components["schemas"];

const KINDS: ReadonlyMap<unknown, FilterKind> = new Map<unknown, FilterKind>([
  ["event", "event"],
  ["person", "person"],
  ["group", "group"],
  ["session", "session"],
  ["element", "element"],
  ["cohort", "cohort"],
  ["static-cohort", "cohort"],
  ["precalculated-cohort", "cohort"],
  ["segment", "segment"],
  ["flag", "flag"],
  ["hogql", "hogql"],
]);

/** Conditions as they are stored, without those of other kinds. */
export function readFilters(
  conditions: readonly unknown[] | null | undefined,
  otherwise: FilterKind = "person",
): PropertyFilter[] {
  return (conditions ?? []).flatMap((one) => {
    const filter = readFilter(one, otherwise);
    return filter === null ? [] : [filter];
  });
}

/** Other stored fields of a condition, such as its label, are kept. */
export function readFilter(
  condition: unknown,
  otherwise: FilterKind = "person",
): PropertyFilter | null {
  if (!isRecord(condition)) return null;
  const { type, key, operator, value, group_type_index, negation, ...rest } = condition;
  const kind = type === undefined || type === null ? otherwise : KINDS.get(type);
  if (kind === undefined) return null;
  return {
    ...rest,
    type: kind,
    key: isOfSet(kind) ? "id" : String(key ?? ""),
    operator: isOperator(operator) ? operator : isOfSet(kind) ? "in" : "exact",
    ...(isValue(value) && { value }),
    ...(typeof group_type_index === "number" && { group_type_index }),
    ...(negation === true && { negation }),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isOperator(value: unknown): value is Operator {
  return typeof value === "string" && Object.hasOwn(words.operators, value);
}

function isValue(value: unknown): value is NonNullable<PropertyFilter["value"]> {
  return isScalar(value) || (Array.isArray(value) && value.every(isScalar));
}

// The schema has one type for each pair of operator and value. What `filterProblems` finds nothing
// wrong with has one of them; the server says what has none.

export function personConditions(filters: readonly PropertyFilter[]): Schemas["PersonCondition"][] {
  return filters.map((filter) => ({ ...filter }) as Schemas["PersonCondition"]);
}

export function groupConditions(filters: readonly PropertyFilter[]): Schemas["GroupCondition"][] {
  return filters.map((filter) => ({ ...filter }) as Schemas["GroupCondition"]);
}

export function insightConditions(
  filters: readonly PropertyFilter[],
): Schemas["InsightCondition"][] {
  return filters.map((filter) => ({ ...filter }) as Schemas["InsightCondition"]);
}

export function cohortCondition(filter: PropertyFilter): Schemas["CohortCondition"] {
  return { ...filter } as Schemas["CohortCondition"];
}

export function eventConditions(
  filters: readonly PropertyFilter[],
): Schemas["CohortEventFilter"][] {
  return filters.map((filter) => ({ ...filter }) as Schemas["CohortEventFilter"]);
}
