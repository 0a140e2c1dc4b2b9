export { ActorsDrawer } from "./ActorsDrawer";
export { DailyChart } from "./DailyChart";
export { TrendChart } from "./TrendChart";
export { type Trend, type TrendFilters, type TrendSeries, trendQuery } from "./trend";
