import type { words } from "@/words/filters";

export type FilterKind =
  | "event"
  | "person"
  | "group"
  | "session"
  | "element"
  | "cohort"
  | "segment"
  | "flag"
  | "hogql";

/** What a condition on clicked elements compares. */
export const ELEMENT_KEYS = ["text", "href", "tag_name", "selector"] as const;
export type ElementKey = (typeof ELEMENT_KEYS)[number];

export type Operator = keyof typeof words.operators;

export type Scalar = string | number | boolean;

/** A condition, as the API takes it in flags, cohorts, lists and insights. */
export interface PropertyFilter {
  type: FilterKind;
  /** Name of the property; one of ELEMENT_KEYS; `id` for a set; the flag's key or id; an expression in SQL. */
  key: string;
  operator: Operator;
  /** Absent if none is chosen yet, and for `is_set` and `is_not_set`. */
  value?: Scalar | readonly Scalar[] | null;
  /** The group type, for a property of a group. */
  group_type_index?: number;
  negation?: boolean;
}

/**
 * Where the condition is to be used, since the values differ: flags take the text of a number, the
 * criteria of cohorts, lists and insights the number.
 */
export type FilterUse = "flag" | "cohort" | "query";

export function emptyFilter(type: FilterKind, groupTypeIndex?: number): PropertyFilter {
  if (isOfSet(type)) return { type, key: "id", operator: "in" };
  if (type === "flag") return { type, key: "", operator: "flag_evaluates_to", value: true };
  return {
    type,
    key: type === "element" ? ELEMENT_KEYS[0] : "",
    operator: "exact",
    ...(type === "group" && { group_type_index: groupTypeIndex ?? 0 }),
  };
}

/** Whether conditions of this kind say that something is in a set, which is named by its id. */
export const isOfSet = (type: FilterKind): boolean => type === "cohort" || type === "segment";

export function valuesOf(filter: Pick<PropertyFilter, "value">): readonly Scalar[] {
  const { value } = filter;
  if (value === undefined || value === null) return [];
  return isScalar(value) ? [value] : value;
}

export function isScalar(value: unknown): value is Scalar {
  return ["string", "number", "boolean"].includes(typeof value);
}
