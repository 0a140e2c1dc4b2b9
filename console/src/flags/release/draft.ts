import type { NewRelease, Release } from "./queries";

export type Unit = "minutes" | "hours" | "days";
export type Measure = "people" | "events" | "average";

/** A step that is not sent yet; null where nothing is typed. */
export interface DraftStep {
  id: number;
  share: number | null;
  hold: number | null;
  unit: Unit;
}

export interface DraftGuardrail {
  id: number;
  measure: Measure;
  event: string | null;
  property: string | null;
  goal: "increase" | "decrease";
  /** Percent. */
  tolerance: number | null;
}

export interface Draft {
  condition: number;
  steps: readonly DraftStep[];
  guardrails: readonly DraftGuardrail[];
  onRegression: NonNullable<NewRelease["on_regression"]>;
  onTooFew: NonNullable<NewRelease["on_too_few"]>;
  people: number | null;
}

const MINUTES: Readonly<Record<Unit, number>> = { minutes: 1, hours: 60, days: 1440 };
// An hour finds what is broken, a day what differs by the time of day.
const DEFAULT_STEPS: readonly Omit<DraftStep, "id">[] = [
  { share: 5, hold: 1, unit: "hours" },
  { share: 25, hold: 6, unit: "hours" },
  { share: 50, hold: 1, unit: "days" },
  { share: 100, hold: null, unit: "days" },
];
const ENOUGH_PEOPLE = 100;

/** The usual steps that are above the percentage now. */
export function defaultSteps(shareNow: number): DraftStep[] {
  return DEFAULT_STEPS.filter(({ share }) => (share ?? 0) > shareNow).map((step, id) => ({
    id,
    ...step,
  }));
}

export const newGuardrail = (id: number): DraftGuardrail => ({
  id,
  measure: "people",
  event: null,
  property: null,
  goal: "decrease",
  tolerance: 0,
});

export const newDraft = (shareNow: number): Draft => ({
  condition: 0,
  steps: defaultSteps(shareNow),
  guardrails: [newGuardrail(0)],
  onRegression: "rollback",
  onTooFew: "hold",
  people: ENOUGH_PEOPLE,
});

/** A release as it can be changed: its guardrails are fixed. */
export const draftOf = (release: Release): Draft => ({
  condition: release.condition_index,
  steps: release.steps.map((step, id) => ({
    id,
    share: step.rollout_percentage,
    ...inUnits(step.hold_minutes ?? null),
  })),
  guardrails: [],
  onRegression: release.on_regression,
  onTooFew: release.on_too_few,
  people: release.minimum_exposures,
});

function inUnits(minutes: number | null): Pick<DraftStep, "hold" | "unit"> {
  if (minutes === null) return { hold: null, unit: "days" };
  const unit =
    (["days", "hours"] as const).find((one) => minutes % MINUTES[one] === 0) ?? "minutes";
  return { hold: minutes / MINUTES[unit], unit };
}

/** Another step before 100%, half of the way there. */
export function withStep(steps: readonly DraftStep[], shareNow: number): DraftStep[] {
  const id = Math.max(-1, ...steps.map((step) => step.id)) + 1;
  const last = steps.at(-1);
  if (last === undefined) return defaultSteps(shareNow).slice(-1);
  const before = steps.at(-2)?.share ?? shareNow;
  if ((last.share ?? 0) < 100) return [...steps, { id, share: 100, hold: null, unit: "days" }];
  const share = Math.round((before + 100) / 2);
  return [...steps.slice(0, -1), { id, share, hold: 1, unit: "days" }, last];
}

/** Whether everyone has the flag at this step, which completes the release. */
export const isForEveryone = ({ share }: DraftStep): boolean => share === 100;

/** The steps as they are sent; null while one is missing something or does not rise. */
export function stepsOf(steps: readonly DraftStep[], shareNow: number): NewRelease["steps"] | null {
  let before = shareNow;
  const sent: NewRelease["steps"] = [];
  for (const step of steps) {
    const { share, hold, unit } = step;
    if (share === null || !(share > before) || share > 100) return null;
    before = share;
    if (isForEveryone(step)) {
      sent.push({ rollout_percentage: share });
      continue;
    }
    const minutes = Math.round((hold ?? 0) * MINUTES[unit]);
    if (!(minutes >= 1)) return null;
    sent.push({ rollout_percentage: share, hold_minutes: minutes });
  }
  return sent.length > 0 ? sent : null;
}

type Sent = NewRelease["metrics"][number];

function metricOf({ measure, event, property, goal, tolerance }: DraftGuardrail): Sent | null {
  if (event === null || event === "" || tolerance === null || !(tolerance >= 0)) return null;
  const common = {
    kind: "ExperimentMetric",
    goal,
    ...(tolerance > 0 && { tolerance: tolerance / 100 }),
  };
  const node = { kind: "EventsNode", event };
  if (measure === "people") return { ...common, metric_type: "funnel", series: [node] };
  if (measure === "events") return { ...common, metric_type: "mean", source: node };
  if (property === null || property === "") return null;
  const source = { ...node, math: "avg", math_property: property };
  return { ...common, metric_type: "mean", source };
}

/** The request; null while something is missing. */
export function releaseOf(draft: Draft, shareNow: number): NewRelease | null {
  const steps = stepsOf(draft.steps, shareNow);
  const metrics = draft.guardrails.map(metricOf).filter((metric) => metric !== null);
  const isWhole = metrics.length === draft.guardrails.length && metrics.length > 0;
  if (steps === null || !isWhole || !isCount(draft.people)) return null;
  return { ...optionsOf(draft), condition_index: draft.condition, steps, metrics };
}

/** The change of a release; null while something is missing. */
export function changesOf(draft: Draft, formerShare: number) {
  const steps = stepsOf(draft.steps, formerShare);
  return steps === null || !isCount(draft.people) ? null : { ...optionsOf(draft), steps };
}

const isCount = (found: number | null): found is number =>
  Number.isInteger(found) && Number(found) >= 1;

const optionsOf = ({ onRegression, onTooFew, people }: Draft) => ({
  on_regression: onRegression,
  on_too_few: onTooFew,
  minimum_exposures: people ?? ENOUGH_PEOPLE,
});
