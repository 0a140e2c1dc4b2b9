export { ActorsDrawer } from "./ActorsDrawer";
export { AskLink } from "./AskLink";
export { DailyChart } from "./DailyChart";
export type { Line as TrendSeries } from "./kinds/trends/lines";
export { TrendChart } from "./TrendChart";
export { type Trend, type TrendFilters, trendQuery } from "./trend";
