"""JSON Schema of a cohort's criteria, built from the tables that validation reads.

Validation also refuses what the schema cannot express: cohorts that do not exist or refer
to each other in a loop, texts that are not dates or regular expressions, and recent windows that
are longer than the whole one.

Source: cohorts.md sections 3 to 6 and 9.
"""

from collections.abc import Mapping
from typing import Any

from fanion.cohorts.criteria.behaviour import BEHAVIOURS, COMPARISONS, NUMBER_MAX, PERIODS_MAX
from fanion.cohorts.criteria.definition import (
    FIELDS_OF_BEHAVIORAL,
    FIELDS_OF_EVENT_FILTER,
    FIELDS_OF_FILTERS,
    FIELDS_OF_GROUP,
    FIELDS_OF_NESTED,
    FIELDS_OF_PERSON,
    FIELDS_OF_QUERY,
    GROUP_KEYS,
)
from fanion.cohorts.criteria.time_window import UNITS
from fanion.properties.filters import COHORT_TYPES
from fanion.properties.json_schema import POSITIVE, condition_forms, values_of
from fanion.properties.operators import CRITERIA_OPERATORS
from fanion.rest.json_schema import (
    NOTHING,
    JsonSchema,
    number_or_text,
    object_of,
    one_of,
    or_null,
    reference,
)

CRITERIA, GROUP, CONDITION = "CohortFilters", "CohortGroup", "CohortCondition"
EVENT_FILTER, OLDER_GROUPS, QUERY = "CohortEventFilter", "CohortGroups", "CohortQuery"
# A list has no other list as its alternative: clients in Java know only the first.
OF_CONDITIONS, OF_GROUPS = "CohortGroupOfConditions", "CohortGroupOfGroups"
# Groups of conditions are last: clients in TypeScript have only the last alternative.
_GROUPS = (reference(OF_GROUPS), reference(OF_CONDITIONS))
BY_PROPERTIES, BY_SOURCE = "CohortQueryByProperties", "CohortQueryBySource"
OLDER_GROUP = "CohortGroupsEntry"

_PAYS: JsonSchema = {"type": "person", "key": "plan", "operator": "exact", "value": ["pro", "team"]}
_ACTIVE: JsonSchema = {
    "type": "behavioral",
    "key": "signed in",
    "event_type": "events",
    "value": "performed_event",
    "time_value": 30,
    "time_interval": "day",
}
EXAMPLES: Mapping[str, list[Any]] = {
    CRITERIA: [
        {"properties": {"type": "AND", "values": [_PAYS]}},
        {
            "properties": {
                "type": "OR",
                "values": [
                    {"type": "AND", "values": [_PAYS, _ACTIVE]},
                    {
                        "type": "AND",
                        "values": [
                            {
                                "type": "behavioral",
                                "key": "order placed",
                                "event_type": "events",
                                "value": "performed_event_multiple",
                                "operator": "gte",
                                "operator_value": 2,
                                "time_value": 4,
                                "time_interval": "week",
                                "event_filters": [
                                    {"type": "event", "key": "total", "operator": "gt", "value": 50}
                                ],
                            },
                            {**_ACTIVE, "key": "complained", "negation": True},
                        ],
                    },
                ],
            }
        },
    ],
    OLDER_GROUPS: [[{"properties": {"plan": "pro"}}, {"event_id": "signed in", "days": 30}]],
    QUERY: [{"kind": "ActorsQuery", "properties": [_PAYS]}],
}

_COUNT = number_or_text(POSITIVE, "integer", minimum=1, maximum=NUMBER_MAX)
_NEGATION: JsonSchema = {"type": ["boolean", "null"], "description": "Negates the condition."}
_EVENT: JsonSchema = {"type": "string", "minLength": 1, "description": "The name of an event."}
_KIND = one_of(("events",))
_UNIT = one_of(UNITS)
# Without `additionalProperties`: clients in Go and Java have no alternative to a map.
_BY_NAME: JsonSchema = {"type": "object", "propertyNames": {"type": "string"}}
_COMPARISON: JsonSchema = {**or_null(one_of(COMPARISONS)), "default": "eq"}
_WINDOW = {"time_value": _COUNT, "time_interval": _UNIT}
_SINCE = {
    "explicit_datetime": {
        "type": "string",
        "minLength": 1,
        "description": "A date, `-7d`, `-1mStart` or `dStart`, in place of `time_value`.",
    }
}
_TIMES = {"operator": _COMPARISON, "operator_value": _COUNT}
_RECENT = {"seq_time_value": _COUNT, "seq_time_interval": _UNIT}
_FOLLOWED = {"seq_event": _EVENT, "seq_event_type": _KIND, **_RECENT}
_PERIODS = {
    "min_periods": _COUNT,
    "total_periods": number_or_text(POSITIVE, "integer", minimum=1, maximum=PERIODS_MAX),
}
_FILTERED = {
    "event_filters": {
        "type": ["array", "null"],
        "items": reference(EVENT_FILTER),
        "description": "Conditions on the event, combined by AND.",
    }
}
# The fields that each kind of condition on events reads besides its window.
_FIELDS: Mapping[str, Mapping[str, JsonSchema]] = {
    "performed_event": _FILTERED,
    "performed_event_multiple": {**_TIMES, **_FILTERED},
    "performed_event_first_time": {},
    "performed_event_sequence": _FOLLOWED,
    "performed_event_regularly": {**_TIMES, **_PERIODS},
    "stopped_performing_event": _RECENT,
    "restarted_performing_event": _RECENT,
}
# Fields that are refused where they would be ignored, unless they are empty.
_READ_BY_SOME = ("operator_value", "event_filters", "explicit_datetime")
_BOUNDED = ("performed_event", "performed_event_multiple")
_OPTIONAL = frozenset({"operator", "event_filters"})


