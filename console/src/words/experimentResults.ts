import { counted, formatNumber } from "@/words/format";

const signed = new Intl.NumberFormat(navigator.language, {
  maximumFractionDigits: 1,
  signDisplay: "exceptZero",
});
const percent = (share: number): string => `${formatNumber(Math.round(share * 1000) / 10)}%`;
const short = (value: number): string =>
  Math.abs(value) >= 1000 ? formatNumber(value) : String(Number(value.toPrecision(3)));

export const words = {
  percent,
  short,
  /** 0.123 as "+12.3%" */
  change: (lift: number): string => `${signed.format(lift * 100)}%`,
  plain: (difference: number): string =>
    difference > 0 ? `+${short(difference)}` : short(difference),
  people: (count: number, areGroups: boolean) =>
    areGroups ? counted(count, "group", "groups") : counted(count, "person", "people"),
  verdicts: {
    not_started: "Not started",
    no_exposures: "No data",
    broken: "Do not use",
    stop: "Stop",
    collecting: "Too early",
    ship: "Ship",
    keep: "Keep the baseline",
    wait: "Not decided",
  },
  verdict: "Verdict",
  reasons: {
    flag_not_called:
      "The flag has not been called since the launch. Check that your code calls it and that the flag is on.",
    no_variant:
      "The flag was called, but returned no variant. Check its conditions, and whether the SDK has the person's properties.",
    split_mismatch: "Look for a cause before you go on: redirects, bots or a variant that crashes.",
    forced_variants: "A condition of the flag gives everyone it matches the same variant.",
    multiple_variants:
      "Values bootstrapped in the browser that differ from those of the server are a common cause.",
    guardrail_harmed: "A guardrail got worse.",
    primary_worse: "A primary metric got worse.",
    less_than_a_week: "Days of the week differ, so a verdict takes at least a whole week.",
    method_holds_once:
      "The method of this experiment is valid only once, when the planned number of people is reached.",
    no_primary_metric: "Add a primary metric in Setup to get a verdict.",
  } as Readonly<Record<string, string>>,
  protectedMethod: "Valid however often you look.",
  unprotectedMethod:
    "These numbers are valid if you look once, at the planned end. Looking daily finds differences that are not there.",
  planned: (reached: number, perVariant: number | null, areGroups: boolean) =>
    perVariant === null
      ? `${percent(reached)} of the planned time has passed.`
      : `${percent(reached)} of the plan reached: ${words.people(perVariant, areGroups)} per variant.`,
  asOf: "Calculated",
  refresh: "Refresh",
  phase: "Phase",
  phaseName: (number: number, count: number) =>
    number === count ? `Phase ${number} (current)` : `Phase ${number}`,
  phaseHint: "A phase begins when the split changes. Each is calculated by itself.",
  exposures: {
    title: (areGroups: boolean) =>
      areGroups ? "Groups in the experiment" : "People in the experiment",
    hint: "Counted once, on the day of the first exposure.",
    perDay: (areGroups: boolean) => (areGroups ? "New groups" : "New people"),
    none: "No exposures yet.",
    table: "Exposures by variant",
    columns: { variant: "Variant", people: "People", share: "Share", set: "Set to" },
    open: (variant: string, count: string) => `Show the people with ${variant}: ${count}`,
    behind: (variant: string) => `People who were given ${variant}`,
    behindAll: (variant: string) => `Everyone who was given ${variant}, also those left out`,
    splitTitle: "Split",
    split: {
      early: "Checked from 100 people on.",
      fine: "As set. Differences are within what chance explains.",
      small: "Slightly off, by at most half a percentage point. It does not affect the verdict.",
      bad: "The numbers of people do not match the percentages, so the comparison cannot be trusted.",
    },
    left: "Not counted",
    noneExcluded: "No one was excluded.",
    multiple: (count: string) => `${count} saw several variants`,
    holdout: (count: string) => `${count} in the holdout`,
    earlier: (count: string) => `${count} exposed in an earlier phase`,
    without: (count: number) => `${counted(count, "call", "calls")} of the flag without a variant`,
    testAccounts: "Test accounts of the project",
    bySeen: "People who saw several variants count for the first one.",
    toCohort: "Save as cohort",
    openCohort: "Open cohort",
    cohortMade: "Cohort created. It is kept up to date.",
    event: "Exposure event",
  },
  roles: { primary: "Primary metrics", secondary: "Secondary metrics", guardrail: "Guardrails" },
  roleHints: {
    primary: (comparisons: number) =>
      comparisons > 1
        ? `They decide the verdict. Intervals are wider because ${comparisons} comparisons are made.`
        : "It decides the verdict.",
    secondary: "For exploration: they do not affect the verdict.",
    guardrail: "They must not get worse. One that does stops the experiment.",
  },
  noMetrics: "No metrics yet. Add one in Setup.",
  unnamed: "Unnamed metric",
  goals: { increase: "higher is better", decrease: "lower is better" },
  outcomes: {
    better: "Better",
    worse: "Worse",
    unclear: "Not decided yet",
    harmed: "Worse",
    safe: "Within tolerance",
    not_harmed_so_far: "No harm so far",
    none: "Not enough data yet",
  },
  failed: "Could not be calculated",
  problems: {
    "not-enough-exposures": "Each variant needs 50 people.",
    "not-enough-metric-data": "Each variant needs 5 conversions.",
    "baseline-mean-is-zero":
      "The baseline is 0, so there is no relative change. See the difference.",
    no_variance: "All people have the same value, so nothing can be compared.",
    truncated: "Somebody has more than 10,000 events; only those are counted.",
    cap_is_zero: "The upper limit of values would be 0, so it is not applied.",
    starters_differ:
      "The variants differ in how many people start, so the shares that come back cannot be compared.",
  } as Readonly<Record<string, string>>,
  unknownEvent: (names: string) => `Never received: ${names}`,
  /** The text of an interval for those who do not see it. */
  interval: (variant: string, estimate: string, range: string) =>
    `${variant}: ${estimate}, ${range}`,
  range: (low: string, high: string) => `between ${low} and ${high}`,
  noRange: "no interval yet",
  noChange: "No change",
  axis: "Change relative to the baseline",
  against: (baseline: string) => `compared with ${baseline}`,
  numbers: "Numbers",
  numbersOf: (name: string) => `Numbers of ${name}`,
  columns: {
    variant: "Variant",
    n: "People",
    value: "Value",
    difference: "Difference",
    lift: "Change",
    interval: "Interval",
    p: "p-value",
    chance: "Chance to win",
  },
  /** With the confidence in percent. */
  methods: {
    sequential: (level: string) =>
      `Sequential test, ${level} confidence: p-values and intervals hold at any time.`,
    fixed: (level: string) => `Fixed-sample test, ${level} confidence.`,
    bayesian: (level: string) => `Bayesian, ${level} credible intervals.`,
  },
  harm: (estimate: string, lower: string | null) =>
    lower === null
      ? `Harm beyond the tolerance: ${estimate}.`
      : `Harm beyond the tolerance: ${estimate}, at least ${lower}.`,
  unadjusted: (change: string, range: string) => `Without CUPED: ${change}, ${range}.`,
  none: "–",
} as const;
