import { words } from "@/words/flagEditor";
import { type Rules, shareSum } from "../model";
import type { Fields } from "./fields";
import { isKey } from "./SettingsCard";
import { isConditionComplete } from "./useReach";

/** Return what is missing before the flag can be saved, in words. The server checks the rest.
 *
 * invalid: keys of payloads that are no JSON
 */
export function problemsOf(
  fields: Fields,
  rules: Rules | null,
  invalid: readonly string[],
  savedKey: string | null,
): string[] {
  const problems: string[] = [];
  if (fields.key === "") problems.push(words.keyNeeded);
  else if (!isKey(fields.key, savedKey)) problems.push(words.keyInvalid);
  if (rules === null) return problems;
  for (const [place, condition] of rules.conditions.entries()) {
    if (!isConditionComplete(condition)) problems.push(words.problems.properties(place + 1));
  }
  const sum = shareSum(rules.variants);
  if (rules.variants.length > 0 && sum !== 100) problems.push(words.sum(sum));
  return [...problems, ...invalid.map((key) => words.payloadInvalid(key))];
}