def cohort_schemas() -> dict[str, JsonSchema]:
    """Return the schemas of cohort criteria by the name of their component."""
    return {
        CRITERIA: {
            **object_of(
                {
                    "properties": {
                        "anyOf": [
                            *_GROUPS,
                            {
                                "type": "array",
                                "items": reference(CONDITION),
                                "description": "Conditions, combined by AND.",
                            },
                            {
                                "type": "object",
                                "maxProperties": 0,
                                "description": "Matches no person.",
                            },
                        ]
                    }
                },
                FIELDS_OF_FILTERS,
                ["properties"],
            ),
            "description": "Criteria of membership: a tree of conditions.",
            "examples": EXAMPLES[CRITERIA],
        },
        GROUP: {
            "description": "Groups or conditions, never both. An empty group matches no person.",
            "anyOf": list(_GROUPS),
        },
        OF_CONDITIONS: _group_of(CONDITION),
        OF_GROUPS: _group_of(GROUP),
        CONDITION: {
            "description": "On a property of the person, on another cohort, or on its events.",
            "anyOf": [*_person_forms(), *_cohort_forms(), *_event_forms()],
        },
        EVENT_FILTER: {
            "description": "On a property of the event.",
            "anyOf": condition_forms(
                values_of(CRITERIA_OPERATORS["event"]),
                {"type": one_of(("event",)), "key": _name(), "negation": _NEGATION},
                FIELDS_OF_EVENT_FILTER - {"group_type_index"},
                ["key"],
            ),
        },
        OLDER_GROUPS: {
            "description": "The older form of criteria; entries are combined by OR.",
            "type": ["array", "null"],
            "items": reference(OLDER_GROUP),
            "examples": EXAMPLES[OLDER_GROUPS],
        },
        OLDER_GROUP: _older_group(),
        QUERY: {
            "description": "Persons who match now become members of a static cohort.",
            "anyOf": [reference(BY_PROPERTIES), reference(BY_SOURCE)],
            "examples": EXAMPLES[QUERY],
        },
        BY_PROPERTIES: _query("properties"),
        BY_SOURCE: _query("source"),
    }


def _group_of(member: str) -> JsonSchema:
    fields: dict[str, JsonSchema] = {
        "type": {
            **one_of(("AND", "OR")),
            "description": "AND: all must match; OR: one must match.",
        },
        "values": {"type": "array", "items": reference(member)},
    }
    return object_of(fields, FIELDS_OF_GROUP, ["type", "values"])


def _name() -> JsonSchema:
    return {"type": "string", "minLength": 1, "description": "Name of the property."}


def _person_forms() -> list[JsonSchema]:
    return condition_forms(
        values_of(CRITERIA_OPERATORS["person"]),
        {"type": one_of(("person",)), "key": _name(), "negation": _NEGATION},
        FIELDS_OF_PERSON - {"group_type_index"},
        ["type", "key"],
    )


def _cohort_forms() -> list[JsonSchema]:
    return condition_forms(
        values_of(CRITERIA_OPERATORS["cohort"]),
        {
            "type": one_of(sorted(COHORT_TYPES)),
            "key": one_of(("id",)),
            "negation": _NEGATION,
        },
        FIELDS_OF_NESTED,
        ["type", "key"],
    )


def _event_forms() -> list[JsonSchema]:
    forms = []
    for kind in sorted(BEHAVIOURS, key=list(_FIELDS).index):
        forms.append(_event_form(kind, _WINDOW))
        if kind in _BOUNDED:
            forms.append(_event_form(kind, _SINCE))
    return forms


def _event_form(kind: str, window: Mapping[str, JsonSchema]) -> JsonSchema:
    own = {**window, **_FIELDS[kind]}
    fields: dict[str, JsonSchema] = {
        **dict.fromkeys(_READ_BY_SOME, NOTHING),
        "type": one_of(("behavioral",)),
        "key": _EVENT,
        "event_type": _KIND,
        "value": one_of((kind,)),
        "negation": _NEGATION,
        **own,
    }
    required = ["type", "key", "event_type", "value", *(own.keys() - _OPTIONAL)]
    return object_of(fields, FIELDS_OF_BEHAVIORAL, sorted(required))


def _older_group() -> JsonSchema:
    named: JsonSchema = {"type": ["string", "null"]}
    number: JsonSchema = {"type": ["integer", "string", "null"]}
    fields: dict[str, JsonSchema] = {
        "properties": {
            "anyOf": [_BY_NAME, {"type": "array", "items": {}}, {"type": "null"}],
            "description": "Property → value, or conditions on the person.",
        },
        "event_id": {**named, "description": "Name of the event."},
        "days": {**number, "description": "Number of days to look back; 365 by default."},
        "count": {**number, "description": "Number of times."},
        "count_operator": or_null(one_of(COMPARISONS)),
        "label": named,
    }
    return object_of(fields, GROUP_KEYS)


def _query(required: str) -> JsonSchema:
    fields: dict[str, JsonSchema] = {
        "kind": one_of(("ActorsQuery",)),
        "properties": {"type": "array", "items": reference(CONDITION), "minItems": 1},
        "source": {
            "type": "object",
            "description": "The actors behind a value of an insight, in place of `properties`.",
        },
    }
    return object_of(fields, FIELDS_OF_QUERY | {"source"}, ["kind", required])
