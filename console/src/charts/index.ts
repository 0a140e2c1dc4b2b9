export { Bars, type BarsProps } from "./Bars";
export { BigNumber } from "./BigNumber";
export { Categories, type CategoriesProps } from "./Categories";
export type { Category } from "./CategoriesSvg";
export { Figure, type FigureData, type FigureProps, NumbersTable } from "./Figure";
export {
  colorOf,
  FunnelBars,
  type FunnelBarsProps,
  type FunnelPart,
  type FunnelValue,
} from "./FunnelBars";
export { Histogram, type HistogramBin, type HistogramProps } from "./Histogram";
export { Pie } from "./Pie";
export { colorsByValue } from "./palette";
export { type Share, ShareBar, type ShareBarProps } from "./ShareBar";
export { Sparkline, type SparklineProps } from "./Sparkline";
export {
  inReach,
  type MomentMark,
  type Point,
  type Series,
  type SeriesColor,
  type Threshold,
} from "./series";
export { TimeSeries, type TimeSeriesProps } from "./TimeSeries";
export { type Total, TotalBars, type TotalsProps } from "./Totals";
export { axisName, captionOf, type Interval, indexOfMoment, intervalName, rangeName } from "./time";
export { WorldMap } from "./WorldMap";
