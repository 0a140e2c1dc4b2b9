import type { Asked } from "@/insights/kinds/kind";
import { entriesOf } from "@/lib/trends";
import { fromLocal } from "@/ui/zonedTime";
import { words } from "@/words/insightsTrends";

/** The breakdown value as the server writes it: a list for several properties. */
export type Value = string | number | readonly string[];

/** A series of a trend, or one of its breakdown values. */
export interface Line {
  /** Unique within the result. */
  key: string;
  name: string;
  /** The index of its series or formula in the question. */
  order: number;
  isFormula: boolean;
  value: Value | undefined;
  isPrevious: boolean;
  /** How much earlier the compared period is, such as `-1m`; true for the one just before. */
  compare: true | string;
  /** Starts of its intervals, such as `2026-05-14` or `2026-05-14 14:00:00`. */
  days: readonly string[];
  values: readonly number[];
  /** The total for the whole period, if there are no intervals. */
  total: number | undefined;
  /** The number of intervals at the end that are still in progress. */
  unfinished: number;
}

export const linesOf = ({ question, answer }: Asked): Line[] =>
  readLines(answer.results, question.compare);

/** Parse the lines of a result; the API schema does not describe its entries. */
export function readLines(results: unknown, compare: true | string = true): Line[] {
  let formulas = -1;
  return entriesOf(results).map((entry) => {
    const action = entry.action as { order?: number } | null;
    const isPrevious = entry.compare_label === "previous";
    if (action === null) formulas += 1;
    const order = action?.order ?? formulas;
    const value = breakdownValue(entry.breakdown_value);
    return {
      key: JSON.stringify([isPrevious ? "-" : "+", action === null, order, value ?? null]),
      name: nameOfEntry(String(entry.label), value),
      order,
      isFormula: action === null,
      value,
      isPrevious,
      compare,
      days: texts(entry.days),
      values: numbers(entry.data),
      total: typeof entry.aggregated_value === "number" ? entry.aggregated_value : undefined,
      unfinished: Number(entry.incomplete ?? 0),
    };
  });
}

// Values that are not text. source: the server's fanion/insights/sql/compiler.py
const NONE = "$$_posthog_breakdown_null_$$";
const OTHER = "$$_posthog_breakdown_other_$$";
const LABELS: Readonly<Record<string, readonly [theirs: string, ours: string]>> = {
  [NONE]: ["None (i.e. no value)", words.noValue],
  [OTHER]: ["Other (i.e. all remaining values)", words.otherValues],
};

export const isOther = (value: Value | undefined): boolean =>
  [value].flat().every((one) => one === OTHER);

/** Return the server's label with readable values. Cohorts already have names. */
export function nameOfEntry(label: string, value: Value | undefined): string {
  if (value === undefined) return label;
  const all = isOther(value) ? [OTHER] : [value].flat().map(String);
  const theirs = all.map((one) => LABELS[one]?.[0] ?? one).join("::");
  if (!label.endsWith(theirs)) return label;
  return label.slice(0, label.length - theirs.length) + nameOfValue(value);
}

/** Return a breakdown value in words. */
export function nameOfValue(value: Value): string {
  const all = isOther(value) ? [OTHER] : [value].flat().map(String);
  const ours = all.map((one) => LABELS[one]?.[1] ?? (one === "" ? words.emptyValue : one));
  return ours.join(words.between);
}

function breakdownValue(found: unknown): Value | undefined {
  if (typeof found === "string" || typeof found === "number") return found;
  return Array.isArray(found) ? found.map(String) : undefined;
}

const texts = (found: unknown): string[] =>
  Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
const numbers = (found: unknown): number[] =>
  Array.isArray(found) ? found.filter((one) => typeof one === "number") : [];

/** The intervals of the current period, not of the previous one. */
export const daysOf = (lines: readonly Line[]): readonly string[] =>
  lines.find((one) => !one.isPrevious)?.days ?? [];

export const isPartial = (lines: readonly Line[]): boolean =>
  lines.some((one) => !one.isPrevious && one.unfinished > 0);

/** Return when an interval begins. */
export function beginOf(day: string, zone: string): Date {
  const local = day.length > 10 ? day.slice(0, 16).replace(" ", "T") : `${day}T00:00`;
  return fromLocal(local, zone) ?? new Date(`${local}Z`);
}
