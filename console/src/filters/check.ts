import { words } from "@/words/filters";
import { isDate, readRelative } from "./dates";
import type { PropertyFilter, Scalar } from "./model";
import { isOfSet, valuesOf } from "./model";
import { inputOf, isNumber } from "./operators";

export interface FilterProblems {
  key?: string;
  value?: string;
}

/** Return the problems by field; empty if the condition can be sent. */
export function filterProblems(filter: PropertyFilter): FilterProblems {
  const needsKey = !isOfSet(filter.type) && filter.key.trim() === "";
  if (needsKey && filter.type === "hogql") return { key: words.problems.sql };
  if (needsKey) return { key: filter.type === "flag" ? words.problems.flag : words.problems.key };
  const value = valueProblem(filter);
  return value === null ? {} : { value };
}

export function isComplete(filter: PropertyFilter): boolean {
  return Object.keys(filterProblems(filter)).length === 0;
}

function valueProblem(filter: PropertyFilter): string | null {
  const { problems } = words;
  const values = valuesOf(filter);
  const [first] = values;
  const isMissing = first === undefined || (values.length === 1 && first === "");
  switch (inputOf(filter)) {
    case "none":
      return null;
    case "cohort":
      return isMissing ? problems.cohort : null;
    case "segment":
      return isMissing ? problems.segment : null;
    case "range":
      return isRange(values) ? null : problems.range;
    case "number":
      if (isMissing) return problems.value;
      return isNumber(String(first)) ? null : problems.number;
    case "date":
      if (isMissing) return problems.value;
      return dateProblem(String(first));
    case "pattern":
      return isMissing ? problems.value : patternProblem(String(first));
    default:
      return isMissing ? problems.value : null;
  }
}

function isRange(values: readonly Scalar[]): boolean {
  const [low, high] = values.map(String);
  if (low === undefined || high === undefined || values.length !== 2) return false;
  return isNumber(low) && isNumber(high) && Number(low) <= Number(high);
}

function dateProblem(text: string): string | null {
  if (isDate(text) || readRelative(text) !== null) return null;
  return text.startsWith("-") ? words.problems.relative : words.problems.date;
}

/** Checks a pattern by JavaScript's rules, without what RE2 lacks. The server decides. */
export function patternProblem(text: string): string | null {
  if (/\(\?<?[=!]/.test(text) || /(?<!\\)(?:\\\\)*\\[1-9]/.test(text))
    return words.problems.lookAround;
  // Flags in the pattern, and names after P, are RE2's own.
  const plain = text.replace(/\(\?[imsU-]+\)/g, "").replaceAll("(?P<", "(?<");
  try {
    new RegExp(plain, "u");
    return null;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // Escapes that have no meaning are errors only here.
    return isPattern(plain) ? null : words.problems.regex(reasonOf(error.message));
  }
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}

/** Browsers write the whole pattern before the reason. */
function reasonOf(message: string): string {
  return message
    .slice(message.lastIndexOf(": ") + 1)
    .trim()
    .toLowerCase();
}
