import type { Interval } from "@/charts";
import type { Answer } from "@/insights/answers";
import { beginOf } from "@/insights/kinds/trends/lines";
import { isObject } from "@/insights/question/reading";
import type { Given } from "@/lib/searchParams";
import { entriesOf } from "@/lib/trends";
import { intervalAfter } from "../intervals";
import { STATUSES, type Status } from "./options";

/** The persons of one status over time. */
export interface Layer {
  status: Status;
  /** Negative for dormant persons. */
  counts: readonly number[];
  /** The place of each number, by API names. */
  places: readonly Given[];
}

export interface Lifecycle {
  begins: readonly Date[];
  layers: readonly Layer[];
  /** Whether the last interval is still in progress. */
  isPartial: boolean;
}

export function readLifecycle(
  { results, zone, calculatedAt }: Answer,
  interval: Interval,
  shown: readonly Status[],
): Lifecycle {
  const entries = entriesOf(results);
  const begins = list(entries[0]?.days).map((day) => beginOf(String(day), zone));
  const layers = entries.flatMap((entry): Layer[] => {
    const status = STATUSES.find((one) => one === entry.status);
    if (status === undefined || !shown.includes(status)) return [];
    const places = list(entry.persons_urls).map((url) =>
      isObject(url) && isObject(url.filter) ? url.filter : {},
    );
    return [{ status, counts: list(entry.data).map(Number), places }];
  });
  const last = begins.at(-1);
  const isPartial = last !== undefined && intervalAfter(last, 1, interval, zone) > calculatedAt;
  return { begins, layers, isPartial };
}

const list = (given: unknown): readonly unknown[] => (Array.isArray(given) ? given : []);
