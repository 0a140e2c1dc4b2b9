"""JSON Schema of the filters of each kind other than trends, and of a `query`.

Source: insights.md, sections 1, 1b and 5 to 9.
"""

from collections.abc import Mapping
from typing import Any, Final, get_args

from fanion.insights.funnels.query import (
    Attribution,
    CorrelationType,
    StepOrder,
    Visualization,
    WindowUnit,
)
from fanion.insights.funnels.reading import STEPS_MAX as FUNNEL_STEPS_MAX
from fanion.insights.kinds.service import ACTORS_QUERY, KINDS
from fanion.insights.parsing.query_names import WRAPPERS
from fanion.insights.parsing.scope import ENTITIES_MAX
from fanion.insights.paths.query import EDGES_MAX, EVENT_TYPES, STEPS_MAX
from fanion.insights.retention.query import OCCURRENCES_MAX, TOTAL_INTERVALS_MAX, RetentionType
from fanion.insights.stickiness.query import SERIES_MAX
from fanion.properties.json_schema import JsonSchema, listed, object_of, one_of, or_null
from fanion.rest.posthog_insight_fields import OF_FILTERS

INSIGHT_QUERY: Final = "InsightQuery"
# A kind that PostHog knows and that is not calculated here.
STORED_ONLY: Final = "SESSIONS"
_TEXTS: Final = listed({"type": "string"})
_ENTITY: Final[JsonSchema] = {"type": ["object", "null"]}
_SWITCH: Final[JsonSchema] = {"type": ["boolean", "null"], "default": False}


def kinds_of_filters(
    common: Mapping[str, JsonSchema], breakdown: Mapping[str, JsonSchema], event: JsonSchema
) -> dict[str, JsonSchema]:
    """Return a component for the filters of each kind other than trends, such as `PathsFilters`.

    Args:
        common: The fields that all kinds have.
        breakdown: The fields of a breakdown.
        event: The schema of an event in a list of them.
    """
    steps = {"events": {**listed(event, maxItems=FUNNEL_STEPS_MAX), "description": "The steps."}}
    series = {"events": listed(event, maxItems=SERIES_MAX)}
    own = {
        "FUNNELS": (
            "How many persons go through steps.",
            {**steps, **_funnel(), **breakdown, **_correlation()},
        ),
        "RETENTION": ("Who comes back, and when.", {**_retention(), **breakdown}),
        "STICKINESS": ("In how many intervals persons are active.", {**series, **_stickiness()}),
        "LIFECYCLE": (
            "Persons who are new, returning, resurrecting or dormant.",
            {"events": listed(event, maxItems=ENTITIES_MAX)},
        ),
        "PATHS": ("Which steps follow one another.", _paths()),
        STORED_ONLY: ("Only stored.", {}),
    }
    return {
        f"{kind.title()}Filters": {
            **object_of(
                {"insight": one_of([kind]), **common, **fields},
                OF_FILTERS,
                ["insight"],
            ),
            "description": f"{kind}: {text}",
        }
        for kind, (text, fields) in own.items()
    }


def query_schema() -> JsonSchema:
    """Return the schema of a question by `query`, as newer clients ask."""
    kinds = [*(kind.name for kind in KINDS), ACTORS_QUERY]
    source: JsonSchema = {
        "type": "object",
        "description": "For a wrapper or a list: its question.",
    }
    return {
        "type": "object",
        "description": (
            "A question of newer clients; `kind` says which. Wrappers are answered by their "
            "`source`; an `ActorsQuery` lists who is behind a number, and is not saved. Options "
            "that are not calculated are refused by name."
        ),
        "properties": {"kind": one_of([*kinds, *WRAPPERS]), "source": source},
        "additionalProperties": {},
        "required": ["kind"],
        "examples": [
            {
                "kind": "FunnelsQuery",
                "series": [
                    {"kind": "EventsNode", "event": "signed up"},
                    {"kind": "EventsNode", "event": "checkout finished"},
                ],
                "dateRange": {"date_from": "-30d"},
            }
        ],
    }


def _funnel() -> dict[str, JsonSchema]:
    return {
        "funnel_viz_type": _words(Visualization),
        "funnel_order_type": _words(StepOrder),
        "funnel_window_interval": {**_whole(1), "default": 14},
        "funnel_window_interval_unit": _words(WindowUnit),
        "funnel_window_days": _whole(1),
        "funnel_from_step": _whole(0),
        "funnel_to_step": _whole(0),
        "bin_count": _whole(0),
        "exclusions": {
            **listed({"type": "object"}),
            "description": "Events between two steps that take a person out of the funnel.",
        },
        "breakdown_attribution_type": _words(Attribution),
        "breakdown_attribution_value": _whole(0),
    }


def _correlation() -> dict[str, JsonSchema]:
    return {
        "funnel_correlation_type": _words(CorrelationType),
        "funnel_correlation_names": _TEXTS,
        "funnel_correlation_exclude_names": _TEXTS,
        "funnel_correlation_event_names": _TEXTS,
        "funnel_correlation_exclude_event_names": _TEXTS,
    }


def _retention() -> dict[str, JsonSchema]:
    return {
        "target_entity": _ENTITY,
        "returning_entity": _ENTITY,
        "period": or_null(one_of(["Hour", "Day", "Week", "Month"])),
        "total_intervals": _whole(1, TOTAL_INTERVALS_MAX),
        "retention_type": _words(RetentionType),
        "cumulative": _SWITCH,
        "minimum_occurrences": _whole(1, OCCURRENCES_MAX),
    }


def _stickiness() -> dict[str, JsonSchema]:
    return {
        "computed_as": or_null(one_of(["cumulative", "non_cumulative"])),
        "stickiness_criteria": {
            **_ENTITY,
            "description": 'How many events an interval needs: `{"operator": "gte", "value": 2}`.',
        },
        "compare": _SWITCH,
    }


def _paths() -> dict[str, JsonSchema]:
    text: JsonSchema = {"type": ["string", "null"]}
    return {
        "include_event_types": listed(one_of(EVENT_TYPES)),
        "include_custom_events": _TEXTS,
        "exclude_events": _TEXTS,
        "start_point": text,
        "end_point": text,
        "path_groupings": _TEXTS,
        "path_replacements": _SWITCH,
        "local_path_cleaning_filters": listed({"type": "object"}),
        "step_limit": _whole(1, STEPS_MAX),
        "edge_limit": _whole(1, EDGES_MAX),
        "min_edge_weight": _whole(0),
        "max_edge_weight": _whole(0),
    }


def _words(kind: Any) -> JsonSchema:
    return or_null(one_of(get_args(kind)))


def _whole(least: int, most: int | None = None) -> JsonSchema:
    schema: JsonSchema = {"type": ["integer", "null"], "minimum": least}
    return schema if most is None else {**schema, "maximum": most}
