import { isObject } from "@/insights/question/reading";

/** The number of persons in a range of times, in seconds. */
export interface Bin {
  from: number;
  to: number;
  count: number;
}

/** Return the bins of the time to convert, and its average. The server adds a last bin that starts
 * where the others end and holds only the longest time. */
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
