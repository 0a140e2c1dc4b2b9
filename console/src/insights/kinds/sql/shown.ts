import { isObject } from "@/insights/question/reading";
import { type Given, present, textOf } from "@/lib/searchParams";

export const DISPLAYS = ["table", "line", "bar", "number"] as const;
export type Display = (typeof DISPLAYS)[number];

/** How the result of a query is shown. */
export interface Shown {
  display: Display;
  /** The column along the axis; by default the first. */
  x?: string;
  /** The columns that are drawn; by default all numbers. */
  y?: readonly string[];
}

export const AS_TABLE: Shown = { display: "table" };

const API_NAMES: Readonly<Record<Display, string>> = {
  table: "ActionsTable",
  line: "ActionsLineGraph",
  bar: "ActionsBar",
  number: "BoldNumber",
};

/** Read how a DataVisualizationNode is shown. What is not known here is shown as a table. */
export function readShown({ display, chartSettings }: Given): Shown {
  const settings = isObject(chartSettings) ? chartSettings : {};
  const columnOf = (axis: unknown) => (isObject(axis) ? textOf(axis.column) : undefined);
  const listed = Array.isArray(settings.yAxis) ? settings.yAxis : [];
  const y = listed.flatMap((axis) => columnOf(axis) ?? []);
  return present<Shown>({
    display: DISPLAYS.find((one) => API_NAMES[one] === display) ?? "table",
    x: columnOf(settings.xAxis),
    y: y.length === 0 ? undefined : y,
  });
}

/** Return the fields of a DataVisualizationNode that say how its source is shown. */
export function writeShown({ display, x, y = [] }: Shown): Given {
  const settings = present<Given>({
    xAxis: x === undefined ? undefined : { column: x },
    yAxis: y.length === 0 ? undefined : y.map((column) => ({ column })),
  });
  const hasSettings = Object.keys(settings).length > 0;
  return { display: API_NAMES[display], ...(hasSettings && { chartSettings: settings }) };
}
