import type { Interval } from "@/charts";
import { QUERY_KINDS, type Question, type Series } from "@/insights/question/model";
import { readSeries, writeSeries } from "@/insights/question/parts";
import type { Reading } from "@/insights/question/reading";
import {
  breakdownParts,
  type Query,
  readShared,
  SHARED,
  scopeParts,
} from "@/insights/question/wire";
import { type Given, present } from "@/lib/searchParams";
import type { DateRange } from "@/ui/ranges";
import {
  optionsOf,
  PLACE,
  type RetentionOptions,
  readQueryOptions,
  showsValues,
  writeOptions,
} from "./options";

export const PERIODS = ["hour", "day", "week", "month"] as const;
export type Period = (typeof PERIODS)[number];

/** The interval of retention, which has neither minutes nor quarters and years. */
export const periodOf = ({ interval }: { interval: Interval }): Period =>
  PERIODS.find((one) => one === interval) ?? (interval === "minute" ? "hour" : "month");

/** The starting and the returning event, which are the same unless two are given. */
export function entitiesOf({ series }: Pick<Question, "series">): {
  target: Series | undefined;
  returning: Series | undefined;
} {
  const [target, returning = target] = series;
  return { target, returning };
}

/** Retention does not group numbers into ranges. */
export const withoutRanges = (question: Question): Question => ({
  ...question,
  breakdowns: question.breakdowns.map(({ bins: _, ...one }) => one),
});

export function retentionQuery(question: Question): Query {
  const { target, returning } = entitiesOf(question);
  const options = optionsOf(question);
  const { dateRange, ...scope } = scopeParts(question);
  return {
    kind: QUERY_KINDS.retention,
    ...scope,
    dateRange: isOfIntervals(question, options)
      ? present({ date_to: question.dates.to })
      : dateRange,
    ...breakdownParts(withoutRanges(question)),
    retentionFilter: {
      ...writeOptions(askedOptions(options)),
      totalIntervals: options.intervals,
      period: capitalized(periodOf(question)),
      ...(target !== undefined && { targetEntity: entityOf(target) }),
      ...(returning !== undefined && { returningEntity: entityOf(returning) }),
    },
  };
}

/** Sums and averages count every event, once. Without a property persons are counted. */
export function askedOptions(options: RetentionOptions): RetentionOptions {
  if (!showsValues(options)) return { ...options, aggregation: "count" };
  return { ...options, isCumulative: false, occurrences: 1 };
}

/** Always counts persons, whatever the series counts in other kinds. */
const entityOf = (series: Series): Given => ({
  kind: "EventsNode",
  ...writeSeries({ ...series, math: "total" }),
});

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function readRetentionQuery(query: Query, reading: Reading): Question {
  reading.known("", query, [...SHARED, PLACE]);
  const { period, targetEntity, returningEntity, ...own } = reading.object(PLACE, query[PLACE]);
  const read = readQueryOptions(own, reading);
  const options = writeOptions(read);
  const name = reading.choice(`${PLACE}.period`, period, PERIODS.map(capitalized));
  const target = readEntity(reading, "targetEntity", targetEntity);
  const returning = readEntity(reading, "returningEntity", returningEntity);
  const isSame = JSON.stringify(target) === JSON.stringify(returning);
  const interval = PERIODS.find((one) => capitalized(one) === name) ?? "day";
  const shared = readShared(reading, query);
  return {
    kind: "retention",
    ...shared,
    dates: readDates(reading, query, shared.dates, read.intervals, interval),
    series: isSame ? [target] : [target, returning],
    interval,
    options: Object.keys(options).length === 0 ? {} : { retention: options },
  };
}

/** Without a start, the rows are as many intervals as a row has values. */
function readDates(
  reading: Reading,
  query: Query,
  dates: DateRange,
  intervals: number,
  period: Period,
): DateRange {
  const range = reading.object("dateRange", query.dateRange);
  if (reading.text("dateRange.date_from", range.date_from) !== undefined) return dates;
  const from = startOf(intervals, period, dates.to);
  if (from === undefined) reading.refuse("dateRange", query.dateRange);
  return { ...dates, ...(from !== undefined && { from }) };
}

/** Whether the range is what a query without a start has, so that both are answered as one. */
const isOfIntervals = (
  { dates, ...question }: Question,
  { intervals, brackets }: RetentionOptions,
): boolean =>
  brackets.length === 0 &&
  dates.from !== undefined &&
  dates.from === startOf(intervals, periodOf(question), dates.to);

const UNITS: Readonly<Record<Period, string>> = { hour: "h", day: "d", week: "w", month: "m" };

/** Return the start of so many intervals up to a day or now; undefined if no start says it. */
function startOf(intervals: number, period: Period, to: string | undefined): string | undefined {
  const before = intervals - 1;
  if (to === undefined) return before === 0 ? undefined : `-${before}${UNITS[period]}`;
  const day = new Date(`${to}T00:00Z`);
  if (!/^\d{4}-\d\d-\d\d$/.test(to) || Number.isNaN(day.getTime()) || period === "hour")
    return undefined;
  if (period === "month") day.setUTCMonth(day.getUTCMonth() - before, 1);
  else day.setUTCDate(day.getUTCDate() - before * (period === "week" ? 7 : 1));
  return day.toISOString().slice(0, 10);
}

const USUAL: Series = { event: "$pageview", math: "total", filters: [] };

function readEntity(reading: Reading, name: string, given: unknown): Series {
  if (given === undefined || given === null) return USUAL;
  return readSeries(reading, `${PLACE}.${name}`, given) ?? USUAL;
}
