import type { Interval } from "@/charts";
import { beginOf } from "@/insights/kinds/trends/lines";
import { entriesOf } from "@/lib/trends";
import type { Asked } from "../kind";
import { type Part, readPart, shareOf } from "./steps";

/** Conversions by the interval in which people entered. */
export interface Conversion extends Part {
  days: readonly string[];
  entered: readonly number[];
  converted: readonly number[];
  /** 0 to 100 */
  shares: readonly number[];
}

const SECONDS: Record<Interval, number> = {
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  month: 2_678_400,
  quarter: 7_948_800,
  year: 31_622_400,
};

/** Return a result's lines, its intervals, and whether the last interval is still in progress. */
export function readConversions({ question, answer }: Asked) {
  const lines = entriesOf(answer.results).map(
    (entry): Conversion => ({
      ...readPart(entry, question),
      days: (entry.days as string[] | undefined) ?? [],
      entered: (entry.entered as number[] | undefined) ?? [],
      converted: (entry.converted as number[] | undefined) ?? [],
      shares: (entry.data as number[] | undefined) ?? [],
    }),
  );
  const times = (lines[0]?.days ?? []).map((day) => beginOf(day, answer.zone));
  const last = times.at(-1)?.getTime() ?? 0;
  const isPartial = last + SECONDS[question.interval] * 1000 > answer.calculatedAt.getTime();
  return { lines, times, isPartial: times.length > 0 && isPartial };
}

/** Return the conversion rate, or null if nobody entered. Results cached by an earlier version contain
 * only the rates. */
export function shareAt({ entered, converted, shares }: Conversion, index: number): number | null {
  if (entered.length === 0) return shares[index] ?? null;
  return shareOf(converted[index] ?? 0, entered[index] ?? 0);
}

/** Return how many who entered in an interval did or did not convert. */
export const numberAt = (line: Conversion, index: number, isDropped: boolean): number => {
  const converted = line.converted[index] ?? 0;
  return isDropped ? (line.entered[index] ?? 0) - converted : converted;
};
