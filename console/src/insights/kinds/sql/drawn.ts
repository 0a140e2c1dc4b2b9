import type { Category, FigureData, Series } from "@/charts";
import { isNumeric, plainOf, type SqlRows } from "./rows";
import type { Shown } from "./shown";

/** A chart of the rows of a query. */
export interface Drawn {
  categories: readonly Category[];
  series: readonly Series[];
  data: FigureData;
  /** The rows that are too many to draw. */
  left: number;
}

const ROWS_MAX = 500;
const SHORT_MAX = 12;

/** Return the columns with numbers, by their places. */
export const numbersIn = ({ columns, types }: SqlRows): readonly number[] =>
  columns.flatMap((_, place) => (isNumeric(types[place]?.[1]) ? [place] : []));

/** Return the number of a cell; null for what is none. */
export function numberOf(value: unknown): number | null {
  if (typeof value === "number") return value;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : null;
}

/** Return the chart of the rows, in their order, or null without a number to draw. */
export function drawRows(rows: SqlRows, { x, y }: Shown): Drawn | null {
  const { columns, results } = rows;
  const axis = Math.max(0, x === undefined ? 0 : columns.indexOf(x));
  const places = (y ?? numbersIn(rows).map((place) => columns[place] ?? ""))
    .map((name) => columns.indexOf(name))
    .filter((place) => place >= 0 && place !== axis);
  const shown = results.slice(0, ROWS_MAX);
  if (places.length === 0 || shown.length === 0) return null;
  const names = shown.map((row) => String(plainOf(row[axis]) ?? "null"));
  const series = places.map((place) => ({
    name: columns[place] ?? "",
    key: String(place),
    values: shown.map((row) => numberOf(row[place])),
  }));
  return {
    categories: names.map((name) => ({ name, short: shortOf(name) })),
    series,
    data: {
      columns: [columns[axis] ?? "", ...series.map(({ name }) => name)],
      rows: names.map((name, index) => [
        name,
        ...series.map(({ values }) => values[index] ?? null),
      ]),
    },
    left: results.length - shown.length,
  };
}

// Midnight says nothing beside a day.
const shortOf = (name: string): string =>
  name.replace(/[T ]00:00:00(\.0+)?(Z|[+-]\d\d:\d\d)?$/, "").slice(0, SHORT_MAX);
