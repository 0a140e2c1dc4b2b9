import { BREAKDOWNS, type Breakdown, isOfPaths, SOURCES } from "./breakdowns";
import { patternOf, type Rule } from "./cleaning";

type Part = string | number | null;
/** A row's value, as the API writes it: null if there is none, a list for several properties. */
export type Value = Part | readonly Part[];

/** A row that the whole screen is filtered by, in the URL. */
export interface Condition {
  by: Breakdown;
  value: Value;
  /** Whether the row is excluded instead of shown alone. */
  not?: true;
  /** Whether the value is a path after the project's cleaning rules. */
  cleaned?: true;
}

/** One or more property conditions, in the API's format. */
type ApiCondition =
  | { key: string; type: "event" | "session"; operator: string; value: string | readonly string[] }
  | ApiGroup;

export interface ApiGroup {
  type: "AND" | "OR";
  values: readonly ApiCondition[];
}

// Every browser and proxy accepts URLs with values of this length.
export const VALUE_CHARS_MAX = 1_000;
const CONDITIONS_MAX = 30;

/** Return the conditions in a URL, without those that no row could produce. */
export function readConditions(given: unknown): readonly Condition[] {
  if (!Array.isArray(given)) return [];
  return given.flatMap(readCondition).slice(0, CONDITIONS_MAX);
}

function readCondition(given: unknown): Condition[] {
  if (typeof given !== "object" || given === null) return [];
  const { by, value, not, cleaned }: Record<string, unknown> = { ...given };
  const known = BREAKDOWNS.find((one) => one === by);
  if (known === undefined || SOURCES[known].isMade || !isValueOf(known, value)) return [];
  const isCleaned = cleaned === true && isOfPaths(known);
  return [
    {
      by: known,
      value,
      ...(not === true && { not }),
      ...(isCleaned && { cleaned: true as const }),
    },
  ];
}

function isValueOf(by: Breakdown, value: unknown): value is Value {
  const { keys } = SOURCES[by];
  if (value === null) return true;
  if (keys.length === 1) return isPart(value);
  return Array.isArray(value) && value.length === keys.length && value.every(isPart);
}

const isPart = (value: unknown): value is Part =>
  value === null || typeof value === "string" || typeof value === "number";

export const isSameValue = (a: Value, b: Value): boolean => JSON.stringify(a) === JSON.stringify(b);

const isOf = (one: Condition, by: Breakdown, value: Value): boolean =>
  one.by === by && isSameValue(one.value, value);

export const hasCondition = (all: readonly Condition[], by: Breakdown, value: Value): boolean =>
  all.some((one) => isOf(one, by, value) && !one.not);

/** Return the conditions plus a new one, which replaces any on the same value. */
export const withCondition = (all: readonly Condition[], added: Condition): Condition[] => [
  ...withoutCondition(all, added),
  added,
];

export const withoutCondition = (all: readonly Condition[], one: Condition): Condition[] =>
  all.filter((other) => !isOf(other, one.by, one.value));

/** Return the opposite condition. */
export const contraryOf = ({ not, ...others }: Condition): Condition =>
  not ? others : { ...others, not: true };

export const isTooLong = (value: Value): boolean => JSON.stringify(value).length > VALUE_CHARS_MAX;

/** Return the conditions in the API's format; all must hold. rules: the project's path cleaning
 * rules */
export function propertiesOf(
  conditions: readonly Condition[],
  rules: readonly Rule[],
): ApiGroup | undefined {
  if (conditions.length === 0) return undefined;
  return { type: "AND", values: conditions.map((one) => groupOf(one, rules)) };
}

function groupOf({ by, value, not, cleaned }: Condition, rules: readonly Rule[]): ApiGroup {
  const { type, keys } = SOURCES[by];
  const pattern = cleaned && typeof value === "string" ? patternOf(value, rules) : null;
  if (pattern !== null) {
    const operator = not ? "not_regex" : "regex";
    return { type: "AND", values: [{ key: keys[0], type, operator, value: pattern }] };
  }
  const parts = Array.isArray(value) ? value : keys.map(() => (keys.length === 1 ? value : null));
  const values = keys.map((key, place) => {
    const part: Part = parts[place] ?? null;
    const text = part === null || by !== "Timezone" ? part : 0 - 60 * Number(part);
    return { key, type, ...comparison(text, not === true) };
  });
  return { type: not ? "OR" : "AND", values };
}

// Also matches null and the empty string, which a row without a value stands for.
const ANY_TEXT = "(?s).";

function comparison(part: Part, not: boolean) {
  if (part === null) return { operator: not ? "regex" : "not_regex", value: ANY_TEXT };
  return { operator: not ? "is_not" : "exact", value: [String(part)] };
}

/** Return the condition that a value contains a text.
 *
 * values: exact values whose names match the text, such as country codes
 */
export function searchOf(
  by: Breakdown,
  text: string,
  values: readonly string[] | null,
): ApiGroup | undefined {
  const { type, keys, searched } = SOURCES[by];
  const key = searched === undefined ? undefined : keys[searched];
  if (key === undefined || text === "") return undefined;
  const found =
    values === null
      ? { key, type, operator: "icontains", value: text }
      : { key, type, operator: "exact", value: values };
  return { type: "AND", values: [found] };
}

/** Return the condition that several conditions all hold. */
export function bothOf(...groups: readonly (ApiGroup | undefined)[]): ApiGroup | undefined {
  const values = groups.filter((one) => one !== undefined);
  return values.length === 0 ? undefined : { type: "AND", values };
}
