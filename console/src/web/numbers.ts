import { formatDuration, formatNumber, formatShare } from "@/words/format";
import { words } from "@/words/web";
import type { Unit } from "./figures";

export function formatValue(value: number | null, unit: Unit): string {
  if (value === null) return words.nothing;
  if (unit === "duration_s") return formatDuration(value);
  return unit === "percentage" ? formatShare(value) : formatNumber(value);
}

// Columns whose numbers are shares from 0 to 1.
const SHARES = ["bounce_rate", "conversion_rate"];

export const isShare = (column: string): boolean => SHARES.includes(column);

/** Return a number of a table as text. */
export const formatCell = (value: number | null, column: string): string =>
  isShare(column) && value !== null
    ? formatValue(100 * value, "percentage")
    : formatValue(value, column === "avg_time_on_page" ? "duration_s" : "unit");
