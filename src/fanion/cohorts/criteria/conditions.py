"""Conditions on properties and on other cohorts: how they are checked when they are saved.

Source: cohorts.md sections 4, 5 and 17, "Strictness".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from fanion.cohorts.criteria.definition import ACCOMPANYING
from fanion.errors import Invalid
from fanion.properties.filters import COHORT_TYPES
from fanion.properties.operators import CRITERIA_OPERATORS, VALUES_MAX, ValueKind, is_value_of
from fanion.rest.json_schema import one_of
from fanion.rest.options import Before, Option, Options, names_of, read, unread
from fanion.rest.unknown_fields import require_known, shortened, suggestion

_ALLOWED: Mapping[ValueKind, str] = {
    "any": "a text, a number, a boolean, or a list of at least one of these",
    "one": "a text, a number or a boolean",
    "number": "a number",
    "pattern": "a regular expression in the RE2 syntax, without look-around and back-references",
    "texts": "a list of texts",
    "range": "two numbers, the lesser first",
    "date": "a date such as 2024-04-02 or 2024-04-02T08:30:00Z, or a relative one such as -7d",
    "version": "a version such as 1.4.0",
    "wildcard": "a version such as 1.4.*",
    "cohort": "the id of a cohort",
}


@dataclass(frozen=True, slots=True)
class ConditionFields:
    """A reader of the fields of a condition, whose errors name the condition's position.

    Attributes:
        kind: What errors call the type of the condition.
        at: The position in the criteria.
    """

    values: Mapping[str, Any]
    kind: str
    at: str

    def error(self, detail: str) -> Invalid:
        return Invalid(detail, attr=self.at)

    def required(self, *names: str) -> Invalid:
        return self.error(f"Missing required keys for {self.kind} filter: {', '.join(names)}")

    def require(self, *names: str) -> None:
        """Raise Invalid, with all names, if one of the fields is missing or empty."""
        missing = [name for name in names if self.values.get(name) in (None, "")]
        if missing:
            raise self.required(*missing)


def _negation(fields: ConditionFields, name: str, _: Before) -> None:
    negation = fields.values.get(name)
    if negation is not None and not isinstance(negation, bool):
        detail = f'Invalid negation "{shortened(negation)}". It must be a valid boolean.'
        raise fields.error(detail)


def _property_name(fields: ConditionFields, name: str, _: Before) -> None:
    if not isinstance(fields.values.get(name), str):
        raise fields.error("The key of a condition must be the name of a property.")


def _cohort_key(fields: ConditionFields, name: str, _: Before) -> None:
    key = fields.values.get(name, "id")  # older clients leave it out
    if key != "id":
        detail = f'The key of a condition on a cohort must be "id", not "{shortened(key)}".'
        raise fields.error(detail)


def _no_group(fields: ConditionFields, name: str, _: Before) -> None:
    if fields.values.get(name) is not None:
        raise fields.error("Group properties cannot be used in a cohort.")


def _operator(fields: ConditionFields, name: str, _: Before) -> str:
    operators, operator = CRITERIA_OPERATORS[fields.kind], fields.values.get(name)
    operator = "exact" if operator is None else operator
    if operator in ("in", "not_in") and operator not in operators:
        instead = "exact" if operator == "in" else "is_not"
        detail = f'Operator "{operator}" can only be used with cohorts.'
        raise fields.error(f'{detail} Use "{instead}" with a list of values.')
    if not isinstance(operator, str) or operator not in operators:
        detail = f'Unknown operator "{shortened(operator)}" for type "{fields.kind}".'
        raise fields.error(f"{detail} {suggestion(str(operator), operators)}")
    return operator


def _value(fields: ConditionFields, name: str, before: Before) -> None:
    value, operator = fields.values.get(name), before["operator"]
    if isinstance(value, list) and len(value) > VALUES_MAX:
        raise fields.error(f"A condition cannot have more than {VALUES_MAX} values.")
    kind = CRITERIA_OPERATORS[fields.kind][operator]
    if not is_value_of(kind, value) or (kind == "cohort" and not _is_id(value)):
        detail = f'Invalid value "{shortened(value)}" for operator {operator}.'
        raise fields.error(f"{detail} It must be {_ALLOWED[kind]}.")


def _is_id(value: object) -> bool:
    return not isinstance(value, str) or (value.strip().isascii() and value.strip().isdigit())


NEGATION: Final = Option(_negation, {"type": ["boolean", "null"]})
_PROPERTY: Final = Option(_property_name, {"type": "string", "minLength": 1})
# What an operator compares with depends on it: they are published together.
_OPERATOR, _VALUE = Option(_operator, None, "operator"), Option(_value, None, "value")


@dataclass(frozen=True, slots=True)
class Condition(Options):
    """The fields of a condition, which is stored as it was sent.

    Attributes:
        called: What errors call its type; a key of CRITERIA_OPERATORS.
    """

    called: ClassVar[str]


@dataclass(frozen=True, slots=True)
class PersonCondition(Condition):
    called = "person"
    required: ClassVar[Sequence[str]] = ("type", "key")
    known = ACCOMPANYING | {"group_key_names"}

    type: ClassVar[Annotated[str, unread(one_of(["person"]))]]
    negation: ClassVar[Annotated[bool, NEGATION, "Negates the condition."]]
    key: ClassVar[Annotated[str, _PROPERTY, "Name of the property."]]
    group_type_index: ClassVar[Annotated[None, Option(_no_group, None, "group_type_index")]]
    operator: ClassVar[Annotated[str, _OPERATOR]]
    value: ClassVar[Annotated[Any, _VALUE]]


@dataclass(frozen=True, slots=True)
class EventFilter(PersonCondition):
    """A condition on a property of the event."""

    called = "event"
    required = ("key",)

    type: ClassVar[Annotated[str, unread(one_of(["event"]))]]


@dataclass(frozen=True, slots=True)
class CohortCondition(Condition):
    called = "cohort"
    required = ("type", "key")
    known = ACCOMPANYING | {"cohort_name"}

    type: ClassVar[Annotated[str, unread(one_of(sorted(COHORT_TYPES)))]]
    key: ClassVar[Annotated[str, Option(_cohort_key, one_of(("id",)))]]
    negation: ClassVar[Annotated[bool, NEGATION, "Negates the condition."]]
    operator: ClassVar[Annotated[str, _OPERATOR]]
    value: ClassVar[Annotated[Any, _VALUE]]


_NAMES: Final[Mapping[type[Condition], frozenset[str]]] = {
    kind: names_of(kind) for kind in (PersonCondition, EventFilter, CohortCondition)
}


def check_condition(
    kind: type[Condition], raw: Mapping[str, Any], at: str, *, complete: bool = True
) -> None:
    """Raise Invalid, with the position as its `attr`, unless a condition is valid.

    Args:
        at: The position.
        complete: Whether the key is required, which older clients left out for cohorts.
    """
    require_known(raw, _NAMES[kind], at)
    fields = ConditionFields(raw, kind.called, at)
    is_valueless = kind is not CohortCondition and raw.get("operator") in ("is_set", "is_not_set")
    # An empty text is a valid value to compare with.
    value = () if is_valueless or raw.get("value") == "" else ("value",)
    fields.require(*(("key",) if complete else ()), *value)
    read(kind, fields)
