import { words } from "@/words/insightsPaths";
import { type Step, shortNames } from "./graph";
import type { Layout } from "./layout";

/** What the keyboard can reach in a graph: steps, links, and the paths that end at a step. */
interface Stop {
  label: string;
  /** The parts that stay highlighted with it while the rest is dimmed. */
  near: readonly string[];
  left: string | undefined;
  right: string | undefined;
  up: string | undefined;
  down: string | undefined;
}

/** The stops by name, such as `step 2_/docs`. */
export type Walk = ReadonlyMap<string, Stop>;

/** Return where arrow keys move from each stop: right along a step's first link, up and down between
 * the links of one step and between the steps of a column. */
export function walkOf({ steps, links }: Layout): Walk {
  const walk = new Map<string, Stop>();
  const short = shortNames(steps);
  const nameOf = (step: Step) => (step.isOther ? words.other : (short.get(step.name) ?? ""));
  const names = new Map(steps.map((step) => [step.key, nameOf(step)]));
  for (const step of steps) {
    const column = steps.filter((one) => one.column === step.column);
    const place = column.indexOf(step);
    const at = `step ${step.key}`;
    const leaves = [
      ...links
        .filter(({ source }) => source === step.key)
        .toSorted((a, b) => a.from.y - b.from.y)
        .map((link) => ({ name: `link ${link.key}`, link })),
      ...(step.ended > 0 ? [{ name: `end ${step.key}`, link: null }] : []),
    ];
    const comes = links
      .filter(({ target }) => target === step.key)
      .toSorted((a, b) => a.to.y - b.to.y);
    walk.set(at, {
      label: words.step(step.column, nameOf(step), step.count),
      near: [
        ...leaves.flatMap(({ name, link }) => [name, ...(link ? [`step ${link.target}`] : [])]),
        ...comes.flatMap(({ key, source }) => [`link ${key}`, `step ${source}`]),
      ],
      left: comes[0] && `link ${comes[0].key}`,
      right: leaves[0]?.name,
      up: stepAt(column[place - 1]),
      down: stepAt(column[place + 1]),
    });
    leaves.forEach(({ name, link }, index) => {
      walk.set(name, {
        label:
          link === null
            ? words.endedAt(step.column, nameOf(step), step.ended)
            : words.link(nameOf(step), names.get(link.target) ?? "", link.count, link.seconds),
        near: [at, ...(link === null ? [] : [`step ${link.target}`])],
        left: at,
        right: link === null ? undefined : `step ${link.target}`,
        up: leaves[index - 1]?.name,
        down: leaves[index + 1]?.name,
      });
    });
  }
  return walk;
}

const stepAt = (step: { key: string } | undefined): string | undefined =>
  step && `step ${step.key}`;

const SIDES = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
} as const;

/** Return the stop that a key moves to; undefined if there is none, or for other keys. */
export function nextOf(walk: Walk, at: string, key: string): string | undefined {
  if (key === "Home") return walk.keys().next().value;
  const side = SIDES[key as keyof typeof SIDES];
  return side && walk.get(at)?.[side];
}
