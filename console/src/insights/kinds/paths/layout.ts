import type { Graph, Link, Step } from "./graph";

export interface PlacedStep extends Step {
  x: number;
  y: number;
  height: number;
}

export interface PlacedLink extends Link {
  /** The vertical centre, at the source and at the target. */
  from: { x: number; y: number };
  to: { x: number; y: number };
  width: number;
}

export interface Layout {
  steps: readonly PlacedStep[];
  links: readonly PlacedLink[];
  columns: readonly number[];
  width: number;
  height: number;
}

// Room for two lines of the step's name and one line of numbers.
export const STEP_WIDTH = 190;
const STEP_MIN = 68;
const GAP = { x: 84, y: 10 };
// The height that the steps of the fullest column share, on top of their minimum heights.
const HEIGHT = 380;
const LINK_MIN = 1.5;

/** Place steps in columns, most frequent first, with links next to each other along their edges. */
export function layoutOf({ steps, links }: Graph): Layout {
  const columns = [...new Set(steps.map(({ column }) => column))].toSorted((a, b) => a - b);
  const most = Math.max(1, ...columns.map((column) => sum(inColumn(steps, column))));
  const unit = HEIGHT / most;
  const placed = columns.flatMap((column, place) => placedColumn(steps, column, place, unit));
  return {
    steps: placed,
    links: placedLinks(links, placed, unit),
    columns,
    width: columns.length * (STEP_WIDTH + GAP.x) - GAP.x,
    height: Math.max(0, ...placed.map(({ y, height }) => y + height)),
  };
}

const sum = (steps: readonly Step[]): number => steps.reduce((total, one) => total + one.count, 0);

const inColumn = (steps: readonly Step[], column: number): Step[] =>
  steps
    .filter((step) => step.column === column)
    .toSorted((a, b) => Number(a.isOther) - Number(b.isOther) || b.count - a.count);

function placedColumn(
  steps: readonly Step[],
  column: number,
  place: number,
  unit: number,
): PlacedStep[] {
  let y = 0;
  return inColumn(steps, column).map((step) => {
    const height = Math.max(STEP_MIN, step.count * unit);
    const placed = { ...step, x: place * (STEP_WIDTH + GAP.x), y, height };
    y += height + GAP.y;
    return placed;
  });
}

function placedLinks(
  links: readonly Link[],
  placed: readonly PlacedStep[],
  unit: number,
): PlacedLink[] {
  const byKey = new Map(placed.map((step) => [step.key, step]));
  const yOf = (key: string) => byKey.get(key)?.y ?? 0;
  const used = { source: new Map<string, number>(), target: new Map<string, number>() };
  const take = (side: "source" | "target", link: Link): number => {
    const step = byKey.get(link[side]);
    const before = used[side].get(link[side]) ?? 0;
    used[side].set(link[side], before + link.count * unit);
    return (step?.y ?? 0) + before + (link.count * unit) / 2;
  };
  const leaves = links.toSorted((a, b) => yOf(a.target) - yOf(b.target));
  const from = new Map(leaves.map((link) => [link.key, take("source", link)]));
  const comes = links.toSorted((a, b) => yOf(a.source) - yOf(b.source));
  const to = new Map(comes.map((link) => [link.key, take("target", link)]));
  return links.flatMap((link) => {
    const [source, target] = [byKey.get(link.source), byKey.get(link.target)];
    if (source === undefined || target === undefined) return [];
    return [
      {
        ...link,
        from: { x: source.x + STEP_WIDTH, y: from.get(link.key) ?? 0 },
        to: { x: target.x, y: to.get(link.key) ?? 0 },
        width: Math.max(LINK_MIN, link.count * unit),
      },
    ];
  });
}

/** Return the outline of a link, as the `d` of an SVG path. */
export function ribbonOf({ from, to, width }: PlacedLink): string {
  const middle = (from.x + to.x) / 2;
  const half = width / 2;
  return [
    `M${from.x} ${from.y - half}`,
    `C${middle} ${from.y - half} ${middle} ${to.y - half} ${to.x} ${to.y - half}`,
    `L${to.x} ${to.y + half}`,
    `C${middle} ${to.y + half} ${middle} ${from.y + half} ${from.x} ${from.y + half}Z`,
  ].join("");
}
