import type { FlagOverview } from "../listQueries";
import type { Flag } from "../model";
import type { ByValue, Usage } from "./usageQueries";

export type Verdict = "unused" | "same" | "off" | "needed" | "young";

/** calls, evaluations: of 30 days */
export interface Evidence {
  verdict: Verdict;
  isSame: boolean;
  calls: number;
  evaluations: number;
  lastEvaluatedAt: string | null;
}

const YOUNG_MS = 30 * 24 * 60 * 60 * 1000;

/** usage: of the last 30 days. overview: undefined where it could not be read */
export function evidenceOf(
  flag: Flag,
  usage: Usage,
  overview: FlagOverview | undefined,
  now: number,
): Evidence {
  const calls = sumOf(usage.calls);
  const evaluations = sumOf(usage.evaluations);
  const isSame = overview?.stale_reason === "fully_rolled_out";
  const isYoung = now - Date.parse(flag.created_at) < YOUNG_MS;
  const isUsed = calls + evaluations > 0;
  return {
    verdict: verdictOf(flag.active, isYoung, isUsed, isSame),
    isSame,
    calls,
    evaluations,
    lastEvaluatedAt: usage.last_evaluated_at,
  };
}

function verdictOf(isOn: boolean, isYoung: boolean, isUsed: boolean, isSame: boolean): Verdict {
  if (!isUsed) return isYoung ? "young" : "unused";
  if (!isOn) return "off";
  return isSame ? "same" : "needed";
}

export const sumOf = (entries: readonly ByValue[]): number =>
  entries.reduce((sum, one) => sum + one.count, 0);
