import { words } from "@/words/charts";
import { formatCompact, formatNumber } from "@/words/format";

export type Interval = "minute" | "hour" | "day" | "week" | "month";

const LOCALE = navigator.language;

const PARTS: Record<Interval, Intl.DateTimeFormatOptions> = {
  minute: { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" },
  hour: { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" },
  day: { weekday: "short", month: "short", day: "numeric" },
  week: { month: "short", day: "numeric" },
  month: { month: "long", year: "numeric" },
};

/** Names the interval that begins at an instant. zone: IANA name, by default the browser's */
export function intervalName(at: Date, interval: Interval, zone?: string): string {
  return new Intl.DateTimeFormat(LOCALE, {
    ...PARTS[interval],
    hourCycle: "h23",
    ...(zone !== undefined && { timeZone: zone }),
  }).format(at);
}

const AXIS_PARTS: Record<Interval, Intl.DateTimeFormatOptions> = {
  minute: { hour: "2-digit", minute: "2-digit" },
  hour: { hour: "2-digit", minute: "2-digit" },
  day: { month: "short", day: "numeric" },
  week: { month: "short", day: "numeric" },
  month: { month: "short", year: "numeric" },
};

/** Return a short name of a time for an axis, with the day in place of midnight. */
export function axisName(at: Date, interval: Interval, zone?: string): string {
  const inZone = { hourCycle: "h23" as const, ...(zone !== undefined && { timeZone: zone }) };
  const format = (parts: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(LOCALE, { ...parts, ...inZone }).format(at);
  const isOfDay = interval === "minute" || interval === "hour";
  const isMidnight = isOfDay && format({ hour: "numeric", minute: "numeric" }) === MIDNIGHT;
  return format(isMidnight ? AXIS_PARTS.day : AXIS_PARTS[interval]);
}

const MIDNIGHT = new Intl.DateTimeFormat(LOCALE, {
  hour: "numeric",
  minute: "numeric",
  hourCycle: "h23",
  timeZone: "UTC",
}).format(0);

/** A range as "1–14 May". */
export function rangeName(from: Date, to: Date, interval: Interval, zone?: string): string {
  const parts: Intl.DateTimeFormatOptions =
    interval === "month" ? PARTS.month : { ...PARTS[interval], year: "numeric" };
  if (interval === "day") delete parts.weekday;
  return new Intl.DateTimeFormat(LOCALE, {
    ...parts,
    hourCycle: "h23",
    ...(zone !== undefined && { timeZone: zone }),
  }).formatRange(from, to);
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
