import type { Breakdown } from "./breakdowns";
import { isOfPaths, SOURCES } from "./breakdowns";
import { patternOf, type Rule } from "./cleaning";
import { type Condition, isTooLong, type Value } from "./conditions";
import type { Common } from "./queries";
import type { ChangeWebSearch, WebSearch } from "./search";

/** Context shared by all parts of the screen. */
export interface View {
  search: WebSearch;
  change: ChangeWebSearch;
  /** The project's time zone, which defines its days. */
  zone: string;
  common: Common;
  where: readonly Condition[];
  /** The project's path cleaning rules; empty if paths are shown unchanged. */
  rules: readonly Rule[];
  /** The events and options of actions in the goal list. */
  goals: readonly string[];
}

/** Return the condition for a row, or why it cannot be used as a filter. */
export function conditionOf(
  { rules }: Pick<View, "rules">,
  by: Breakdown,
  value: Value,
): Condition | "tooLong" | "cleaned" | "made" {
  if (SOURCES[by].isMade) return "made";
  if (isTooLong(value)) return "tooLong";
  if (rules.length === 0 || !isOfPaths(by) || typeof value !== "string") return { by, value };
  return patternOf(value, rules) === null ? "cleaned" : { by, value, cleaned: true };
}
