import { isObject, isObjects, isSame, type JsonObject } from "../model";
import type { Fields } from "./fields";

/** A part that both have changed, each to something else. name: as of the field it is part of */
export interface Collision {
  id: string;
  part: "conditions" | "variants" | "payload" | "setting";
  name: string;
  mine: unknown;
  theirs: unknown;
}

export type Choices = Readonly<Record<string, "mine" | "theirs">>;

export interface Merged {
  fields: Fields;
  collisions: readonly Collision[];
  /** Whether anything of theirs was merged. */
  hasTaken: boolean;
}

/** Two changes of one flag, put together part by part.
 *
 * choices: by collision; without one it is mine that stays
 */
export function merge(base: Fields, mine: Fields, theirs: Fields, choices: Choices = {}): Merged {
  const run = new MergeRun(choices);
  const settings = {
    key: run.value("setting", "key", base.key, mine.key, theirs.key),
    ensure_experience_continuity: run.value(
      "setting",
      "ensure_experience_continuity",
      base.ensure_experience_continuity,
      mine.ensure_experience_continuity,
      theirs.ensure_experience_continuity,
    ),
    bucketing_identifier: run.value(
      "setting",
      "bucketing_identifier",
      base.bucketing_identifier,
      mine.bucketing_identifier,
      theirs.bucketing_identifier,
    ),
    evaluation_runtime: run.value(
      "setting",
      "evaluation_runtime",
      base.evaluation_runtime,
      mine.evaluation_runtime,
      theirs.evaluation_runtime,
    ),
    evaluation_contexts: run.value(
      "setting",
      "evaluation_contexts",
      base.evaluation_contexts,
      mine.evaluation_contexts,
      theirs.evaluation_contexts,
    ),
  };
  const filters = run.filters(base.filters, mine.filters, theirs.filters);
  return {
    fields: { ...settings, filters },
    collisions: run.collisions,
    hasTaken: run.hasTaken,
  };
}

class MergeRun {
  readonly collisions: Collision[] = [];
  hasTaken = false;

  constructor(private readonly choices: Choices) {}

  value<T>(part: Collision["part"], name: string, base: T, mine: T, theirs: T): T {
    if (isSame(mine, theirs) || isSame(theirs, base)) return mine;
    this.hasTaken = true;
    if (isSame(mine, base)) return theirs;
    const id = `${part} ${name} ${this.collisions.length}`;
    this.collisions.push({ id, part, name, mine, theirs });
    return this.choices[id] === "theirs" ? theirs : mine;
  }

  filters(base: JsonObject, mine: JsonObject, theirs: JsonObject): JsonObject {
    const names = new Set([base, mine, theirs].flatMap((one) => Object.keys(one)));
    const merged: Record<string, unknown> = {};
    for (const name of names) {
      const value = this.filter(name, base[name], mine[name], theirs[name]);
      if (value !== undefined) merged[name] = value;
    }
    return merged;
  }

  private filter(name: string, base: unknown, mine: unknown, theirs: unknown): unknown {
    if (isObjects(base) && isObjects(mine) && isObjects(theirs)) {
      return this.list(name === "groups" ? "conditions" : "setting", name, base, mine, theirs);
    }
    if (name === "payloads") return this.members("payload", base ?? {}, mine ?? {}, theirs ?? {});
    if (name === "multivariate" && isObject(base) && isObject(mine) && isObject(theirs)) {
      const variants = [base.variants, mine.variants, theirs.variants];
      if (variants.every(isObjects)) return this.multivariate(base, mine, theirs);
    }
    const part = name === "multivariate" ? "variants" : "setting";
    return this.value(part, name, base, mine, theirs);
  }

  private multivariate(base: JsonObject, mine: JsonObject, theirs: JsonObject): JsonObject {
    const [before, own, other] = [base.variants, mine.variants, theirs.variants];
    if (!isObjects(before) || !isObjects(own) || !isObjects(other)) return mine;
    return { ...mine, variants: this.list("variants", "variants", before, own, other) };
  }

  private members(part: Collision["part"], base: unknown, mine: unknown, theirs: unknown): unknown {
    if (!isObject(base) || !isObject(mine) || !isObject(theirs)) {
      return this.value(part, "payloads", base, mine, theirs);
    }
    const names = new Set([base, mine, theirs].flatMap((one) => Object.keys(one)));
    const merged: Record<string, unknown> = {};
    for (const name of names) {
      const value = this.value(part, name, base[name], mine[name], theirs[name]);
      if (value !== undefined) merged[name] = value;
    }
    return merged;
  }

  /** Members between those that neither has changed are put together; one by one where neither has
   * added or removed any there.
   */
  private list(
    part: Collision["part"],
    name: string,
    base: readonly JsonObject[],
    mine: readonly JsonObject[],
    theirs: readonly JsonObject[],
  ): readonly JsonObject[] {
    return chunks(base, mine, theirs).flatMap((chunk) => {
      const [before, own, other] = chunk;
      const bothAdded = before.length === 0 && own.length > 0 && other.length > 0;
      if (part === "conditions" && bothAdded && !isSame(own, other)) {
        this.hasTaken = true;
        return [...own, ...other];
      }
      const isOneByOne = before.length === own.length && before.length === other.length;
      if (!isOneByOne) return this.value(part, name, before, own, other);
      return before.flatMap((_, at) =>
        this.value(
          part,
          name,
          before.slice(at, at + 1),
          own.slice(at, at + 1),
          other.slice(at, at + 1),
        ),
      );
    });
  }
}

type Chunk = readonly [
  base: readonly JsonObject[],
  mine: readonly JsonObject[],
  theirs: readonly JsonObject[],
];

function chunks(
  base: readonly JsonObject[],
  mine: readonly JsonObject[],
  theirs: readonly JsonObject[],
): Chunk[] {
  const [inMine, inTheirs] = [matches(base, mine), matches(base, theirs)];
  const found: Chunk[] = [];
  let [b, m, t] = [0, 0, 0];
  for (let at = 0; at <= base.length; at += 1) {
    const [own, other] = [inMine.get(at), inTheirs.get(at)];
    const isEnd = at === base.length;
    if (!isEnd && (own === undefined || other === undefined)) continue;
    const [toMine, toTheirs] = isEnd ? [mine.length, theirs.length] : [own ?? 0, other ?? 0];
    found.push([base.slice(b, at), mine.slice(m, toMine), theirs.slice(t, toTheirs)]);
    if (!isEnd)
      found.push([
        base.slice(at, at + 1),
        mine.slice(toMine, toMine + 1),
        theirs.slice(toTheirs, toTheirs + 1),
      ]);
    [b, m, t] = [at + 1, toMine + 1, toTheirs + 1];
  }
  return found;
}

/** The longest common subsequence. returns: place in the first → place in the other */
export function matches(
  one: readonly unknown[],
  other: readonly unknown[],
  isEqual: (a: unknown, b: unknown) => boolean = isSame,
): Map<number, number> {
  const lengths = one.map(() => new Array<number>(other.length + 1).fill(0));
  lengths.push(new Array<number>(other.length + 1).fill(0));
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = one.length - 1; i >= 0; i -= 1) {
    const row = lengths[i];
    if (row === undefined) continue;
    for (let j = other.length - 1; j >= 0; j -= 1) {
      row[j] = isEqual(one[i], other[j])
        ? at(i + 1, j + 1) + 1
        : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const found = new Map<number, number>();
  for (let i = 0, j = 0; i < one.length && j < other.length; ) {
    if (isEqual(one[i], other[j])) found.set(i++, j++);
    else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return found;
}
