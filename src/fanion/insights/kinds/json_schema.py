"""JSON Schema of the filters of insights, built from the tables that validation reads.

Source: insights.md, sections 2 and 4.
"""

from collections.abc import Mapping
from typing import Any

from fanion.insights.dates.bounds import FROM_DEFAULT
from fanion.insights.dates.intervals import INTERVALS
from fanion.insights.kinds.kinds_json_schema import (
    INSIGHT_QUERY,
    STORED_ONLY,
    kinds_of_filters,
    query_schema,
)
from fanion.insights.parsing.conditions import LEAVES_MAX
from fanion.insights.parsing.scope import (
    BINS_MAX,
    BREAKDOWN_TYPES,
    BREAKDOWNS_MAX,
    GROUP_TYPES_MAX,
    VALUES_MAX,
    VALUES_MOST,
)
from fanion.insights.trends.formula import CHARS_MAX
from fanion.insights.trends.maths import MATHS, PROPERTY_TYPES
from fanion.insights.trends.query import FORMULAS_MAX, SERIES_MAX, SMOOTHED_MAX
from fanion.properties.filters import COHORT_TYPES
from fanion.properties.json_schema import (
    NOTHING,
    JsonSchema,
    condition_forms,
    listed,
    object_of,
    one_of,
    or_null,
    reference,
    values_of,
)
from fanion.properties.operators import CONDITION_FIELDS, MEMBERSHIP, QUERY_COMPARISONS
from fanion.properties.operators import VALUES_MAX as IDS_MAX
from fanion.rest import posthog_insight_fields

# Names that PostHog knows and that are not calculated here.
UNSUPPORTED = ("actions", "breakdown_path_cleaning")
_UNSUPPORTED_OF_SERIES = ("math_hogql", "math_multiplier", "math_property_revenue_currency")
TRENDS, SERIES = "TrendsFilters", "EventSeries"
INSIGHT_FILTERS = "InsightFilters"
CONDITION, GROUP = "InsightCondition", "InsightConditionGroup"
_COMMON_FIELDS = (
    *("properties", "filter_test_accounts", "date_from", "date_to", "interval"),
    "aggregation_group_type_index",
)

EXAMPLES: Mapping[str, list[Any]] = {
    TRENDS: [
        {"insight": "TRENDS", "events": [{"id": "signed up"}], "date_from": "-7d"},
        {
            "insight": "TRENDS",
            "events": [
                {
                    "id": "checkout finished",
                    "math": "dau",
                    "properties": [
                        {"type": "event", "key": "total", "operator": "gt", "value": "50"}
                    ],
                }
            ],
            "properties": [
                {"type": "person", "key": "plan", "operator": "exact", "value": ["pro", "team"]}
            ],
            "date_from": "-1mStart",
            "interval": "week",
            "breakdown": "$browser",
            "compare": True,
        },
        {
            "insight": "TRENDS",
            "events": [
                {"id": "checkout finished", "math": "sum", "math_property": "total"},
                {"id": "checkout finished", "math": "dau"},
            ],
            "formula": "A / B",
            "breakdowns": [
                {"property": "plan", "type": "person"},
                {"property": "$browser", "type": "event"},
            ],
            "breakdown_limit": 10,
        },
    ]
}


def insight_schemas() -> dict[str, JsonSchema]:
    """Return the components of the schema, by name."""
    common = {name: schema for name, schema in _trend_fields().items() if name in _COMMON_FIELDS}
    breakdown = _breakdown_fields({"type": ["boolean", "null"], "default": False})
    kinds = kinds_of_filters(common, breakdown, reference(SERIES))
    return {
        INSIGHT_FILTERS: {
            "description": f"All kinds are calculated, except {STORED_ONLY}, which is only stored.",
            "anyOf": [reference(TRENDS), *map(reference, kinds)],
        },
        **kinds,
        INSIGHT_QUERY: query_schema(),
        TRENDS: {
            **object_of(_trend_fields(), posthog_insight_fields.OF_FILTERS),
            "description": "The events to count, the date range and conditions.",
            "examples": EXAMPLES[TRENDS],
        },
        SERIES: {
            **object_of(_series_fields(), posthog_insight_fields.OF_ENTITY),
            "description": "One series of the chart.",
        },
        CONDITION: {
            "description": "A condition on a property of the event or its person, or on a cohort.",
            "anyOf": [*_property_forms(), *_cohort_forms()],
        },
        GROUP: {
            **object_of(
                {
                    "type": one_of(("AND", "OR")),
                    "values": {
                        "type": "array",
                        "items": {"anyOf": [reference(CONDITION), reference(GROUP)]},
                    },
                },
                required=["type", "values"],
            ),
            "description": "A tree of conditions.",
        },
    }


