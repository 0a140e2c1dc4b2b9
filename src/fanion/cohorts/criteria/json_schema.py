"""JSON Schema of a cohort's criteria, built from the types and tables that validation reads.

Validation also refuses what the schema cannot express: cohorts that do not exist or refer
to each other in a loop, texts that are not dates or regular expressions, and recent windows that
are longer than the whole one.

Source: cohorts.md sections 3 to 6 and 9.
"""

from collections.abc import Iterator, Mapping, Set
from itertools import product
from typing import Any

from fanion.cohorts.criteria.behaviour import (
    BEHAVIOURS,
    EMPTY_UNLESS_READ,
    FIELDS_OF_BEHAVIORAL,
    Behaviour,
)
from fanion.cohorts.criteria.conditions import (
    CohortCondition,
    Condition,
    EventFilter,
    PersonCondition,
)
from fanion.cohorts.criteria.definition import (
    FIELDS_OF_FILTERS,
    FIELDS_OF_GROUP,
    FIELDS_OF_QUERY,
)
from fanion.cohorts.criteria.older_groups import OlderGroup
from fanion.cohorts.criteria.options import EVENT_FILTER, EVENT_FORMS, EVENT_TYPES
from fanion.properties.json_schema import condition_forms, values_of
from fanion.properties.operators import CRITERIA_OPERATORS
from fanion.rest.json_schema import (
    NOTHING,
    JsonSchema,
    object_of,
    one_of,
    reference,
)
from fanion.rest.options import object_schema, required_names, schemas_of

CRITERIA, GROUP, CONDITION = "CohortFilters", "CohortGroup", "CohortCondition"
OLDER_GROUPS, QUERY = "CohortGroups", "CohortQuery"
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

# The names of the two ways to say how far back events count.
_LENGTH, _BOUND = {"time_value", "time_interval"}, {"explicit_datetime"}


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
            "anyOf": [*_forms(PersonCondition), *_forms(CohortCondition), *_event_forms()],
        },
        EVENT_FILTER: {
            "description": "On a property of the event.",
            "anyOf": _forms(EventFilter),
        },
        OLDER_GROUPS: {
            "description": "The older form of criteria; entries are combined by OR.",
            "type": ["array", "null"],
            "items": reference(OLDER_GROUP),
            "examples": EXAMPLES[OLDER_GROUPS],
        },
        OLDER_GROUP: object_schema(OlderGroup),
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


def _forms(kind: type[Condition]) -> list[JsonSchema]:
    values = values_of(CRITERIA_OPERATORS[kind.called])
    return condition_forms(values, schemas_of(kind), kind.known, kind.required)


def _event_forms() -> list[JsonSchema]:
    forms = []
    for kind, behaviour in BEHAVIOURS.items():
        forms.append(_event_form(kind, behaviour, _BOUND))
        if schemas_of(behaviour).keys() >= _BOUND:
            forms.append(_event_form(kind, behaviour, _LENGTH))
    return [named for form in forms for named in _by_event_type(form)]


def _event_form(kind: str, behaviour: type[Behaviour], left_out: Set[str]) -> JsonSchema:
    """Return the schema of a condition that says in one of two ways how far back events count.

    Args:
        left_out: The names of the other way.
    """
    fields: dict[str, JsonSchema] = {
        **dict.fromkeys(EMPTY_UNLESS_READ, NOTHING),
        "type": one_of(("behavioral",)),
        "value": one_of((kind,)),
        "negation": schemas_of(PersonCondition)["negation"],
        **{name: schema for name, schema in schemas_of(behaviour).items() if name not in left_out},
    }
    required = {"type", "value", *required_names(behaviour)} - left_out
    return object_of(fields, FIELDS_OF_BEHAVIORAL, sorted(required))


def _by_event_type(form: JsonSchema) -> Iterator[JsonSchema]:
    """Yield a form for each way to name its one or two events, by name first."""
    fields = form["properties"]
    named = [name for name in EVENT_TYPES if name in fields]
    for types in product(EVENT_FORMS, repeat=len(named)):
        own = {name: EVENT_FORMS[kind] for name, kind in zip(named, types, strict=True)}
        kinds = {
            EVENT_TYPES[name]: one_of((kind,)) for name, kind in zip(named, types, strict=True)
        }
        yield {**form, "properties": {**fields, **own, **kinds}}


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
