import type { Threshold } from "@/charts";

const NONE: readonly Threshold[] = [];
// A level further away would press the lines flat.
const REACH = 4;

/** Return the levels that are near enough to the numbers to be drawn with them. */
export function inReach(
  thresholds: readonly Threshold[] = NONE,
  lines: readonly { values: readonly (number | null)[] }[],
): readonly Threshold[] {
  if (thresholds.length === 0) return NONE;
  const most = Math.max(...lines.flatMap(({ values }) => values.map((one) => Math.abs(one ?? 0))));
  return thresholds.filter(({ value }) => Math.abs(value) <= REACH * most);
}
