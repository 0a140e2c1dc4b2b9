import type { components } from "@/lib/schema";

/** days: as `2026-05-14`, of the time zone */
export interface Trend {
  days: readonly string[];
  series: readonly { name: string; values: readonly number[] }[];
  zone: string;
}

type TrendBody = components["schemas"]["TrendBody"];

/** What charts need of the answer, whose entries the schema leaves open. */
export function readTrend({ result, timezone }: TrendBody): Trend {
  const entries = result ?? [];
  const [first] = entries;
  return {
    days: texts(first?.days),
    series: entries.map((entry) => ({ name: String(entry.label), values: numbers(entry.data) })),
    zone: timezone,
  };
}

const texts = (found: unknown): string[] =>
  Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
const numbers = (found: unknown): number[] =>
  Array.isArray(found) ? found.filter((one) => typeof one === "number") : [];
