import type { Interval } from "@/charts";
import { shifted } from "@/ui/ranges";
import { fromLocal, toLocal } from "@/ui/zonedTime";

const FINE_MS: Partial<Record<Interval, number>> = { minute: 60_000, hour: 3_600_000 };

/** Return the start of the interval a given number of intervals later. */
export function intervalAfter(begin: Date, count: number, interval: Interval, zone: string): Date {
  const fine = FINE_MS[interval];
  if (fine !== undefined) return new Date(begin.getTime() + count * fine);
  const day = shifted(toLocal(begin, zone).slice(0, 10), count, interval.charAt(0));
  return fromLocal(`${day}T00:00`, zone) ?? begin;
}
