import type { Operator, PropertyFilter } from "@/filters";
import type { components } from "@/lib/schema";
import { words } from "@/words/filters";

// The content of a flag's `filters`, including parts that are not known here.

export type FlagBody = components["schemas"]["FlagBody"];
/** A flag as it is read by itself. version: moves with every change */
export interface Flag extends FlagBody {
  version: number;
}
export type JsonObject = Readonly<Record<string, unknown>>;

interface Part {
  /** An id of this browser, which a part keeps when it is moved or changed. */
  id: string;
  /** The part as the API has it, including unknown fields. */
  raw: JsonObject;
}

/** A condition set: all its properties must hold, then the share decides. */
export interface Condition extends Part {
  properties: readonly PropertyFilter[];
  /** Percent, 0 to 100. */
  share: number;
  /** The variant of everyone it includes; null: by the shares of the variants. */
  variant: string | null;
}

export interface Variant extends Part {
  key: string;
  name: string;
  /** Percent, 0 to 100. */
  share: number;
}

export interface Rules {
  conditions: readonly Condition[];
  /** Empty if the flag is true or false. */
  variants: readonly Variant[];
  /** Payloads by the variant's key, or by `true` for a flag without variants. */
  payloads: JsonObject;
  /** null: the flag is for people; else for groups of this type. */
  groupTypeIndex: number | null;
  raw: JsonObject;
}

/** null: filters that an editor of parts would lose something of */
export function readRules(filters: JsonObject): Rules | null {
  const groups = filters.groups;
  const multivariate = filters.multivariate ?? {};
  if (!isObjects(groups) || !isObject(multivariate)) return null;
  const variants = multivariate.variants ?? [];
  const payloads = filters.payloads ?? {};
  const index = filters.aggregation_group_type_index ?? null;
  if (!isObjects(variants) || !isObject(payloads)) return null;
  if (index !== null && typeof index !== "number") return null;
  const conditions = groups.map(readCondition);
  if (!conditions.every((one) => one !== null)) return null;
  return {
    conditions,
    variants: variants.map(readVariant),
    payloads,
    groupTypeIndex: index,
    raw: filters,
  };
}

/** Return the rules as they were read if nothing was changed. */
export function writeRules(rules: Rules): JsonObject {
  const { conditions, variants, payloads, groupTypeIndex, raw } = rules;
  const multivariate = isObject(raw.multivariate) ? raw.multivariate : {};
  const had = isObjects(multivariate.variants) ? multivariate.variants.length : 0;
  return {
    ...raw,
    groups: conditions.map((one) => one.raw),
    ...(variants.length > 0 && {
      multivariate: { ...multivariate, variants: variants.map((one) => one.raw) },
    }),
    ...(variants.length === 0 && had > 0 && { multivariate: null }),
    ...((Object.keys(payloads).length > 0 || isObject(raw.payloads)) && { payloads }),
    ...(groupTypeIndex !== (raw.aggregation_group_type_index ?? null) && {
      aggregation_group_type_index: groupTypeIndex,
    }),
  };
}

/** The rules of a new flag. */
export const releasedToAll: JsonObject = { groups: [{ properties: [], rollout_percentage: 100 }] };

/** A further condition: that all match, released to none of them yet. */
export function newCondition(): Condition {
  const raw = { properties: [], rollout_percentage: 0 };
  return { id: nextId(), raw, properties: [], share: 0, variant: null };
}

export const copiedCondition = (condition: Condition): Condition => ({
  ...condition,
  id: nextId(),
});

/** null: a part of it is not understood */
export function readCondition(raw: JsonObject): Condition | null {
  const { rollout_percentage: share, variant } = raw;
  const leaves = raw.properties ?? [];
  if (!isObjects(leaves)) return null;
  const properties = leaves.map(readProperty);
  if (!properties.every((one) => one !== null)) return null;
  return {
    id: nextId(),
    raw,
    properties,
    share: typeof share === "number" ? share : 100,
    variant: typeof variant === "string" && variant !== "" ? variant : null,
  };
}

function readProperty(raw: JsonObject): PropertyFilter | null {
  const { type, value, negation, group_type_index: index } = raw;
  const key = type === "cohort" ? (raw.key ?? "id") : raw.key;
  if (type !== "person" && type !== "group" && type !== "cohort" && type !== "flag") return null;
  if (typeof key !== "string" && typeof key !== "number") return null;
  if (value !== undefined && value !== null && !isScalar(value) && !isScalars(value)) return null;
  const operator = operatorOf(type, raw.operator);
  if (!isOperator(operator)) return null;
  const { value: _, group_type_index: __, negation: ___, ...rest } = raw;
  return {
    ...rest,
    type,
    key: String(key),
    operator,
    ...(value !== undefined && { value }),
    ...(typeof index === "number" && { group_type_index: index }),
    ...(negation === true && { negation }),
  };
}

