export { ActorsDrawer } from "./ActorsDrawer";
export { DailyChart } from "./DailyChart";
export { TrendChart } from "./TrendChart";
export { type Trend, type TrendFilters, trendQuery } from "./trend";
