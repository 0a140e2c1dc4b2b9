import { type Question, USUAL_LIMIT } from "@/insights/question/model";
import { isObject, joined, Reading } from "@/insights/question/reading";
import { type Given, present } from "@/lib/searchParams";

/** The charts of a trend, by API names. */
export const DISPLAYS = [
  "ActionsLineGraph",
  "ActionsLineGraphCumulative",
  "ActionsAreaGraph",
  "ActionsBar",
  "ActionsUnstackedBar",
  "ActionsBarValue",
  "ActionsPie",
  "BoldNumber",
  "ActionsTable",
  "WorldMap",
  "CalendarHeatmap",
] as const;
export type Display = (typeof DISPLAYS)[number];

/** One number for the whole period. */
const OF_TOTALS: readonly Display[] = [
  "ActionsBarValue",
  "ActionsPie",
  "BoldNumber",
  "ActionsTable",
  "WorldMap",
];

export const isOfTotals = (display: Display): boolean => OF_TOTALS.includes(display);

/** One number for each hour of each weekday. */
export const isOfWeek = (display: Display): boolean => display === "CalendarHeatmap";

/** A number for each interval. */
export const hasIntervals = (display: Display): boolean =>
  !isOfTotals(display) && !isOfWeek(display);

export interface Formula {
  text: string;
  name?: string;
}

export interface TrendOptions {
  display: Display;
  formulas: readonly Formula[];
  /** Each point is the average of this many. */
  smoothing: number;
}

const PLACE = "trendsFilter";
const SMOOTHING_MAX = 1000;
const NAMES = ["display", "formula", "formulas", "formulaNodes", "smoothingIntervals"];
// Display options of other clients, ignored here.
const DRAWN = [
  ...["showLegend", "showValuesOnSeries", "showLabelsOnSeries", "showPercentStackView"],
  ...["showMultipleYAxes", "showAlertThresholdLines", "yAxisScaleType", "aggregationAxisFormat"],
  ...["aggregationAxisPrefix", "aggregationAxisPostfix", "decimalPlaces", "hiddenLegendIndexes"],
];

/** Return the options of a `trendsFilter`. Older clients use snake_case names. */
export function readOptions(given: Given, reading: Reading = new Reading()): TrendOptions {
  reading.known(PLACE, given, [...NAMES, ...DRAWN, "smoothing_intervals"]);
  const smoothing = given.smoothingIntervals ?? given.smoothing_intervals;
  const display = given.display === "ActionsStackedBar" ? "ActionsBar" : given.display;
  return {
    display: reading.choice(joined(PLACE, "display"), display, DISPLAYS) ?? "ActionsLineGraph",
    formulas: readFormulas(given, reading),
    smoothing: reading.whole(joined(PLACE, "smoothingIntervals"), smoothing, 0, SMOOTHING_MAX) || 1,
  };
}

function readFormulas(given: Given, reading: Reading): Formula[] {
  const nodes = reading.list(joined(PLACE, "formulaNodes"), given.formulaNodes);
  if (nodes.length > 0)
    return nodes.flatMap((node, index) => {
      const place = `${joined(PLACE, "formulaNodes")}[${index}]`;
      const { formula, custom_name: name } = isObject(node) ? node : {};
      return present<Formula>({
        text: reading.text(joined(place, "formula"), formula) ?? "",
        name: reading.text(joined(place, "custom_name"), name),
      });
    });
  const formulas = reading.list(joined(PLACE, "formulas"), given.formulas);
  if (formulas.length > 0)
    return formulas.map((one) => ({ text: reading.text(joined(PLACE, "formulas"), one) ?? "" }));
  const text = reading.text(joined(PLACE, "formula"), given.formula);
  return text === undefined ? [] : [{ text }];
}

export function writeOptions({ display, formulas, smoothing }: TrendOptions): Given {
  const areNamed = formulas.some(({ name }) => name !== undefined);
  return present<Given>({
    display: display === "ActionsLineGraph" ? undefined : display,
    formulas: formulas.length > 0 && !areNamed ? formulas.map(({ text }) => text) : undefined,
    formulaNodes: areNamed
      ? formulas.map(({ text, name }) => present({ formula: text, custom_name: name }))
      : undefined,
    smoothingIntervals: smoothing === 1 ? undefined : smoothing,
  });
}

/** A map shows each country. source: the server's fanion/insights/trends/query.py */
const MAP_LIMIT = 250;

export const COUNTRY = "$geoip_country_code";

/** Return how many breakdown values are shown by default. */
export const usualLimit = (display: Display): number =>
  display === "WorldMap" ? MAP_LIMIT : USUAL_LIMIT;

/** Return whether a chart can show two periods; pies and maps cannot. */
export const canCompare = (display: Display): boolean =>
  display !== "ActionsPie" && display !== "WorldMap" && !isOfWeek(display);

export const optionsOf = ({ options }: Question): TrendOptions => readOptions(options.trends ?? {});

export function withOptions(question: Question, changes: Partial<TrendOptions>): Question {
  const { trends: _, ...others } = question.options;
  const written = writeOptions({ ...optionsOf(question), ...changes });
  const isUsual = Object.keys(written).length === 0;
  return { ...question, options: isUsual ? others : { ...others, trends: written } };
}
