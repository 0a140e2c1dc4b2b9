"""Validation of one condition on a property, a cohort or another flag when it is saved.

Source: flags.md sections 5 and 12.
"""

from collections.abc import Mapping
from typing import Any

from fanion.errors import Invalid
from fanion.properties.filters import ID_MAX
from fanion.properties.operators import OPERATORS, VALUES_MAX, ValueKind, is_value_of
from fanion.rest.unknown_fields import shortened, suggestion

_PERSON_TYPES = frozenset({"person", "cohort", "flag"})
_ALLOWED: Mapping[ValueKind, str] = {
    "any": "a text, a number, a boolean, or a list of at least one of these",
    "flag": "true, false or the key of a variant",
    "version": "a version such as 1.4.0",
    "wildcard": "a version such as 1.4.*",
}


def check_condition(leaf: Mapping[str, Any], index: object, at: str) -> None:
    """Raise Invalid, with the code and text that clients compare, unless the condition is valid.

    Args:
        index: The flag's group type; None if it is evaluated for persons.
        at: The path of the condition, in the form of `attr`.
    """
    _check_type(leaf, index)
    _check_plain_fields(leaf, at)
    kind = value_kind(leaf, leaf["type"], at)
    _check_value(leaf, kind, at)


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


def _check_type(leaf: Mapping[str, Any], index: object) -> None:
    kind = leaf.get("type")
    if index is None:
        if not isinstance(kind, str) or kind not in _PERSON_TYPES:
            raise _invalid("Filters are not valid (can only use person and cohort properties)")
    elif kind != "group" or leaf.get("group_type_index") != index:
        raise _invalid("Filters are not valid (can only use group properties)")


def _check_plain_fields(leaf: Mapping[str, Any], at: str) -> None:
    negation, key = leaf.get("negation"), leaf.get("key")
    if negation is not None and not isinstance(negation, bool):
        raise Invalid("Must be a valid boolean.", attr=f"{at}__negation")
    if leaf["type"] in ("person", "group") and not (isinstance(key, str) and key):
        raise Invalid("key must be the name of a property.", attr=f"{at}__key")


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
        raise _invalid(f"Filters are not valid (an operator must be text, not {operator!r})")
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
