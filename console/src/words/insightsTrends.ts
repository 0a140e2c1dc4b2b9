import { counted, formatNumber } from "@/words/format";

export const words = {
  series: "Series",
  summedUp: "summed up from the start",
  averagedOver: (count: number) =>
    `each the average of the last ${formatNumber(count)}, rounded down`,
  inWhich: "where",
  is: "is",
  display: "Chart",
  displays: {
    ActionsLineGraph: "Lines",
    ActionsLineGraphCumulative: "Running sums",
    ActionsAreaGraph: "Areas",
    ActionsBar: "Stacked bars",
    ActionsUnstackedBar: "Bars side by side",
    ActionsBarValue: "Bars of totals",
    ActionsPie: "Pie",
    BoldNumber: "Number",
    ActionsTable: "Table",
    WorldMap: "World map",
  },
  noSeries: "Choose an event to see how often it happens.",
  noProperty: (mark: string) => `Choose the property of series ${mark}.`,
  number: "Number",
  name: "Series",
  previous: (name: string) => `${name} (previous period)`,
  total: "Total",
  ofSeries: (series: string, value: string) => `${series} – ${value}`,
  at: (name: string, when: string) => `${name}, ${when}`,
  shown: (shown: number, all: number) =>
    `${formatNumber(shown)} of ${counted(all, "value", "values")} shown`,
  shownOthers: (shown: number) =>
    `${counted(shown, "value", "values")} shown, all others are added up in one`,
} as const;
