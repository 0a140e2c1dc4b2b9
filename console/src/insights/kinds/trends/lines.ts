import type { Interval } from "@/charts";
import { entriesOf } from "@/lib/trends";
import { fromLocal } from "@/ui/zonedTime";

/** The value of a breakdown as the server names it: of several properties a list. */
export type Value = string | number | readonly string[];

/** A series of a trend, or one value of it. */
export interface Line {
  /** Unique in the answer. */
  key: string;
  name: string;
  /** The place of its series in the question, or of its formula. */
  order: number;
  isFormula: boolean;
  value: Value | undefined;
  isPrevious: boolean;
  /** Beginnings of its intervals, such as `2026-05-14` or `2026-05-14 14:00:00`. */
  days: readonly string[];
  values: readonly number[];
  /** Of the whole period, where there are no intervals. */
  total: number | undefined;
  /** Intervals at the end that are not over. */
  unfinished: number;
}

/** Return the lines of an answer, whose entries the schema leaves open. */
export function readLines(results: unknown): Line[] {
  let formulas = -1;
  return entriesOf(results).map((entry) => {
    const action = entry.action as { order?: number } | null;
    const isPrevious = entry.compare_label === "previous";
    if (action === null) formulas += 1;
    const order = action?.order ?? formulas;
    const value = breakdownValue(entry.breakdown_value);
    return {
      key: JSON.stringify([isPrevious ? "-" : "+", action === null, order, value ?? null]),
      name: String(entry.label),
      order,
      isFormula: action === null,
      value,
      isPrevious,
      days: texts(entry.days),
      values: numbers(entry.data),
      total: typeof entry.aggregated_value === "number" ? entry.aggregated_value : undefined,
      unfinished: Number(entry.incomplete ?? 0),
    };
  });
}

function breakdownValue(found: unknown): Value | undefined {
  if (typeof found === "string" || typeof found === "number") return found;
  return Array.isArray(found) ? found.map(String) : undefined;
}

const texts = (found: unknown): string[] =>
  Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
const numbers = (found: unknown): number[] =>
  Array.isArray(found) ? found.filter((one) => typeof one === "number") : [];

/** The intervals of the answer: those of the period itself, not of the one before. */
export const daysOf = (lines: readonly Line[]): readonly string[] =>
  lines.find((one) => !one.isPrevious)?.days ?? [];

export const isPartial = (lines: readonly Line[]): boolean =>
  lines.some((one) => !one.isPrevious && one.unfinished > 0);

/** Return when an interval begins. */
export function beginOf(day: string, zone: string): Date {
  const local = day.length > 10 ? day.slice(0, 16).replace(" ", "T") : `${day}T00:00`;
  return fromLocal(local, zone) ?? new Date(`${local}Z`);
}

/** Return the interval that the days of an answer have. */
export function intervalOf(question: { interval: Interval }): Interval {
  return question.interval;
}