/** Older interfaces wrote `exact` for membership, or nothing. */
function operatorOf(type: PropertyFilter["type"], operator: unknown): string {
  const written = typeof operator === "string" ? operator : "exact";
  return type === "cohort" && written === "exact" ? "in" : written;
}

const isOperator = (name: string): name is Operator => Object.hasOwn(words.operators, name);
type Scalar = string | number | boolean;
const isScalar = (found: unknown): found is Scalar =>
  ["string", "number", "boolean"].includes(typeof found);
const isScalars = (found: unknown): found is Scalar[] =>
  Array.isArray(found) && found.every(isScalar);

export function readVariant(raw: JsonObject): Variant {
  const { key, name, rollout_percentage: share } = raw;
  return {
    id: nextId(),
    raw,
    key: typeof key === "string" ? key : "",
    name: typeof name === "string" ? name : "",
    share: typeof share === "number" ? share : 0,
  };
}

/** Return the condition with other values. */
export function changedCondition(
  condition: Condition,
  change: Partial<Pick<Condition, "properties" | "share" | "variant">>,
): Condition {
  const { properties, share, variant } = change;
  const raw = {
    ...condition.raw,
    ...(properties !== undefined && { properties }),
    ...(share !== undefined && { rollout_percentage: share }),
    ...(variant !== undefined && { variant }),
  };
  return { ...condition, ...change, raw };
}

/** Return the variant with other values. `renamedVariant` changes its key. */
export function changedVariant(
  variant: Variant,
  change: Partial<Pick<Variant, "key" | "name" | "share">>,
): Variant {
  const { key, name, share } = change;
  const raw = {
    ...variant.raw,
    ...(key !== undefined && { key }),
    ...(name !== undefined && { name }),
    ...(share !== undefined && { rollout_percentage: share }),
  };
  return { ...variant, ...change, raw };
}

/** Conditions that force a variant are evaluated first, otherwise their order counts.
 *
 * returns: places in the list
 */
export function evaluationOrder(conditions: readonly Condition[]): number[] {
  const places = conditions.map((_, place) => place);
  const forces = (place: number) => conditions[place]?.variant != null;
  return [...places.filter(forces), ...places.filter((place) => !forces(place))];
}

/** Shares of variants sum to 100: thirds with two digits do too, as for the server. */
export const shareSum = (variants: readonly { share: number }[]): number =>
  Math.round(variants.reduce((sum, one) => sum + one.share, 0) * 100) / 100;

/** Equal shares with two digits at most, that sum to 100. */
export function evenShares(count: number): number[] {
  const whole = count <= 100 && 100 % count !== 0 ? Math.floor(100 / count) : 100 / count;
  const share = Math.floor(whole * 100) / 100;
  let left = Math.round((100 - share * count) * 100) / 100;
  const step = Number.isInteger(share) ? 1 : 0.01;
  return Array.from({ length: count }, () => {
    const more = left > 0 ? Math.min(step, left) : 0;
    left = Math.round((left - more) * 100) / 100;
    return Math.round((share + more) * 100) / 100;
  });
}

export const isObject = (found: unknown): found is JsonObject =>
  typeof found === "object" && found !== null && !Array.isArray(found);

export const isObjects = (found: unknown): found is readonly JsonObject[] =>
  Array.isArray(found) && found.every(isObject);

/** Return whether two values are equal as JSON, whatever the order of names. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, at) => isSame(value, other[at]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => name in other && isSame(one[name], other[name]))
  );
}

let lastId = 0;
function nextId(): string {
  lastId += 1;
  return `part-${lastId}`;
}

/** Keys of variants with their shares in percent; none for a flag that is true or false. */
export function variantsOf(flag: FlagBody): { name: string; value: number }[] {
  const { multivariate } = flag.filters;
  const variants = isObject(multivariate) ? multivariate.variants : undefined;
  if (!isObjects(variants)) return [];
  return variants.map(({ key, rollout_percentage: share }) => ({
    name: String(key),
    value: typeof share === "number" ? share : 0,
  }));
}
