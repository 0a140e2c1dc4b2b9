"""The kinds of options that conditions on events have.

Source: cohorts.md section 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fanion.actions.conditions import ResolvedAction
from fanion.cohorts.criteria.definition import CriteriaError
from fanion.cohorts.criteria.time_window import UNITS, StartBound, TimeWindow, parse_start_bound
from fanion.properties.filters import Property, parse_leaf
from fanion.properties.json_schema import POSITIVE
from fanion.rest.json_schema import JsonSchema, listed, number_or_text, one_of, or_null, reference
from fanion.rest.options import Before, Option
from fanion.rest.unknown_fields import shortened
from fanion.rest.validation import INTEGER_MAX, object_id

# Larger than any real count or length; sums stay within the integers of the event store.
NUMBER_MAX: Final = 1_000_000_000
PERIODS_MAX: Final = 10_000
COMPARISONS: Final = {"gte": ">=", "lte": "<=", "gt": ">", "lt": "<", "eq": "=", "exact": "="}
# The component of the published schema for a condition on a property of the event.
EVENT_FILTER: Final = "CohortEventFilter"
# How the type of an event is named, by the field that names the event.
EVENT_TYPES: Final = {"key": "event_type", "seq_event": "seq_event_type"}
# What names an event, by its type.
EVENT_FORMS: Final[Mapping[str, JsonSchema]] = {
    "events": {"type": "string", "minLength": 1, "description": "The name of an event."},
    "actions": {
        **number_or_text(POSITIVE, "integer", minimum=1, maximum=INTEGER_MAX),
        "description": "The id of an action.",
    },
}
_NUMBER: Final = number_or_text(POSITIVE, "integer", minimum=1, maximum=NUMBER_MAX)


@dataclass(frozen=True, slots=True)
class ActionEvent:
    """The events of an action, in place of the name of an event.

    Attributes:
        resolved: The action as it is now; None before it was read.
    """

    id: int
    resolved: ResolvedAction | None = None


# What a condition on events counts.
EventName = str | ActionEvent


@dataclass(frozen=True, slots=True)
class BehaviourFields:
    """A reader of the fields of a condition on events."""

    values: Mapping[str, Any]

    def required(self, name: str) -> CriteriaError:
        return CriteriaError(f"Missing required keys for behavioral filter: {name}")

    def given(self, name: str) -> Any:
        """Return the value of a field.

        Raises:
            CriteriaError: The field is missing or empty.
        """
        value = self.values.get(name)
        if value is None or value == "":
            raise self.required(name)
        return value

    def whole(self, name: str) -> int:
        """Return a field as a whole number above 0; a numeric string counts as its number.

        Raises:
            CriteriaError: The field is missing or is not such a number.
        """
        value = self.given(name)
        try:
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise ValueError
            number = int(value)
            if number != float(value) or not 0 < number <= NUMBER_MAX:
                raise ValueError
        except (ValueError, OverflowError):
            detail = f'{name} must be a whole number above 0, not "{shortened(value)}".'
            raise CriteriaError(detail) from None
        return number


def whole(name: str) -> Option:
    """Return the option of a whole number above 0, which may be sent as text."""
    return Option(lambda fields, name, _: fields.whole(name), _NUMBER, name)


def event_name(name: str = "key", kind: str = "event_type") -> Option:
    """Return the option of the name of an event, or the id of an action.

    Args:
        kind: The field that says which of them it is.
    """

    def read_event(fields: BehaviourFields, name: str, _: Before) -> EventName:
        event = fields.given(name)
        if fields.given(kind) == "actions":
            return _action(event, name)
        if fields.given(kind) != "events":
            sent = shortened(fields.values[kind])
            raise CriteriaError(f'{kind} must be events or actions, not "{sent}".')
        if not isinstance(event, str):
            raise CriteriaError(f"{name} must be the name of an event.")
        return event

    schema = EVENT_FORMS["events"]
    return Option(read_event, schema, name, beside={kind: one_of(EVENT_FORMS)})


def _action(sent: object, name: str) -> ActionEvent:
    action_id = object_id(str(sent)) if isinstance(sent, str | int) else None
    if action_id is None or isinstance(sent, bool):
        raise CriteriaError(f"{name} must be the id of an action.")
    return ActionEvent(action_id)


def span(prefix: str = "") -> Option:
    """Return the option of a length of time, which is sent as a number and a unit."""
    unit_name = f"{prefix}time_interval"

    def read_span(fields: BehaviourFields, name: str, _: Before) -> TimeWindow:
        unit = fields.given(unit_name)
        if unit not in UNITS:
            allowed = f"{unit_name} must be one of {', '.join(UNITS)}"
            raise CriteriaError(f'{allowed}, not "{shortened(unit)}".')
        return TimeWindow(fields.whole(name), unit)

    return Option(read_span, _NUMBER, f"{prefix}time_value", beside={unit_name: one_of(UNITS)})


def _window(fields: BehaviourFields, name: str, before: Before) -> TimeWindow | StartBound:
    explicit = fields.values.get(name)
    if not explicit:
        length: TimeWindow = _SPAN.read(fields, _SPAN.name, before)
        return length
    try:
        return parse_start_bound(explicit)
    except ValueError as error:
        raise CriteriaError(str(error)) from None


def _comparison(fields: BehaviourFields, name: str, _: Before) -> str | None:
    operator = fields.values.get(name)
    if operator is not None and (not isinstance(operator, str) or operator not in COMPARISONS):
        allowed = f"{name} must be one of {', '.join(COMPARISONS)}"
        raise CriteriaError(f'{allowed}, not "{shortened(operator)}".')
    return operator


def _periods(fields: BehaviourFields, name: str, before: Before) -> int:
    total = fields.whole(name)
    if before["periods_min"] > total:
        raise CriteriaError(f"min_periods must not be greater than {name}.")
    if total > PERIODS_MAX:
        raise CriteriaError(f"{name} must not be greater than {PERIODS_MAX}.")
    return total


def _filters(fields: BehaviourFields, name: str, _: Before) -> tuple[Property, ...]:
    raw = fields.values.get(name) or []
    if not isinstance(raw, list):
        raise CriteriaError(f"{name} must be a list.")
    return tuple(_filter(leaf, name) for leaf in raw)


def _filter(raw: object, name: str) -> Property:
    try:
        leaf = parse_leaf(raw)
    except ValueError as error:
        raise CriteriaError(f"{name}: {error}.") from None
    if not isinstance(leaf, Property) or leaf.type != "event":
        raise CriteriaError(f"{name} may only name properties of the event.")
    return leaf


_SPAN: Final = span()
_START: Final[JsonSchema] = {
    "type": "string",
    "minLength": 1,
    "description": "A date, `-7d`, `-1mStart` or `dStart`, in place of `time_value`.",
}
# A length of time, or an explicit lower bound, which takes precedence.
WINDOW: Final = Option(
    _window, _START, "explicit_datetime", beside={_SPAN.name: _NUMBER, **_SPAN.beside}
)
COMPARISON: Final = Option(_comparison, or_null(one_of(COMPARISONS)), "operator")
PERIODS: Final = Option(
    _periods,
    number_or_text(POSITIVE, "integer", minimum=1, maximum=PERIODS_MAX),
    "total_periods",
)
FILTERS: Final = Option(
    _filters,
    listed(reference(EVENT_FILTER), description="Conditions on the event, combined by AND."),
    "event_filters",
)
