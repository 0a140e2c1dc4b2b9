"""Statements for conditions on events find the same members as a reference implementation."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanion.cohorts.calculation.query_plan import PlanContext, compile_plan
from fanion.cohorts.criteria.definition import Criteria, CriteriaError
from fanion.cohorts.criteria.resolve import resolve
from fanion.events.event import Event, Override, PersonRow
from fanion.events.storage.store import EventStore
from tests.support.examples import examples

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
EVENTS = ("a", "b")
UNITS = {"hour": HOUR, "day": 24 * HOUR, "week": 168 * HOUR}
PERSONS = 60
_numbers = count(1)

Json = dict[str, Any]


@dataclass(frozen=True)
class PersonEvent:
    """One event: its time, counted back from now, and its only property."""

    event: str
    ago: timedelta
    total: int | None = None

    @property
    def time(self) -> datetime:
        return NOW - self.ago


@dataclass(frozen=True)
class SamplePerson:
    """A person with events.

    Attributes:
        merged: Events that were another person's before a merge.
        picked: Whether the person is in the static cohort.
    """

    plan: str | None
    events: tuple[PersonEvent, ...] = ()
    merged: tuple[PersonEvent, ...] = ()
    picked: bool = False


# ── Reference implementation ─────────────────────────────────────────────────────────────


def is_member(tree: Json, person: SamplePerson) -> bool:
    if "values" in tree:
        matches = [is_member(child, person) for child in tree["values"]]
        return all(matches) if tree["type"] == "AND" else any(matches)
    if tree["type"] == "person":
        holds = person.plan == tree["value"]
    elif tree["type"] == "cohort":
        holds = person.picked
    else:
        holds = READINGS[tree["value"]](tree, [*person.events, *person.merged])
    return holds is not tree.get("negation", False)


def times(leaf: Json, done: Iterable[PersonEvent], key: str = "key") -> list[datetime]:
    return sorted(event.time for event in done if event.event == leaf[key])


def span(leaf: Json, prefix: str = "") -> timedelta:
    length: timedelta = leaf[f"{prefix}time_value"] * UNITS[leaf[f"{prefix}time_interval"]]
    return length


def compare(count: int, leaf: Json) -> bool:
    bound: int = leaf["operator_value"]
    answers = {
        "gte": count >= bound,
        "gt": count > bound,
        "lte": count <= bound,
        "lt": count < bound,
        "eq": count == bound,
    }
    return answers[leaf.get("operator", "eq")]


def filtered(leaf: Json, done: Sequence[PersonEvent]) -> list[datetime]:
    values = [leaf_filter["value"] for leaf_filter in leaf.get("event_filters", [])]
    remaining = [event for event in done if all(event.total == value for value in values)]
    return [time for time in times(leaf, remaining) if NOW - span(leaf) < time < NOW]


def performed(leaf: Json, done: Sequence[PersonEvent]) -> bool:
    return bool(filtered(leaf, done))


def multiple(leaf: Json, done: Sequence[PersonEvent]) -> bool:
    count = len(filtered(leaf, done))
    return count > 0 and compare(count, leaf)


def first_time(leaf: Json, done: Sequence[PersonEvent]) -> bool:
    past = [time for time in times(leaf, done) if time < NOW]
    return bool(past) and min(past) >= NOW - span(leaf)


def stopped(leaf: Json, done: Sequence[PersonEvent]) -> bool:
    early, late = NOW - span(leaf), NOW - span(leaf, "seq_")
    occurrences = times(leaf, done)
    return any(early < t <= late for t in occurrences) and not any(
        late < t <= NOW for t in occurrences
    )


def restarted(leaf: Json, done: Sequence[PersonEvent]) -> bool:
    early, late = NOW - span(leaf), NOW - span(leaf, "seq_")
    occurrences = times(leaf, done)
    return (
        any(t <= early for t in occurrences)
        and not any(early < t <= late for t in occurrences)
        and any(late < t <= NOW for t in occurrences)
    )


def regularly(leaf: Json, done: Sequence[PersonEvent]) -> bool:
    length, total = span(leaf), leaf["total_periods"]
    occurrences = [t for t in times(leaf, done) if NOW - total * length < t <= NOW]
    counts = [
        sum(NOW - (k + 1) * length < t <= NOW - k * length for t in occurrences)
        for k in range(total)
    ]
    return bool(occurrences) and sum(compare(n, leaf) for n in counts) >= leaf["min_periods"]


def sequence(leaf: Json, done: Sequence[PersonEvent]) -> bool:
    start, gap = NOW - span(leaf), span(leaf, "seq_")
    first = [t for t in times(leaf, done) if start < t <= NOW]
    then = [t for t in times(leaf, done, "seq_event") if start < t <= NOW]
    return any(timedelta(0) < b - a <= gap for a in first for b in then)


READINGS: dict[str, Callable[[Json, Sequence[PersonEvent]], bool]] = {
    "performed_event": performed,
    "performed_event_multiple": multiple,
    "performed_event_first_time": first_time,
    "performed_event_sequence": sequence,
    "performed_event_regularly": regularly,
    "stopped_performing_event": stopped,
    "restarted_performing_event": restarted,
}


# ── Populations and criteria ─────────────────────────────────────────────────────────────


def some_time(chance: Random) -> timedelta:
    """Return a time span, mostly a multiple of six hours.

    Multiples of six hours meet the edges of windows and each other; other spans lie between.
    """
    if chance.random() < 0.8:
        return chance.randrange(4 * 12) * 6 * HOUR
    return timedelta(minutes=chance.randrange(12 * 24 * 60))


def some_events(chance: Random, most: int) -> tuple[PersonEvent, ...]:
    return tuple(
        PersonEvent(chance.choice(EVENTS), some_time(chance), chance.choice((None, 0, 1)))
        for _ in range(chance.randint(0, most))
    )


def random_persons(seed: int) -> list[SamplePerson]:
    """Return many persons at once, because a statement costs the same for one person."""
    chance = Random(seed)
    return [
        SamplePerson(
            chance.choice((None, "pro", "free")),
            some_events(chance, 6),
            some_events(chance, 3),
            chance.random() < 0.5,
        )
        for _ in range(PERSONS)
    ]


spans = st.sampled_from([(6, "hour"), (1, "day"), (2, "day"), (3, "day"), (1, "week")])


def behavioral(kind: str, **more: Any) -> Json:
    return {
        "type": "behavioral",
        "key": "a",
        "event_type": "events",
        "value": kind,
        "time_value": 1,
        "time_interval": "week",
        **more,
    }


@st.composite
def behaviours(draw: st.DrawFn, kinds: Sequence[str] = tuple(READINGS)) -> Json:
    kind = draw(st.sampled_from(kinds))
    size, unit = draw(spans)
    leaf = behavioral(kind, key=draw(st.sampled_from(EVENTS)), time_value=size, time_interval=unit)
    if kind in ("performed_event", "performed_event_multiple") and draw(st.booleans()):
        total = draw(st.integers(0, 1))
        leaf["event_filters"] = [{"type": "event", "key": "total", "value": total}]
    if kind in ("performed_event_multiple", "performed_event_regularly"):
        leaf["operator"] = draw(st.sampled_from(["gte", "gt", "lte", "lt", "eq"]))
        leaf["operator_value"] = draw(st.integers(1, 3))
    if kind == "performed_event_regularly":
        leaf["total_periods"] = draw(st.integers(1, 5))
        leaf["min_periods"] = draw(st.integers(1, leaf["total_periods"]))
    if kind.endswith(("sequence", "performing_event")):
        inner, inner_unit = draw(spans)
        leaf["seq_time_value"], leaf["seq_time_interval"] = inner, inner_unit
    if kind.endswith("sequence"):
        leaf["seq_event"], leaf["seq_event_type"] = draw(st.sampled_from(EVENTS)), "events"
    return leaf


leaves = behaviours() | st.builds(
    lambda value: {"type": "person", "key": "plan", "operator": "exact", "value": value},
    st.sampled_from(["pro", "free"]),
)
signed = st.builds(
    lambda leaf, negation: {**leaf, "negation": negation},
    leaves | st.just({"type": "cohort", "key": "id", "value": 7}),
    st.booleans(),
)


def groups_of(inner: st.SearchStrategy[list[Json]]) -> st.SearchStrategy[Json]:
    return st.builds(
        lambda kind, values: {"type": kind, "values": values}, st.sampled_from(["AND", "OR"]), inner
    )


flat = groups_of(st.lists(signed, min_size=1, max_size=3))
trees = flat | groups_of(st.lists(flat, min_size=1, max_size=3))


# ── Against the store ────────────────────────────────────────────────────────────────────


async def populate(
    events: EventStore, project: int, population: Sequence[SamplePerson]
) -> dict[int, UUID]:
    """Store all persons with their events, some of which are stored twice."""
    ids = {index: uuid4() for index in range(len(population))}
    rows: list[Event] = []
    merges: list[Override] = []
    for index, person in enumerate(population):
        before = uuid4()
        rows += [stored(project, event, ids[index]) for event in person.events]
        rows += [stored(project, event, before) for event in person.merged]
        merges.append(Override(project, before, ids[index], 1))
    await events.mirror_persons(
        [
            PersonRow(project, ids[index], json.dumps({"plan": person.plan}).encode(), NOW, 1)
            for index, person in enumerate(population)
        ]
    )
    await events.override_persons(merges)
    await events.insert(events.encoder.batch(rows), f"{project}-first")
    await events.insert(events.encoder.batch(rows[::2]), f"{project}-again")
    return ids


def stored(project: int, event: PersonEvent, person: UUID) -> Event:
    properties = b"{}" if event.total is None else b'{"total":%d}' % event.total
    return Event(project, uuid4(), event.event, "d", person, event.time, NOW, properties)


async def members(
    events: EventStore,
    project: int,
    tree: Json,
    picked: Sequence[UUID] = (),
    now: datetime = NOW,
    zone: str = "UTC",
) -> set[UUID]:
    others = {7: Criteria(7, "picked", True, None, ())}
    resolved = resolve(Criteria(1, None, False, {"properties": tree}, ()), others)
    moment = PlanContext(project, now, ZoneInfo(zone), uuid4())
    plan = compile_plan(resolved, moment)
    if plan.inputs and picked:
        await events.put_inputs(moment.run, 7, [str(uuid) for uuid in picked])
    answer = await events.ask(plan.members, plan.parameters)
    listed = list(answer.columns[0]) if answer.columns else []
    assert listed == sorted(set(listed))
    return {UUID(bytes=member) for member in listed}


# Each kind of condition by itself, and three trees of several conditions.
trees_of_all_kinds = st.tuples(
    *(behaviours([kind]).map(lambda leaf: {"type": "OR", "values": [leaf]}) for kind in READINGS),
    *(trees for _ in range(3)),
)


# It takes seconds: each example is stored and asked about.
@settings(
    max_examples=examples(12),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32), trees=trees_of_all_kinds)
async def test_statements_find_the_same_persons_as_a_reference_implementation(
    events: EventStore, project_id: int, seed: int, trees: tuple[Json, ...]
) -> None:
    population = random_persons(seed)
    project = (project_id << 20) % (1 << 60) + next(_numbers)
    ids = await populate(events, project, population)
    picked = [ids[index] for index, person in enumerate(population) if person.picked]

    for tree in trees:
        try:
            matching = await members(events, project, tree, picked)
        except CriteriaError:
            continue
        expected = {ids[n] for n, person in enumerate(population) if is_member(tree, person)}
        assert matching == expected, tree


def days(*ago: float) -> SamplePerson:
    return SamplePerson(None, tuple(PersonEvent("a", 24 * day * HOUR) for day in ago))


def two(kind: str, outer: int, inner: int, unit: str = "day") -> Json:
    return behavioral(
        kind, time_value=outer, time_interval=unit, seq_time_value=inner, seq_time_interval="day"
    )


def in_periods(least: int, times_in: int, total: int) -> Json:
    return behavioral(
        "performed_event_regularly",
        time_value=3,
        time_interval="day",
        operator="gte",
        operator_value=times_in,
        min_periods=least,
        total_periods=total,
    )


SAME = {**two("performed_event_sequence", 7, 3), "seq_event": "a", "seq_event_type": "events"}
AT_MOST_ONCE = behavioral("performed_event_multiple", operator="lte", operator_value=1)

# Source: cohorts.md section 6, "Worked examples".
EXAMPLES: list[tuple[Json, SamplePerson, bool]] = [
    (behavioral("performed_event_first_time"), days(4), True),
    (behavioral("performed_event_first_time"), days(20, 4), False),
    (two("stopped_performing_event", 14, 7), days(10), True),
    (two("stopped_performing_event", 14, 7), days(3), False),
    (two("stopped_performing_event", 14, 7), days(20), False),
    (two("restarted_performing_event", 7, 2), days(20, 1), True),
    (two("restarted_performing_event", 7, 2), days(20, 5, 1), False),
    (two("restarted_performing_event", 7, 2), days(1), False),
    (in_periods(3, 1, 3), days(1, 4, 7), True),
    (in_periods(2, 2, 2), days(1, 4, 4.5, 7, 7.5), False),
    (in_periods(2, 2, 3), days(1, 4, 4.5, 7, 7.5), True),
    (in_periods(2, 2, 2), days(4, 7, 7.5), False),
    (in_periods(2, 1, 3), days(4, 7, 7.5), True),
    (SAME, days(1 / 24, 2 + 1 / 24), True),
    (SAME, days(2), False),
    (SAME, days(1 / 24, 4), False),
    (AT_MOST_ONCE, days(), False),
    (AT_MOST_ONCE, days(3), True),
    (behavioral("performed_event_multiple", operator="gte", operator_value=150), days(1), False),
    (behavioral("performed_event", explicit_datetime="-2d"), days(3), False),
    (behavioral("performed_event", explicit_datetime="2026-02-27"), days(1), True),
    (behavioral("performed_event", time_interval="month"), days(27.9), True),
    (behavioral("performed_event", time_interval="month"), days(28.1), False),
]


@pytest.mark.parametrize(("leaf", "person", "expected"), EXAMPLES)
async def test_worked_examples_of_the_reference(
    every_layout: EventStore, project_id: int, leaf: Json, person: SamplePerson, expected: bool
) -> None:
    ids = await populate(every_layout, project_id, [person])

    matching = await members(every_layout, project_id, {"type": "AND", "values": [leaf]})

    assert (ids[0] in matching) is expected


async def test_periods_of_months_follow_the_calendar(
    every_layout: EventStore, project_id: int
) -> None:
    ids = await populate(every_layout, project_id, [days(5, 30, 62), days(5, 70)])
    leaf = in_periods(3, 1, 3) | {"time_value": 1, "time_interval": "month"}

    matching = await members(every_layout, project_id, {"type": "AND", "values": [leaf]})

    assert matching == {ids[0]}


async def test_a_date_without_a_zone_is_in_the_projects_zone(
    every_layout: EventStore, project_id: int
) -> None:
    """Midnight of the first of March in Tokyo was 21 hours before this noon in UTC."""
    ids = await populate(every_layout, project_id, [days(20 / 24), days(22 / 24)])
    leaf = behavioral("performed_event", explicit_datetime="dStart")
    tree = {"type": "AND", "values": [leaf]}
    dated = {"type": "AND", "values": [{**leaf, "explicit_datetime": "2026-03-01"}]}

    assert await members(every_layout, project_id, tree, zone="Asia/Tokyo") == {ids[0]}
    assert await members(every_layout, project_id, dated, zone="Asia/Tokyo") == {ids[0]}
    assert await members(every_layout, project_id, tree) == set()


async def test_other_projects_and_removed_persons_do_not_count(
    every_layout: EventStore, project_id: int
) -> None:
    ids = await populate(every_layout, project_id, [SamplePerson("pro"), SamplePerson("pro")])
    await populate(
        every_layout, project_id + (1 << 40), [SamplePerson("pro", (PersonEvent("a", HOUR),))]
    )
    await every_layout.mirror_persons(
        [PersonRow(project_id, ids[1], b"{}", NOW, 2, is_deleted=True)]
    )
    tree = {"type": "OR", "values": [{"type": "person", "key": "plan", "value": "pro"}]}

    matching = await members(every_layout, project_id, tree)

    assert matching == {ids[0]}
    assert (
        await members(
            every_layout, project_id, {"type": "OR", "values": [behavioral("performed_event")]}
        )
        == set()
    )


async def test_names_of_events_are_values(every_layout: EventStore, project_id: int) -> None:
    name = "a' OR 1 --\\ {v0:String} \n\0☃"
    ids = await populate(
        every_layout, project_id, [SamplePerson(None, (PersonEvent(name, HOUR),)), days(1)]
    )

    matching = await members(
        every_layout,
        project_id,
        {"type": "AND", "values": [behavioral("performed_event", key=name)]},
    )

    assert matching == {ids[0]}
