"""Names that any version of PostHog's API, clients or interface writes into an insight's `filters`.

Also the words that some of these names take.

Source: PostHog's published schema, interface and clients, 2021 to 2026; insights.md sections 1 to
9.
"""

from collections.abc import Mapping

KINDS = frozenset(
    {"TRENDS", "STICKINESS", "LIFECYCLE", "FUNNELS", "RETENTION", "PATHS", "SESSIONS"}
)
# Quarters and years are Fanion's own.
INTERVALS = frozenset({"minute", "hour", "day", "week", "month", "quarter", "year"})
# Displays of trends: with one number for each interval, and with one for the whole range.
DISPLAYS_OF_SERIES = frozenset(
    {
        *("ActionsLineGraph", "ActionsAreaGraph", "ActionsBar"),
        *("ActionsStackedBar", "ActionsUnstackedBar"),
    }
)
DISPLAYS_OF_TOTALS = frozenset(
    {"ActionsTable", "ActionsPie", "ActionsBarValue", "BoldNumber", "WorldMap"}
)
# Displays of trends with running sums.
DISPLAYS_CUMULATIVE = frozenset({"ActionsLineGraphCumulative"})
# Displays that PostHog knows and Fanion does not calculate.
DISPLAYS_UNSUPPORTED = frozenset({"ActionsDonut", "BoxPlot", "Metric", "SlopeGraph"})
# Displays of trends with a number for each hour of each weekday.
DISPLAYS_OF_WEEK = frozenset({"CalendarHeatmap"})
# Displays of other kinds, and tables of any kind.
_DISPLAYS_OF_OTHERS = frozenset({"FunnelViz", "PathsViz"})
DISPLAYS = (
    DISPLAYS_OF_SERIES
    | DISPLAYS_OF_TOTALS
    | DISPLAYS_CUMULATIVE
    | DISPLAYS_OF_WEEK
    | DISPLAYS_UNSUPPORTED
    | _DISPLAYS_OF_OTHERS
)

_ASKED = frozenset(
    {
        *("insight", "events", "actions", "data_warehouse", "data_warehouse_entities", "entities"),
        *("new_entity", "properties", "filter_test_accounts", "sampling_factor"),
        *("date_from", "date_to", "explicit_date", "interval", "display", "shown_as", "session"),
        *("breakdown", "breakdown_type", "breakdown_group_type_index"),
        *("breakdowns", "breakdown_limit", "breakdown_hide_other_aggregation"),
        *("breakdown_histogram_bin_count", "breakdown_normalize_url", "breakdown_path_cleaning"),
        *("aggregation_group_type_index", "compare", "compare_to", "smoothing_intervals"),
        *("formula", "formulas", "formulaNodes", "custom_name"),
    }
)
# Names that are sent with a query but are not part of it.
ACCOMPANYING = frozenset(
    {
        *("refresh", "client_query_id", "session_id", "from_dashboard", "limit", "offset"),
        *("entity_id", "entity_type", "entity_math", "entity_order", "type", "people_day"),
        *("compare_label", "cache_invalidation_key", "is_simplified"),
        *(
            "breakdown_value",
            "people_action",
            "id",
            "name",
            "short_id",
            "user_id",
            "search",
            "distinct_id",
        ),
    }
)
# Options that links contain for every kind, with the value that has no effect.
IDLE: Mapping[str, str] = {"smoothing_intervals": "1"}
# Display settings, which are stored without effect.
DRAWN = frozenset(
    {
        *("show_legend", "hidden_legend_keys", "hidden_legend_indexes", "hiddenLegendIndexes"),
        *("show_values_on_series", "show_labels_on_series", "show_percent_stack_view"),
        *("show_multiple_y_axes", "show_alert_threshold_lines", "show_annotations"),
        *("y_axis_scale_type", "min_decimal_places", "decimal_places", "result_customizations"),
        *("result_customization_by", "aggregation_axis_format", "aggregation_axis_prefix"),
        *("aggregation_axis_postfix", "detailed_results_aggregation_type", "goal_lines"),
        *("legend_hidden", "toggledLifecycles", "toggled_lifecycles", "layout", "show_mean"),
        *("mean_retention_calculation", "dashboard_display", "retention_reference"),
        *("funnel_step_reference", "funnel_advanced", "useSmartUnits"),
    }
)
_OF_FUNNELS = frozenset(
    {
        *("funnel_viz_type", "funnel_order_type", "funnel_window_days", "funnel_window_interval"),
        *("funnel_window_interval_unit", "funnel_from_step", "funnel_to_step", "bin_count"),
        *("exclusions", "breakdown_attribution_type", "breakdown_attribution_value"),
        *("funnel_aggregate_by_hogql", "funnel_step", "funnel_step_breakdown"),
        *("funnel_custom_steps", "entrance_period_start", "drop_off"),
        *("funnel_correlation_type", "funnel_correlation_names"),
        *("funnel_correlation_exclude_names", "funnel_correlation_event_names"),
        *("funnel_correlation_exclude_event_names", "funnel_correlation_person_entity"),
        *("funnel_correlation_event_exclude_property_names",),
        *("funnel_correlation_person_converted", "funnel_correlation_person_limit"),
        *("funnel_correlation_person_offset", "funnel_correlation_property_values"),
    }
)
_OF_RETENTION = frozenset(
    {
        *("retention_type", "total_intervals", "period", "target_entity", "returning_entity"),
        *("selected_interval", "cumulative", "minimum_occurrences", "retention_custom_brackets"),
        *("returning_interval", "time_window_mode", "aggregation_type", "aggregation_property"),
        *("aggregation_property_type",),
    }
)
_OF_OTHERS = frozenset(
    {
        *("stickiness_days", "target_date", "lifecycle_type", "stickiness_criteria"),
        *("weekday", "hour"),
        *("computed_as", "interval_count"),
        *("path_type", "paths_hogql_expression", "include_event_types", "start_point"),
        *("include_custom_events", "end_point", "path_groupings", "funnel_paths"),
        *("funnel_filter", "exclude_events", "step_limit", "path_replacements"),
        *("local_path_cleaning_filters", "edge_limit", "min_edge_weight", "max_edge_weight"),
        *("path_start_key", "path_end_key", "path_dropoff_key"),
    }
)
# Names that only one kind reads. Clients may leave them in queries of other kinds, as PostHog's do.
OF_KINDS = _OF_FUNNELS | _OF_RETENTION | _OF_OTHERS
OF_FILTERS = _ASKED | ACCOMPANYING | DRAWN | _OF_FUNNELS | _OF_RETENTION | _OF_OTHERS

