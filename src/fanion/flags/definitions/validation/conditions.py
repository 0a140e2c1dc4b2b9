"""Validation of one condition on a property, a cohort or another flag when it is saved.

Source: flags.md sections 5 and 12.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from fanion.errors import Invalid
from fanion.flags.definitions.validation.parts import FilterPart, Part, not_valid
from fanion.properties.filters import ID_MAX
from fanion.properties.operators import (
    CONDITION_FIELDS,
    GROUP_TYPE_INDEX_MAX,
    OPERATORS,
    VALUES_MAX,
    ValueKind,
    is_value_of,
)
from fanion.rest.json_schema import JsonSchema
from fanion.rest.options import Before, Option, Options, read, unread
from fanion.rest.unknown_fields import shortened, suggestion

_ALLOWED: Mapping[ValueKind, str] = {
    "any": "a text, a number, a boolean, or a list of at least one of these",
    "flag": "true, false or the key of a variant",
    "version": "a version such as 1.4.0",
    "wildcard": "a version such as 1.4.*",
}
INDEX: Final[JsonSchema] = {"type": "integer", "minimum": 0, "maximum": GROUP_TYPE_INDEX_MAX}


def _boolean(condition: Part, name: str, _: Before) -> None:
    if not isinstance(condition.values.get(name), bool | None):
        raise condition.error(name, "Must be a valid boolean.")


def _property_name(condition: Part, name: str, _: Before) -> None:
    key = condition.values.get(name)
    if not (isinstance(key, str) and key):
        raise condition.error(name, "key must be the name of a property.")


_NEGATION: Final = Option(_boolean, {"type": ["boolean", "null"]})
_NAME: Final = Option(_property_name, {"type": "string", "minLength": 1})
_FLAG: Final = unread({"type": ["string", "integer"]})


@dataclass(frozen=True, slots=True)
class Condition(Options):
    """The fields of a condition besides its operator and value, for which its type has a table."""

    required: ClassVar[Sequence[str]] = ("key",)
    known = CONDITION_FIELDS

    negation: ClassVar[Annotated[bool | None, _NEGATION, "Negates the condition."]]


@dataclass(frozen=True, slots=True)
class PersonCondition(Condition):
    """A condition on a property of the person."""

    key: ClassVar[Annotated[str, _NAME, "Name of the property."]]
    group_type_index: ClassVar[Annotated[int | None, unread({"type": ["integer", "null"]})]]


@dataclass(frozen=True, slots=True)
class GroupCondition(PersonCondition):
    """A condition on a property of the group."""

    required = ("key", "group_type_index")

    group_type_index: ClassVar[Annotated[int, unread(INDEX)]]


@dataclass(frozen=True, slots=True)
class CohortCondition(Condition):
    """A condition on a cohort, which is the value."""

    required = ()

    key: ClassVar[Annotated[Any, unread({}), "`id`, or absent."]]


@dataclass(frozen=True, slots=True)
class FlagCondition(Condition):
    """A condition on another flag."""

    key: ClassVar[Annotated[str | int, _FLAG, "The other flag's id or key."]]


# The conditions of a flag by type.
OF_PERSONS: Final[Mapping[str, type[Condition]]] = {
    "person": PersonCondition,
    "cohort": CohortCondition,
    "flag": FlagCondition,
}
OF_GROUPS: Final[Mapping[str, type[Condition]]] = {"group": GroupCondition}


def check_condition(condition: FilterPart) -> None:
    """Raise Invalid, with the code and text that clients compare, unless the condition is valid."""
    read(_type_of(condition), condition)
    leaf = condition.values
    _check_value(leaf, value_kind(leaf, leaf["type"], condition.at), condition.at)


def read_cohort_id(value: object) -> int | None:
    """Return the id in a number or its decimal text; None for anything else."""
    try:
        if isinstance(value, int | str) and not isinstance(value, bool):
            number = int(value)
            return number if 0 < number <= ID_MAX else None
    except ValueError:
        pass
    return None


def no_such_cohort(value: object) -> Invalid:
    return _invalid(f"Cohort with id {shortened(value)} does not exist", "cohort_does_not_exist")


def _type_of(condition: FilterPart) -> type[Condition]:
    kind, index = condition.values.get("type"), condition.change.index
    if index is None:
        if not isinstance(kind, str) or kind not in OF_PERSONS:
            raise not_valid("can only use person and cohort properties")
        return OF_PERSONS[kind]
    if kind != "group" or condition.values.get("group_type_index") != index:
        raise not_valid("can only use group properties")
    return GroupCondition


def value_kind(leaf: Mapping[str, Any], kind: str, at: str) -> ValueKind:
    """Return what the operator of a condition compares with.

    Args:
        leaf: The condition.
        kind: Its type, a key of OPERATORS.
        at: Its path, in the form of `attr`.

    Raises:
        Invalid: Conditions of this type do not have the operator.
    """
    operator = leaf.get("operator")
    if operator is not None and not isinstance(operator, str):
        raise not_valid(f"an operator must be text, not {operator!r}")
    known = OPERATORS[kind]
    if kind == "flag" and operator not in known:
        detail = "Flag properties must use the 'flag_evaluates_to' operator"
    elif operator in ("in", "not_in") and operator not in known:
        detail = f'Operator "{operator}" can only be used with cohorts.'
    elif (name := "exact" if operator is None else operator) not in known:
        problem = f'Unknown operator "{shortened(operator)}" for type "{kind}".'
        detail = f"{problem} {suggestion(name, known)}"
    else:
        return known[name]
    raise Invalid(detail, code="invalid_operator", attr=f"{at}__operator")


def _check_value(leaf: Mapping[str, Any], kind: ValueKind, at: str) -> None:
    operator, value = leaf.get("operator") or "exact", leaf.get("value")
    if isinstance(value, list) and len(value) > VALUES_MAX:
        raise _invalid(
            f"Property group expressions of type {shortened(leaf.get('key'))} cannot contain more "
            f"than {VALUES_MAX} values."
        )
    if kind == "cohort":
        if read_cohort_id(value) is None:
            raise no_such_cohort(value)
    elif is_value_of(kind, value):
        return
    elif kind == "pattern" and isinstance(value, str):
        raise _invalid(
            f"Invalid regular expression: {value}. Look-around and back-references are not "
            "supported: expressions follow the RE2 syntax.",
            "invalid_value",
        )
    elif kind == "date":
        raise _invalid(f"Invalid date value: {value}", "invalid_date")
    elif kind in ("text", "order", "pattern", "texts", "range"):
        raise _invalid(f"Invalid value for operator {operator}: {value}", "invalid_value")
    else:
        problem = f"Invalid value for operator {operator}: {shortened(value)}."
        raise Invalid(
            f"{problem} It must be {_ALLOWED[kind]}.", code="invalid_value", attr=f"{at}__value"
        )


def _invalid(detail: str, code: str | None = None) -> Invalid:
    return Invalid(detail, code=code, attr="filters")
