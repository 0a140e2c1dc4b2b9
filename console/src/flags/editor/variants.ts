import { changedVariant, evenShares, type JsonObject, type Rules, readVariant } from "../model";

// Changes to the variants of a flag, with everything that refers to them.

const TRUE = "true";

export function renamedVariant(rules: Rules, id: string, key: string): Rules {
  const former = rules.variants.find((one) => one.id === id)?.key;
  if (former === undefined) return rules;
  const { [former]: payload, ...payloads } = rules.payloads;
  return {
    ...rules,
    variants: rules.variants.map((one) => (one.id === id ? changedVariant(one, { key }) : one)),
    payloads: payload === undefined ? payloads : { ...payloads, [key]: payload },
    conditions: withOverrides(rules, (variant) => (variant === former ? key : variant)),
  };
}

export function removedVariant(rules: Rules, id: string): Rules {
  const former = rules.variants.find((one) => one.id === id)?.key ?? "";
  const { [former]: _, ...payloads } = rules.payloads;
  return {
    ...rules,
    variants: rules.variants.filter((one) => one.id !== id),
    payloads,
    conditions: withOverrides(rules, (variant) => (variant === former ? null : variant)),
  };
}

/** A further one without a share: those that are there keep theirs. */
export function addedVariant(rules: Rules, nameOf: (place: number) => string): Rules {
  let place = rules.variants.length + 1;
  const isTaken = (key: string) => rules.variants.some((one) => one.key === key);
  while (isTaken(nameOf(place))) place += 1;
  const added = readVariant({ key: nameOf(place), rollout_percentage: 0 });
  return { ...rules, variants: [...rules.variants, added] };
}

export function evenedOut(rules: Rules): Rules {
  const shares = evenShares(rules.variants.length);
  const variants = rules.variants.map((one, at) => changedVariant(one, { share: shares[at] ?? 0 }));
  return { ...rules, variants };
}

/** Change a true-or-false flag into one with variants. former: its earlier rules in this browser */
export function multivariate(rules: Rules, former: Rules | null): Rules {
  const { [TRUE]: _, ...payloads } = rules.payloads;
  if (former !== null && former.variants.length > 0) {
    return { ...rules, variants: former.variants, payloads: former.payloads };
  }
  const variants = ["control", "test"].map((key) => readVariant({ key, rollout_percentage: 50 }));
  return { ...rules, variants, payloads };
}

export function withoutVariants(rules: Rules, former: Rules | null): Rules {
  const payload = former?.variants.length === 0 ? former.payloads[TRUE] : undefined;
  const payloads: JsonObject = payload === undefined ? {} : { [TRUE]: payload };
  return { ...rules, variants: [], payloads, conditions: withOverrides(rules, () => null) };
}

export function withPayload(rules: Rules, key: string, text: string): Rules {
  const { [key]: former, ...payloads } = rules.payloads;
  if (text.trim() === "") return { ...rules, payloads };
  // A payload that was written as JSON stays that; others are its text, as the interface writes it.
  const isText = former === undefined || typeof former === "string";
  const payload: unknown = isText ? text : JSON.parse(text);
  return { ...rules, payloads: { ...rules.payloads, [key]: payload } };
}

export function payloadText(payload: unknown): string {
  if (payload === undefined) return "";
  return typeof payload === "string" ? payload : JSON.stringify(payload, null, 2);
}

function withOverrides(rules: Rules, change: (variant: string | null) => string | null) {
  return rules.conditions.map((one) => {
    const variant = change(one.variant);
    if (variant === one.variant) return one;
    return { ...one, variant, raw: { ...one.raw, variant } };
  });
}
