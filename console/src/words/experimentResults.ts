import { capitalized, counted, formatNumber, type Unit } from "@/words/format";

const signed = new Intl.NumberFormat(navigator.language, {
  maximumFractionDigits: 1,
  signDisplay: "exceptZero",
});
// As the server writes percentages in verdicts, which stand beside these; they do not wrap.
const percent = (share: number): string => `${formatNumber(Math.round(share * 1000) / 10)}\u00a0%`;
const short = (value: number): string => {
  const text = Math.abs(value) >= 1000 ? formatNumber(value) : String(Number(value.toPrecision(3)));
  return text.replace(/^-/, "−");
};

export const words = {
  percent,
  short,
  /** 0.123 as "+12.3 %" */
  change: (lift: number): string => `${signed.format(lift * 100).replace("-", "−")}\u00a0%`,
  plain: (difference: number): string =>
    difference > 0 ? `+${short(difference)}` : short(difference),
  people: (count: number, unit: Unit) => counted(count, unit.one, unit.many),
  exposedAt: "First exposure",
  behindCounted: (unit: Unit, variant: string, metric: string) =>
    `${capitalized(unit.many)} with ${variant} in ${metric}`,
  behindConverted: (unit: Unit, variant: string, metric: string) =>
    `${capitalized(unit.many)} with ${variant} who converted in ${metric}`,
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
  planned: (reached: number, perVariant: number | null, unit: Unit) =>
    perVariant === null
      ? `${percent(reached)} of the planned time has passed.`
      : `${percent(reached)} of the plan reached: ${words.people(perVariant, unit)} per variant.`,
  asOf: "Calculated",
  refresh: "Refresh",
  phase: "Phase",
  phaseName: (number: number, count: number) =>
    number === count ? `Phase ${number} (current)` : `Phase ${number}`,
  phaseHint: "A phase begins when the split changes. Each is calculated by itself.",
  exposures: {
    title: (unit: Unit) => `${capitalized(unit.many)} in the experiment`,
    hint: "Counted once, on the day of the first exposure.",
    perDay: (unit: Unit) => `New ${unit.many}`,
    none: "No exposures yet.",
    table: "Exposures by variant",
    columns: { variant: "Variant", share: "Share", set: "Set to" },
    open: (unit: Unit, variant: string, count: string) =>
      `Show the ${unit.many} with ${variant}: ${count}`,
    behind: (unit: Unit, variant: string) => `${capitalized(unit.many)} with ${variant}`,
    splitTitle: "Split",
    split: {
      early: (unit: Unit) => `Checked from 100 ${unit.many} on.`,
      fine: "As set. Differences are within what chance explains.",
      small: "Slightly off, by at most half a percentage point. It does not affect the verdict.",
      bad: (unit: Unit) =>
        `The numbers of ${unit.many} do not match the percentages, so the comparison cannot be trusted.`,
    },
    left: "Not counted",
    noneExcluded: "No one was excluded.",
    multiple: (count: string) => `${count} saw several variants`,
    holdout: (count: string) => `${count} in the holdout`,
    earlier: (count: string) => `${count} exposed in an earlier phase`,
    without: (count: number) => `${counted(count, "call", "calls")} of the flag without a variant`,
    testAccounts: "Test accounts of the project",
    bySeen: (unit: Unit) =>
      `${capitalized(unit.many)} that saw several variants count for the first one.`,
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
    "not-enough-exposures": (unit) => `Each variant needs 50 ${unit.many}.`,
    "not-enough-metric-data": () => "Each variant needs 5 conversions.",
    "baseline-mean-is-zero": () =>
      "The baseline is 0, so there is no relative change. See the difference.",
    no_variance: (unit) => `All ${unit.many} have the same value, so nothing can be compared.`,
    truncated: (unit) =>
      `At least one ${unit.one} has more than 10,000 events; only those are counted.`,
    cap_is_zero: () => "The upper limit of values would be 0, so it is not applied.",
    starters_differ: (unit) =>
      `The variants differ in how many ${unit.many} start, so the shares that come back cannot be compared.`,
  } as Readonly<Record<string, (unit: Unit) => string>>,
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
    converted: "Converted",
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
