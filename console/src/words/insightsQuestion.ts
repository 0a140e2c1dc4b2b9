import { counted, formatNumber } from "@/words/format";

const AGGREGATES = {
  sum: "Sum",
  avg: "Average",
  min: "Minimum",
  max: "Maximum",
  median: "Median",
  p25: "25th percentile",
  p75: "75th percentile",
  p90: "90th percentile",
  p95: "95th percentile",
  p99: "99th percentile",
} as const;
type Aggregate = keyof typeof AGGREGATES;

const lower = (aggregate: Aggregate) => AGGREGATES[aggregate].toLowerCase();

const UNITS: Record<string, string> = {
  h: "hour",
  d: "day",
  w: "week",
  m: "month",
  q: "quarter",
  y: "year",
};

const distance = (text: string): string => {
  const [, count = "1", unit = "d"] = /^-(\d+)([a-z])$/.exec(text) ?? [];
  const name = UNITS[unit] ?? unit;
  return counted(Number(count), name, `${name}s`);
};

export const words = {
  unusable: (place: string, value: string, allowed?: string) =>
    allowed === undefined
      ? `${place} cannot be used here: ${value}`
      : `${place} cannot be used: ${value}. Allowed: ${allowed}`,
  wholeBetween: (least: number, most: number) =>
    least === most ? String(least) : `a whole number from ${least} to ${most}`,
  notWhole: (least: number, most: number) =>
    `A whole number from ${formatNumber(least)} to ${formatNumber(most)}.`,
  aNumber: "a number other than 0",
  booleans: "true, false",
  list: "a list",
  object: "an object",
  conditions: "conditions on events, persons, groups, sessions and cohorts",
  allOf: "conditions that all hold",
  dates: "from and to",
  aDistance: "true, or a distance such as -1w",
  allEvents: "All events",
  actionOf: (id: number) => `Action ${id}`,
  /** Names of the maths, for menus. */
  maths: {
    total: "Number of events",
    dau: "Unique persons",
    weekly_active: "Weekly active persons",
    monthly_active: "Monthly active persons",
    unique_session: "Unique sessions",
    unique_group: "Unique groups",
    first_time_for_user: "First time ever",
    first_matching_event_for_user: "First time with these conditions",
  },
  aggregates: AGGREGATES,
  ofProperty: (aggregate: Aggregate) => `${AGGREGATES[aggregate]} of a property`,
  perPerson: (aggregate: Aggregate) => `${AGGREGATES[aggregate]} per person`,
  sumPerPerson: (aggregate: Aggregate) => `${AGGREGATES[aggregate]} of sums per person`,
  sql: "Aggregate in SQL",
  uniqueGroups: (type: string) => `Unique ${type} groups`,
  // Parts of a question's sentence, with names in code style between them.
  anyEvent: "any event",
  and: "and",
  or: "or",
  comma: ",",
  stop: ".",
  where: "where",
  brokenDown: "broken down by",
  inRanges: (count: number) => `in ${counted(count, "range", "ranges")}`,
  largest: (count: number) => `(${counted(count, "value", "values")} at most)`,
  withoutOther: "without the other values",
  cohort: "the cohort",
  everyone: "everyone",
  ofTypes: {
    event: "",
    person: "of the person",
    group: (type: string) => `of the ${type}`,
    session: "of the session",
    hogql: "",
  },
  compared: "compared with the previous period",
  comparedTo: (text: string) => `compared with ${distance(text)} earlier`,
  distance,
  dayBounds: "days such as 2026-05-14, and bounds such as -30d or -1mStart",
  earlier: (name: string, text: string) => `${name} (${distance(text)} earlier)`,
  withoutTests: "without test accounts",
  noTests: "test accounts included",
  every: {
    minute: "per minute",
    hour: "per hour",
    day: "per day",
    week: "per week",
    month: "per month",
    quarter: "per quarter",
    year: "per year",
  },
  inAll: "in total",
  /** A period, in the middle of a sentence. */
  period: (name: string) =>
    /^(All|Last|This|Today|Yest|Since|Until)/.test(name)
      ? name[0]?.toLowerCase() + name.slice(1)
      : name,
  counts: {
    total: ["how often", "happened"],
    dau: ["how many persons did", ""],
    weekly_active: ["how many persons did", "within the 7 days up to then"],
    monthly_active: ["how many persons did", "within the 30 days up to then"],
    unique_session: ["in how many sessions", "happened"],
    unique_group: ["in how many groups", "happened"],
    first_time_for_user: ["how many persons did", "for the first time ever"],
    first_matching_event_for_user: ["how many persons did", "for the first time, as described,"],
  },
  inGroups: (type: string) => `for how many ${type} groups`,
  aggregateOf: (aggregate: Aggregate) => `the ${lower(aggregate)} of`,
  ofThePerson: "of the person",
  over: "of",
  aggregatePerPerson: (aggregate: Aggregate) =>
    aggregate === "sum" ? "the number of" : `the ${lower(aggregate)} number of`,
  perPersonWhoDid: "per person who did it",
  aggregateOfSums: (aggregate: Aggregate) => `the ${lower(aggregate)} of each person's sum of`,
  times: "times",
  called: "called",
} as const;
