import { counted } from "@/words/format";

const UNITS = {
  minute: "Minutes",
  hour: "Hours",
  day: "Days",
  week: "Weeks",
  month: "Months",
  quarter: "Quarters",
  year: "Years",
} as const;
type Interval = keyof typeof UNITS;

export const words = {
  series: "Series",
  noSeries: "Choose an event to see how regularly persons do it.",
  units: UNITS,
  number: (count: number, interval: Interval, isCumulative: boolean) => {
    const text = counted(count, interval, `${interval}s`);
    return isCumulative ? `${text} or more` : text;
  },
  previous: (name: string) => `${name} (previous period)`,
  inPercent: (name: string) => `${name} (%)`,
  at: (name: string, when: string) => `${name}, ${when}`,
  caption: (what: string, interval: Interval) =>
    `Persons by the number of ${interval}s on which they did ${what}`,
  display: "Chart",
  displays: { ActionsBar: "Bars", ActionsLineGraph: "Lines" },
  format: "Numbers",
  formats: { numeric: "counts", percentage: "% of all who did it" },
  computedAs: "Count persons with more, too",
  operator: (interval: Interval) => `Events in one ${interval}`,
  operators: { gte: "at least", lte: "at most", exact: "exactly" },
  times: "Number",
  // Parts of the sentence.
  howMany: {
    persons: "how many persons did",
    groups: (type: string) => `how many ${type} groups did`,
  },
  byNumber: (interval: Interval, isCumulative: boolean) =>
    isCumulative
      ? `on 1, 2, 3 and so on ${interval}s or more`
      : `on exactly 1, 2, 3 and so on ${interval}s`,
  timesEach: (operator: "gte" | "lte" | "exact", value: number, interval: Interval) => {
    const names = { gte: "at least", lte: "at most", exact: "exactly" };
    return `${names[operator]} ${counted(value, "time", "times")} in each ${interval}`;
  },
} as const;
