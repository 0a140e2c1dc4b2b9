"""JSON Schema of a flag's contents, made of the types whose fields validation reads.

Validation refuses more than the schema can express: shares of variants that do not sum to 100,
repeated variant keys, payloads and conditions for variants that do not exist, payloads that are not
JSON text, cohorts and flags that do not exist, and two group types in one flag.

Source: flags.md sections 2, 12 and 17.
"""

from collections.abc import Mapping
from typing import Any, get_args

from fanion.flags.automation.schedule import STEPS_MAX, Operation
from fanion.flags.definitions.rollback_conditions import CONDITIONS_MAX, RollbackCondition
from fanion.flags.definitions.validation.conditions import INDEX, OF_GROUPS, OF_PERSONS, Condition
from fanion.flags.definitions.validation.fields import (
    PAYLOADS,
    VARIANT,
    ConditionSet,
    Filters,
    Variant,
)
from fanion.properties.json_schema import condition_forms, values_of
from fanion.properties.operators import OPERATORS
from fanion.rest.json_schema import JsonSchema, one_of, reference
from fanion.rest.options import object_schema, schemas_of

FILTERS, ROLLBACK = "FlagFilters", "RollbackConditions"

_PLAN: JsonSchema = {"type": "person", "key": "plan", "operator": "exact", "value": ["pro", "team"]}
EXAMPLES: Mapping[str, list[Any]] = {
    FILTERS: [
        {"groups": [{"rollout_percentage": 20}]},
        {
            "groups": [
                {"properties": [_PLAN], "rollout_percentage": 50},
                {
                    "properties": [
                        {
                            "type": "person",
                            "key": "email",
                            "operator": "ends_with",
                            "value": "@example.com",
                        }
                    ]
                },
            ]
        },
        {
            "groups": [
                {"properties": [_PLAN], "variant": "blue"},
                {"properties": [], "rollout_percentage": 100},
            ],
            "multivariate": {
                "variants": [
                    {"key": "control", "name": "As it was", "rollout_percentage": 50},
                    {"key": "blue", "name": "A blue button", "rollout_percentage": 50},
                ]
            },
            "payloads": {"blue": {"color": "#00f"}},
        },
        {
            "aggregation_group_type_index": 0,
            "groups": [
                {
                    "properties": [
                        {
                            "type": "group",
                            "group_type_index": 0,
                            "key": "employees",
                            "operator": "between",
                            "value": [10, 500],
                        }
                    ],
                    "rollout_percentage": 100,
                }
            ],
        },
    ],
    VARIANT: [{"key": "blue", "name": "A blue button", "rollout_percentage": 50}],
    PAYLOADS: [{"true": {"color": "#00f"}}, {"blue": '{"color": "#00f"}'}],
    ROLLBACK: [
        [
            {
                "threshold_type": "insight",
                "threshold": 100,
                "operator": "gt",
                "threshold_metric": {"insight": "TRENDS", "events": [{"id": "checkout failed"}]},
            }
        ]
    ],
    "NewScheduledChange": [
        {
            "payload": {"operation": "update_status", "value": True},
            "scheduled_at": "2030-01-15T09:00:00Z",
        },
        {
            "payload": {
                "operation": "update_rollout_percentage",
                "steps": [
                    {"scheduled_at": "2030-01-15T09:00:00Z", "value": 10},
                    {"scheduled_at": "2030-01-16T09:00:00Z", "value": 100},
                ],
            }
        },
    ],
}


