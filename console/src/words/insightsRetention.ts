import { counted, formatNumber } from "@/words/format";

const NAMES = { hour: "Hour", day: "Day", week: "Week", month: "Month" } as const;
type Period = keyof typeof NAMES;

interface Span {
  first: number;
  last: number;
}

const numbersOf = ({ first, last }: Span): string =>
  first === last ? formatNumber(first) : `${formatNumber(first)}–${formatNumber(last)}`;
const list = new Intl.ListFormat("en");
const bracketHint = (unit: string) =>
  `How many ${unit}s each value covers: 1, 3, 7 shows ${unit} 1, ${unit}s 2 to 4 and ${unit}s 5 to 11.`;
const LENGTHS = { hour: "60 minutes", day: "24 hours", week: "7 days", month: "30 days" } as const;

const afterEach = (count: number, unit: Period): string =>
  count === 1 ? `in the ${unit} after` : `in each of the ${formatNumber(count)} ${unit}s after`;
const afterIn = (spans: readonly Span[], unit: Period): string => {
  const named = spans.map(
    (span) => `${span.first === span.last ? unit : `${unit}s`} ${numbersOf(span)}`,
  );
  return `in ${list.format(named)} after`;
};

export const words = {
  series: "First, and then",
  event: "Event",
  returningEvent: "Returning event",
  noSeries: "Choose an event to see who comes back after it.",
  noReturning: "Without a returning event, the same event is counted again.",
  type: "Who begins",
  types: {
    retention_recurring: "Everyone who does it then",
    retention_first_time: "Only those who do it for the first time",
  },
  intervals: "Intervals shown",
  occurrences: "Minimum times",
  aggregation: "Measure",
  aggregations: {
    count: "How many come back",
    sum: "Sum of a property",
    avg: "Average of a property per person",
  },
  property: "Property",
  brackets: "Brackets",
  bracketsHint: {
    hour: bracketHint("hour"),
    day: bracketHint("day"),
    week: bracketHint("week"),
    month: bracketHint("month"),
  },
  bracketsAllowed: (most: number) =>
    `Whole numbers above 0, between commas, ${formatNumber(most)} in all at most.`,
  windows: {
    hour: `Windows of ${LENGTHS.hour} from the first event`,
    day: `Windows of ${LENGTHS.day} from the first event`,
    week: `Windows of ${LENGTHS.week} from the first event`,
    month: `Windows of ${LENGTHS.month} from the first event`,
  },
  cumulative: "Count later returns too",
  display: "Chart",
  displays: { ActionsTable: "Table", ActionsLineGraph: "Curve and table" },
  format: "Numbers",
  formats: {
    total: "% of all who began",
    previous: "% of the interval before",
    counts: "counts",
    numbers: "numbers",
  },
  mean: "Mean",
  means: { weighted: "weighted mean", simple: "simple mean", none: "no mean" },
  meanRow: { weighted: "Weighted mean", simple: "Simple mean" },
  meanHint: {
    weighted: "Large groups count more. Intervals that are not over are left out.",
    simple: "Every row counts alike. Intervals that are not over are left out.",
  },
  began: "Began",
  size: "Persons",
  sizeOfGroups: "Groups",
  after: (period: Period, span: Span) => `${NAMES[period]} ${numbersOf(span)}`,
  inPercent: (name: string) => `${name} (%)`,
  ofValue: (value: string, row: string) => `${value}, ${row}`,
  partial: "not over yet",
  caption: (target: string, returning: string, range: string) =>
    target === returning
      ? `${target} and again, ${range}`
      : `${target}, then ${returning}, ${range}`,
  curveCaption: (target: string, returning: string) =>
    target === returning
      ? `Mean of who does ${target} again`
      : `Mean of who does ${returning} after ${target}`,
  grid: "Retention",
  keys: "Arrow keys move through the table, enter opens the persons behind a number.",
  show: (value: string) => `Show the rows of ${value}`,
  none: "None (no value)",
  other: "All other values",
  number: (event: string, when: string, after: string) => `${event}, ${when}, ${after}`,
  /** A sum or an average, with the number of persons or groups behind it. */
  valueOf: (value: string, unit: string, count: number) =>
    `${value} (${unit}: ${formatNumber(count)})`,
  cell: (count: string, share: string) => `${share} (${count})`,
  // Parts of the sentence.
  howMany: {
    persons: "how many persons did",
    groups: (type: string) => `how many ${type} groups did`,
  },
  firstTime: "for the first time ever",
  firstInPeriod: "for the first time in the period",
  every: { hour: "per hour", day: "per day", week: "per week", month: "per month" },
  valued: {
    sum: "and the sum of the property",
    avg: "and the average per person of the property",
  },
  andThen: "and how many of them did",
  atLeast: (count: number) => `at least ${counted(count, "time", "times")}`,
  ahead: (
    spans: number | readonly Span[],
    period: Period,
    isCumulative: boolean,
    hasWindows: boolean,
  ) => {
    const where = typeof spans === "number" ? afterEach(spans, period) : afterIn(spans, period);
    const later = isCumulative ? `${where}, or later` : where;
    return hasWindows ? `${later}, in windows of ${LENGTHS[period]} from their first event` : later;
  },
} as const;
