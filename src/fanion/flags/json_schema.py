"""JSON Schema of a flag's contents, built from the tables that validation uses.

Validation refuses more than the schema can express: shares of variants that do not sum to 100,
repeated variant keys, payloads and conditions for variants that do not exist, payloads that are not
JSON text, cohorts and flags that do not exist, and two group types in one flag.

Source: flags.md sections 2, 12 and 17.
"""

from collections.abc import Mapping
from typing import Any, get_args

from fanion.flags.automation.schedule import STEPS_MAX, Operation
from fanion.flags.definitions.rollback_conditions import CONDITIONS_MAX, OPERATORS, THRESHOLD_TYPES
from fanion.flags.definitions.validation import posthog_fields
from fanion.insights.kinds.json_schema import TRENDS
from fanion.properties.json_schema import condition_forms, values_of
from fanion.properties.operators import GROUP_TYPE_INDEX_MAX
from fanion.properties.operators import OPERATORS as CONDITION_OPERATORS
from fanion.rest.json_schema import NOTHING, JsonSchema, listed, object_of, one_of, reference

FILTERS, PAYLOADS, VARIANT = "FlagFilters", "FlagPayloads", "FlagVariant"
ROLLBACK = "RollbackConditions"

_PLAN: JsonSchema = {"type": "person", "key": "plan", "operator": "exact", "value": ["pro", "team"]}
_SHARE: JsonSchema = {"type": "number", "minimum": 0, "maximum": 100}
_INDEX: JsonSchema = {"type": "integer", "minimum": 0, "maximum": GROUP_TYPE_INDEX_MAX}
# Only null: generators of clients have no type that is null alone.
_NO_INDEX: JsonSchema = {
    "type": ["integer", "null"],
    "not": {"type": "integer"},
    "description": "Only for a flag of a group type.",
}
_NAME: JsonSchema = {"type": "string", "minLength": 1, "description": "Name of the property."}
# Fields of conditions by type.
_OWN_FIELDS: Mapping[str, Mapping[str, JsonSchema]] = {
    "person": {"key": _NAME, "group_type_index": {"type": ["integer", "null"]}},
    "group": {"key": _NAME, "group_type_index": _INDEX},
    "cohort": {"key": {"description": "`id`, or absent."}},
    "flag": {"key": {"type": ["string", "integer"], "description": "The other flag's id or key."}},
}
_REQUIRED = {"person": ["key"], "group": ["key", "group_type_index"], "cohort": [], "flag": ["key"]}
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
        "PersonFlagFilters": _filters("Person", _NO_INDEX),
        "GroupFlagFilters": _filters(
            "Group",
            {**_INDEX, "description": "The group type that the flag is evaluated for."},
            "aggregation_group_type_index",
        ),
        "PersonConditionSet": _condition_set("Person", _NO_INDEX),
        "GroupConditionSet": _condition_set(
            "Group",
            {**_INDEX, "type": ["integer", "null"], "description": "The index in the filters."},
        ),
        "PersonCondition": {
            "description": "A condition on a property of the person, a cohort, or another flag.",
            "anyOf": [form for kind in ("person", "cohort", "flag") for form in _conditions(kind)],
        },
        "GroupCondition": {
            "description": "A condition on a property of the group.",
            "anyOf": _conditions("group"),
        },
        VARIANT: _variant(),
        PAYLOADS: {
            "description": "Payloads that SDKs return with the value, by variant, or for a flag "
            "without variants by `true`. Any JSON; a string must be JSON text.",
            "type": "object",
            "examples": EXAMPLES[PAYLOADS],
        },
        "RollbackCondition": _rollback_condition(),
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
        "update_rollout_percentage": _SHARE,
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


def _filters(of: str, index: JsonSchema, *required: str) -> JsonSchema:
    sets = listed(reference(f"{of}ConditionSet"))
    multivariate: dict[str, JsonSchema] = {
        "variants": {
            **listed(reference(VARIANT)),
            "description": "Percentages sum to 100; keys are unique.",
        },
        "override_property_values": {
            **NOTHING,
            "description": "Not supported: use a condition set with a variant.",
        },
    }
    fields: dict[str, JsonSchema] = {
        "groups": {
            "description": "Condition sets, combined by OR; a new flag needs at least one.",
            "type": "array",
            "items": reference(f"{of}ConditionSet"),
        },
        "multivariate": {
            **object_of(multivariate, posthog_fields.OF_MULTIVARIATE),
            "type": ["object", "null"],
        },
        "payloads": {"anyOf": [reference(PAYLOADS), {"type": "null"}]},
        "aggregation_group_type_index": index,
        "super_groups": {**sets, "description": "Early access; only the first is used."},
        "holdout_groups": {**sets, "description": "The first excludes its share from the flag."},
        "properties": {**NOTHING, "description": "The older form; use groups."},
        **{
            name: {**NOTHING, "description": f"Not supported. {instead}"}
            for name, instead in posthog_fields.UNSUPPORTED_OF_FILTERS.items()
        },
    }
    return object_of(fields, posthog_fields.OF_FILTERS, ["groups", *required])


def _condition_set(of: str, index: JsonSchema) -> JsonSchema:
    fields: dict[str, JsonSchema] = {
        "properties": {
            **listed(reference(f"{of}Condition")),
            "description": "Conditions, combined by AND; without any, all match.",
        },
        "rollout_percentage": {
            **_SHARE,
            "type": ["number", "null"],
            "description": "Percentage of the matches that get the flag; null is 100.",
        },
        "variant": {
            "type": ["string", "null"],
            "description": "Variant for all matches.",
        },
        "aggregation_group_type_index": index,
    }
    return object_of(fields, posthog_fields.OF_GROUP)


def _conditions(kind: str) -> list[JsonSchema]:
    """Return the schemas of conditions of one type."""
    fields: dict[str, JsonSchema] = {
        "type": one_of((kind,)),
        "negation": {"type": ["boolean", "null"], "description": "Negates the condition."},
        **_OWN_FIELDS[kind],
    }
    required = ["type", *_REQUIRED[kind]]
    values = values_of(CONDITION_OPERATORS[kind])
    return condition_forms(values, fields, posthog_fields.OF_PROPERTY, required)


def _variant() -> JsonSchema:
    fields: dict[str, JsonSchema] = {
        "key": {"type": "string", "pattern": r"\S", "description": "The value that SDKs return."},
        "name": {"type": ["string", "null"], "description": "A name for display."},
        "rollout_percentage": _SHARE,
    }
    schema = object_of(fields, posthog_fields.OF_VARIANT, ["key", "rollout_percentage"])
    return {**schema, "examples": EXAMPLES[VARIANT]}


def _rollback_condition() -> JsonSchema:
    fields: dict[str, JsonSchema] = {
        "threshold_type": one_of(THRESHOLD_TYPES),
        "threshold": {"type": "number"},
        "operator": {
            **one_of(OPERATORS),
            "description": "`lt`: disabled below the threshold; `gt`: above it.",
        },
        "threshold_metric": {
            "allOf": [
                reference(TRENDS),
                {"required": ["events"], "properties": {"events": {"minItems": 1}}},
            ],
            "description": "The count of its first event is averaged over the last seven days.",
        },
    }
    known = posthog_fields.OF_ROLLBACK_CONDITION
    return object_of(fields, known, sorted(known))