# Names in the URL of a number's actors that locate the number, in addition to those above.
OF_PLACES = frozenset({"day", "compare_label", "returning_interval", "weekday", "hour"})
# Names that PostHog's interface and server add to the URL of actors, without effect on the list.
# `label` is the interface's name of the number, and recordings do not exist here.
OF_LINKS = frozenset({"label", "include_recordings", "include_total"})

# Names in an event of `events`, `exclusions` and similar lists.
OF_ENTITY = frozenset(
    {
        *("id", "event", "type", "kind", "name", "custom_name", "order", "index", "uuid"),
        *("math", "math_property", "math_property_type", "math_group_type_index", "math_hogql"),
        *("math_multiplier", "math_property_revenue_currency", "properties", "fixedProperties"),
        *("funnel_from_step", "funnel_to_step", "optionalInFunnel", "custom_event"),
        *("table_name", "id_field", "timestamp_field", "distinct_id_field", "days"),
        *("selector", "href", "text", "url", "url_matching", "tag_name"),
        *("nodes", "operator"),
    }
)

# Names in the filters of a dashboard, of which Fanion applies the range and the conditions. The
# others must be idle.
OF_DASHBOARD_FILTERS = frozenset({"date_from", "date_to", "properties"})
UNSUPPORTED_OF_DASHBOARD_FILTERS: Mapping[str, str] = dict.fromkeys(
    (
        *("breakdown_filter", "filter_test_accounts", "filterTestAccounts"),
        *("explicitDate", "explicit_date", "interval", "test_account_filters"),
    ),
    "Set it in the filters of each insight.",
)

# The words that a name may have as its value, exactly as written.
WORDS: Mapping[str, frozenset[str]] = {
    "interval": INTERVALS,
    "display": DISPLAYS,
    "breakdown_type": frozenset(
        {"event", "person", "cohort", "group", "session", "hogql", "event_metadata"}
        | {"data_warehouse", "data_warehouse_person_property"}
    ),
    "shown_as": frozenset({"Volume", "Stickiness", "Lifecycle"}),
    "entity_type": frozenset({"events", "actions", "groups", "data_warehouse", "new_entity"}),
    "funnel_viz_type": frozenset({"steps", "trends", "time_to_convert", "flow"}),
    "funnel_order_type": frozenset({"ordered", "strict", "unordered"}),
    "funnel_window_interval_unit": frozenset({"second", "minute", "hour", "day", "week", "month"}),
    "breakdown_attribution_type": frozenset({"first_touch", "last_touch", "all_events", "step"}),
    "retention_type": frozenset(
        {"retention_recurring", "retention_first_time", "retention_first_ever_occurrence"}
    ),
    "period": frozenset({"Hour", "Day", "Week", "Month"}),
    "lifecycle_type": frozenset({"new", "returning", "resurrecting", "dormant"}),
}
INDEXES = ("aggregation_group_type_index", "breakdown_group_type_index")
BOOLEANS = ("compare", "explicit_date", "filter_test_accounts")
# Lists of events, and single ones.
ENTITY_LISTS = ("events", "actions", "exclusions", "new_entity", "data_warehouse")
ENTITIES = ("target_entity", "returning_entity")
