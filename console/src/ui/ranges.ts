import { type Given, present, textOf } from "@/lib/searchParams";
import { words } from "@/words/dateRange";
import { fromLocal, toLocal } from "./zonedTime";

/** A period in the address: `?from=-30d`, or `?from=2026-05-01&to=2026-05-14`. */
export interface RangeSearch {
  /** A day, or a bound that moves along: -30d, dStart, -1mStart. */
  from?: string;
  /** A day, which is included, or a bound such as -1mEnd; now by default. */
  to?: string;
  /** Whether the period before it is shown, too. */
  compare?: true;
}

/** A period with valid bounds; a missing bound leaves it open. */
export type DateRange = Pick<RangeSearch, "from" | "to">;

export interface Period {
  range: DateRange;
  /** Whether the period before it is shown, too. */
  isCompared: boolean;
}

export interface ReadRange extends Period {
  /** Whether the period in the address is invalid and the default is shown instead. */
  isUnknown: boolean;
}

export const readRangeSearch = (given: Given): RangeSearch =>
  present<RangeSearch>({
    from: textOf(given.from),
    to: textOf(given.to),
    compare: given.compare === true ? true : undefined,
  });

/** Return the period of an address, or the usual one of the screen. */
export function readRange(search: RangeSearch, usual: DateRange): ReadRange {
  const { from, to, compare } = search;
  const isCompared = compare === true;
  if (from === undefined && to === undefined) return { range: usual, isCompared, isUnknown: false };
  const range = present<DateRange>({ from, to });
  const isUnknown = ![from, to].every((bound) => bound === undefined || isBound(bound));
  return isUnknown || isReversed(range)
    ? { range: usual, isCompared, isUnknown: true }
    : { range, isCompared, isUnknown: false };
}

/** Return the parameters of an address with another period. */
export function withRange<T extends RangeSearch>(search: T, next: RangeSearch): T {
  const { from: _, to: __, compare: ___, ...others } = search;
  return { ...others, ...next } as T;
}

export const isSameRange = (a: DateRange, b: DateRange): boolean =>
  a.from === b.from && a.to === b.to;

/** Return the period in the names of the API. */
export const datesOf = ({ from, to }: DateRange) => ({
  ...(from !== undefined && { date_from: from }),
  ...(to !== undefined && { date_to: to }),
});

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DISTANCE = /^-([1-9]\d{0,3})([hdwmqy])$/;
const EDGE = /^(?:-([1-9]\d{0,3}))?([dmy])(Start|End)$/;

export function isDay(text: string): boolean {
  const time = DAY.test(text) ? Date.parse(`${text}T00:00Z`) : Number.NaN;
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

const isBound = (text: string): boolean => isDay(text) || DISTANCE.test(text) || EDGE.test(text);

/** Days are compared; other bounds depend on the time, and the server says what is wrong with them. */
const isReversed = ({ from, to }: DateRange): boolean =>
  from !== undefined && to !== undefined && isDay(from) && isDay(to) && from > to;

/** Return the number and the unit of a bound such as -30d. */
export function distanceOf(bound: string | undefined): { count: number; unit: string } | null {
  const match = DISTANCE.exec(bound ?? "");
  return match === null ? null : { count: Number(match[1]), unit: match[2] ?? "" };
}

/** Return the instants of a period: its first, and the one after its last. Days begin in the zone. */
export function instantsOf(
  { from, to }: DateRange,
  zone: string,
  now: Date,
): { since: Date | null; until: Date | null } {
  const until = to === undefined ? null : startOf(shifted(dayOf(to, zone, now), 1, "d"), zone);
  return { since: from === undefined ? null : instantOf(from, zone, now), until };
}

function instantOf(bound: string, zone: string, now: Date): Date | null {
  const distance = distanceOf(bound);
  if (distance?.unit === "h") return new Date(now.getTime() - distance.count * 3_600_000);
  return startOf(dayOf(bound, zone, now), zone);
}

const startOf = (day: string, zone: string): Date | null => fromLocal(`${day}T00:00`, zone);

/** Return the day of a bound, on the calendar of the zone. */
function dayOf(bound: string, zone: string, now: Date): string {
  if (isDay(bound)) return bound;
  const today = toLocal(now, zone).slice(0, 10);
  const distance = distanceOf(bound);
  if (distance !== null) return shifted(today, -distance.count, distance.unit);
  const [, count = "0", unit = "d", edge] = EDGE.exec(bound) ?? [];
  const first = firstDay(shifted(firstDay(today, unit), -Number(count), unit), unit);
  return edge === "Start" ? first : shifted(shifted(first, 1, unit), -1, "d");
}

function firstDay(day: string, unit: string): string {
  if (unit === "m") return `${day.slice(0, 7)}-01`;
  return unit === "y" ? `${day.slice(0, 4)}-01-01` : day;
}

const MONTHS: Readonly<Record<string, number>> = { m: 1, q: 3, y: 12 };

/** Return a day that is so many units later. A month without the day ends with its last. */
export function shifted(day: string, count: number, unit: string): string {
  const date = new Date(`${day}T00:00Z`);
  if (unit === "d" || unit === "w") {
    date.setUTCDate(date.getUTCDate() + count * (unit === "w" ? 7 : 1));
    return date.toISOString().slice(0, 10);
  }
  const length = MONTHS[unit] ?? 1;
  const months = date.getUTCFullYear() * 12 + date.getUTCMonth() + count * length;
  const last = new Date(Date.UTC(Math.floor(months / 12), (months % 12) + 1, 0));
  last.setUTCDate(Math.min(date.getUTCDate(), last.getUTCDate()));
  return last.toISOString().slice(0, 10);
}

/** Return the days of the period before. Distances such as -7d go back by themselves, so that the same
 * weekdays are compared; all others by their length.
 *
 * days: those of the period, in order
 */
export function previousDays({ from }: DateRange, days: readonly string[]): DateRange | null {
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return null;
  const { count, unit } = distanceOf(from) ?? { count: days.length, unit: "d" };
  const back = unit === "h" ? { count: days.length, unit: "d" } : { count, unit };
  return {
    from: shifted(first, -back.count, back.unit),
    to: shifted(last, -back.count, back.unit),
  };
}

/** Bounds, in the order from and to. */
export type Preset = keyof typeof words.presets;

export function rangeOfPreset(preset: Preset): DateRange {
  const [from = "", to] = preset.split(" ");
  return { ...(from !== "" && { from }), ...(to !== undefined && { to }) };
}

const day = new Intl.DateTimeFormat(navigator.language, { dateStyle: "medium", timeZone: "UTC" });

/** "Last 30 days", "1–14 May 2026", "Since 1 May 2026". */
export function nameOfRange({ from, to }: DateRange): string {
  const key = [from, to].filter((bound) => bound !== undefined).join(" ");
  const preset = Object.entries(words.presets).find(([bounds]) => bounds === key);
  if (preset !== undefined) return preset[1];
  const distance = distanceOf(from);
  if (distance !== null && to === undefined) return words.last(distance.count, distance.unit);
  if (from !== undefined && to !== undefined && isDay(from) && isDay(to))
    return day.formatRange(noon(from), noon(to));
  const text = (bound: string) => (isDay(bound) ? day.format(noon(bound)) : bound);
  if (to === undefined) return words.since(text(from ?? ""));
  return from === undefined ? words.until(text(to)) : words.between(text(from), text(to));
}

const noon = (text: string): Date => new Date(`${text}T12:00Z`);
