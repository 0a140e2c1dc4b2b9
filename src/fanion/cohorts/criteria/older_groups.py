"""The entries of `groups`, the older form of criteria: how they are checked, stored and published.

Source: cohorts.md section 9.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from fanion.cohorts.criteria.conditions import ConditionFields
from fanion.cohorts.criteria.definition import CriteriaError, exact_leaves
from fanion.cohorts.criteria.options import COMPARISONS, BehaviourFields
from fanion.errors import Invalid
from fanion.rest.json_schema import JsonSchema, one_of, or_null
from fanion.rest.options import Before, Option, Options, read, schemas_of, unread
from fanion.rest.unknown_fields import shortened, suggestion


def _properties(fields: ConditionFields, name: str, _: Before) -> None:
    entry = fields.values
    if entry[name] and (entry["event_id"] or entry["action_id"]):
        detail = "A group must have either properties, or event_id or action_id, not both"
        raise Invalid(f"{detail} (at {fields.at}).")


def _days(fields: ConditionFields, name: str, _: Before) -> None:
    if fields.values[name] in (None, ""):
        return
    try:
        BehaviourFields(fields.values).whole(name)
    except CriteriaError as error:
        raise fields.error(str(error)) from None


def _count_operator(fields: ConditionFields, name: str, _: Before) -> None:
    operator = fields.values[name]
    if operator is not None and (not isinstance(operator, str) or operator not in COMPARISONS):
        detail = f'Unknown {name} "{shortened(operator)}" (at {fields.at}).'
        raise Invalid(f"{detail} {suggestion(str(operator), COMPARISONS)}")


_TEXT: Final = unread({"type": ["string", "null"]})
_NUMBER: Final[JsonSchema] = {"type": ["integer", "string", "null"]}
# Without `additionalProperties`: clients in Go and Java have no alternative to a map.
_BY_NAME: Final[JsonSchema] = {"type": "object", "propertyNames": {"type": "string"}}
_PROPERTIES: Final = Option(
    _properties, {"anyOf": [_BY_NAME, {"type": "array", "items": {}}, {"type": "null"}]}
)
_DAYS: Final = Option(_days, _NUMBER)
_COUNT_OPERATOR: Final = Option(_count_operator, or_null(one_of(COMPARISONS)))


@dataclass(frozen=True, slots=True)
class OlderGroup(Options):
    """An entry of `groups`, which is stored as it was sent."""

    known = ("action_id", "start_date", "end_date")

    properties: ClassVar[
        Annotated[Any, _PROPERTIES, "Property → value, or conditions on the person."]
    ]
    event_id: ClassVar[Annotated[Any, _TEXT, "Name of the event."]]
    days: ClassVar[Annotated[Any, _DAYS, "Number of days to look back; 365 by default."]]
    count: ClassVar[Annotated[Any, unread(_NUMBER), "Number of times."]]
    count_operator: ClassVar[Annotated[Any, _COUNT_OPERATOR]]
    label: ClassVar[Annotated[Any, _TEXT]]


# A new cohort stores all of them, missing ones as null.
GROUP_KEYS: Final = (*schemas_of(OlderGroup), *OlderGroup.known)


def normal_groups(groups: object) -> list[dict[str, Any]]:
    """Return the `groups` of a new cohort with all their keys.

    Raises:
        Invalid: The groups are not a list, or an entry has an unknown field or no criteria.
    """
    if not isinstance(groups, list):
        raise Invalid("Groups must be a list.", attr="groups")
    return [_normal_group(entry) for entry in groups]


def check_group(entry: Mapping[str, Any], at: str) -> None:
    """Raise Invalid unless the fields of an entry with all its keys are valid.

    Args:
        at: The position of the entry.
    """
    read(OlderGroup, ConditionFields(entry, "group", at))


def _normal_group(entry: object) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise Invalid("A group must be an object.", attr="groups")
    for key in entry:
        if key not in GROUP_KEYS:
            detail = f'Unknown field "{shortened(key)}". {suggestion(key, GROUP_KEYS)}'
            raise Invalid(detail, attr="groups")
    if not any(entry.get(key) for key in ("properties", "event_id", "action_id")):
        raise Invalid("A group must have properties, event_id or action_id.", attr="groups")
    normal = {key: entry.get(key) for key in GROUP_KEYS}
    properties = normal["properties"]
    if not isinstance(properties, list | dict | None):
        raise Invalid("The properties of a group must be a list.", attr="groups")
    if isinstance(properties, dict) and "values" not in properties:
        normal["properties"] = exact_leaves(properties)
    return normal
