import { counted, formatNumber } from "@/words/format";

const percent = (share: number): string => `${formatNumber(share)}%`;

/** Up to three digits that say something: 0.00213, 12.4. */
const short = (value: number): string =>
  Math.abs(value) >= 100 ? formatNumber(value) : String(Number(value.toPrecision(3)));

export const words = {
  title: "Guarded release",
  hint: "Raises the rollout step by step while the metrics you choose are compared between people with the flag and people without it. It stops or rolls back when one gets worse.",
  none: "No guarded release. Start one to reach everyone in steps, with a rollback if something breaks.",
  flagOff: "Switch the flag on to start a guarded release.",
  start: "Start guarded release",
  startAnother: "Start another",
  percent,
  states: {
    running: "Running",
    holding: "On hold",
    paused: "Paused",
    rolled_back: "Rolled back",
    completed: "Completed",
    cancelled: "Cancelled",
  },
  step: (number: number, count: number, share: number) =>
    `Step ${number} of ${count}, ${percent(share)}`,
  next: (share: number, at: string) => `goes on to ${percent(share)} on ${at} at the earliest`,
  ends: (at: string) => `completes on ${at} at the earliest`,
  due: (share: number | null) =>
    share === null
      ? "completes with the next check"
      : `goes on to ${percent(share)} with the next check`,
  waits: (share: number | null) =>
    share === null
      ? "completes when nothing holds it"
      : `goes on to ${percent(share)} when nothing holds it`,
  isPaused: "nothing is checked and nothing changes until you resume",
  completed: (share: number) => `The rollout is at ${percent(share)}.`,
  cancelled: (share: number) =>
    `The release ended at ${percent(share)} and the rollout stayed there.`,
  rolledBack: (share: number, former: number) =>
    `The rollout was at ${percent(share)} and went back to ${percent(former)}.`,
  reasons: {
    by_user: "Somebody stopped it.",
    cannot_be_computed:
      "A metric could not be calculated, so the release waits. It is checked again every five minutes.",
    event_store_unavailable: "The event store does not answer, so the release waits.",
    flag_deleted: "The flag was deleted.",
    flag_off: "The flag is off, so nobody can be compared. Switch it on to go on.",
    harmed: "A metric got worse.",
    no_permission:
      "Whoever started the release may no longer edit this flag. Resume it to take it over.",
    percentage_changed:
      "Somebody changed the rollout percentage. Resume to set the percentage of the step again.",
    split_mismatch:
      "The numbers of people with and without the flag do not match the percentage, so the comparison cannot be trusted.",
    too_few: (count: number) =>
      `Not enough people yet: it needs ${formatNumber(count)} with the flag and ${formatNumber(count)} without it.`,
  },
  by: (name: string) => `by ${name}`,
  checked: "Last checked",
  notChecked: "Not checked yet",
  checkNow: "Check now",
  pause: "Pause",
  resume: "Resume",
  change: "Change steps…",
  end: "End release…",
  more: "More actions of the guarded release",
  done: {
    started: "Guarded release started",
    checked: "Checked",
    paused: "Guarded release paused",
    resumed: "Guarded release resumed",
    changed: "Guarded release changed",
    completed: (share: number) => `Released to ${percent(share)}`,
    cancelled: "Guarded release ended",
    rolledBack: (share: number) => `Rolled back to ${percent(share)}`,
  },
  steps: "Steps",
  passed: "passed",
  current: "now",
  upcoming: "to come",
  stepText: (share: number, hold: string | null) =>
    hold === null ? percent(share) : `${percent(share)} for ${hold}`,
  minutes: (count: number) => counted(count, "minute", "minutes"),
  hours: (count: number) => counted(count, "hour", "hours"),
  days: (count: number) => counted(count, "day", "days"),
  guardrails: "Guardrails",
  outcomes: {
    harmed: "Worse",
    safe: "Within tolerance",
    not_harmed_so_far: "No harm so far",
    none: "Not enough data yet",
  },
  metric: {
    people: (event: string) => `People with “${event}”`,
    events: (event: string) => `“${event}” per person`,
    average: (property: string, event: string) => `Average ${property} of “${event}”`,
    anyEvent: "any event",
    other: "Metric",
  },
  limit: (isLess: boolean, tolerance: number) =>
    tolerance === 0
      ? `must not ${isLess ? "decrease" : "increase"}`
      : `may ${isLess ? "decrease" : "increase"} by at most ${percent(tolerance * 100)}`,
  chart: (name: string, text: string) => `${name}: ${text}`,
  atLimit: "limit",
  /** unit: such as " percentage points" */
  harm: (harm: number, unit: string) =>
    harm > 0
      ? `Estimate: ${short(harm)}${unit} past the limit.`
      : `Estimate: ${short(-harm)}${unit} within the limit.`,
  lower: (lower: number, unit: string) =>
    lower > 0
      ? `At least ${short(lower)}${unit} past it.`
      : `It may still be up to ${short(-lower)}${unit} within it, so no harm is shown.`,
  points: " percentage points",
  perPerson: " per person",
  plain: "",
  everyone: "Everyone with the flag is affected and nobody without it, so there is no interval.",
  notMeasured: "Calculated once people with and without the flag were seen.",
  history: "History",
  historyEntry: (state: string, number: number, share: number) =>
    `${state}: step ${number}, ${percent(share)}`,
  dialog: {
    title: "Start guarded release",
    changeTitle: "Change guarded release",
    about:
      "The flag goes to the first step at once. Each further step follows when its time has passed and no metric got worse.",
    condition: "Condition",
    conditionName: (number: number, sentence: string) => `${number}: ${sentence}`,
    steps: "Steps",
    stepHint: (share: number) => `The rollout is at ${percent(share)} now.`,
    share: (number: number) => `Percentage of step ${number}`,
    hold: (number: number) => `Time of step ${number}`,
    unit: (number: number) => `Unit of time of step ${number}`,
    units: { minutes: "minutes", hours: "hours", days: "days" },
    everyone: "everyone, and the release is complete",
    fixed: "passed",
    addStep: "Add step",
    removeStep: (number: number) => `Remove step ${number}`,
    rising: "Percentages must rise from step to step, up to 100, and each step needs a time.",
    guardrails: "Guardrails",
    guardrailHint: "Choose what must not get worse, such as errors or purchases.",
    guardrail: (number: number) => `Guardrail ${number}`,
    addGuardrail: "Add guardrail",
    removeGuardrail: (number: number) => `Remove guardrail ${number}`,
    event: "Event",
    measure: "Measure",
    measures: {
      people: "People who did it",
      events: "Number per person",
      average: "Average of a property",
    },
    property: "Property",
    worse: "Worse if it",
    goals: { decrease: "increases", increase: "decreases" },
    tolerance: "Tolerated change in %",
    onRegression: "If a guardrail gets worse",
    regressions: {
      rollback: (share: number) => `Roll back to ${percent(share)}`,
      pause: "Pause at the current percentage",
      notify: "Go on and report it",
    },
    regressionHints: {
      rollback: "The rollout goes back to where it was before the release.",
      pause: "People keep what they have until you decide.",
      notify: "It is listed at Home and sent to webhooks.",
    },
    options: "More options",
    people: "People needed on each side",
    peopleHint: "A step waits for as many people with the flag and without it.",
    onTooFew: "If there are fewer when the time of a step has passed",
    tooFew: { hold: "Wait for more", continue: "Go on" },
    tooFewHints: {
      hold: "After seven days of waiting the release pauses.",
      continue: "Small steps then pass without being tested.",
    },
    submit: "Start",
    save: "Save",
  },
  ending: {
    title: "End guarded release",
    how: "What happens to the rollout",
    everyone: (share: number) => `Go to ${percent(share)} now`,
    everyoneHint: "The remaining steps and their checks are skipped.",
    stay: (share: number) => `Stay at ${percent(share)}`,
    stayHint: "The release ends and the rollout does not change.",
    back: (share: number) => `Go back to ${percent(share)}`,
    backHint: "As before the release.",
    submit: "End release",
    conflict:
      "The flag has changed since you opened this page. Close this dialog, check the flag and try again.",
  },
} as const;
