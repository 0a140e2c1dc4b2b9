import type { Breakdown } from "./breakdowns";
import { isOfPaths } from "./breakdowns";
import { patternOf, type Rule } from "./cleaning";
import { type Condition, isTooLong, type Value } from "./conditions";
import type { Common } from "./queries";
import type { ChangeWebSearch, WebSearch } from "./search";

/** What all parts of the screen are told. */
export interface View {
  search: WebSearch;
  change: ChangeWebSearch;
  /** The project's time zone, in which days begin. */
  zone: string;
  common: Common;
  where: readonly Condition[];
  /** The project's rules for paths; none where paths are shown as they are. */
  rules: readonly Rule[];
  /** The events in the list of goals. */
  goals: readonly string[];
}

/** Return the condition of a row, or why everything cannot be filtered by it. */
export function conditionOf(
  { rules }: Pick<View, "rules">,
  by: Breakdown,
  value: Value,
): Condition | "tooLong" | "cleaned" {
  if (isTooLong(value)) return "tooLong";
  if (rules.length === 0 || !isOfPaths(by) || typeof value !== "string") return { by, value };
  return patternOf(value, rules) === null ? "cleaned" : { by, value, cleaned: true };
}
