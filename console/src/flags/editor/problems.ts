import { useEffect, useId, useRef, useState } from "react";
import { words } from "@/words/flagEditor";
import { type Rules, shareSum } from "../model";
import type { Fields } from "./fields";
import { isKey } from "./SettingsCard";
import { isConditionComplete } from "./useReach";

/** Reports what is wrong with the text of a field, which was not applied; null: nothing. */
export type OnProblem = (field: string, problem: string | null) => void;

/** Returns the problems of the fields of a form, and takes their reports. */
export function useFieldProblems(): [readonly string[], OnProblem] {
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map());
  const report: OnProblem = (field, problem) =>
    setProblems((known) => {
      if ((known.get(field) ?? null) === problem) return known;
      const next = new Map(known);
      if (problem === null) next.delete(field);
      else next.set(field, problem);
      return next;
    });
  return [[...problems.values()], report];
}

/** Reports the problem of a field until the field goes. */
export function useProblem(problem: string | null, onProblem: OnProblem): void {
  const field = useId();
  const report = useRef(onProblem);
  useEffect(() => {
    report.current = onProblem;
  });
  useEffect(() => {
    report.current(field, problem);
  }, [field, problem]);
  useEffect(() => () => report.current(field, null), [field]);
}

/** Return what is missing before the flag can be saved, in words. The server checks the rest.
 *
 * ofFields: what is wrong with texts that were not applied
 */
export function problemsOf(
  fields: Fields,
  rules: Rules | null,
  ofFields: readonly string[],
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
  return [...problems, ...ofFields];
}
