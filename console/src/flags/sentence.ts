import type { PropertyFilter } from "@/filters";
import { words as filterWords } from "@/words/filters";
import { words } from "@/words/flagSentence";
import { type Condition, evaluationOrder, type FlagBody, type Rules, readRules } from "./model";

/** Names for what rules hold by number. */
export interface Names {
  /** Cohort id → name. */
  cohorts?: ReadonlyMap<string, string>;
  /** Flag id → key. */
  flags?: ReadonlyMap<string, string>;
  /** Index of a group type → its name. */
  groupTypes?: ReadonlyMap<number, string>;
}

/** A sentence in parts, so that names and values are set as code. */
export type SentencePart = { kind: "text" | "code"; text: string };

const CONDITIONS_MAX = 4;
const VALUES_MAX = 5;

const text = (value: string): SentencePart => ({ kind: "text", text: value });
const code = (value: unknown): SentencePart => ({ kind: "code", text: String(value) });

/** Where a flag is evaluated. */
export type Places = Partial<Pick<FlagBody, "evaluation_runtime">> & {
  evaluation_contexts?: readonly string[] | null | undefined;
};

/** "20% of people whose plan is pro, then 5% of everyone; only on servers" */
export function flagSentence(flag: Places & Pick<FlagBody, "filters">, names: Names = {}): string {
  const rules = readRules(flag.filters);
  return rules === null ? words.cannotTell : sentenceText(flagParts(rules, flag, names));
}

/** Return the rules of a flag, and where it is evaluated, as one sentence. */
export function flagParts(rules: Rules, places: Places, names: Names = {}): SentencePart[] {
  const { evaluation_runtime: runtime, evaluation_contexts: contexts } = places;
  const known = contexts ?? [];
  return [
    ...rulesParts(rules, names),
    ...(runtime === "server" ? [text(words.onServers)] : []),
    ...(runtime === "client" ? [text(words.inClients)] : []),
    ...(known.length > 0 ? [text(words.inContexts(known.length)), ...listed(known, words.or)] : []),
  ];
}

export function sentenceText(parts: readonly SentencePart[]): string {
  const joined = parts.map((part) => part.text).join(" ");
  return joined.replaceAll(/ ([,;)])/g, "$1").replaceAll("( ", "(");
}

/** Return the rules of a flag as one sentence that is always true.
 *
 * It follows the order of evaluation and leaves out conditions that are never reached.
 */
export function rulesParts(rules: Rules, names: Names = {}): SentencePart[] {
  const parts = conditionList(rules, names);
  if (isUsed(rules.raw.super_groups)) parts.push(text(words.earlyAccess));
  if (isUsed(rules.raw.holdout_groups)) parts.push(text(words.heldOut));
  const [first, ...rest] = parts;
  if (first === undefined || first.kind === "code") return parts;
  return [text(first.text.charAt(0).toUpperCase() + first.text.slice(1)), ...rest];
}

function conditionList(rules: Rules, names: Names): SentencePart[] {
  const effective: Condition[] = [];
  for (const place of evaluationOrder(rules.conditions)) {
    const condition = rules.conditions[place];
    if (condition === undefined || condition.share <= 0) continue;
    effective.push(condition);
    // It matches all: those that follow are never reached.
    if (condition.properties.length === 0 && condition.share >= 100) break;
  }
  if (effective.length === 0) return [text(words.none)];
  const shown = effective.slice(0, CONDITIONS_MAX);
  const left = effective.length - shown.length;
  return [
    ...shown.flatMap((condition, at) => [
      ...(at > 0 ? [text(words.next)] : []),
      ...conditionParts(condition, rules.groupTypeIndex, names),
    ]),
    ...(left > 0 ? [text(words.moreConditions(left))] : []),
  ];
}

/** "20% of people whose plan is pro" */
export function conditionParts(
  condition: Condition,
  groupTypeIndex: number | null,
  names: Names = {},
): SentencePart[] {
  const { share, variant, properties } = condition;
  return [
    ...(share < 100 ? [text(words.of(share))] : []),
    text(subject(properties.length === 0, groupTypeIndex, names)),
    ...properties.flatMap((property, at) => [
      ...(at > 0 ? [text(words.and)] : []),
      ...propertyParts(property, names),
    ]),
    ...(variant === null ? [] : [text("("), text(words.always), code(variant), text(")")]),
  ];
}

function subject(isAll: boolean, groupTypeIndex: number | null, names: Names): string {
  if (groupTypeIndex === null) return isAll ? words.everyone : words.people;
  const type = names.groupTypes?.get(groupTypeIndex) ?? words.groupType(groupTypeIndex);
  return isAll ? words.allGroups(type) : words.groups(type);
}

/** "whose plan is pro", "in the cohort Payers" */
export function propertyParts(property: PropertyFilter, names: Names): SentencePart[] {
  const { type, key, operator, value, negation } = property;
  if (type === "cohort") {
    const isOut = (operator === "not_in") !== (negation === true);
    const name = names.cohorts?.get(String(value)) ?? value;
    return [text(isOut ? words.notInCohort : words.inCohort), code(name ?? words.nothingYet)];
  }
  if (type === "flag") {
    const verb = negation === true ? words.isNot : words.is;
    return [text(words.forWhomFlag), code(names.flags?.get(key) ?? key), text(verb), code(value)];
  }
  const verb = filterWords.operators[operator];
  return [
    text(words.whose),
    code(key || words.nothingYet),
    ...(negation === true ? [text(words.not)] : []),
    text(verb),
    ...valueParts(property),
  ];
}

function valueParts({ operator, value }: PropertyFilter): SentencePart[] {
  if (operator === "is_set" || operator === "is_not_set") return [];
  if (value === undefined || value === null) return [text(words.nothingYet)];
  if (!Array.isArray(value)) return [code(value)];
  const joint = operator.endsWith("between") ? words.and : words.or;
  return listed(value, joint);
}

function listed(values: readonly unknown[], joint: string): SentencePart[] {
  const shown = values.slice(0, VALUES_MAX);
  const left = values.length - shown.length;
  return [
    ...shown.flatMap((one, at) => [
      ...(at > 0 ? [text(at === values.length - 1 ? joint : words.comma)] : []),
      code(one),
    ]),
    ...(left > 0 ? [text(words.moreValues(left))] : []),
  ];
}

const isUsed = (groups: unknown): boolean => Array.isArray(groups) && groups.length > 0;
