import type { FlagOverview } from "../listQueries";
import { evaluationOrder, type Flag, isObjects, type Rules, readRules } from "../model";
import type { ByValue, Usage } from "./usageQueries";

export type Verdict = "unused" | "same" | "recent" | "off" | "needed" | "young";

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
  const isLongSame = overview?.stale_reason === "fully_rolled_out";
  const isSame = isLongSame || isSameForAll(flag);
  const isYoung = now - Date.parse(flag.created_at) < YOUNG_MS;
  const isUsed = calls + evaluations > 0;
  return {
    verdict: verdictOf(
      flag.active,
      isYoung,
      isUsed,
      isLongSame ? "same" : isSame ? "recent" : "needed",
    ),
    isSame,
    calls,
    evaluations,
    lastEvaluatedAt: usage.last_evaluated_at,
  };
}

function verdictOf(isOn: boolean, isYoung: boolean, isUsed: boolean, otherwise: Verdict): Verdict {
  if (!isUsed) return isYoung ? "young" : "unused";
  if (!isOn) return "off";
  return otherwise;
}

/** Return whether every user gets the same value from these rules. */
export function isSameForAll(flag: Pick<Flag, "active" | "filters">): boolean {
  if (!flag.active) return true;
  const rules = readRules(flag.filters);
  if (rules === null || EXCEPTIONS.some((name) => isNonEmpty(rules.raw[name]))) return false;
  const values = new Set<string | boolean | null>();
  for (const place of evaluationOrder(rules.conditions)) {
    const condition = rules.conditions[place];
    if (condition === undefined || condition.share === 0) continue;
    values.add(condition.variant ?? onlyValueOf(rules));
    if (condition.share === 100 && condition.properties.length === 0) return isOnly(values);
  }
  return isOnly(values.add(false));
}

// They are decided before the conditions.
const EXCEPTIONS = ["holdout_groups", "super_groups"] as const;
const isNonEmpty = (part: unknown): boolean => isObjects(part) && part.length > 0;
const isOnly = (values: ReadonlySet<string | boolean | null>): boolean =>
  values.size === 1 && !values.has(null);

/** The value of everyone whom a condition includes; null: it depends on the split. */
function onlyValueOf({ variants }: Rules): string | true | null {
  const served = variants.filter((variant) => variant.share > 0);
  if (variants.length === 0) return true;
  return served.length === 1 ? (served[0]?.key ?? null) : null;
}

export const sumOf = (entries: readonly ByValue[]): number =>
  entries.reduce((sum, one) => sum + one.count, 0);
