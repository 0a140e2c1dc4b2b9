import { browserZone, toLocal } from "@/ui/zonedTime";
import type { Interval } from "./time";

/** Round whole numbers from 0 to at least the highest, some four of them. */
export function ticks(most: number): number[] {
  const raw = Math.max(most, 4) / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const steps = [1, 2, 2.5, 5, 10].map((one) => one * power).filter(Number.isInteger);
  const step = steps.find((one) => one >= raw) ?? 10 * power;
  const count = Math.max(1, Math.ceil(most / step));
  return Array.from({ length: count + 1 }, (_, place) => place * step);
}

/** Return round whole-number ticks that cover the range, which may include negative numbers. */
export function ticksBetween(least: number, most: number): number[] {
  const [, step = 1] = ticks(Math.max(most, -least));
  const below = Math.ceil(Math.max(0, -least) / step);
  const above = Math.ceil(Math.max(0, most) / step);
  return Array.from({ length: below + above + 1 }, (_, place) => (place - below) * step);
}

// The numbers of intervals between two labels that put labels on round times.
const STEPS: Record<Interval, readonly number[]> = {
  minute: [1, 2, 5, 10, 15, 30, 60, 120, 360, 720, 1440],
  hour: [1, 2, 3, 4, 6, 12, 24, 48, 96, 168],
  day: [1, 2, 3, 4, 7, 14, 28, 56, 112],
  week: [1, 2, 4, 8, 13, 26, 52],
  month: [1, 2, 3, 4, 6, 12, 24],
  quarter: [1, 2, 4, 8, 20],
  year: [1, 2, 5, 10],
};
const LABEL_WIDTH = 64;

/** Places of the times that have a label: as many as there is room for. */
export function labelled(
  times: readonly Date[],
  interval: Interval,
  zone: string | undefined,
  width: number,
): number[] {
  const least = (times.length * LABEL_WIDTH) / Math.max(width, LABEL_WIDTH);
  const step = STEPS[interval].find((one) => one >= least) ?? Math.ceil(least);
  const first = times[0];
  if (first === undefined) return [];
  const start = startOf(first, interval, zone);
  return times.flatMap((_, index) => ((start + index) % step === 0 ? [index] : []));
}

/** Return how many intervals of its day lie before a time; 0 for days and longer intervals. */
function startOf(time: Date, interval: Interval, zone: string = browserZone()): number {
  if (interval !== "minute" && interval !== "hour") return 0;
  const [hours = 0, minutes = 0] = toLocal(time, zone).slice(11).split(":").map(Number);
  return interval === "hour" ? hours : hours * 60 + minutes;
}