def flag_schemas() -> dict[str, JsonSchema]:
    """Return the components by name; they refer to each other and to the component of trends."""
    return {
        FILTERS: {
            "description": "For whom a flag is enabled: the first condition set decides whose "
            "conditions all match and whose percentage includes the person.",
            "anyOf": [reference("PersonFlagFilters"), reference("GroupFlagFilters")],
            "examples": EXAMPLES[FILTERS],
        },
        "PersonFlagFilters": object_schema(Filters),
        "GroupFlagFilters": {
            **_of_group_type(
                object_schema(Filters),
                {**INDEX, "description": "The group type that the flag is evaluated for."},
            ),
            "required": [*Filters.required, "aggregation_group_type_index"],
        },
        "PersonConditionSet": object_schema(ConditionSet),
        "GroupConditionSet": _of_group_type(
            object_schema(ConditionSet),
            {**INDEX, "type": ["integer", "null"], "description": "The index in the filters."},
        ),
        "PersonCondition": {
            "description": "A condition on a property of the person, a cohort, or another flag.",
            "anyOf": _conditions(OF_PERSONS),
        },
        "GroupCondition": {
            "description": "A condition on a property of the group.",
            "anyOf": _conditions(OF_GROUPS),
        },
        VARIANT: {**object_schema(Variant), "examples": EXAMPLES[VARIANT]},
        PAYLOADS: {
            "description": "Payloads that SDKs return with the value, by variant, or for a flag "
            "without variants by `true`. Any JSON; a string must be JSON text.",
            "type": "object",
            "examples": EXAMPLES[PAYLOADS],
        },
        "RollbackCondition": object_schema(RollbackCondition),
        ROLLBACK: {
            "description": "The flag is disabled when one of them holds.",
            "anyOf": [
                {
                    "type": "array",
                    "items": reference("RollbackCondition"),
                    "maxItems": CONDITIONS_MAX,
                },
                reference("RollbackCondition"),
                {"type": "object", "maxProperties": 0},
                {"type": "null"},
            ],
            "examples": EXAMPLES[ROLLBACK],
        },
    }


def scheduled_payload(described: JsonSchema) -> JsonSchema:
    """Return the struct's schema of a scheduled change, with the type of each operation's value."""
    values: Mapping[str, JsonSchema] = {
        "update_status": {"type": "boolean"},
        "update_rollout_percentage": object_schema(Variant)["properties"]["rollout_percentage"],
    }
    fields: JsonSchema = described["properties"]
    return {
        **described,
        "anyOf": [form for name in get_args(Operation) for form in _plans(name, values[name])],
        "properties": {
            **fields,
            "steps": {**fields["steps"], "minItems": 1, "maxItems": STEPS_MAX},
        },
    }


def _plans(operation: str, value: JsonSchema) -> tuple[JsonSchema, JsonSchema]:
    """Return the schemas of a change in one step, and in several."""
    steps = {"items": {"properties": {"value": value}}}
    return (
        {
            "properties": {"operation": one_of((operation,)), "value": value},
            "required": ["value"],
            "not": {"required": ["steps"]},
        },
        {
            "properties": {"operation": one_of((operation,)), "steps": steps},
            "required": ["steps"],
            "not": {"required": ["value"]},
        },
    )


def _of_group_type(of_persons: JsonSchema, index: JsonSchema) -> JsonSchema:
    """Return the schema of filters or condition sets of a flag for a group type.

    Args:
        of_persons: The schema for a flag that is evaluated for persons.
    """
    fields = {name: _with_groups(field) for name, field in of_persons["properties"].items()}
    return {**of_persons, "properties": {**fields, "aggregation_group_type_index": index}}


def _with_groups(field: JsonSchema) -> JsonSchema:
    """Return the schema with the components for groups in place of those for persons."""
    name = field.get("items", {}).get("$ref")
    return {**field, "items": {"$ref": name.replace("/Person", "/Group")}} if name else field


def _conditions(types: Mapping[str, type[Condition]]) -> list[JsonSchema]:
    """Return the schemas of conditions of some types."""
    return [
        form
        for name, kind in types.items()
        for form in condition_forms(
            values_of(OPERATORS[name]),
            {"type": one_of((name,)), **schemas_of(kind)},
            kind.known,
            ["type", *kind.required],
        )
    ]