def _trend_fields() -> dict[str, JsonSchema]:
    bound = {"type": ["string", "null"]}
    switch = {"type": ["boolean", "null"], "default": False}
    return {
        "insight": {**or_null(one_of(["TRENDS"])), "default": "TRENDS"},
        "events": {
            **listed(reference(SERIES), maxItems=SERIES_MAX),
            "description": "Events to count.",
        },
        "properties": _filter("Conditions on all events."),
        "filter_test_accounts": {
            **switch,
            "description": "Applies the project's `test_account_filters` too.",
        },
        "date_from": {
            **bound,
            "default": FROM_DEFAULT,
            "description": "A date, a time, `-30d`, `-1mStart`, `dStart`, or `all`.",
        },
        "date_to": {**bound, "description": "In the same formats; now by default."},
        "explicit_date": {**switch, "description": "The range is not rounded."},
        "interval": {**or_null(one_of(INTERVALS)), "default": "day"},
        "display": {
            **or_null(
                one_of(
                    sorted(
                        posthog_insight_fields.DISPLAYS_OF_SERIES
                        | posthog_insight_fields.DISPLAYS_OF_TOTALS
                        | posthog_insight_fields.DISPLAYS_CUMULATIVE
                    )
                )
            ),
            "description": "A chart of totals has one number for the whole range.",
        },
        "aggregation_group_type_index": {
            **_whole(0, GROUP_TYPES_MAX - 1),
            "description": "Counts groups of this type in place of persons.",
        },
        "compare": {**switch, "description": "Compares with the previous range."},
        "compare_to": {
            **bound,
            "description": "Compares with a range that is this much earlier: `-1w`.",
        },
        "smoothing_intervals": {
            **_whole(0, SMOOTHED_MAX),
            "description": "Each number is the average of this many, rounded down.",
        },
        **_formula_fields(),
        **_breakdown_fields(switch),
        **{name: _off() for name in UNSUPPORTED},
    }


def _formula_fields() -> dict[str, JsonSchema]:
    text: JsonSchema = {"type": "string", "maxLength": CHARS_MAX}
    node = object_of({"formula": text, "custom_name": {"type": ["string", "null"]}})
    return {
        "formula": {
            "type": ["string", "null"],
            "maxLength": CHARS_MAX,
            "description": "A formula, such as `A / B`. Its result replaces the series.",
        },
        "formulas": {**listed(text, maxItems=FORMULAS_MAX), "description": "Several formulas."},
        "formulaNodes": {
            **listed({**node, "required": ["formula"]}, maxItems=FORMULAS_MAX),
            "description": "Several formulas with names.",
        },
    }


def _breakdown_fields(switch: JsonSchema) -> dict[str, JsonSchema]:
    types: JsonSchema = {**or_null(one_of(BREAKDOWN_TYPES)), "default": "event"}
    part = object_of(
        {
            "property": {"type": ["string", "integer"]},
            "value": {"type": ["string", "integer", "null"]},
            "type": types,
            "group_type_index": _whole(0, GROUP_TYPES_MAX - 1),
            "histogram_bin_count": _whole(1, BINS_MAX),
            "normalize_url": switch,
        }
    )
    keys = listed({"type": ["string", "integer"]}, maxItems=IDS_MAX)
    return {
        "breakdown": {
            "anyOf": [{"type": ["string", "integer"]}, keys],
            "description": "A property, or ids of cohorts: one series for each value.",
        },
        "breakdown_type": types,
        "breakdown_group_type_index": _whole(0, GROUP_TYPES_MAX - 1),
        "breakdowns": {
            **listed({**part, "required": ["property"]}, maxItems=BREAKDOWNS_MAX),
            "description": "Several properties, whose values are combined.",
        },
        "breakdown_limit": {
            **_whole(1, VALUES_MOST),
            "default": VALUES_MAX,
            "description": "The number of values shown; all others have one entry.",
        },
        "breakdown_hide_other_aggregation": {
            **switch,
            "description": "Leaves out the entry for all other values.",
        },
        "breakdown_histogram_bin_count": {
            **_whole(1, BINS_MAX),
            "description": "Numbers are counted in this many bins of equal width.",
        },
        "breakdown_normalize_url": {
            **switch,
            "description": "Removes `?`, `#` and `/` from the end.",
        },
    }


def _whole(least: int, most: int) -> JsonSchema:
    return {"type": ["integer", "null"], "minimum": least, "maximum": most}


def _off() -> JsonSchema:
    return {**NOTHING, "description": "Not supported; leave it out."}


def _series_fields() -> dict[str, JsonSchema]:
    text = {"type": ["string", "null"]}
    return {
        "id": {**text, "description": "Name of the event; null for any."},
        "type": or_null(one_of(["events"])),
        "math": {
            **or_null(one_of(MATHS)),
            "default": "total",
            "description": "What is counted: `total` events, `dau` persons.",
        },
        "math_property": {**text, "description": "The property for `sum`, `avg` and the like."},
        "math_property_type": {
            **or_null(one_of([*PROPERTY_TYPES, "session_properties"])),
            "description": "Whose property it is; for sessions only `$session_duration`.",
        },
        "math_group_type_index": {
            **_whole(0, GROUP_TYPES_MAX - 1),
            "description": "The type of the groups that `unique_group` counts.",
        },
        **{name: _off() for name in _UNSUPPORTED_OF_SERIES},
        "name": text,
        "custom_name": {**text, "description": "Label of the series."},
        "properties": _filter("Conditions on this event."),
    }


def _filter(description: str) -> JsonSchema:
    conditions = {"type": "array", "items": reference(CONDITION), "maxItems": LEAVES_MAX}
    nothing: JsonSchema = {"type": "object", "maxProperties": 0}
    return {
        "description": description,
        "anyOf": [conditions, reference(GROUP), nothing, {"type": "null"}],
    }


def _property_forms() -> list[JsonSchema]:
    return condition_forms(
        values_of(QUERY_COMPARISONS),
        {
            "type": {**or_null(one_of(["event", "person", "group"])), "default": "event"},
            "key": {"type": "string", "description": "Name of the property."},
            "negation": {"type": ["boolean", "null"], "description": "Negates the condition."},
        },
        CONDITION_FIELDS,
        ["key"],
    )


def _cohort_forms() -> list[JsonSchema]:
    return condition_forms(
        values_of(MEMBERSHIP),
        {
            "type": one_of(sorted(COHORT_TYPES)),
            "negation": {"type": ["boolean", "null"], "description": "Negates the condition."},
        },
        CONDITION_FIELDS,
        ["type"],
    )
