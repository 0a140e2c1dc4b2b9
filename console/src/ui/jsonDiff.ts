/** One place where two JSON values differ. */
export interface JsonDifference {
  /** Names of fields and places in lists, from the outside. */
  path: readonly (string | number)[];
  /** undefined where there is nothing. */
  before: unknown;
  after: unknown;
}

/** The innermost places that differ. Lists are compared place by place. */
export function jsonDifferences(before: unknown, after: unknown): JsonDifference[] {
  const found: JsonDifference[] = [];
  collect(before, after, [], found);
  return found;
}

function collect(
  before: unknown,
  after: unknown,
  path: readonly (string | number)[],
  found: JsonDifference[],
): void {
  if (Object.is(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    for (let place = 0; place < Math.max(before.length, after.length); place += 1) {
      collect(before[place], after[place], [...path, place], found);
    }
  } else if (isObject(before) && isObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      collect(own(before, name), own(after, name), [...path, name], found);
    }
  } else {
    found.push({ path, before, after });
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function own(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Return a path as text: "groups[0].rollout_percentage". */
export function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    const name = /^[\w$-]+$/.test(part) ? part : JSON.stringify(part);
    return text === "" ? name : `${text}.${name}`;
  }, "");
}
