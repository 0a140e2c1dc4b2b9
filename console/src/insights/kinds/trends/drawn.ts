import { colorsByValue, type Series, type SeriesColor } from "@/charts";
import type { Line } from "./lines";
import { nameOfLine } from "./table";

const COLORS = 10;

export const colorOf = (place: number): SeriesColor => ((place % COLORS) + 1) as SeriesColor;

/** Values of a breakdown have a colour of their own; a line and its previous period share one.
 *
 * known: the values that the breakdown may have
 */
export function colorsOf(
  lines: readonly Line[],
  known: readonly string[] = [],
): ReadonlyMap<string, SeriesColor> {
  const names = [...new Set(lines.map(({ name }) => name))];
  if (lines.some(({ value }) => value !== undefined)) return colorsByValue(names, known);
  return new Map(names.map((name, place) => [name, colorOf(place)]));
}

/** Return the lines as charts draw them. */
export function seriesOfLines(
  lines: readonly Line[],
  colors: ReadonlyMap<string, SeriesColor>,
): Series[] {
  return lines.map((line) => {
    const color = colors.get(line.name);
    return {
      key: line.key,
      name: nameOfLine(line),
      values: line.values,
      isPrevious: line.isPrevious,
      ...(color !== undefined && { color }),
    };
  });
}
