import type { ListedExperiment } from "./queries";

const DAY_MS = 86_400_000;

/** Return for how many whole days an experiment has run; null for a draft. */
export function daysOf(
  { start_date: start, end_date: end }: Pick<ListedExperiment, "start_date" | "end_date">,
  now: number = Date.now(),
): number | null {
  if (!start) return null;
  const until = end ? new Date(end).getTime() : now;
  return Math.max(0, Math.floor((until - new Date(start).getTime()) / DAY_MS));
}
