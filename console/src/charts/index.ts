export { Bars, type BarsProps } from "./Bars";
export { Figure, type FigureData, type FigureProps } from "./Figure";
export { colorsByValue } from "./palette";
export { type Share, ShareBar, type ShareBarProps } from "./ShareBar";
export { Sparkline, type SparklineProps } from "./Sparkline";
export type { Point, Series, SeriesColor } from "./series";
export { TimeSeries, type TimeSeriesProps } from "./TimeSeries";
export { captionOf, type Interval, intervalName, rangeName } from "./time";
