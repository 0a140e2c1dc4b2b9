export {
  createDashboard,
  type DashboardSummary,
  dashboardsQuery,
  isGenerated,
} from "@/lib/dashboardList";
export { authorOf, nameOfInsight } from "@/words/insightsSaved";
export { ActorsDrawer } from "./ActorsDrawer";
export { AskIconLink, AskLink } from "./AskLink";
export { type ActorsSource, actorsOf, pageOf, pageParameters } from "./actors";
export { type Answer, type KnownAnswer, useAnswer, useIsAsking } from "./answers";
export { EventPicker } from "./builder/EventPicker";
export { SeriesList } from "./builder/SeriesList";
export { DailyChart } from "./DailyChart";
export { useKind } from "./kinds";
export { costOf, notesOf } from "./kinds/answered";
export type { Kind, Place, Uses } from "./kinds/kind";
export type { Line as TrendSeries } from "./kinds/trends/lines";
export { InlineWholeField, WholeField } from "./kinds/WholeField";
export type { MathName } from "./question/maths";
export { FIRST, type Question, type Series, seriesOf } from "./question/model";
export { readConditions, readSeries, writeSeries } from "./question/parts";
export { isObject, Reading } from "./question/reading";
export { nameOfSeries } from "./question/seriesName";
export { EditDetails, type KnownDetails } from "./saved/EditDetails";
export { type Insight, insightsQuery, useInsightChange } from "./saved/queries";
export { SavedItemPage } from "./saved/SavedItemPage";
export { loadLines, loadStored, storedQuery } from "./saved/stored";
export { TrendChart } from "./TrendChart";
export { type Trend, type TrendFilters, trendQuery } from "./trend";
