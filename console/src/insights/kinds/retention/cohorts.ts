import type { Answer } from "@/insights/answers";
import type { Question } from "@/insights/question/model";
import { isObject } from "@/insights/question/reading";
import { entriesOf } from "@/lib/trends";
import { words } from "@/words/insightsRetention";
import { intervalAfter } from "../intervals";
import { optionsOf, type RetentionOptions, showsValues, spanOf } from "./options";
import { type Period, periodOf } from "./query";

/** A breakdown value as the server writes it: a list for several properties. */
export type Value = string | number | readonly string[];

/** The persons who started in one interval, and how many returned in later ones. */
export interface Cohort {
  /** Unique within the result. */
  key: string;
  value: Value | undefined;
  /** The value as text, null without a breakdown. */
  name: string | null;
  /** The index of its interval. */
  row: number;
  begin: Date;
  /** The first is the cohort's size, the next how many returned one interval later, and so on. */
  counts: readonly number[];
  /** What is shown of each count: itself, or the sum or average of a property. */
  numbers: readonly number[];
  /** Whether the numbers are averages per person. */
  hasAverages: boolean;
  /** The index of the first count that can still grow. */
  partial: number | undefined;
}

/** Parse the cohorts of a result; the API schema does not describe its entries. */
export function readCohorts(answer: Answer, question: Question): Cohort[] {
  return entriesOf(answer.results).map((entry): Cohort => {
    const row = Number(/\d+$/.exec(String(entry.label))?.[0] ?? 0);
    const begin = new Date(String(entry.date));
    const counts = numbersOf(entry.values, "count");
    const options = optionsOf(question);
    const value = entry.breakdown_value as Value | undefined;
    return {
      key: JSON.stringify([value ?? null, row]),
      value,
      // Answers that an earlier version kept have no labels.
      name: nameOfValue((entry.breakdown as Value | undefined) ?? value),
      row,
      begin,
      counts,
      numbers: showsValues(options) ? numbersOf(entry.values, "aggregation_value") : counts,
      hasAverages: showsValues(options) && options.aggregation === "avg",
      partial: firstPartial(counts.length, (place) => {
        const end = endOf(begin, place, periodOf(question), options, answer.zone);
        return end > answer.calculatedAt;
      }),
    };
  });
}

/** The first of the places at the end that are all open. */
function firstPartial(length: number, isOpen: (place: number) => boolean): number | undefined {
  let first = length;
  while (first > 0 && isOpen(first - 1)) first -= 1;
  return first === length ? undefined : first;
}

const HOUR_MS = 3_600_000;
/** The length of the windows. source: fanion/insights/retention/query.py */
const WIDTHS_MS: Readonly<Record<Period, number>> = {
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  week: 7 * 24 * HOUR_MS,
  month: 30 * 24 * HOUR_MS,
};

/** Return when a count is final: windows of those who began last end last. */
function endOf(
  begin: Date,
  place: number,
  period: Period,
  options: RetentionOptions,
  zone: string,
): Date {
  const { last } = spanOf(options, place);
  const isSize = place === 0 && !showsValues(options);
  if (!options.hasWindows || isSize) return intervalAfter(begin, last + 1, period, zone);
  const end = intervalAfter(begin, 1, period, zone);
  return new Date(end.getTime() + (last + 1) * WIDTHS_MS[period]);
}

const numbersOf = (values: unknown, name: string): number[] =>
  Array.isArray(values) ? values.map((one) => (isObject(one) ? Number(one[name] ?? 0) : 0)) : [];

/** The cohorts of one breakdown value, or all of them. */
export interface Group {
  key: string;
  name: string | null;
  cohorts: readonly Cohort[];
}

export function groupsOf(cohorts: readonly Cohort[]): Group[] {
  const groups = new Map<string, Cohort[]>();
  for (const cohort of cohorts) {
    const key = JSON.stringify(cohort.value ?? null);
    groups.set(key, [...(groups.get(key) ?? []), cohort]);
  }
  return [...groups].map(([key, own]) => ({ key, name: own[0]?.name ?? null, cohorts: own }));
}

const NONE = "$$_posthog_breakdown_null_$$";
const OTHER = "$$_posthog_breakdown_other_$$";

function nameOfValue(value: Value | undefined): string | null {
  if (value === undefined) return null;
  const parts = Array.isArray(value) ? value : [value];
  if (parts.every((part) => part === OTHER)) return words.other;
  return parts.map((part) => (part === NONE ? words.none : String(part))).join(", ");
}

/** Return a number as a percentage of the first one or of the previous interval. */
export function shareOf(
  numbers: readonly number[],
  place: number,
  reference: "total" | "previous",
): number | null {
  const whole = numbers[reference === "total" || place === 0 ? 0 : place - 1] ?? 0;
  const number = numbers[place];
  return number === undefined || whole === 0 ? null : (number / whole) * 100;
}

/** Return the mean share for each interval, over the cohorts for which it has ended.
 *
 * kind: weighted by cohort size, or with equal weights
 */
export function meansOf(
  cohorts: readonly Cohort[],
  length: number,
  reference: "total" | "previous",
  kind: "weighted" | "simple",
): (number | null)[] {
  return Array.from({ length }, (_, place) => {
    const known = cohorts.filter(
      ({ counts, partial }) =>
        counts.length > place && (place === 0 || partial === undefined || place < partial),
    );
    if (kind === "simple") {
      const shares = known.flatMap(({ numbers }) => shareOf(numbers, place, reference) ?? []);
      return shares.length === 0 ? null : sum(shares) / shares.length;
    }
    const together = Array.from({ length: place + 1 }, (__, at) => togetherAt(known, at));
    return shareOf(together, place, reference);
  });
}

/** The number of all cohorts together. */
function togetherAt(cohorts: readonly Cohort[], place: number): number {
  const persons = sum(cohorts.map(({ counts }) => counts[place] ?? 0));
  const sums = cohorts.map(({ counts, numbers, hasAverages }) =>
    hasAverages ? (numbers[place] ?? 0) * (counts[place] ?? 0) : (numbers[place] ?? 0),
  );
  const isAverage = cohorts[0]?.hasAverages ?? false;
  if (!isAverage) return sum(sums);
  return persons === 0 ? 0 : sum(sums) / persons;
}

export const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, one) => total + one, 0);

/** The number of values in the longest row. */
export const lengthOf = (cohorts: readonly Cohort[]): number =>
  Math.max(0, ...cohorts.map(({ counts }) => counts.length));
