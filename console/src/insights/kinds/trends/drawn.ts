import { colorsByValue, type Series, type SeriesColor } from "@/charts";
import type { Line } from "./lines";
import { nameOfLine } from "./table";

const COLORS = 10;

export const colorOf = (place: number): SeriesColor => ((place % COLORS) + 1) as SeriesColor;

/** Each breakdown value has its own colour, shared by a line and its previous period.
 *
 * known: the values that the breakdown can have
 */
export function colorsOf(
  lines: readonly Line[],
  known: readonly string[] = [],
): ReadonlyMap<string, SeriesColor> {
  const names = [...new Set(lines.map(({ name }) => name))];
  if (lines.some(({ value }) => value !== undefined)) return colorsByValue(names, known);
  return new Map(names.map((name, place) => [name, colorOf(place)]));
}

/** Return the lines as chart series. */
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
