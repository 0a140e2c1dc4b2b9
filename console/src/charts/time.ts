import { words } from "@/words/charts";
import { formatCompact, formatNumber } from "@/words/format";

export type Interval = "minute" | "hour" | "day" | "week" | "month" | "quarter" | "year";

const LOCALE = navigator.language;

const PARTS: Record<Interval, Intl.DateTimeFormatOptions> = {
  minute: { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" },
  hour: { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" },
  day: { weekday: "short", month: "short", day: "numeric" },
  week: { month: "short", day: "numeric" },
  month: { month: "long", year: "numeric" },
  quarter: { month: "numeric", year: "numeric" },
  year: { year: "numeric" },
};

const formats = new Map<Intl.DateTimeFormatOptions, Map<string | undefined, Intl.DateTimeFormat>>();

/** Return the format of times in a zone. To make one takes as long as to use it twenty times.
 *
 * parts: a constant, with which the format is kept
 */
function formatOf(parts: Intl.DateTimeFormatOptions, zone?: string): Intl.DateTimeFormat {
  const ofZones = formats.get(parts) ?? new Map<string | undefined, Intl.DateTimeFormat>();
  formats.set(parts, ofZones);
  const known = ofZones.get(zone);
  if (known !== undefined) return known;
  const inZone = zone === undefined ? {} : { timeZone: zone };
  const made = new Intl.DateTimeFormat(LOCALE, { ...parts, hourCycle: "h23", ...inZone });
  ofZones.set(zone, made);
  return made;
}

/** Names the interval that begins at an instant. zone: IANA name, by default the browser's */
export function intervalName(at: Date, interval: Interval, zone?: string): string {
  if (interval === "quarter") return quarterName(at, zone);
  return formatOf(PARTS[interval], zone).format(at);
}

/** Return "Q2 2026": `Intl` has no names of quarters. */
function quarterName(at: Date, zone?: string): string {
  const parts = formatOf(PARTS.quarter, zone).formatToParts(at);
  const numberOf = (type: "month" | "year") => parts.find((part) => part.type === type)?.value;
  return words.quarter(Math.ceil(Number(numberOf("month")) / 3), numberOf("year") ?? "");
}

const AXIS_PARTS: Record<Interval, Intl.DateTimeFormatOptions> = {
  minute: { hour: "2-digit", minute: "2-digit" },
  hour: { hour: "2-digit", minute: "2-digit" },
  day: { month: "short", day: "numeric" },
  week: { month: "short", day: "numeric" },
  month: { month: "short", year: "numeric" },
  quarter: PARTS.quarter,
  year: PARTS.year,
};

/** Return a short name of a time for an axis, with the day in place of midnight. */
export function axisName(at: Date, interval: Interval, zone?: string): string {
  if (interval === "quarter") return quarterName(at, zone);
  const isOfDay = interval === "minute" || interval === "hour";
  const isMidnight = isOfDay && formatOf(CLOCK_PARTS, zone).format(at) === midnight();
  return formatOf(isMidnight ? AXIS_PARTS.day : AXIS_PARTS[interval], zone).format(at);
}

const CLOCK_PARTS: Intl.DateTimeFormatOptions = { hour: "numeric", minute: "numeric" };
const midnight = () => formatOf(CLOCK_PARTS, "UTC").format(0);

const RANGE_PARTS: Record<Interval, Intl.DateTimeFormatOptions> = {
  minute: { ...PARTS.minute, year: "numeric" },
  hour: { ...PARTS.hour, year: "numeric" },
  day: { month: "short", day: "numeric", year: "numeric" },
  week: { ...PARTS.week, year: "numeric" },
  month: PARTS.month,
  quarter: PARTS.quarter,
  year: PARTS.year,
};

/** A range as "1–14 May". */
export function rangeName(from: Date, to: Date, interval: Interval, zone?: string): string {
  if (interval === "quarter") return words.quarters(quarterName(from, zone), quarterName(to, zone));
  return formatOf(RANGE_PARTS[interval], zone).formatRange(from, to);
}

/** Return the caption of a chart, which says in words what it shows. */
export function captionOf(
  what: string,
  times: readonly Date[],
  interval: Interval,
  options: { zone?: string; isPartial?: boolean } = {},
): string {
  const first = times[0];
  const last = times.at(-1);
  if (first === undefined || last === undefined) return what;
  const range = rangeName(first, last, interval, options.zone);
  const caption = words.caption(what, words.every[interval], range);
  return options.isPartial ? words.and(caption, words.notOver[interval]) : caption;
}

/** Formats numbers for axes: in full up to some thousands. */
export function shortNumber(value: number): string {
  return Math.abs(value) < 10_000 ? formatNumber(value) : formatCompact(value);
}

/** Return the place of the interval that a moment is in, or after which it is; -1 if before all. */
export const indexOfMoment = (times: readonly Date[], at: Date): number =>
  times.findLastIndex((time) => time <= at);
