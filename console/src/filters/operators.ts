import type { FilterKind, FilterUse, Operator, PropertyFilter } from "./model";
import { valuesOf } from "./model";

/** The kind of input beside an operator. */
export type ValueInput =
  | "many"
  | "text"
  | "texts"
  | "pattern"
  | "number"
  | "range"
  | "date"
  | "none"
  | "cohort"
  | "segment"
  | "flag";

/** The order in which they are offered. */
const COMPARISONS: readonly (readonly [Operator, ValueInput])[] = [
  ["exact", "many"],
  ["is_not", "many"],
  ["icontains", "text"],
  ["not_icontains", "text"],
  ["starts_with", "text"],
  ["not_starts_with", "text"],
  ["ends_with", "text"],
  ["not_ends_with", "text"],
  ["icontains_multi", "texts"],
  ["not_icontains_multi", "texts"],
  ["regex", "pattern"],
  ["not_regex", "pattern"],
  ["gt", "number"],
  ["gte", "number"],
  ["lt", "number"],
  ["lte", "number"],
  ["between", "range"],
  ["not_between", "range"],
  ["is_date_before", "date"],
  ["is_date_after", "date"],
  ["is_date_exact", "date"],
  ["semver_eq", "text"],
  ["semver_neq", "text"],
  ["semver_gt", "text"],
  ["semver_gte", "text"],
  ["semver_lt", "text"],
  ["semver_lte", "text"],
  ["semver_tilde", "text"],
  ["semver_caret", "text"],
  ["semver_wildcard", "text"],
  ["is_set", "none"],
  ["is_not_set", "none"],
];
const BY_KIND: Record<FilterKind, readonly (readonly [Operator, ValueInput])[]> = {
  event: COMPARISONS,
  person: COMPARISONS,
  group: COMPARISONS,
  session: COMPARISONS,
  element: COMPARISONS.filter(
    ([operator, input]) =>
      ["many", "text", "texts", "pattern", "none"].includes(input) &&
      !operator.startsWith("semver"),
  ),
  cohort: [
    ["in", "cohort"],
    ["not_in", "cohort"],
  ],
  segment: [
    ["in", "segment"],
    ["not_in", "segment"],
  ],
  flag: [["flag_evaluates_to", "flag"]],
  hogql: [["exact", "none"]],
};

export function operatorsOf({
  type,
  key,
}: Pick<PropertyFilter, "type" | "key">): readonly Operator[] {
  // Tags and selectors are compared with whole elements.
  if (type === "element" && key !== "text" && key !== "href") return ["exact", "is_not"];
  return BY_KIND[type].map(([operator]) => operator);
}

export function inputOf(filter: Pick<PropertyFilter, "type" | "operator">): ValueInput {
  if (filter.type === "cohort" || filter.type === "segment") return filter.type;
  if (filter.type === "flag") return "flag";
  if (filter.type === "hogql") return "none";
  return COMPARISONS.find(([operator]) => operator === filter.operator)?.[1] ?? "text";
}

/** Return the filter with another operator, keeping as much of the value as possible. */
export function withOperator(
  filter: PropertyFilter,
  operator: Operator,
  use: FilterUse,
): PropertyFilter {
  const { value: _, ...rest } = filter;
  const input = inputOf({ type: filter.type, operator });
  if (input === inputOf(filter)) return { ...filter, operator };
  const values = valuesOf(filter);
  const first = values[0];
  if (input === "none" || first === undefined) return { ...rest, operator };
  if (input === "many" || input === "texts")
    return { ...rest, operator, value: values.map(String) };
  if (input === "range") return { ...rest, operator };
  if (input === "number") return { ...rest, operator, value: asNumber(String(first), use) };
  if (input === "date") return { ...rest, operator };
  return { ...rest, operator, value: String(first) };
}

/** Flags take the text of a number; elsewhere it is one. What is no number stays as typed. */
export function asNumber(text: string, use: FilterUse): string | number {
  const trimmed = text.trim();
  if (use === "flag" || trimmed === "" || !isNumber(trimmed)) return text;
  return Number(trimmed);
}

export function isNumber(text: string): boolean {
  return text.trim() !== "" && Number.isFinite(Number(text));
}
