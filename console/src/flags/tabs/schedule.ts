import type { components } from "@/lib/schema";
import { words } from "@/words/flagRollout";
import type { Flag } from "../model";
import type { NewSchedule } from "./scheduleQueries";

export type ScheduledChange = components["schemas"]["ScheduledChangeBody"];
export type ScheduleState = "waiting" | "running" | "done" | "failed";
export type Operation = "share" | "on" | "off";

const TEXTS = words.schedule;

export function stateOf(change: ScheduledChange): ScheduleState {
  if (change.failure_reason !== null) return "failed";
  const executed = change.steps.filter(isExecuted).length;
  if (executed === change.steps.length) return "done";
  return executed > 0 ? "running" : "waiting";
}

type Step = ScheduledChange["steps"][number];
export const isExecuted = (step: Step): boolean => typeof step.executed_at === "string";

/** "50%", "switch off" */
export function stepText({ value }: Step): string {
  if (typeof value === "number") return TEXTS.share(value);
  return value ? TEXTS.on : TEXTS.off;
}

/** Return what the steps concern: "of condition 2". "" for a switch */
export function targetText({ payload }: ScheduledChange): string {
  if (payload.operation !== "update_rollout_percentage") return "";
  const index = payload.condition_index;
  return typeof index === "number" ? TEXTS.ofCondition(index + 1) : TEXTS.ofFlag;
}

/** One step of a change that is not sent yet; null where nothing is chosen. */
export interface DraftStep {
  id: number;
  share: number | null;
  at: string | null;
}

export interface Draft {
  operation: Operation;
  /** Place of the condition. */
  condition: number;
  steps: readonly DraftStep[];
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** A first step tomorrow; each further one a day later and twice as far. */
export function nextStep(steps: readonly DraftStep[], shareNow: number, now: number): DraftStep {
  const last = steps.at(-1);
  const share = last?.share ?? shareNow;
  const after = last?.at === undefined || last.at === null ? now : Date.parse(last.at);
  const at = new Date(after + DAY_MS);
  if (last === undefined) at.setUTCMinutes(0, 0, 0);
  return {
    id: (last?.id ?? 0) + 1,
    share: Math.min(100, share > 0 ? share * 2 : 10),
    at: at.toISOString(),
  };
}

/** The request; null while something is missing or in a wrong order. */
export function scheduleOf(draft: Draft, flag: Flag, now: number): NewSchedule | null {
  const [first] = draft.steps;
  if (draft.operation !== "share") {
    if (first?.at == null || Date.parse(first.at) <= now) return null;
    const value = draft.operation === "on";
    return { scheduled_at: first.at, payload: { operation: "update_status", value } };
  }
  const steps: { scheduled_at: string; value: number }[] = [];
  let before = now;
  for (const { at, share } of draft.steps) {
    if (at === null || share === null || share < 0 || share > 100) return null;
    if (Date.parse(at) <= before) return null;
    before = Date.parse(at);
    steps.push({ scheduled_at: at, value: share });
  }
  if (steps.length === 0) return null;
  const several = groupsOf(flag) > 1;
  return {
    payload: {
      operation: "update_rollout_percentage",
      ...(several && { condition_index: draft.condition }),
      steps,
    },
  };
}

export function groupsOf(flag: Flag): number {
  const { groups } = flag.filters;
  return Array.isArray(groups) ? groups.length : 0;
}

/** Return the request that schedules the remaining steps of a cancelled change again, or null. */
export function againOf(change: ScheduledChange): NewSchedule | null {
  const { payload } = change;
  const left = change.steps.filter((step) => !isExecuted(step));
  const [first] = left;
  if (first === undefined) return null;
  if (payload.operation !== "update_rollout_percentage") {
    return {
      scheduled_at: first.scheduled_at,
      payload: { operation: "update_status", value: first.value === true },
    };
  }
  const index = payload.condition_index;
  return {
    payload: {
      operation: "update_rollout_percentage",
      ...(typeof index === "number" && { condition_index: index }),
      steps: left.map((step) => ({
        scheduled_at: step.scheduled_at,
        value: Number(step.value),
      })),
    },
  };
}
