"""JSON Schema of questions, made of the options that their types declare.

Source: insights.md, sections 1 to 9.
"""

from collections.abc import Mapping
from typing import Any, Final

from fanion.insights.entities import ACTION_SERIES, SERIES
from fanion.insights.kinds.service import ACTORS_QUERY, KINDS
from fanion.insights.parsing.options import CONDITION, GROUP
from fanion.insights.parsing.query_names import WRAPPERS
from fanion.insights.query import Scope
from fanion.insights.trends.query import TRENDS_FILTERS, Series, TrendsQuery
from fanion.properties.elements.comparisons import OPERATORS_OF_ELEMENTS, is_of_whole_elements
from fanion.properties.filters import (
    COHORT_TYPES,
    ELEMENT,
    ID_MAX,
    SEGMENT,
    SEGMENT_OPERATORS,
    SQL,
)
from fanion.properties.json_schema import POSITIVE, condition_forms, values_of
from fanion.properties.operators import CONDITION_FIELDS, MEMBERSHIP, QUERY_COMPARISONS, ValueKind
from fanion.rest.json_schema import (
    JsonSchema,
    number_or_text,
    object_of,
    one_of,
    or_null,
    reference,
)
from fanion.rest.options import object_schema, schemas_of
from fanion.rest.posthog_insight_fields import OF_FILTERS, WORDS

TRENDS, INSIGHT_QUERY = TRENDS_FILTERS, "InsightQuery"
INSIGHT_FILTERS = "InsightFilters"
# A kind that PostHog knows and that is not calculated here.
STORED_ONLY: Final = "SESSIONS"
# What a kind of filters answers. Those of a correlation are filters of a funnel too.
_ANSWERS: Final = {
    "FUNNELS": "How many persons go through steps.",
    "RETENTION": "Who comes back, and when.",
    "STICKINESS": "In how many intervals persons are active.",
    "LIFECYCLE": "Persons who are new, returning, resurrecting or dormant.",
    "PATHS": "Which steps follow one another.",
    STORED_ONLY: "Only stored.",
}
_CORRELATION: Final = "FUNNELS_CORRELATION"
# The components of these kinds.
KINDS_OF_FILTERS: Final = tuple(f"{insight.title()}Filters" for insight in _ANSWERS)

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


_NEGATION: Final[JsonSchema] = {
    "type": ["boolean", "null"],
    "description": "Negates the condition.",
}
_WHOLE_ELEMENTS: Final[JsonSchema] = {
    "description": "A tag or a CSS selector, or a list of alternatives.",
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
}
_SQL_CONDITION: Final = object_of(
    {
        "type": one_of([SQL]),
        "key": {"type": "string", "description": "An expression in SQL."},
        "operator": {**or_null(one_of(["exact"])), "description": "Leave it out."},
        "negation": _NEGATION,
    },
    CONDITION_FIELDS,
    required=["type", "key"],
)


_SEGMENT_CONDITION: Final = object_of(
    {
        "type": one_of([SEGMENT]),
        "key": or_null(one_of(["id"])),
        "operator": {**or_null(one_of(SEGMENT_OPERATORS)), "default": "in"},
        "value": {
            "description": "The id of a segment of the project.",
            **number_or_text(POSITIVE, "integer", minimum=1, maximum=ID_MAX),
        },
        "negation": _NEGATION,
    },
    CONDITION_FIELDS,
    required=["type", "value"],
)
# A group of conditions, or a list of those that must all hold.
CONDITIONS: Final[JsonSchema] = {
    "anyOf": [reference(GROUP), {"type": "array", "items": reference(CONDITION)}]
}


