/** What can be counted of events. source: the server's fanion/insights/trends/maths.py */
export const COUNTS = [
  "total",
  "dau",
  "weekly_active",
  "monthly_active",
  "unique_session",
  "unique_group",
  "first_time_for_user",
  "first_matching_event_for_user",
] as const;

/** Over the values of a property. */
export const OF_PROPERTY = [
  "sum",
  "avg",
  "min",
  "max",
  "median",
  "p25",
  "p75",
  "p90",
  "p95",
  "p99",
] as const;

/** Over the number of events per person, of persons with at least one. */
export const PER_PERSON = [
  "avg_count_per_actor",
  "min_count_per_actor",
  "max_count_per_actor",
  "median_count_per_actor",
  "p25_count_per_actor",
  "p75_count_per_actor",
  "p90_count_per_actor",
  "p95_count_per_actor",
  "p99_count_per_actor",
] as const;

/** Over the sum of a property per person, of persons with at least one such event. */
export const SUMS_PER_PERSON = [
  "avg_sum_per_actor",
  "min_sum_per_actor",
  "max_sum_per_actor",
  "median_sum_per_actor",
  "p25_sum_per_actor",
  "p75_sum_per_actor",
  "p90_sum_per_actor",
  "p95_sum_per_actor",
  "p99_sum_per_actor",
] as const;

/** An aggregate in SQL. */
export const SQL_MATH = "hogql";

export type MathName =
  | (typeof COUNTS)[number]
  | (typeof OF_PROPERTY)[number]
  | (typeof PER_PERSON)[number]
  | (typeof SUMS_PER_PERSON)[number]
  | typeof SQL_MATH;
export type Aggregate = (typeof OF_PROPERTY)[number];

export const MATHS: readonly MathName[] = [
  ...COUNTS,
  ...OF_PROPERTY,
  ...PER_PERSON,
  ...SUMS_PER_PERSON,
  SQL_MATH,
];

/** Counts of a person's first time, which steps of a funnel have too. */
export const FIRST_TIMES: readonly MathName[] = [
  "first_time_for_user",
  "first_matching_event_for_user",
];

export const isOfProperty = (math: MathName): math is Aggregate =>
  OF_PROPERTY.some((one) => one === math);

export const isPerPerson = (math: MathName): boolean => PER_PERSON.some((one) => one === math);

export const isSumPerPerson = (math: MathName): boolean =>
  SUMS_PER_PERSON.some((one) => one === math);

/** Return whether a math needs a property. */
export const needsProperty = (math: MathName): boolean =>
  isOfProperty(math) || isSumPerPerson(math);

/** Return the aggregate of a per-person math: `avg` for `avg_count_per_actor`. */
export const aggregateOf = (math: MathName): Aggregate =>
  OF_PROPERTY.find((one) => math.replace(/_(count|sum)_per_actor$/, "") === one) ?? "sum";

/** The property with a session's duration, in seconds. */
export const SESSION_DURATION = "$session_duration";
