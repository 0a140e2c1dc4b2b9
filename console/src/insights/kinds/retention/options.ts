import { withKindOptions } from "@/insights/question/kindOptions";
import type { Question } from "@/insights/question/model";
import { joined, Reading } from "@/insights/question/reading";
import { type Given, present } from "@/lib/searchParams";
import { words } from "@/words/insightsRetention";

export const TYPES = ["retention_recurring", "retention_first_time"] as const;
/** Shares of everyone who started, or of the previous interval. */
export const REFERENCES = ["total", "previous"] as const;
export const MEANS = ["weighted", "simple", "none"] as const;
/** Only the table, or a curve above it. */
export const DISPLAYS = ["ActionsTable", "ActionsLineGraph"] as const;
export const FORMATS = ["percentage", "numeric"] as const;
/** The measure of returning persons: their number, or the sum of a property of their events. */
export const AGGREGATIONS = ["count", "sum", "avg"] as const;
export const INTERVALS_MAX = 64;
export const OCCURRENCES_MAX = 1_000_000;
/** The number of intervals of all brackets. */
export const BRACKETS_MAX = INTERVALS_MAX - 1;
const WINDOWS = "24_hour_windows";
export const PLACE = "retentionFilter";

/** How retention is counted and shown, by API names. */
export interface RetentionOptions {
  type: (typeof TYPES)[number];
  /** The number of values in a row, including the first interval. */
  intervals: number;
  /** Whether a value counts everyone who returned then or later. */
  isCumulative: boolean;
  /** The number of events within one interval that count as returning. */
  occurrences: number;
  reference: (typeof REFERENCES)[number];
  mean: (typeof MEANS)[number];
  display: (typeof DISPLAYS)[number];
  format: (typeof FORMATS)[number];
  /** Whether intervals after the first are windows that begin with the person's first event. */
  hasWindows: boolean;
  /** How many intervals each value after the first covers; empty: one each. */
  brackets: readonly number[];
  aggregation: (typeof AGGREGATIONS)[number];
  /** The property of a sum or an average. */
  aggregated: string | undefined;
}

/** Whether sums or averages of a property are shown. */
export const showsValues = ({ aggregation, aggregated }: RetentionOptions): boolean =>
  aggregation !== "count" && aggregated !== undefined;

/** The intervals that a value covers, counted from the first. */
export interface Span {
  first: number;
  last: number;
}

export function spanOf({ brackets }: RetentionOptions, place: number): Span {
  if (place === 0 || brackets.length === 0) return { first: place, last: place };
  const sumOf = (count: number) => brackets.slice(0, count).reduce((sum, one) => sum + one, 0);
  return { first: sumOf(place - 1) + 1, last: sumOf(place) };
}

const USUAL_INTERVALS = 8;
// The server's default. source: fanion/insights/retention/query.py
const INTERVALS_OF_QUERIES = 7;
const NAMES = [
  ...["retentionType", "totalIntervals", "cumulative", "minimumOccurrences", "display"],
  ...["retentionReference", "meanRetentionCalculation", "aggregationAxisFormat", "showMean"],
  ...["timeWindowMode", "retentionCustomBrackets", "aggregationType", "aggregationProperty"],
  "aggregationPropertyType",
];
// Display options of other clients.
const DRAWN = ["dashboardDisplay", "selectedInterval"];

/** Return the options of a `retentionFilter`. intervals: the default number */
export function readOptions(
  given: Given,
  reading: Reading = new Reading(),
  intervals = USUAL_INTERVALS,
): RetentionOptions {
  reading.known(PLACE, given, [...NAMES, ...DRAWN]);
  const at = (name: string) => joined(PLACE, name);
  const mean = given.meanRetentionCalculation ?? (given.showMean === false ? "none" : undefined);
  return {
    type: reading.choice(at("retentionType"), given.retentionType, TYPES) ?? TYPES[0],
    intervals:
      reading.whole(at("totalIntervals"), given.totalIntervals, 1, INTERVALS_MAX) ?? intervals,
    isCumulative: reading.flag(at("cumulative"), given.cumulative) ?? false,
    occurrences:
      reading.whole(at("minimumOccurrences"), given.minimumOccurrences, 1, OCCURRENCES_MAX) ?? 1,
    reference:
      reading.choice(at("retentionReference"), given.retentionReference, REFERENCES) ?? "total",
    mean: reading.choice(at("meanRetentionCalculation"), mean, MEANS) ?? "weighted",
    display: reading.choice(at("display"), given.display, DISPLAYS) ?? "ActionsTable",
    format:
      reading.choice(at("aggregationAxisFormat"), given.aggregationAxisFormat, FORMATS) ??
      "percentage",
    hasWindows:
      reading.choice(at("timeWindowMode"), given.timeWindowMode, [
        "strict_calendar_dates",
        WINDOWS,
      ]) === WINDOWS,
    aggregation: readAggregation(reading, given),
    aggregated: reading.text(at("aggregationProperty"), given.aggregationProperty),
    brackets: readBrackets(reading, at("retentionCustomBrackets"), given.retentionCustomBrackets),
  };
}

function readAggregation(reading: Reading, given: Given): RetentionOptions["aggregation"] {
  const at = (name: string) => joined(PLACE, name);
  reading.choice(at("aggregationPropertyType"), given.aggregationPropertyType, ["event"]);
  return reading.choice(at("aggregationType"), given.aggregationType, AGGREGATIONS) ?? "count";
}

function readBrackets(reading: Reading, place: string, given: unknown): readonly number[] {
  const sizes = reading.list(place, given).map(Number);
  if (areBrackets(sizes)) return sizes;
  reading.refuse(place, given, words.bracketsAllowed(BRACKETS_MAX));
  return [];
}

/** Whether each covers an interval, and all of them no more than there can be. */
export const areBrackets = (sizes: readonly number[]): boolean =>
  sizes.every((size) => Number.isInteger(size) && size >= 1) &&
  sizes.reduce((sum, one) => sum + one, 0) <= BRACKETS_MAX;

export const readQueryOptions = (given: Given, reading: Reading): RetentionOptions =>
  readOptions(given, reading, INTERVALS_OF_QUERIES);

/** Return the options without default values. */
export function writeOptions(options: RetentionOptions): Given {
  return present<Given>({
    retentionType: options.type === TYPES[0] ? undefined : options.type,
    totalIntervals: options.intervals === USUAL_INTERVALS ? undefined : options.intervals,
    cumulative: options.isCumulative || undefined,
    minimumOccurrences: options.occurrences === 1 ? undefined : options.occurrences,
    retentionReference: options.reference === "total" ? undefined : options.reference,
    meanRetentionCalculation: options.mean === "weighted" ? undefined : options.mean,
    display: options.display === "ActionsTable" ? undefined : options.display,
    aggregationAxisFormat: options.format === "percentage" ? undefined : options.format,
    timeWindowMode: options.hasWindows ? WINDOWS : undefined,
    aggregationType: options.aggregation === "count" ? undefined : options.aggregation,
    aggregationProperty: options.aggregation === "count" ? undefined : options.aggregated,
    retentionCustomBrackets: options.brackets.length === 0 ? undefined : options.brackets,
  });
}

export const optionsOf = ({ options }: Question): RetentionOptions =>
  readOptions(options.retention ?? {});

export const withOptions = (question: Question, changes: Partial<RetentionOptions>): Question =>
  withKindOptions(question, "retention", writeOptions({ ...optionsOf(question), ...changes }));
