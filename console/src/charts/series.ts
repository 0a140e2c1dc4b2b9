/** One line or one layer of a chart. */
export interface Series {
  name: string;
  /** One for each of the times; null where there is none. */
  values: readonly (number | null)[];
  /** 1 to 10, of the tokens; by default its place. */
  color?: SeriesColor;
  /** The key passed to `onOpen`; by default the name. */
  key?: string;
  /** Whether this is the previous period, drawn as a dotted line. */
  isPrevious?: boolean;
}

/** A level to compare with, drawn as a line across the chart. */
export interface Threshold {
  name: string;
  value: number;
}

/** A note about a moment, drawn as a line up and down. */
export interface MomentMark {
  at: Date;
  text: string;
}

export const NO_MARKS: readonly MomentMark[] = [];

export type SeriesColor = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10;

export interface Point {
  /** Place of the time. */
  index: number;
  time: Date;
  series: Series;
  value: number | null;
}

const COLORS = 10;

export interface Mark {
  /** The name of a custom property, such as `--series-3`. */
  token: string;
  /** The dashes of the line, from the second series on. */
  dash: readonly number[];
}

const DASHES: readonly (readonly number[])[] = [
  [],
  [8, 3],
  [5, 2],
  [8, 3, 2, 3],
  [14, 4],
  [4, 4],
  [14, 3, 2, 3],
  [8, 3, 2, 3, 2, 3],
  [1, 5],
  [14, 3, 5, 3],
];

const DOTS = [2, 4];

/** A colour and, from the second series on, dashes: lines differ without their colours. */
export function markOf(series: Series, place: number): Mark {
  const color = series.color ?? (place % COLORS) + 1;
  return {
    token: `--series-${color}`,
    dash: series.isPrevious ? DOTS : (DASHES[place % DASHES.length] ?? []),
  };
}

/** Every other layer is hatched, so that neighbours differ without their colours. */
export function isHatched(place: number): boolean {
  return place % 2 === 1;
}

/** The background for layers drawn in HTML instead of SVG. */
export function fillOf(token: string, place: number): string {
  if (!isHatched(place)) return `var(${token})`;
  const light = `color-mix(in srgb, var(${token}) 35%, transparent)`;
  return `repeating-linear-gradient(45deg, var(${token}) 0 2px, ${light} 2px 5px)`;
}

const NONE: readonly Threshold[] = [];
// A level further away would flatten the lines.
const REACH = 4;

/** Return the levels that are near enough to the numbers to be drawn with them. */
export function inReach(
  thresholds: readonly Threshold[] = NONE,
  lines: readonly { values: readonly (number | null)[] }[],
): readonly Threshold[] {
  if (thresholds.length === 0) return NONE;
  const most = Math.max(...lines.flatMap(({ values }) => values.map((one) => Math.abs(one ?? 0))));
  return thresholds.filter(({ value }) => Math.abs(value) <= REACH * most);
}
