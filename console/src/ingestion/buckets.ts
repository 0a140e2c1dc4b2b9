import type { Interval, Series } from "@/charts";
import { fromLocal, toLocal } from "@/ui/zonedTime";
import { words } from "@/words/ingestion";
import type { Report } from "./queries";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const MINUTES_SHOWN_MS = 3 * HOUR_MS;
const HOURS_SHOWN_MS = 8 * 24 * HOUR_MS;

const SERIES = [
  ["stored", words.ledger.stored, 3],
  ["duplicates", words.ledger.duplicates, 8],
  ["dropped", words.ledger.dropped, 5],
  ["dead_lettered", words.ledger.dead, 1],
] as const;

/** Counts of each interval of the report's time, those without events too. */
export function ledgerSeries(
  report: Report,
  zone: string,
): { times: Date[]; series: Series[]; interval: Interval; isPartial: boolean } {
  const [start, end] = [new Date(report.start), new Date(report.end)];
  const interval = intervalOf(end.getTime() - start.getTime());
  const times = timesOf(start, end, interval, zone);
  const places = new Map(times.map((time, place) => [time.getTime(), place]));
  const series = SERIES.map(([name, label, color]) => {
    const values = times.map(() => 0);
    for (const minute of report.minutes) {
      const place = places.get(floor(new Date(minute.minute), interval, zone).getTime());
      if (place !== undefined) values[place] = (values[place] ?? 0) + minute[name];
    }
    return { name: label, values, color };
  });
  const last = times.at(-1) ?? start;
  const isPartial = next(last, interval, zone).getTime() > end.getTime() + MINUTE_MS;
  return { times, series, interval, isPartial };
}

/** The server counts by minute, and by hour what is older than a day. */
function intervalOf(lengthMs: number): Interval {
  if (lengthMs <= MINUTES_SHOWN_MS) return "minute";
  return lengthMs <= HOURS_SHOWN_MS ? "hour" : "day";
}

function timesOf(start: Date, end: Date, interval: Interval, zone: string): Date[] {
  const times: Date[] = [];
  let time = floor(start, interval, zone);
  while (time <= end) {
    times.push(time);
    time = next(time, interval, zone);
  }
  return times;
}

function next(time: Date, interval: Interval, zone: string): Date {
  if (interval === "minute") return new Date(time.getTime() + MINUTE_MS);
  if (interval === "hour") return new Date(time.getTime() + HOUR_MS);
  // The longest day has 25 hours, the shortest 23.
  return floor(new Date(time.getTime() + 26 * HOUR_MS), interval, zone);
}

function floor(time: Date, interval: Interval, zone: string): Date {
  if (interval === "day") {
    const midnight = `${toLocal(time, zone).slice(0, 10)}T00:00`;
    return fromLocal(midnight, zone) ?? time;
  }
  const length = interval === "minute" ? MINUTE_MS : HOUR_MS;
  return new Date(Math.floor(time.getTime() / length) * length);
}
