"""The criteria of a cohort as an English sentence."""

from collections.abc import Callable, Mapping
from typing import Any

from fanion.cohorts.criteria.behaviour import (
    Behaviour,
    Performed,
    PerformedFirstTime,
    PerformedMultiple,
    PerformedRegularly,
    PerformedSequence,
    RestartedPerforming,
    StoppedPerforming,
)
from fanion.cohorts.criteria.options import EventName
from fanion.cohorts.criteria.resolve import (
    BehaviourLeaf,
    Combination,
    NoPerson,
    StaticMembership,
    Tree,
)
from fanion.cohorts.criteria.time_window import StartBound, TimeWindow
from fanion.properties.filters import Property

_OPERATORS = {
    "exact": "is",
    "is_not": "is not",
    "icontains": "contains",
    "not_icontains": "does not contain",
    "regex": "matches",
    "not_regex": "does not match",
    "gt": "is greater than",
    "gte": "is at least",
    "lt": "is less than",
    "lte": "is at most",
    "is_set": "is set",
    "is_not_set": "is not set",
    "is_date_before": "is a date before",
    "is_date_after": "is a date after",
    "is_date_exact": "is the date",
    "starts_with": "starts with",
    "not_starts_with": "does not start with",
    "ends_with": "ends with",
    "not_ends_with": "does not end with",
    "icontains_multi": "contains",
    "not_icontains_multi": "does not contain",
    "between": "is in the range",
    "not_between": "is not in the range",
    "semver_eq": "is the version",
    "semver_neq": "is not the version",
    "semver_gt": "is a version after",
    "semver_gte": "is at least the version",
    "semver_lt": "is a version before",
    "semver_lte": "is at most the version",
    "semver_tilde": "is a version in the range ~",
    "semver_caret": "is a version in the range ^",
    "semver_wildcard": "is a version like",
}
_OPPOSITES = {
    "exact": "is_not",
    "is_not": "exact",
    "is_set": "is_not_set",
    "is_not_set": "is_set",
    "semver_eq": "semver_neq",
    "semver_neq": "semver_eq",
}
_COUNTS = {
    "gte": "at least",
    "lte": "at most",
    "gt": "more than",
    "lt": "fewer than",
    "eq": "exactly",
    "exact": "exactly",
}


def describe_criteria(tree: Tree, names: Mapping[int, str | None]) -> str:
    """Return criteria as an English sentence.

    Args:
        names: The names of cohorts by id.
    """
    return f"Persons {_Sentence(names).describe_tree(tree, outermost=True)}."


class _Sentence:
    def __init__(self, names: Mapping[int, str | None]) -> None:
        self._names = names

    def describe_tree(self, tree: Tree, *, outermost: bool = False) -> str:
        if isinstance(tree, Combination):
            parts = [
                self.describe_tree(child, outermost=len(tree.children) == 1)
                for child in tree.children
            ]
            joined = f" {tree.type.lower()} ".join(parts)
            return joined if outermost or len(parts) == 1 else f"({joined})"
        if isinstance(tree, Property):
            return f"whose {describe_property(tree)}"
        if isinstance(tree, BehaviourLeaf):
            words = describe_behaviour(tree.behaviour)
            return f"for whom it is not true that they {words}" if tree.negation else f"who {words}"
        if isinstance(tree, StaticMembership):
            name = self._names.get(tree.cohort_id) or f"cohort {tree.cohort_id}"
            return f"who are{' not' if tree.negation else ''} in “{name}”"
        assert isinstance(tree, NoPerson)
        return "in no cohort (there is nothing to match)"


def describe_property(leaf: Property) -> str:
    operator = leaf.operator
    comparison = _OPERATORS.get(operator, f"“{operator}”")
    words = f"“{leaf.key}” {_negated(operator, comparison) if leaf.negation else comparison}"
    return words if operator in ("is_set", "is_not_set") else f"{words} {_value(leaf.value)}"


def _negated(operator: str, comparison: str) -> str:
    """Return the words for the negation of an operator, which also matches a missing property."""
    opposite = operator.removeprefix("not_") if operator.startswith("not_") else f"not_{operator}"
    opposite = _OPPOSITES.get(operator, opposite)
    if opposite in _OPERATORS:
        return _OPERATORS[opposite]
    return comparison.replace("is ", "is not ", 1)


def describe_behaviour(behaviour: Behaviour) -> str:
    words: str = _BEHAVIOURS[type(behaviour)](behaviour)
    return words


def _performed(behaviour: Performed) -> str:
    return f"did {_event(behaviour.event)}{_where(behaviour.filters)} {_window(behaviour.window)}"


def _times(behaviour: PerformedMultiple) -> str:
    often = f"{_COUNTS[behaviour.comparison]} {_times_of(behaviour.times)}"
    event = f"{_event(behaviour.event)}{_where(behaviour.filters)}"
    return f"did {event} {often} {_window(behaviour.window)}"


def _first_time(behaviour: PerformedFirstTime) -> str:
    return f"did {_event(behaviour.event)} for the first time ever {_window(behaviour.window)}"


def _sequence(behaviour: PerformedSequence) -> str:
    first, then = _event(behaviour.event), _event(behaviour.then)
    return (
        f"did {first} and after it {then} within {_span(behaviour.gap)}, "
        f"both {_window(behaviour.window)}"
    )


def _regularly(behaviour: PerformedRegularly) -> str:
    often = f"{_COUNTS[behaviour.comparison]} {_times_of(behaviour.times)}"
    return (
        f"did {_event(behaviour.event)} {often} in at least {behaviour.periods_min} of the last "
        f"{behaviour.periods} periods of {_span(behaviour.period)}"
    )


def _stopped(behaviour: StoppedPerforming) -> str:
    return (
        f"did {_event(behaviour.event)} {_window(behaviour.window)}, "
        f"but not in the last {_span(behaviour.silent)}"
    )


def _restarted(behaviour: RestartedPerforming) -> str:
    return (
        f"did {_event(behaviour.event)} more than {_span(behaviour.window)} ago, "
        f"paused, and did it again in the last {_span(behaviour.recent)}"
    )


_BEHAVIOURS: dict[type, Callable[[Any], str]] = {
    Performed: _performed,
    PerformedMultiple: _times,
    PerformedFirstTime: _first_time,
    PerformedSequence: _sequence,
    PerformedRegularly: _regularly,
    StoppedPerforming: _stopped,
    RestartedPerforming: _restarted,
}


def _event(event: EventName) -> str:
    if isinstance(event, str):
        return f"“{event}”"
    name = event.id if event.resolved is None else event.resolved.name
    return f"the action “{name}”"


def _where(filters: tuple[Property, ...]) -> str:
    if not filters:
        return ""
    return f" where {' and '.join(describe_property(leaf) for leaf in filters)}"


def _window(window: TimeWindow | StartBound) -> str:
    if isinstance(window, StartBound):
        return f"since {window.text}"
    return f"in the last {_span(window)}"


def _span(span: TimeWindow) -> str:
    return f"{span.count} {span.unit}{'' if span.count == 1 else 's'}"


def _times_of(times: int) -> str:
    return "once" if times == 1 else f"{times} times"


def _value(value: object) -> str:
    if isinstance(value, tuple | list):
        return " or ".join(_value(item) for item in value) or "nothing"
    return f"“{value}”" if isinstance(value, str) else str(value).lower()
