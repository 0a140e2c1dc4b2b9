const language = navigator.language;
const number = new Intl.NumberFormat(language, { maximumFractionDigits: 2 });
const compact = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });
const date = new Intl.DateTimeFormat(language, { dateStyle: "medium" });
const LENGTHS = {
  date: { dateStyle: "medium" },
  time: { timeStyle: "short" },
  timeToSecond: { timeStyle: "medium" },
  dateAndTime: { dateStyle: "medium", timeStyle: "short" },
  dateAndTimeToSecond: { dateStyle: "medium", timeStyle: "medium" },
  exact: { dateStyle: "full", timeStyle: "long" },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export const formatNumber = (value: number): string => number.format(value);
/** 12,345 as 12.3K: where there is little room. */
export const formatCompact = (value: number): string => compact.format(value);
export const formatDate = (value: string | Date): string => date.format(new Date(value));
const zoned = new Map<string, Intl.DateTimeFormat>();

/** Format an instant on the clocks of a time zone. exact: with weekday, seconds and the zone */
export function formatZoned(value: Date, zone: string, length: keyof typeof LENGTHS): string {
  const key = `${zone} ${length}`;
  const known = zoned.get(key);
  if (known !== undefined) return known.format(value);
  const made = new Intl.DateTimeFormat(language, { ...LENGTHS[length], timeZone: zone });
  zoned.set(key, made);
  return made.format(value);
}

/** The words for what is counted. */
export interface Unit {
  one: string;
  many: string;
}

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** share: 0 to 100 */
export const formatShare = (share: number): string => `${number.format(share)}%`;

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

/** "5 minutes ago", "in 2 days". */
export function formatRelative(value: string | Date, now: number = Date.now()): string {
  const seconds = (new Date(value).getTime() - now) / 1000;
  for (const [unit, length] of UNITS) {
    if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit);
  }
  return Math.abs(seconds) < 5 ? "now" : relative.format(Math.trunc(seconds), "second");
}

/** 125 as "2 min 5 s". */
export function formatDuration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return joined(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 86_400)
    return joined(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
  return joined(Math.floor(whole / 86_400), "d", Math.floor((whole % 86_400) / 3600), "h");
}

function joined(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small > 0 ? `${large} ${largeUnit} ${small} ${smallUnit}` : `${large} ${largeUnit}`;
}

/** 1 person, 2 people. */
export const counted = (count: number, one: string, many: string): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`;

export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return counted(bytes, "byte", "bytes");
  const [size, unit] = bytes < 1e6 ? [bytes / 1e3, "KB"] : [bytes / 1e6, "MB"];
  return `${formatNumber(Math.round(size * 10) / 10)} ${unit}`;
}
