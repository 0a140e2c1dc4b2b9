"""The field names of a `query`, and the names of `filters` that they translate to.

Known are all names that PostHog's API of any version since 2023, its clients and its interface
write into a `query` of any kind. Each kind declares the names of its own objects.

Source: PostHog's published schema; insights.md, sections 1b and 15.
"""

import re
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from typing import Final

_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")


def snake_case_name(name: str) -> str:
    """Return the name as in `filters`: `funnel_window_interval` for `funnelWindowInterval`."""
    return _CAPITAL.sub(r"_\1", name.replace("HogQL", "Hogql")).lower()


@dataclass(frozen=True, slots=True)
class Part:
    """The names of one object of a query.

    Attributes:
        asked: Maps each name to its name in `filters`. The old spelling of each is known too.
        drawn: Names that only concern drawing, or that do not affect the answer.
    """

    asked: Mapping[str, str]
    drawn: Collection[str] = frozenset()

    def filter_name(self, name: str) -> str | None:
        """Return the name in `filters`, None for a name that asks for nothing."""
        return self._filter_names().get(name)

    @property
    def known(self) -> Set[str]:
        return (
            self._filter_names().keys()
            | self.drawn
            | {snake_case_name(name) for name in self.drawn}
        )

    def _filter_names(self) -> Mapping[str, str]:
        return {snake_case_name(name): to for name, to in self.asked.items()} | dict(self.asked)


def same_names(*names: str) -> dict[str, str]:
    return {name: snake_case_name(name) for name in names}


DRAWN = frozenset(
    {
        *("showLegend", "legendPosition", "hiddenLegendIndexes", "hiddenLegendKeys"),
        *("hiddenLegendBreakdowns", "showValuesOnSeries", "showLabelsOnSeries"),
        *("showPercentStackView", "showMultipleYAxes", "showAlertThresholdLines"),
        *("showAnnotations", "yAxisScaleType", "xAxisLabel", "yAxisLabel", "decimalPlaces"),
        *("minDecimalPlaces", "resultCustomizations", "resultCustomizationBy", "goalLines"),
        *("aggregationAxisFormat", "aggregationAxisPrefix", "aggregationAxisPostfix"),
        *("detailedResultsAggregationType", "showTrendLines", "showConfidenceIntervals"),
        *("confidenceLevel", "showMovingAverage", "movingAverageIntervals", "stackBreakdownValues"),
        *("excludeBoxPlotOutliers", "hideWeekends", "layout", "useUdf", "stacked"),
        *("metricShowChange", "metricChangeIncreaseColor", "metricChangeDecreaseColor"),
        *("metricColorByDirection", "metricLineIncreaseColor", "metricLineDecreaseColor"),
        "metricSummary",
    }
)

DATE_RANGE = Part(same_names("date_from", "date_to", "explicitDate") | {
    "dateFrom": "date_from", "dateTo": "date_to",
})  # fmt: skip
BREAKDOWN = Part(
    {
        name: name
        for name in (
            *("breakdown", "breakdown_type", "breakdowns", "breakdown_group_type_index"),
            *("breakdown_limit", "breakdown_hide_other_aggregation", "breakdown_normalize_url"),
            *("breakdown_histogram_bin_count", "breakdown_path_cleaning"),
        )
    }
)
COMPARE = Part(same_names("compare", "compareTo"))

# Names that any query may have.
NODE = frozenset({"kind", "response", "version", "tags", "dataColorTheme"})
COMMON = Part(
    same_names(
        *("properties", "filterTestAccounts", "samplingFactor", "aggregationGroupTypeIndex"),
        *("interval", "modifiers", "intervalCount", "dataWarehouseEventsModifiers"),
    ),
    NODE,
)
# Objects of a query whose fields translate to names of `filters`.
PARTS: Final[Mapping[str, Part]] = {
    "dateRange": DATE_RANGE,
    "breakdownFilter": BREAKDOWN,
    "breakdown": BREAKDOWN,
    "compareFilter": COMPARE,
}

_SHOWN = frozenset(
    {
        *("full", "showHeader", "showTable", "showCorrelationTable", "showLastComputation"),
        *("showLastComputationRefresh", "showFilters", "showResults", "embedded", "expandable"),
        *("suppressSessionAnalysisWarning", "hidePersonsModal", "hideTooltipOnScroll"),
        *("vizSpecificOptions", "shortId", "columns", "hiddenColumns", "pinnedColumns"),
        *("showEventFilter", "showEventsFilter", "showSearch", "showPropertyFilter"),
        *("showTestAccountFilters", "showHogQLEditor", "showActions", "showDateRange"),
        *("showExport", "showReload", "showCount", "showElapsedTime", "showTimings"),
        *("showColumnConfigurator", "showPersistentColumnConfigurator", "showSavedQueries"),
        *("showSavedFilters", "showTableViews", "showAbsoluteTime", "showRecordingColumn"),
        *("propertiesViaUrl", "allowSorting", "showOpenEditorButton", "showResultsTable"),
        *("showSourceQueryOptions", "context", "contextKey", "defaultColumns"),
        *("display", "chartSettings", "tableSettings"),
    }
)
# Kinds that only say how their `source` is drawn.
WRAPPERS: Final = ("InsightVizNode", "DataTableNode", "DataVisualizationNode")
WRAPPER_NAMES = NODE | _SHOWN | {"source"}
# Kinds that PostHog knows and that are refused: the engine only answers kinds of questions.
UNSUPPORTED_KINDS = frozenset(
    {
        *("HogQLMetadata", "HogQLAutocomplete", "HogQLASTQuery", "EventsQuery"),
        *("PersonsNode", "EventsNode", "ActionsNode", "SessionsQuery", "SessionsTimelineQuery"),
        *("ErrorTrackingQuery", "LogsQuery", "TracesQuery", "TraceQuery", "RecordingsQuery"),
        *("WebVitalsQuery", "WebVitalsPathBreakdownQuery"),
        *("RevenueAnalyticsOverviewQuery", "RevenueAnalyticsGrossRevenueQuery"),
        *("SessionAttributionExplorerQuery", "CalendarHeatmapQuery", "DataWarehouseNode"),
    }
)
# Kinds of questions about experiments; the error says which other kinds give their numbers.
EXPERIMENT_KINDS = frozenset(
    {
        *("ExperimentQuery", "ExperimentTrendsQuery", "ExperimentFunnelsQuery"),
        "ExperimentExposureQuery",
    }
)

# Names that only a group of events has.
OF_GROUP: Final = frozenset({"operator", "nodes"})

# An event in `series` or `exclusions`, or an entity of retention.
EVENTS_NODE = Part(
    {
        "event": "id",
        "id": "id",
        **same_names(
            *("customName", "math", "mathProperty", "mathPropertyType", "mathGroupTypeIndex"),
            *("mathHogql", "mathMultiplier", "properties", "order", "funnelFromStep"),
            *("funnelToStep", "mathPropertyRevenueCurrency"),
        ),
        "custom_name": "custom_name",
        "math_hogql": "math_hogql",
        "name": "name",
        "type": "type",
        "fixedProperties": "fixedProperties",
        "optionalInFunnel": "optionalInFunnel",
        **same_names("orderBy", "limit"),
    },
    NODE | {"uuid", "index"},
)
