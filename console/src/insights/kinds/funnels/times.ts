import { isObject } from "@/insights/question/reading";

/** How many persons took from one time up to another, in seconds. */
export interface Bin {
  from: number;
  to: number;
  count: number;
}

/** Return the ranges of the time to convert, and its average. The last range of an answer has room
 * for the longest time alone: it begins where the others end. */
export function readBins(results: unknown): { bins: readonly Bin[]; average: number | null } {
  const { bins, average_conversion_time: average } = isObject(results) ? results : {};
  const pairs = (Array.isArray(bins) ? bins : []).filter(isPair);
  const width = pairs.length > 1 ? (pairs[1]?.[0] ?? 0) - (pairs[0]?.[0] ?? 0) : 0;
  return {
    bins: pairs.map(([from, count]) => ({ from, to: from + width, count })),
    average: typeof average === "number" ? average : null,
  };
}

const isPair = (one: unknown): one is [number, number] =>
  Array.isArray(one) && typeof one[0] === "number" && typeof one[1] === "number";
