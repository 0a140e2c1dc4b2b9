import { type Given, present } from "@/lib/searchParams";
import { isObject } from "./reading";
import type { Query } from "./wire";

// Converts the `filters` of older clients into the equivalent query. Parts without a counterpart
// keep
// their names, so that the query parser rejects them.

const KINDS: Readonly<Record<string, readonly [kind: string, part: string]>> = {
  TRENDS: ["TrendsQuery", "trendsFilter"],
  STICKINESS: ["StickinessQuery", "stickinessFilter"],
  LIFECYCLE: ["LifecycleQuery", "lifecycleFilter"],
  FUNNELS: ["FunnelsQuery", "funnelsFilter"],
  RETENTION: ["RetentionQuery", "retentionFilter"],
  PATHS: ["PathsQuery", "pathsFilter"],
};

// Names that only one kind uses; clients also leave them in questions of other kinds.
const OF_KINDS: Readonly<Record<string, readonly string[]>> = {
  TRENDS: ["display", "formula", "formulas", "formulaNodes", "smoothing_intervals"],
  STICKINESS: ["display", "stickiness_criteria", "computed_as", "interval_count"],
  LIFECYCLE: ["toggled_lifecycles"],
  FUNNELS: [
    ...["funnel_viz_type", "funnel_order_type", "funnel_window_days", "funnel_window_interval"],
    ...["funnel_window_interval_unit", "funnel_from_step", "funnel_to_step", "bin_count"],
    ...["exclusions", "breakdown_attribution_type", "breakdown_attribution_value"],
    ...["funnel_aggregate_by_hogql"],
  ],
  RETENTION: [
    ...["retention_type", "total_intervals", "period", "target_entity", "returning_entity"],
    ...["cumulative", "minimum_occurrences", "retention_custom_brackets", "time_window_mode"],
    ...["aggregation_type", "aggregation_property", "aggregation_property_type"],
  ],
  PATHS: [
    ...["path_type", "paths_hogql_expression", "include_event_types", "start_point", "end_point"],
    ...["include_custom_events", "path_groupings", "funnel_paths", "funnel_filter"],
    ...["exclude_events", "step_limit", "path_replacements", "local_path_cleaning_filters"],
    ...["edge_limit", "min_edge_weight", "max_edge_weight"],
  ],
};

// Display options of other clients, and what they send along with a question.
const IDLE = new Set([
  ...["show_legend", "hidden_legend_keys", "hidden_legend_indexes", "hiddenLegendIndexes"],
  ...["show_values_on_series", "show_labels_on_series", "show_percent_stack_view", "legend_hidden"],
  ...["show_multiple_y_axes", "show_alert_threshold_lines", "show_annotations", "layout"],
  ...["y_axis_scale_type", "min_decimal_places", "decimal_places", "result_customizations"],
  ...["result_customization_by", "aggregation_axis_format", "aggregation_axis_prefix", "show_mean"],
  ...["aggregation_axis_postfix", "detailed_results_aggregation_type", "goal_lines", "session"],
  ...["toggledLifecycles", "mean_retention_calculation", "dashboard_display", "funnel_advanced"],
  ...["retention_reference", "funnel_step_reference", "useSmartUnits", "refresh", "session_id"],
  ...["client_query_id", "from_dashboard", "limit", "offset", "entity_id", "entity_type"],
  ...["entity_math", "entity_order", "type", "people_day", "compare_label", "is_simplified"],
  ...["cache_invalidation_key", "breakdown_value", "people_action", "id", "name", "short_id"],
  ...["user_id", "search", "distinct_id", "selected_interval", "funnel_step", "drop_off"],
  ...["funnel_step_breakdown", "funnel_custom_steps", "entrance_period_start", "path_start_key"],
  ...["path_end_key", "path_dropoff_key", "stickiness_days", "target_date", "lifecycle_type"],
]);

const SHARED = new Set([
  ...["insight", "shown_as", "events", "actions", "properties", "filter_test_accounts"],
  ...["sampling_factor", "date_from", "date_to", "explicit_date", "interval", "compare"],
  ...["compare_to", "aggregation_group_type_index"],
]);

