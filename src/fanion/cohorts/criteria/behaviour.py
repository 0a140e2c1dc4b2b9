"""Conditions on what a person did. Their fields are read in the order in which they stand here.

Source: cohorts.md section 6.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Self

from fanion.actions.conditions import ResolvedAction
from fanion.cohorts.criteria.definition import ACCOMPANYING, CriteriaError
from fanion.cohorts.criteria.options import (
    COMPARISON,
    FILTERS,
    PERIODS,
    WINDOW,
    ActionEvent,
    BehaviourFields,
    EventName,
    event_name,
    span,
    whole,
)
from fanion.cohorts.criteria.time_window import StartBound, TimeWindow
from fanion.properties.filters import Property
from fanion.rest.options import Options, read, schemas_of


@dataclass(frozen=True, slots=True)
class Performed(Options):
    event: Annotated[EventName, event_name()]
    window: Annotated[TimeWindow | StartBound, WINDOW]
    filters: Annotated[tuple[Property, ...], FILTERS] = ()


@dataclass(frozen=True, slots=True)
class PerformedMultiple(Options):
    """An event performed a number of times within the window.

    Attributes:
        comparison: A key of COMPARISONS.
    """

    times: Annotated[int, whole("operator_value")]
    event: Annotated[EventName, event_name()]
    window: Annotated[TimeWindow | StartBound, WINDOW]
    comparison: Annotated[str, COMPARISON] = "eq"
    filters: Annotated[tuple[Property, ...], FILTERS] = ()


@dataclass(frozen=True, slots=True)
class PerformedFirstTime(Options):
    event: Annotated[EventName, event_name()]
    window: Annotated[TimeWindow, span()]


@dataclass(frozen=True, slots=True)
class PerformedSequence(Options):
    """The event `then` after `event`, both within the window and at most `gap` apart."""

    then: Annotated[EventName, event_name("seq_event", "seq_event_type")]
    event: Annotated[EventName, event_name()]
    window: Annotated[TimeWindow, span()]
    gap: Annotated[TimeWindow, span("seq_")]


@dataclass(frozen=True, slots=True)
class PerformedRegularly(Options):
    """An event performed in at least `periods_min` of the last `periods` equal periods."""

    periods_min: Annotated[int, whole("min_periods")]
    periods: Annotated[int, PERIODS]
    times: Annotated[int, whole("operator_value")]
    event: Annotated[EventName, event_name()]
    period: Annotated[TimeWindow, span()]
    comparison: Annotated[str, COMPARISON] = "eq"


@dataclass(frozen=True, slots=True)
class StoppedPerforming(Options):
    event: Annotated[EventName, event_name()]
    window: Annotated[TimeWindow, span()]
    silent: Annotated[TimeWindow, span("seq_")]

    def completed(self, fields: BehaviourFields) -> Self:
        _require_within(self.silent, self.window)
        return self


@dataclass(frozen=True, slots=True)
class RestartedPerforming(Options):
    event: Annotated[EventName, event_name()]
    window: Annotated[TimeWindow, span()]
    recent: Annotated[TimeWindow, span("seq_")]

    def completed(self, fields: BehaviourFields) -> Self:
        _require_within(self.recent, self.window)
        return self


def _require_within(recent: TimeWindow, whole: TimeWindow) -> None:
    if recent.length > whole.length:
        raise CriteriaError("The recent window must not be longer than the whole window.")


Behaviour = (
    Performed
    | PerformedMultiple
    | PerformedFirstTime
    | PerformedSequence
    | PerformedRegularly
    | StoppedPerforming
    | RestartedPerforming
)
# By the `value` of the condition.
BEHAVIOURS: Final[Mapping[str, type[Behaviour]]] = {
    "performed_event": Performed,
    "performed_event_multiple": PerformedMultiple,
    "performed_event_first_time": PerformedFirstTime,
    "performed_event_sequence": PerformedSequence,
    "performed_event_regularly": PerformedRegularly,
    "stopped_performing_event": StoppedPerforming,
    "restarted_performing_event": RestartedPerforming,
}
FIELDS_OF_BEHAVIORAL: Final = ACCOMPANYING.union(
    {"type", "value", "negation", "value_property", "group_type_index"},
    *map(schemas_of, BEHAVIOURS.values()),
)
# Fields that change whom a condition finds, with the kinds that read them. For other kinds they
# must be empty.
EMPTY_UNLESS_READ: Final[Mapping[str, Sequence[str]]] = {
    name: [kind for kind, behaviour in BEHAVIOURS.items() if name in schemas_of(behaviour)]
    for name in ("operator_value", "event_filters", "explicit_datetime")
}


def parse_behaviour(spec: Mapping[str, Any]) -> Behaviour:
    """Parse a condition on events.

    Raises:
        CriteriaError: The condition is not valid.
    """
    kind = spec.get("value")
    behaviour = BEHAVIOURS.get(kind) if isinstance(kind, str) else None
    if behaviour is None:
        raise CriteriaError(f"A condition on events cannot have the value {kind!r}.")
    return read(behaviour, BehaviourFields(spec))


def actions_of(behaviour: Behaviour) -> Sequence[int]:
    """Return the ids of the actions that a condition names."""
    named = [behaviour.event, behaviour.then if isinstance(behaviour, PerformedSequence) else ""]
    return [event.id for event in named if isinstance(event, ActionEvent)]


def with_actions(behaviour: Behaviour, actions: Mapping[int, ResolvedAction]) -> Behaviour:
    """Return the condition with its actions as they are now.

    Raises:
        CriteriaError: One does not exist.
    """
    if isinstance(behaviour, PerformedSequence):
        behaviour = replace(behaviour, then=_resolved(behaviour.then, actions))
    return replace(behaviour, event=_resolved(behaviour.event, actions))


def _resolved(event: EventName, actions: Mapping[int, ResolvedAction]) -> EventName:
    if isinstance(event, str):
        return event
    if event.id not in actions:
        raise CriteriaError(f"Action with id {event.id} does not exist.")
    return ActionEvent(event.id, actions[event.id])
