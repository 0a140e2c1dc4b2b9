/** Local times of any time zone, as `<input type="datetime-local">` writes them: `2030-01-15T09:00`. */

const MINUTE_MS = 60_000;

/** Minutes that a zone is ahead of UTC at an instant. */
export function offsetMinutes(instant: Date, zone: string): number {
  return Math.round((wallTime(instant, zone) - instant.getTime()) / MINUTE_MS);
}

export function toLocal(instant: Date, zone: string): string {
  return new Date(wallTime(instant, zone)).toISOString().slice(0, 16);
}

/** null for a text that is no time. Of a time that occurs twice the first is meant. */
export function fromLocal(local: string, zone: string): Date | null {
  const asUtc = Date.parse(`${local}Z`);
  if (!/^\d{4,}-\d\d-\d\dT\d\d:\d\d/.test(local) || Number.isNaN(asUtc)) return null;
  // The zone's offset is that at the instant, which is only known by it: two steps suffice.
  const guess = asUtc - offsetMinutes(new Date(asUtc), zone) * MINUTE_MS;
  return new Date(asUtc - offsetMinutes(new Date(guess), zone) * MINUTE_MS);
}

/** Return an offset as text: "UTC+2" or "UTC−3:30". */
export function offsetName(instant: Date, zone: string): string {
  const minutes = offsetMinutes(instant, zone);
  const rest = Math.abs(minutes) % 60;
  const hours = Math.trunc(Math.abs(minutes) / 60);
  const sign = minutes < 0 ? "−" : "+";
  return `UTC${sign}${hours}${rest === 0 ? "" : `:${String(rest).padStart(2, "0")}`}`;
}

export function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Return the local time in the zone as if it were UTC, in milliseconds. */
function wallTime(instant: Date, zone: string): number {
  // As "6/15/2030, 13:00:00". Its parts as objects would take twice as long.
  const numbers = formatOf(zone).format(instant).split(/\D+/).map(Number);
  const [month = 0, day, year = 0, hour, minute, second] = numbers;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  formats.set(zone, made);
  return made;
}
