"""Conditions on what a person did, parsed from their JSON.

Source: cohorts.md section 6.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fanion.cohorts.criteria.time_window import UNITS, StartBound, TimeWindow, parse_start_bound
from fanion.properties.filters import Property, parse_leaf
from fanion.rest.unknown_fields import shortened

# Larger than any real count or length; sums stay within the integers of the event store.
NUMBER_MAX = 1_000_000_000
PERIODS_MAX = 10_000
COMPARISONS = {"gte": ">=", "lte": "<=", "gt": ">", "lt": "<", "eq": "=", "exact": "="}


class CriteriaError(ValueError):
    """An error in criteria that makes the cohort impossible to calculate.

    The message is stored with the cohort, for its authors.
    """


@dataclass(frozen=True, slots=True)
class Performed:
    event: str
    window: TimeWindow | StartBound
    filters: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True)
class PerformedMultiple:
    """An event performed a number of times within the window.

    Attributes:
        comparison: A key of COMPARISONS.
    """

    event: str
    window: TimeWindow | StartBound
    comparison: str
    times: int
    filters: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True)
class PerformedFirstTime:
    event: str
    window: TimeWindow


@dataclass(frozen=True, slots=True)
class PerformedSequence:
    """The event `then` after `event`, both within the window and at most `gap` apart."""

    event: str
    then: str
    window: TimeWindow
    gap: TimeWindow


@dataclass(frozen=True, slots=True)
class PerformedRegularly:
    """An event performed in at least `periods_min` of the last `periods` equal periods."""

    event: str
    period: TimeWindow
    comparison: str
    times: int
    periods_min: int
    periods: int


@dataclass(frozen=True, slots=True)
class StoppedPerforming:
    event: str
    window: TimeWindow
    silent: TimeWindow


@dataclass(frozen=True, slots=True)
class RestartedPerforming:
    event: str
    window: TimeWindow
    recent: TimeWindow


Behaviour = (
    Performed
    | PerformedMultiple
    | PerformedFirstTime
    | PerformedSequence
    | PerformedRegularly
    | StoppedPerforming
    | RestartedPerforming
)


def parse_behaviour(spec: Mapping[str, Any]) -> Behaviour:
    """Parse a condition on events.

    Raises:
        CriteriaError: The condition is not valid.
    """
    kind = spec.get("value")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise CriteriaError(f"A condition on events cannot have the value {kind!r}.")
    return read(spec)


def _performed(spec: Mapping[str, Any]) -> Performed:
    return Performed(_event(spec), _window(spec), _filters(spec))


def _times(spec: Mapping[str, Any]) -> PerformedMultiple:
    times = whole_number(spec, "operator_value")
    return PerformedMultiple(_event(spec), _window(spec), _comparison(spec), times, _filters(spec))


def _first_time(spec: Mapping[str, Any]) -> PerformedFirstTime:
    return PerformedFirstTime(_event(spec), _span(spec))


def _sequence(spec: Mapping[str, Any]) -> PerformedSequence:
    then = _event(spec, "seq_event", "seq_event_type")
    return PerformedSequence(_event(spec), then, _span(spec), _span(spec, "seq_"))


def _regularly(spec: Mapping[str, Any]) -> PerformedRegularly:
    periods_min, total = whole_number(spec, "min_periods"), whole_number(spec, "total_periods")
    if periods_min > total:
        raise CriteriaError("min_periods must not be greater than total_periods.")
    if total > PERIODS_MAX:
        raise CriteriaError(f"total_periods must not be greater than {PERIODS_MAX}.")
    times = whole_number(spec, "operator_value")
    return PerformedRegularly(
        _event(spec), _span(spec), _comparison(spec), times, periods_min, total
    )


def _stopped(spec: Mapping[str, Any]) -> StoppedPerforming:
    return StoppedPerforming(_event(spec), *_two_windows(spec))


def _restarted(spec: Mapping[str, Any]) -> RestartedPerforming:
    return RestartedPerforming(_event(spec), *_two_windows(spec))


_READERS: dict[str, Callable[[Mapping[str, Any]], Behaviour]] = {
    "performed_event": _performed,
    "performed_event_multiple": _times,
    "performed_event_first_time": _first_time,
    "performed_event_sequence": _sequence,
    "performed_event_regularly": _regularly,
    "stopped_performing_event": _stopped,
    "restarted_performing_event": _restarted,
}


BEHAVIOURS = frozenset(_READERS)


def _event(spec: Mapping[str, Any], key: str = "key", kind: str = "event_type") -> str:
    name = _required(spec, key)
    if _required(spec, kind) != "events":
        raise CriteriaError(
            f'{kind} must be events, not "{shortened(spec[kind])}": there are no actions.'
        )
    if not isinstance(name, str):
        raise CriteriaError(f"{key} must be the name of an event.")
    return name


def _window(spec: Mapping[str, Any]) -> TimeWindow | StartBound:
    """Return the window of a condition; `explicit_datetime` takes precedence over a length."""
    explicit = spec.get("explicit_datetime")
    if not explicit:
        return _span(spec)
    try:
        return parse_start_bound(explicit)
    except ValueError as error:
        raise CriteriaError(str(error)) from None


def _span(spec: Mapping[str, Any], prefix: str = "") -> TimeWindow:
    unit = _required(spec, f"{prefix}time_interval")
    if unit not in UNITS:
        allowed = f"{prefix}time_interval must be one of {', '.join(UNITS)}"
        raise CriteriaError(f'{allowed}, not "{shortened(unit)}".')
    return TimeWindow(whole_number(spec, f"{prefix}time_value"), unit)


def _two_windows(spec: Mapping[str, Any]) -> tuple[TimeWindow, TimeWindow]:
    outer, inner = _span(spec), _span(spec, "seq_")
    if inner.length > outer.length:
        raise CriteriaError("The recent window must not be longer than the whole window.")
    return outer, inner


def _comparison(spec: Mapping[str, Any]) -> str:
    operator = spec.get("operator")
    if operator is None:
        return "eq"
    if not isinstance(operator, str) or operator not in COMPARISONS:
        allowed = f"operator must be one of {', '.join(COMPARISONS)}"
        raise CriteriaError(f'{allowed}, not "{shortened(operator)}".')
    return operator


def whole_number(spec: Mapping[str, Any], key: str) -> int:
    """Return a field as a whole number above 0; a numeric string counts as its number.

    Raises:
        CriteriaError: The field is missing or is not such a number.
    """
    value = _required(spec, key)
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        number = int(value)
        if number != float(value) or not 0 < number <= NUMBER_MAX:
            raise ValueError
    except (ValueError, OverflowError):
        detail = f'{key} must be a whole number above 0, not "{shortened(value)}".'
        raise CriteriaError(detail) from None
    return number


def _filters(spec: Mapping[str, Any]) -> tuple[Property, ...]:
    raw = spec.get("event_filters") or []
    if not isinstance(raw, list):
        raise CriteriaError("event_filters must be a list.")
    return tuple(_filter(leaf) for leaf in raw)


def _filter(raw: object) -> Property:
    try:
        leaf = parse_leaf(raw)
    except ValueError as error:
        raise CriteriaError(f"event_filters: {error}.") from None
    if not isinstance(leaf, Property) or leaf.type != "event":
        raise CriteriaError("event_filters may only name properties of the event.")
    return leaf


def _required(spec: Mapping[str, Any], key: str) -> Any:
    value = spec.get(key)
    if value is None or value == "":
        raise CriteriaError(f"Missing required keys for behavioral filter: {key}")
    return value
