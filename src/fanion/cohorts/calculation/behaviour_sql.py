"""The ClickHouse query for the persons who meet one condition on events.

An event may be stored more than once under one uuid. Where the number of events matters, uuids are
counted, no further than necessary (`uniqUpTo`). Events are aggregated per person_id before they are
assigned to the person it was merged into, so that the join reads persons, not events.

Source: cohorts.md section 6.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from textwrap import indent
from typing import Any
from zoneinfo import ZoneInfo

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
from fanion.cohorts.criteria.options import COMPARISONS, EventName
from fanion.cohorts.criteria.time_window import StartBound, TimeWindow
from fanion.events.storage.filters_sql import NO_PERSON, tree_condition
from fanion.properties.bindings import MICROSECOND, Bindings, micros
from fanion.properties.condition_sql import property_condition
from fanion.properties.filters import Property

# The limit of `uniqUpTo`; larger numbers are counted exactly, which takes more memory.
UNIQUE_MAX = 100
_MICROS = "toUnixTimestamp64Micro(timestamp)"
_SURVIVOR = f"if(moved.new_person = {NO_PERSON}, found.person_id, moved.new_person)"


@dataclass(frozen=True, slots=True)
class _BehaviourParts:
    """The parts of the query for one condition on events.

    Attributes:
        where: The conditions that select the events.
        gather: The aggregate per person_id.
        passes: The condition on the merged aggregates of each surviving person.
        period: A further grouping key; then `passes` is the condition on one period.
        periods_pass: With `period`, the condition on the number of periods that `passed`.
    """

    where: tuple[str, ...]
    gather: str = ""
    passes: str = ""
    period: str = ""
    periods_pass: str = ""


def behaviour_query(
    behaviour: Behaviour, bindings: Bindings, now: datetime, zone: ZoneInfo, project: str, bits: str
) -> str:
    """Return a SELECT of `person`, each once, and `bits`.

    Persons that do not exist are among the rows.

    Args:
        now: An aware time in UTC.
        zone: The time zone of bounds that are written without one.
        project: The condition on the project, as SQL.
        bits: The second column, as SQL.
    """
    parts = _BUILDERS[type(behaviour)](behaviour, _BehaviourBuilder(bindings, now, zone, project))
    if parts.period:
        return _by_period(parts, project, bits)
    having = f"\nHAVING {parts.passes}" if parts.passes else ""
    source = _survivors(_gathered(parts, project), project)
    return f"SELECT {_SURVIVOR} AS person, {bits}\n{source}\nGROUP BY person{having}"


def _by_period(parts: _BehaviourParts, project: str, bits: str) -> str:
    source = _survivors(_gathered(parts, project), project)
    tested = (
        f"SELECT {_SURVIVOR} AS person, period, {parts.passes} AS passed\n{source}\n"
        "GROUP BY person, period"
    )
    return (
        f"SELECT person, {bits}\nFROM (\n{indent(tested, '  ')}\n)\n"
        f"GROUP BY person\nHAVING {parts.periods_pass}"
    )


def _gathered(parts: _BehaviourParts, project: str) -> str:
    columns = [f"{parts.period} AS period"] if parts.period else []
    columns += [parts.gather] if parts.gather else []
    conditions = "\n  AND ".join((project, *parts.where))
    return (
        f"SELECT {', '.join(['person_id', *columns])}\nFROM events\nWHERE {conditions}\n"
        f"GROUP BY person_id{', period' if parts.period else ''}"
    )


def _survivors(gathered: str, project: str) -> str:
    moved = f"SELECT old_person, new_person FROM person_overrides FINAL WHERE {project}"
    return (
        f"FROM (\n{indent(gathered, '  ')}\n) AS found\n"
        f"LEFT ANY JOIN (\n  {moved}\n) AS moved ON moved.old_person = found.person_id"
    )


@dataclass(frozen=True, slots=True)
class _BehaviourBuilder:
    bindings: Bindings
    now: datetime
    zone: ZoneInfo
    project: str

    def event(self, name: EventName) -> str:
        if isinstance(name, str):
            return f"event = {self.bindings.text(name)}"
        assert name.resolved is not None  # `with_actions_of` comes before
        return tree_condition(name.resolved.condition, self.bindings, self.project, self.now)

    def after(self, moment: datetime) -> str:
        return f"timestamp > {self.bindings.time(moment)}"

    def upto(self, moment: datetime) -> str:
        return f"timestamp <= {self.bindings.time(moment)}"

    def time(self, moment: datetime) -> str:
        return self.bindings.time(moment)

    @property
    def past(self) -> str:
        return f"timestamp < {self.bindings.time(self.now)}"

    def start(self, window: TimeWindow | StartBound) -> datetime:
        if isinstance(window, StartBound):
            return window.moment(self.now, self.zone)
        return window.before(self.now)

    def filters(self, filters: tuple[Property, ...]) -> tuple[str, ...]:
        return tuple(
            property_condition(leaf, self.bindings, self.now, events_of=self.project)
            for leaf in filters
        )

    def number(self, number: int) -> str:
        return self.bindings.add(number, "UInt64")


def _performed(behaviour: Performed, b: _BehaviourBuilder) -> _BehaviourParts:
    return _BehaviourParts(_within(behaviour, b))


def _times(behaviour: PerformedMultiple, b: _BehaviourBuilder) -> _BehaviourParts:
    if behaviour.times == 1 and behaviour.comparison == "gte":
        return _BehaviourParts(_within(behaviour, b))
    state, merge = _counter(behaviour.times)
    passes = f"{merge}(uuids) {COMPARISONS[behaviour.comparison]} {b.number(behaviour.times)}"
    return _BehaviourParts(_within(behaviour, b), f"{state}(uuid) AS uuids", passes)


def _within(behaviour: Performed | PerformedMultiple, b: _BehaviourBuilder) -> tuple[str, ...]:
    return (
        b.event(behaviour.event),
        b.after(b.start(behaviour.window)),
        b.past,
        *b.filters(behaviour.filters),
    )


def _first_time(behaviour: PerformedFirstTime, b: _BehaviourBuilder) -> _BehaviourParts:
    passes = f"min(first) >= {b.time(b.start(behaviour.window))}"
    return _BehaviourParts((b.event(behaviour.event), b.past), "min(timestamp) AS first", passes)


def _stopped(behaviour: StoppedPerforming, b: _BehaviourBuilder) -> _BehaviourParts:
    where = (b.event(behaviour.event), b.after(b.start(behaviour.window)), b.upto(b.now))
    passes = f"max(last) <= {b.time(behaviour.silent.before(b.now))}"
    return _BehaviourParts(where, "max(timestamp) AS last", passes)


def _restarted(behaviour: RestartedPerforming, b: _BehaviourBuilder) -> _BehaviourParts:
    start, recent = b.start(behaviour.window), behaviour.recent.before(b.now)
    gather = (
        "min(timestamp) AS first, max(timestamp) AS last, "
        f"max({b.after(start)} AND {b.upto(recent)}) AS paused_not"
    )
    passes = (
        f"min(first) <= {b.time(start)} AND max(last) > {b.time(recent)} AND max(paused_not) = 0"
    )
    return _BehaviourParts((b.event(behaviour.event), b.upto(b.now)), gather, passes)


def _regularly(behaviour: PerformedRegularly, b: _BehaviourBuilder) -> _BehaviourParts:
    start = behaviour.period.before(b.now, behaviour.periods)
    where = (b.event(behaviour.event), b.after(start), b.upto(b.now))
    periods_min = b.number(behaviour.periods_min)
    if behaviour.times == 1 and behaviour.comparison == "gte":
        state, merge = _counter(behaviour.periods_min)
        gather = f"{state}({_period(behaviour, b)}) AS periods"
        return _BehaviourParts(where, gather, f"{merge}(periods) >= {periods_min}")
    state, merge = _counter(behaviour.times)
    passes = f"{merge}(uuids) {COMPARISONS[behaviour.comparison]} {b.number(behaviour.times)}"
    # Periods without an event have no rows here; with `lt` and `lte` they pass.
    empty = (
        f"{b.number(behaviour.periods)} - count()" if behaviour.comparison in ("lt", "lte") else "0"
    )
    enough = f"countIf(passed) + {empty} >= {periods_min}"
    return _BehaviourParts(where, f"{state}(uuid) AS uuids", passes, _period(behaviour, b), enough)


def _period(behaviour: PerformedRegularly, b: _BehaviourBuilder) -> str:
    """Return SQL for the number of the period that an event lies in, the newest being 0."""
    add = b.bindings.add
    if not behaviour.period.is_calendar:
        now = add(micros(b.now), "Int64")
        length = add(behaviour.period.length // MICROSECOND, "Int64")
        return f"intDiv({now} - {_MICROS}, {length})"
    ends = [micros(behaviour.period.before(b.now, k)) for k in range(1, behaviour.periods)]
    return f"arrayCount(end -> {_MICROS} <= end, {add(ends, 'Array(Int64)')})"


def _sequence(behaviour: PerformedSequence, b: _BehaviourBuilder) -> _BehaviourParts:
    """Compile a sequence of two events.

    Each event is encoded as its time, doubled, plus 1 if it may begin the sequence. In sorted
    order an end directly follows its nearest beginning, and an end of the same instant comes
    before that beginning.
    """
    first, then = b.event(behaviour.event), b.event(behaviour.then)
    where = (f"({first} OR {then})", b.after(b.start(behaviour.window)), b.upto(b.now))
    if behaviour.event == behaviour.then:
        gather = f"groupArrayArray([2 * {_MICROS}, 2 * {_MICROS} + 1]) AS marks"
    elif isinstance(behaviour.event, str) and isinstance(behaviour.then, str):
        gather = f"groupArray(2 * {_MICROS} + ({first})) AS marks"
    else:  # an event may belong to both
        ends, begins = f"if({then}, [2 * {_MICROS}], [])", f"if({first}, [2 * {_MICROS} + 1], [])"
        gather = f"groupArrayArray(arrayConcat({ends}, {begins})) AS marks"
    gap = b.bindings.add(2 * (behaviour.gap.length // MICROSECOND) - 1, "Int64")
    passes = (
        "arrayExists((a, b) -> bitAnd(a, 1) = 1 AND bitAnd(b, 1) = 0 AND b - a <= "
        f"{gap}, arrayPopBack(arraySort(groupArrayArray(marks)) AS sorted), arrayPopFront(sorted))"
    )
    return _BehaviourParts(where, gather, passes)


_BUILDERS: dict[type, Callable[[Any, _BehaviourBuilder], _BehaviourParts]] = {
    Performed: _performed,
    PerformedMultiple: _times,
    PerformedFirstTime: _first_time,
    PerformedSequence: _sequence,
    PerformedRegularly: _regularly,
    StoppedPerforming: _stopped,
    RestartedPerforming: _restarted,
}


def _counter(number: int) -> tuple[str, str]:
    """Return the state and merge functions that count distinct values up to `number`.

    A parameter of an aggregate function cannot be bound; `number` is a number that was parsed.
    """
    if number <= UNIQUE_MAX:
        return f"uniqUpToState({number:d})", f"uniqUpToMerge({number:d})"
    return "uniqExactState", "uniqExactMerge"
