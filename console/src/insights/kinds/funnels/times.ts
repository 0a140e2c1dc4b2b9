import { isObject } from "@/insights/question/reading";
import type { Given } from "@/lib/searchParams";
import type { Asked } from "../kind";
import { type Part, readPart } from "./steps";

/** The number of persons in a range of times, in seconds. */
export interface Bin {
  from: number;
  to: number;
  count: number;
}

/** The times of those who converted, of one breakdown value or period. */
export interface Times extends Part {
  bins: readonly Bin[];
  average: number | null;
  /** null if the server did not tell. */
  median: number | null;
}

/** Return the times to convert: one distribution, or one for each breakdown value and period. */
export function readTimes({ question, answer }: Asked): Times[] {
  const all = Array.isArray(answer.results) ? answer.results : [answer.results];
  return all.filter(isObject).map((entry) => ({
    ...readPart(entry, question),
    ...readBins(entry),
  }));
}

/** The server adds a last bin that starts where the others end and holds only the longest time. */
function readBins(entry: Given): Omit<Times, keyof Part> {
  const { bins, average_conversion_time: average, median_conversion_time: median } = entry;
  const pairs = (Array.isArray(bins) ? bins : []).filter(isPair);
  const width = pairs.length > 1 ? (pairs[1]?.[0] ?? 0) - (pairs[0]?.[0] ?? 0) : 0;
  return {
    bins: pairs.map(([from, count]) => ({ from, to: from + width, count })),
    average: typeof average === "number" ? average : null,
    median: typeof median === "number" ? median : null,
  };
}

const isPair = (one: unknown): one is [number, number] =>
  Array.isArray(one) && typeof one[0] === "number" && typeof one[1] === "number";
