import { counted, formatNumber, type Unit } from "@/words/format";

/** As the server writes percentages in verdicts. share: 0 to 100 */
const formatShare = (share: number): string => `${formatNumber(share)}\u00a0%`;

type Goal = "increase" | "decrease";

const sign = (goal: Goal): string => (goal === "increase" ? "+" : "−");

export const words = {
  /** What is counted. */
  units: { people: { one: "person", many: "people" }, groups: { one: "group", many: "groups" } },
  title: "Experiments",
  one: "Experiment",
  newTitle: "New experiment",
  description: "Compare variants of a feature flag by what people do.",
  create: "New experiment",
  viewerHint: "You are a viewer. Ask an administrator to make you a member.",
  search: "Search for experiments",
  stateFilter: "Status",
  anyState: "Any status",
  states: { draft: "Draft", running: "Running", paused: "Paused", stopped: "Stopped" },
  archived: "Archived",
  columns: {
    name: "Experiment",
    state: "Status",
    verdict: "Verdict",
    flag: "Feature flag",
    days: "Days",
    exposures: "People",
    by: "Created by",
    created: "Created",
  },
  noDays: "–",
  noVerdict: "Calculated within an hour.",
  csvName: "experiments.csv",
  emptyTitle: "No experiments yet",
  emptyHint:
    "An experiment shows each variant of a feature flag to a share of people, and tells you which variant does better.",
  noMatch: "No experiments match.",
  archivedTitle: "Archived",
  archivedHint: "Experiments that have ended and are out of the list. Open one to restore it.",
  noArchived: "No archived experiments.",
  flag: "Flag",
  runsFor: (days: number) => `Running for ${counted(days, "day", "days")}`,
  ranFor: (days: number) => `Ran for ${counted(days, "day", "days")}`,
  tabs: {
    label: "About this experiment",
    results: "Results",
    setup: "Setup",
    activity: "Activity",
  },
  name: "Name",
  descriptionField: "Description",
  flagField: {
    label: "Feature flag",
    isNew: "A new flag with this key is created. Choose an existing one to use its variants.",
    exists: (variants: string) => `Existing flag: ${variants}. Its conditions stay as they are.`,
  },
  metric: {
    roles: { primary: "Primary metric", secondary: "Secondary metrics", guardrail: "Guardrails" },
    roleHints: { primary: "What the experiment is decided by." },
    others: "Other metrics",
    othersHint:
      "Secondary metrics are shown, but decide nothing. Guardrails must not get worse: if one does, the verdict is to stop.",
    one: {
      primary: "primary metric",
      secondary: "secondary metric",
      guardrail: "guardrail",
    },
    numbered: (name: string, place: number, count: number) =>
      count > 1 ? `${name} ${place}` : name,
    add: {
      primary: "Add a metric",
      secondary: "Add a secondary metric",
      guardrail: "Add a guardrail",
    },
    addAnother: {
      primary: "Add another metric",
      secondary: "Add another secondary metric",
      guardrail: "Add another guardrail",
    },
    addSaved: {
      primary: "Use a saved metric",
      secondary: "Use a saved metric",
      guardrail: "Use a saved metric as a guardrail",
    },
    saved: "Saved metric",
    unknown: "This metric uses options that cannot be edited here. It stays as it is.",
    remove: (name: string) => `Remove ${name}`,
    typeOf: (name: string) => `Kind of ${name}`,
    types: {
      funnel: "Conversion rate",
      mean: "Average per person",
      ratio: "Ratio",
      retention: "Retention",
    },
    hints: {
      funnel: "The share of people who do this, or all steps in this order.",
      mean: "How much of this each person does. People who do nothing count as 0.",
      ratio: "One total divided by another, such as revenue per order.",
      retention: "The share of those who start that comes back.",
    },
    goalOf: (name: string) => `Goal of ${name}`,
    goals: { increase: "should go up", decrease: "should go down" },
    steps: "Steps",
    step: "Step",
    event: "Event",
    numerator: "Numerator",
    denominator: "Denominator",
    start: "Start event",
    completion: "Return event",
    comesBack: "comes back on day",
    toDay: "to",
    daysLater: "after the start",
    firstDay: "First day of the return",
    lastDay: "Last day of the return",
    more: "Name and time limit",
    name: "Name of the metric",
    window: "Time limit",
    windowUnit: "Unit of the time limit",
    noWindow: "none",
    windowHint: "Count only what happens within this time after a person first sees the flag.",
    units: { minute: "minutes", hour: "hours", day: "days", week: "weeks" },
    tolerance: {
      increase: "May go down by at most",
      decrease: "May go up by at most",
    },
    toleranceOf: (name: string) => `Tolerance of ${name}`,
  },
  plan: {
    title: "How long it takes",
    noMetric: "Choose the event of the primary metric to see how long the experiment takes.",
    finds: (effect: number, goal: Goal, days: number) =>
      `Finds ${sign(goal)}${formatShare(effect)} in about ${counted(days, "day", "days")}`,
    needs: (size: number, variants: number, unit: Unit) =>
      `With ${counted(size, unit.one, unit.many)} in ${counted(variants, "variant", "variants")}.`,
    basis: (daily: number, rollout: number | null, unit: Unit) =>
      rollout === null || rollout === 100
        ? `${formatNumber(Math.round(daily))} new ${unit.many} a day in the last 14 days.`
        : `${formatNumber(Math.round(daily))} new ${unit.many} a day in the last 14 days; ${formatShare(rollout)} take part.`,
    long: (unit: Unit) =>
      `To be faster, look for a larger change, or for something that more ${unit.many} do.`,
    inWeeks: (weeks: number, effect: number) =>
      `In ${counted(weeks, "week", "weeks")}: changes of ${formatShare(Math.round(effect * 10) / 10)} or more`,
    effect: { increase: "Find an increase of at least", decrease: "Find a decrease of at least" },
    effectLabel: "Smallest change to find, in percent",
    assumptions: "Who will take part",
    people: "Count people who do",
    peopleHint:
      "Choose what people do where the flag is used, such as opening the checkout. It changes the estimate only.",
    problems: {
      no_data: "No estimate yet: nobody did this in the last 14 days. You can launch without one.",
      no_variance:
        "No estimate: everybody had the same value in the last 14 days. You can launch without one.",
      too_large: "No estimate: the values are too large.",
    } as Readonly<Record<string, string>>,
  },
  split: {
    title: "Variants",
    key: (place: number) => `Key of variant ${place}`,
    share: (key: string) => `Share of ${key}`,
    remove: (key: string) => `Remove variant ${key}`,
    sum: (sum: number) => `The shares add up to ${formatShare(sum)}, not 100\u00a0%.`,
    add: "Add variant",
    even: "Even out",
    rollout: "People who take part, in percent",
    ofPeople: "% of people take part",
  },
  people: {
    title: "Who takes part",
    exposure: "A person takes part from",
    byFlag: "the first call of the flag",
    byEvent: "an event with the variant",
    flagHint: "When your app asks for the flag. The SDKs send this by themselves.",
    ownHint: "The first such event that has the variant of the flag as a property.",
    event: "Event of the exposure",
    withoutTests: "Leave out test accounts",
    holdout: "Holdout",
    holdoutHint: "People in the holdout never see a variant.",
    noHoldout: "No holdout",
  },
  saveDraft: "Save as draft",
  noPrimary: "Choose the event of the primary metric before the launch, or save a draft.",
  save: "Save",
  saved: "Experiment saved",
  discard: "Discard",
  unsaved: "Unsaved changes",
  launchedHint:
    "Changes of metrics apply to everything since the launch. Variants and holdout no longer change.",
  conflict: "This experiment was changed while you edited it",
  fields: {
    name: "Name",
    description: "Description",
    metrics: "Primary metrics",
    metrics_secondary: "Secondary metrics",
    guardrail_metrics: "Guardrails",
    saved_metrics_ids: "Saved metrics",
    exposure_criteria: "Who takes part",
    holdout_id: "Holdout",
    parameters: "Variants and plan",
  },
  /** The values of changed fields. */
  changed: {
    nothing: "–",
    share: (key: string, share: number) => `${key} ${formatShare(share)}`,
    rollout: (share: number) => `${formatShare(share)} of people take part`,
    effect: (effect: number) => `Smallest change to find: ${formatShare(effect)}`,
  },
  created: (name: string) => `Created ${name}`,
  launch: "Launch",
  launched: (name: string) => `Launched ${name}`,
  command: { group: "Experiments", alsoCalled: ["a/b test", "ab test", "split test"] },
} as const;
