import { words } from "@/words/flagEditor";
import { type Condition, isObject, isSame, type Rules, readRules, type Variant } from "../model";
import { conditionParts, type Names, type SentencePart, sentenceText } from "../sentence";
import type { Fields } from "./fields";
import { matches } from "./merge";

/** One difference, in words. null: it was not there, or is not there any more */
export interface Difference {
  what: string;
  before: string | null;
  after: string | null;
}

/** Return what a save would change. */
export function differences(before: Fields, after: Fields, names: Names): Difference[] {
  const [was, is] = [readRules(before.filters), readRules(after.filters)];
  if (was === null || is === null) {
    const rules = isSame(before.filters, after.filters)
      ? []
      : [{ what: words.differences.json, before: null, after: null }];
    return [...rules, ...settings(before, after)];
  }
  return [
    ...groupType(was, is, names),
    ...conditions(was, is, names),
    ...variants(was.variants, is.variants),
    ...payloads(was, is),
    ...others(was, is),
    ...settings(before, after),
  ];
}

const said = (parts: readonly SentencePart[]): string => sentenceText(parts);

function groupType(was: Rules, is: Rules, names: Names): Difference[] {
  if (was.groupTypeIndex === is.groupTypeIndex) return [];
  const name = (index: number | null) =>
    index === null ? words.people : (names.groupTypes?.get(index) ?? words.groupType(index));
  const [before, after] = [name(was.groupTypeIndex), name(is.groupTypeIndex)];
  return [{ what: words.differences.groupType, before, after }];
}

function conditions(was: Rules, is: Rules, names: Names): Difference[] {
  const isEqual = (one: unknown, other: unknown) =>
    isObject(one) && isObject(other) && isSame(one.raw, other.raw);
  const kept = matches(was.conditions, is.conditions, isEqual);
  const keptAfter = new Set(kept.values());
  const text = (rules: Rules, condition: Condition) =>
    said(conditionParts(condition, rules.groupTypeIndex, names));
  const gone = was.conditions.map((one, at) => ({ one, at })).filter(({ at }) => !kept.has(at));
  const come = is.conditions.map((one, at) => ({ one, at })).filter(({ at }) => !keptAfter.has(at));
  const found: Difference[] = [];
  for (const { one, at } of come) {
    const moved = gone.findIndex((former) => isSame(former.one.raw, one.raw));
    const place = moved >= 0 ? moved : gone.findIndex((former) => former.at === at);
    const [former] = place >= 0 ? gone.splice(place, 1) : [];
    const what = words.condition(at + 1);
    const after = text(is, one);
    if (former === undefined) found.push({ what, before: null, after });
    else if (moved >= 0) {
      found.push({ what, before: words.differences.asCondition(former.at + 1), after });
    } else found.push({ what, before: text(was, former.one), after });
  }
  const removed = gone.map(({ one, at }) => ({
    what: words.condition(at + 1),
    before: text(was, one),
    after: null,
  }));
  return [...found, ...removed];
}

function variants(was: readonly Variant[], is: readonly Variant[]): Difference[] {
  const text = ({ share, name }: Variant) => (name ? `${share}%, ${name}` : `${share}%`);
  const before = new Map(was.map((one) => [one.key, one]));
  const after = new Map(is.map((one) => [one.key, one]));
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].flatMap((key) => {
    const [one, other] = [before.get(key), after.get(key)];
    if (one && other && isSame(one.raw, other.raw)) return [];
    return [
      {
        what: words.variantNamed(key),
        before: one ? text(one) : null,
        after: other ? text(other) : null,
      },
    ];
  });
}

function payloads(was: Rules, is: Rules): Difference[] {
  const keys = new Set([...Object.keys(was.payloads), ...Object.keys(is.payloads)]);
  return [...keys].flatMap((key) => {
    const [before, after] = [was.payloads[key], is.payloads[key]];
    if (isSame(before, after)) return [];
    return [{ what: words.payloadOf(key), before: payloadText(before), after: payloadText(after) }];
  });
}

function payloadText(payload: unknown): string | null {
  if (payload === undefined) return null;
  return typeof payload === "string" ? payload : JSON.stringify(payload);
}

const SHOWN = ["groups", "multivariate", "payloads", "aggregation_group_type_index"];

function others(was: Rules, is: Rules): Difference[] {
  const names = new Set([...Object.keys(was.raw), ...Object.keys(is.raw)]);
  return [...names].flatMap((name) => {
    const [before, after] = [was.raw[name], is.raw[name]];
    if (SHOWN.includes(name) || isSame(before, after)) return [];
    return [{ what: name, before: payloadText(before), after: payloadText(after) }];
  });
}

const SETTINGS = [
  "key",
  "ensure_experience_continuity",
  "bucketing_identifier",
  "evaluation_runtime",
  "evaluation_contexts",
] as const;

function settings(before: Fields, after: Fields): Difference[] {
  return SETTINGS.flatMap((name) =>
    isSame(before[name], after[name])
      ? []
      : [
          {
            what: words.settingNames[name],
            before: words.settingValue(before[name]),
            after: words.settingValue(after[name]),
          },
        ],
  );
}
