import { counted, formatNumber } from "@/words/format";

export const words = {
  showTable: "Show as a table",
  showChart: "Show as a chart",
  tableKey: "t",
  csv: "Download as CSV",
  time: "Time",
  total: "Total",
  name: "Name",
  withShare: (value: string, share: string) => `${value} (${share})`,
  change: (change: string, before: string) => `${change} from ${before}`,
  changeFrom: (before: string) => `from ${before}`,
  soFar: (when: string) => `${when}, so far`,
  chart: "chart",
  noData: "No data for this period.",
  loading: "Loading the chart…",
  keys: "Arrow keys move along the chart, t shows the numbers as a table.",
  tableKeys: "Arrow keys lead to the numbers, enter opens one.",
  keysWithOpen:
    "Arrow keys move along the chart, enter opens the selected point, t shows the numbers as a table.",
  threshold: (name: string, value: string) => `${name}: ${value}`,
  point: (when: string, values: string) => `${when}: ${values}`,
  valueOf: (series: string, value: string) => `${series} ${value}`,
  none: "–",
  share: (name: string, percent: string) => `${name} ${percent}`,
  spark: (count: number, first: string, last: string, most: string) =>
    `${counted(count, "value", "values")}, from ${first} to ${last}, at most ${most}`,
  every: {
    minute: "per minute",
    hour: "per hour",
    day: "per day",
    week: "per week",
    month: "per month",
  },
  /** "Signups per day, 1–14 May; last day incomplete" */
  caption: (what: string, every: string, range: string) => `${what} ${every}, ${range}`,
  notOver: {
    minute: "last minute incomplete",
    hour: "last hour incomplete",
    day: "last day incomplete",
    week: "last week incomplete",
    month: "last month incomplete",
  },
  and: (caption: string, addition: string) => `${caption}; ${addition}`,
  axis: formatNumber,
} as const;
