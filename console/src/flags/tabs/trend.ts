import type { components } from "@/lib/schema";
import { entriesOf } from "@/lib/trends";

/** days: as `2026-05-14`, of the time zone */
export interface Trend {
  days: readonly string[];
  series: readonly { name: string; values: readonly number[] }[];
  zone: string;
}

type Answer = components["schemas"]["ResultBody"];

/** Return what charts need from the response, whose entries the schema leaves open. */
export function readTrend({ result, timezone }: Answer): Trend {
  const entries = entriesOf(result);
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
