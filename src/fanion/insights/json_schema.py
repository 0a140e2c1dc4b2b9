"""JSON Schema of the filters of trends, built from the tables that validation reads.

source: insights.md sections 2 and 4
"""

from collections.abc import Mapping
from typing import Any, get_args

from fanion.insights.date_range import FROM_DEFAULT, INTERVALS
from fanion.insights.series import LEAVES_MAX, SERIES_MAX, Math
from fanion.insights.trends.query import UNSUPPORTED_OPTIONS
from fanion.properties.filters import COHORT_TYPES
from fanion.properties.json_schema import (
    JsonSchema,
    condition_forms,
    listed,
    object_of,
    reference,
    values_of,
)
from fanion.properties.operators import CONDITION_FIELDS, MEMBERSHIP, QUERY_COMPARISONS
from fanion.rest import posthog_insight_fields

TRENDS, SERIES = "TrendsFilters", "EventSeries"
INSIGHT_FILTERS = "InsightFilters"
CONDITION, GROUP = "InsightCondition", "InsightConditionGroup"

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
    ]
}


def insight_schemas() -> dict[str, JsonSchema]:
    """Components by name."""
    others = sorted(posthog_insight_fields.KINDS - {"TRENDS"})
    return {
        INSIGHT_FILTERS: {
            "description": "Trends are calculated; other kinds of insights are only stored.",
            "anyOf": [
                reference(TRENDS),
                object_of(
                    {"insight": {"enum": others}}, posthog_insight_fields.OF_FILTERS, ["insight"]
                ),
            ],
        },
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
            "description": "On a property of the event or its person, or on a cohort.",
            "anyOf": [*_property_forms(), *_cohort_forms()],
        },
        GROUP: {
            **object_of(
                {
                    "type": {"enum": ["AND", "OR"]},
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
        "insight": {"enum": ["TRENDS", "trends", None], "default": "TRENDS"},
        "events": {
            **listed(reference(SERIES), maxItems=SERIES_MAX),
            "description": "Events to count.",
        },
        "properties": _filter("Conditions on all events."),
        "filter_test_accounts": {
            **switch,
            "description": "With the project's `test_account_filters` too.",
        },
        "date_from": {
            **bound,
            "default": FROM_DEFAULT,
            "description": "A date, a time, `-30d`, `-1mStart`, `dStart`, or `all`.",
        },
        "date_to": {**bound, "description": "In the same formats; now by default."},
        "explicit_date": {**switch, "description": "The range is not rounded."},
        "interval": {"enum": [*INTERVALS, None], "default": "day"},
        "display": {
            "enum": [
                *sorted(
                    posthog_insight_fields.DISPLAYS - posthog_insight_fields.DISPLAYS_UNSUPPORTED
                ),
                None,
            ],
            "description": "A chart of totals has one number for the whole range.",
        },
        "breakdown": {
            "type": ["string", "null"],
            "description": "A property: one series for each of its values.",
        },
        "breakdown_type": {"enum": ["event", "person", None], "default": "event"},
        "compare": {**switch, "description": "Compares with the previous range."},
        **{
            name: _off(nothing)
            for name, nothing in {"actions": ([],), **UNSUPPORTED_OPTIONS}.items()
        },
        "formula": _off(("",)),
    }


def _off(nothing: tuple[object, ...]) -> JsonSchema:
    return {"enum": [None, *nothing], "description": "Not supported; leave it out."}


def _series_fields() -> dict[str, JsonSchema]:
    text = {"type": ["string", "null"]}
    return {
        "id": {**text, "description": "Name of the event; null for any."},
        "type": {"enum": ["events", None]},
        "math": {
            "enum": [*get_args(Math), None],
            "default": "total",
            "description": "`total` counts events, `dau` persons.",
        },
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
            "type": {"enum": ["event", "person", None], "default": "event"},
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
            "type": {"enum": sorted(COHORT_TYPES)},
            "negation": {"type": ["boolean", "null"], "description": "Negates the condition."},
        },
        CONDITION_FIELDS,
        ["type"],
    )