def insight_schemas() -> dict[str, JsonSchema]:
    """Return the components of the schema, by name."""
    kinds, trends = _kinds_of_filters(), dict(schemas_of(TrendsQuery))
    trends["insight"] = {**trends["insight"], "default": "TRENDS"}
    # By this word, filters of trends mean other kinds.
    trends["shown_as"] = or_null(one_of(sorted(WORDS["shown_as"])))
    return {
        INSIGHT_FILTERS: {
            "description": f"All kinds are calculated, except {STORED_ONLY}, which is only stored.",
            "anyOf": [reference(TRENDS), *map(reference, kinds)],
        },
        **kinds,
        INSIGHT_QUERY: _query_schema(),
        TRENDS: {
            **_filters(trends),
            "description": "The events to count, the date range and conditions.",
            "examples": EXAMPLES[TRENDS],
        },
        SERIES: {
            **object_schema(Series),
            "description": "One series of the chart.",
        },
        ACTION_SERIES: _action_series(),
        CONDITION: {
            "description": "A condition on a property of the event or its person, on an element "
            "that was clicked, on a cohort, or on a segment.",
            "anyOf": [
                *_condition_forms(
                    QUERY_COMPARISONS,
                    {
                        "type": {
                            **or_null(one_of(["event", "person", "group"])),
                            "default": "event",
                        },
                        "key": {"type": "string", "description": "Name of the property."},
                    },
                    "key",
                ),
                *_condition_forms(MEMBERSHIP, {"type": one_of(sorted(COHORT_TYPES))}, "type"),
                *_element_forms(),
                _SQL_CONDITION,
                _SEGMENT_CONDITION,
            ],
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


def _action_series() -> JsonSchema:
    """Return the schema of a series of an action: that of an event, with a number as its id."""
    schema = object_schema(Series)
    action_id = {"type": "integer", "minimum": 1, "description": "The id of the action."}
    return {
        **schema,
        "properties": {**schema["properties"], "id": action_id},
        "required": ["id"],
        "description": "One series of the chart, of an action.",
    }


def _element_forms() -> list[JsonSchema]:
    """Return the forms of conditions on clicked elements, for keys with the same operators."""
    keys: dict[tuple[str, ...], list[str]] = {}
    for key, operators in OPERATORS_OF_ELEMENTS.items():
        keys.setdefault(operators, []).append(key)
    return [
        form
        for operators, named in keys.items()
        for form in condition_forms(
            dict.fromkeys(operators, _WHOLE_ELEMENTS)
            if is_of_whole_elements(named[0])
            else values_of({name: QUERY_COMPARISONS[name] for name in operators}),
            {"type": one_of([ELEMENT]), "key": one_of(named), "negation": _NEGATION},
            CONDITION_FIELDS,
            ["type", "key"],
        )
    ]


def _condition_forms(
    operators: Mapping[str, ValueKind], fields: Mapping[str, JsonSchema], required: str
) -> list[JsonSchema]:
    known = {**fields, "negation": _NEGATION}
    return condition_forms(values_of(operators), known, CONDITION_FIELDS, [required])


def _kinds_of_filters() -> dict[str, JsonSchema]:
    """Return a component for the filters of each kind other than trends, such as `PathsFilters`."""
    options = {kind.form.insight: schemas_of(kind.query) for kind in KINDS if kind.form is not None}
    options["FUNNELS"] = {**options[_CORRELATION], **options["FUNNELS"]}
    options[STORED_ONLY] = schemas_of(Scope)
    # Checked even where it has no effect.
    interval = {"interval": options["TRENDS"]["interval"]}
    return {
        f"{insight.title()}Filters": {
            **_filters({**interval, **options[insight], "insight": one_of([insight])}),
            "required": ["insight"],
            "description": f"{insight}: {_ANSWERS[insight]}",
        }
        for insight in options
        if insight not in ("TRENDS", _CORRELATION)
    }


def _filters(options: Mapping[str, JsonSchema]) -> JsonSchema:
    """Return the schema of filters, without the options that only a `query` has."""
    own = {name: schema for name, schema in options.items() if name in OF_FILTERS}
    return object_of(own, OF_FILTERS)


def _query_schema() -> JsonSchema:
    """Return the schema of a question by `query`, as newer clients ask."""
    kinds = [*(kind.name for kind in KINDS), ACTORS_QUERY]
    source: JsonSchema = {"type": "object", "description": "For a wrapper or a list: its question."}
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
