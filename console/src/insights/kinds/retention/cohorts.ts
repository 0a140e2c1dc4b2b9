import type { Answer } from "@/insights/answers";
import { isObject } from "@/insights/question/reading";
import { entriesOf } from "@/lib/trends";
import { words } from "@/words/insightsRetention";
import { intervalAfter } from "../intervals";
import type { Period } from "./query";

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
  /** The index of the count whose interval is still in progress. */
  partial: number | undefined;
}

/** Parse the cohorts of a result; the API schema does not describe its entries. */
export function readCohorts({ results, zone, calculatedAt }: Answer, period: Period): Cohort[] {
  const entries = entriesOf(results);
  const rows = entries.map((entry) => Number(/\d+$/.exec(String(entry.label))?.[0] ?? 0));
  const last = Math.max(0, ...rows);
  return entries.map((entry, place): Cohort => {
    const row = rows[place] ?? 0;
    const begin = new Date(String(entry.date));
    const counts = countsOf(entry.values);
    const value = entry.breakdown_value as Value | undefined;
    const isOpen = intervalAfter(begin, last - row + 1, period, zone) > calculatedAt;
    return {
      key: JSON.stringify([value ?? null, row]),
      value,
      // Answers that an earlier version kept have no labels.
      name: nameOfValue((entry.breakdown as Value | undefined) ?? value),
      row,
      begin,
      counts,
      partial: isOpen && counts.length > last - row ? last - row : undefined,
    };
  });
}

const countsOf = (values: unknown): number[] =>
  Array.isArray(values) ? values.map((one) => (isObject(one) ? Number(one.count) : 0)) : [];

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

/** Return a number as a percentage of the whole cohort or of the previous interval. */
export function shareOf(
  counts: readonly number[],
  place: number,
  reference: "total" | "previous",
): number | null {
  const whole = counts[reference === "total" || place === 0 ? 0 : place - 1] ?? 0;
  const count = counts[place];
  return count === undefined || whole === 0 ? null : (count / whole) * 100;
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
      ({ counts, partial }) => counts.length > place && (place === 0 || partial !== place),
    );
    if (kind === "simple") {
      const shares = known.flatMap(({ counts }) => shareOf(counts, place, reference) ?? []);
      return shares.length === 0 ? null : sum(shares) / shares.length;
    }
    const summed = Array.from({ length: place + 1 }, (__, at) =>
      sum(known.map(({ counts }) => counts[at] ?? 0)),
    );
    return shareOf(summed, place, reference);
  });
}

export const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, one) => total + one, 0);

/** The number of values in the longest row. */
export const lengthOf = (cohorts: readonly Cohort[]): number =>
  Math.max(0, ...cohorts.map(({ counts }) => counts.length));