/** Return the query equivalent to the `filters` of older clients. */
export function queryOfFilters(filters: Given): Query {
  const name = kindOf(filters);
  const [kind, part] = KINDS[name] ?? [name, "filter"];
  const own = OF_KINDS[name] ?? [];
  const ofOthers = new Set(Object.values(OF_KINDS).flat());
  const options: Given = {};
  const others: Given = {};
  const breakdown: Given = {};
  for (const [key, value] of Object.entries(filters)) {
    if (own.includes(key)) options[camel(key)] = optionOf(key, value);
    else if (/^breakdowns?(_|$)/.test(key)) breakdown[key] = value;
    else if (!SHARED.has(key) && !IDLE.has(key) && !ofOthers.has(key)) others[key] = value;
  }
  if (["FunnelViz", "PathsViz"].includes(`${options.display}`)) delete options.display;
  return {
    kind,
    ...others,
    ...sharedParts(filters),
    ...present<Given>({
      [part]: Object.keys(options).length > 0 ? options : undefined,
      breakdownFilter: isBrokenDown(breakdown) ? breakdown : undefined,
    }),
  };
}

function kindOf({ insight, shown_as: shownAs }: Given): string {
  if (shownAs === "Stickiness") return "STICKINESS";
  if (shownAs === "Lifecycle") return "LIFECYCLE";
  return typeof insight === "string" ? insight : "TRENDS";
}

const sharedParts = (filters: Given): Given =>
  present<Given>({
    series: entitiesOf(filters),
    properties: filters.properties,
    filterTestAccounts: filters.filter_test_accounts,
    samplingFactor: filters.sampling_factor,
    interval: filters.interval,
    aggregation_group_type_index: filters.aggregation_group_type_index,
    dateRange: datesOf(filters),
    compareFilter:
      filters.compare === true
        ? present({ compare: true, compare_to: filters.compare_to })
        : undefined,
  });

function entitiesOf({ events, actions }: Given): unknown[] | undefined {
  const listed = [
    ...(Array.isArray(events) ? events : []),
    ...(Array.isArray(actions) ? actions.map((one) => ({ ...one, type: "actions" })) : []),
  ];
  const orderOf = (one: unknown) => (isObject(one) ? Number(one.order ?? 0) : 0);
  const sorted = listed.toSorted((a, b) => orderOf(a) - orderOf(b));
  return sorted.length > 0 ? sorted.map(entityOf) : undefined;
}

function entityOf(given: unknown): unknown {
  if (!isObject(given)) return given;
  const { id, type, order: _, name, ...rest } = given;
  if (type === "actions") return { ...rest, kind: "ActionsNode", id: Number(id), name };
  if (type === "groups" && Array.isArray(rest.nodes))
    return { ...rest, kind: "GroupNode", nodes: rest.nodes.map(entityOf) };
  return { kind: "EventsNode", ...rest, event: id ?? given.event ?? null };
}

/** Dates with a time mean whole days, unless marked as explicit. */
function datesOf({ date_from: from, date_to: to, explicit_date: explicit }: Given) {
  const whole = (date: unknown) =>
    explicit !== true && typeof date === "string" && /^\d{4}-\d\d-\d\d[T ]/.test(date)
      ? date.slice(0, 10)
      : date;
  return present<Given>({
    date_from: whole(from),
    date_to: whole(to),
    explicitDate: explicit === true ? true : undefined,
  });
}

function optionOf(key: string, value: unknown): unknown {
  if (key !== "exclusions" || !Array.isArray(value)) return value;
  return value.map((one) =>
    isObject(one)
      ? Object.fromEntries(Object.entries(one).map(([name, of]) => [stepName(name), of]))
      : one,
  );
}

const stepName = (name: string): string =>
  name === "funnel_from_step" || name === "funnel_to_step" ? camel(name) : name;

const camel = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

const isBrokenDown = ({ breakdown, breakdowns }: Given): boolean =>
  (breakdown !== undefined && breakdown !== null && breakdown !== "") ||
  (Array.isArray(breakdowns) && breakdowns.length > 0);
