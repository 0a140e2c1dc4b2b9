import type { Answer } from "@/insights/answers";
import { entriesOf } from "@/lib/trends";
import { plainName } from "@/ui/properties";

/** The name that groups all steps without a link of their own. source:
 * fanion/insights/paths/result.py */
const OTHER = "…other";

/** A step of paths. */
export interface Step {
  /** The API's name: `2_/docs`. */
  key: string;
  /** One-based. */
  column: number;
  name: string;
  isOther: boolean;
  /** The number of paths through the step. */
  count: number;
  /** The number of paths that end at the step. */
  ended: number;
}

/** A link from a step to the next. */
export interface Link {
  key: string;
  source: string;
  target: string;
  count: number;
  /** The mean time between the two; null for steps that are not shown. */
  seconds: number | null;
}

export interface Graph {
  steps: readonly Step[];
  links: readonly Link[];
}

/** Parse the graph of a result; the API schema does not describe its entries. */
export function readGraph({ results, beside }: Answer): Graph {
  const links = [...entriesOf(results), ...entriesOf(beside.other_edges)].map((entry): Link => {
    const [source, target] = [String(entry.source), String(entry.target)];
    const ms = entry.average_conversion_time;
    return {
      key: JSON.stringify([source, target]),
      source,
      target,
      count: Number(entry.value),
      seconds: typeof ms === "number" ? ms / 1000 : null,
    };
  });
  const steps = entriesOf(beside.nodes).map((node) =>
    stepOf(String(node.name), Number(node.count), Number(node.ended)),
  );
  const others = new Map<string, number>();
  for (const { target, count } of links) {
    if (splitKey(target).name === OTHER) others.set(target, (others.get(target) ?? 0) + count);
  }
  return { steps: [...steps, ...[...others].map(([key, count]) => stepOf(key, count, 0))], links };
}

function stepOf(key: string, count: number, ended: number): Step {
  const { column, name } = splitKey(key);
  return { key, column, name, isOther: name === OTHER, count, ended };
}

export function splitKey(key: string): { column: number; name: string } {
  const at = key.indexOf("_");
  return { column: Number(key.slice(0, at)), name: key.slice(at + 1) };
}

const ADDRESS = /^https?:\/\/([^/?#]*)(.*)$/;
const SHOWN_MAX = 64;

/** Return a short name for each step: without the host if all URLs share it, and with the middle of
 * long names cut out. */
export function shortNames(steps: readonly Step[]): ReadonlyMap<string, string> {
  const hosts = new Set(steps.flatMap(({ name }) => ADDRESS.exec(name)?.[1] ?? []));
  const short = (name: string) => {
    const [, host = "", path = ""] = ADDRESS.exec(name) ?? [];
    if (host === "") return plainName(name);
    return hosts.size === 1 ? path || "/" : `${host}${path}`;
  };
  return new Map(steps.map(({ name }) => [name, withoutMiddle(short(name))]));
}

function withoutMiddle(text: string): string {
  const signs = [...text];
  if (signs.length <= SHOWN_MAX) return text;
  const half = SHOWN_MAX / 2;
  return `${signs.slice(0, half).join("")}…${signs.slice(-half).join("")}`;
}
