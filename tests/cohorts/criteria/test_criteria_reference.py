"""Whole criteria, nested and old ones too, against a reference implementation.

Unlike the single conditions in test_behaviour_sql, these are trees of any shape: with
negations without a positive condition, empty groups, cohorts inside cohorts (dynamic,
static, unknown), every operator on properties, explicit dates, and the `groups` form.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
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
from fanion.events.event import PersonRow
from fanion.events.storage.store import EventStore
from tests.cohorts.calculation.test_behaviour_sql import (
    EVENTS,
    NOW,
    READINGS,
    PersonEvent,
    behaviours,
    compare,
    some_events,
    span,
    stored,
)
from tests.support.examples import examples

PERSONS = 40
STATIC, DYNAMIC, UNKNOWN, OLD = 7, 8, 9, 10

Json = dict[str, Any]


@dataclass(frozen=True)
class Person:
    properties: Json
    events: tuple[PersonEvent, ...]
    picked: bool


@dataclass(frozen=True)
class CriteriaCase:
    """The criteria of a cohort, and of the cohorts that it may name.

    Attributes:
        tree: The criteria of the cohort itself.
        nested: The criteria of the dynamic cohort that it may name.
        groups: The criteria of another cohort that it may name, in the older form.
    """

    tree: Json
    nested: Json
    groups: list[Json]


# ── Properties ───────────────────────────────────────────────────────────────────────────

HELD: Mapping[str, Sequence[Any]] = {
    "plan": ("pro", "Pro", "free", "", "true", True, None),
    "n": (0, 5, -3, 5.5, "7", " 8 ", "x", True, [5], None),
    "day": ("2026-02-01", "2026-02-01T10:00:00Z", "2026-02-02T00:00:00+02:00", "soon", None),
}
ABSENT = object()


def text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def number(value: str) -> float | None:
    try:
        return float(value.replace(" ", ""))
    except ValueError:
        return None


def date(value: str) -> datetime | None:
    """Return the time in a text, in which a number is Unix seconds."""
    if re.fullmatch(r" *-?[0-9]+(\.[0-9]+)? *", value):
        return datetime.fromtimestamp(float(value), UTC)
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def exact(held: str, value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return held.lower() in [text(item).lower() for item in values]


def ordered(held: str, value: Any, holds: Callable[[Any, Any], bool]) -> bool:
    left, right = number(held), number(text(value))
    if right is None:
        return holds(held, text(value))
    return left is not None and right is not None and holds(left, right)


def dated(held: str, value: str, operator: str) -> bool:
    held_date, bound = date(held), date(value)
    if held_date is None or bound is None:
        return False
    whole_day = ":" not in value
    end = bound + timedelta(days=1)
    if operator == "is_date_before":
        return held_date < bound
    if operator == "is_date_after":
        return held_date >= end if whole_day else held_date > bound
    return bound <= held_date < end if whole_day else held_date == bound


def ranged(held: str, value: tuple[int, int], *, inside: bool) -> bool:
    held_number = number(held)
    return held_number is not None and (value[0] <= held_number <= value[1]) is inside


POSITIVE: Mapping[str, Callable[[str, Any], bool]] = {
    "exact": exact,
    "unheard_of": lambda held, value: False,
    "icontains": lambda held, value: text(value).lower() in held.lower(),
    "regex": lambda held, value: re.search(text(value), held) is not None,
    "gt": lambda held, value: ordered(held, value, lambda a, b: a > b),
    "gte": lambda held, value: ordered(held, value, lambda a, b: a >= b),
    "lt": lambda held, value: ordered(held, value, lambda a, b: a < b),
    "lte": lambda held, value: ordered(held, value, lambda a, b: a <= b),
    "is_date_before": lambda held, value: dated(held, value, "is_date_before"),
    "is_date_after": lambda held, value: dated(held, value, "is_date_after"),
    "is_date_exact": lambda held, value: dated(held, value, "is_date_exact"),
    "starts_with": lambda held, value: held.lower().startswith(text(value).lower()),
    "ends_with": lambda held, value: held.lower().endswith(text(value).lower()),
    "icontains_multi": lambda held, value: any(text(v).lower() in held.lower() for v in value),
    "between": lambda held, value: ranged(held, value, inside=True),
    "not_between": lambda held, value: ranged(held, value, inside=False),
}
# Operators that persons without the property match too.
NEGATIVE = {
    "is_not": "exact",
    "not_icontains": "icontains",
    "not_regex": "regex",
    "not_starts_with": "starts_with",
    "not_ends_with": "ends_with",
    "not_icontains_multi": "icontains_multi",
}


def has(leaf: Json, properties: Json, negated: bool) -> bool:
    return fulfils(leaf, properties) is not negated


def fulfils(leaf: Json, properties: Json) -> bool:
    operator = leaf.get("operator", "exact")
    if operator in ("is_set", "is_not_set"):
        return (leaf["key"] in properties) is (operator == "is_set")
    held = properties.get(leaf["key"])
    if held is None:
        return operator in NEGATIVE or operator == "not_between"
    if operator in NEGATIVE:
        return not POSITIVE[NEGATIVE[operator]](text(held), leaf.get("value"))
    return POSITIVE[operator](text(held), leaf.get("value"))


# ── Trees ────────────────────────────────────────────────────────────────────────────────


def flips(leaf: Json, negated: bool) -> bool:
    own = leaf.get("negation", False) is not (leaf.get("operator") == "not_in")
    return own is not negated


def holds(tree: Json, person: Person, case: CriteriaCase, negated: bool = False) -> bool:
    """Return whether a person meets a tree.

    Args:
        negated: By an outer cohort, which turns AND into OR and negates every condition.
    """
    if "values" in tree:
        matches = [holds(child, person, case, negated) for child in tree["values"]]
        return bool(matches) and (all if (tree["type"] == "AND") is not negated else any)(matches)
    flipped = flips(tree, negated)
    if tree["type"] == "person":
        return has(tree, person.properties, flipped)
    if tree["type"] == "behavioral":
        return did(tree, person) is not flipped
    cohort = int(tree["value"])
    if cohort == STATIC:
        return person.picked is not flipped
    if cohort == DYNAMIC:
        return holds(case.nested, person, case, flipped)
    if cohort == OLD:
        return holds(meaning(case.groups), person, case, flipped)
    return False


def did(leaf: Json, person: Person) -> bool:
    if "explicit_datetime" not in leaf:
        return READINGS[leaf["value"]](leaf, person.events)
    since = SINCE[leaf["explicit_datetime"]]
    values = [leaf_filter["value"] for leaf_filter in leaf.get("event_filters", [])]
    times = [
        event.time
        for event in person.events
        if event.event == leaf["key"] and all(event.total == value for value in values)
    ]
    count = sum(since < time < NOW for time in times)
    if leaf["value"] == "performed_event":
        return count > 0
    return count > 0 and compare(count, leaf)


def unpaired(tree: Json, case: CriteriaCase, negated: bool = False) -> tuple[bool, bool]:
    """Return whether a negation is unpaired, and whether a condition is positive.

    Source: cohorts.md section 7.
    """
    if "values" in tree:
        if not tree["values"]:
            return False, True
        below = [unpaired(child, case, negated) for child in tree["values"]]
        waits, positive = any(w for w, _ in below), any(p for _, p in below)
        if (tree["type"] == "AND") is not negated and waits and positive:
            return False, True
        return waits, positive
    flipped = flips(tree, negated)
    cohort = int(tree["value"]) if tree["type"] == "cohort" else None
    if cohort == DYNAMIC:
        return unpaired(case.nested, case, flipped)
    if cohort == OLD:
        return unpaired(meaning(case.groups), case, flipped)
    return flipped, not flipped


# The expected start of each window. Now is noon of the first of March.
SINCE = {
    "-2d": datetime(2026, 2, 27, 12, tzinfo=UTC),
    "-36h": datetime(2026, 2, 28, tzinfo=UTC),
    "-1w": datetime(2026, 2, 22, 12, tzinfo=UTC),
    "-1m": datetime(2026, 2, 1, 12, tzinfo=UTC),
    "dStart": datetime(2026, 3, 1, tzinfo=UTC),
    "-1mStart": datetime(2026, 2, 1, tzinfo=UTC),
    "2026-02-25": datetime(2026, 2, 25, tzinfo=UTC),
    "2026-02-25T06:00:00+02:00": datetime(2026, 2, 25, 4, tzinfo=UTC),
}


def meaning(groups: Sequence[Json]) -> Json:
    """Return the tree that groups stand for.

    Source: cohorts.md section 9.
    """
    return {"type": "OR", "values": [entry_meaning(entry) for entry in groups]}


def entry_meaning(entry: Json) -> Json:
    properties = entry.get("properties")
    if isinstance(properties, dict) and "values" in properties:
        return properties
    if isinstance(properties, dict):
        properties = [{"key": key, "value": value} for key, value in properties.items()]
    if properties:
        return {"type": "AND", "values": [{**leaf, "type": "person"} for leaf in properties]}
    count = int(entry.get("count") or 0)
    kind = "performed_event_multiple" if count > 0 else "performed_event"
    leaf = {
        "type": "behavioral",
        "key": entry["event_id"],
        "value": kind,
        "time_value": int(entry.get("days") or 365),
        "time_interval": "day",
        "operator": entry.get("count_operator") or "eq",
        "operator_value": count,
    }
    return {"type": "AND", "values": [leaf]}


# ── Criteria ─────────────────────────────────────────────────────────────────────────────

VALUES = {
    "plan": st.sampled_from(["pro", "free", "r", "true", True, "", ["pro", "free"], []]),
    "n": st.sampled_from([5, "5", 7, "-3", 0, 5.5, "[5]", "x", ["5", 8]]),
    "day": st.sampled_from(["2026-02-01", "2026-02-01T10:00:00Z", "2026-02-02", "never"]),
}
OPERATORS = [*POSITIVE, *NEGATIVE, "is_set", "is_not_set"]


@st.composite
def property_leaves(draw: st.DrawFn) -> Json:
    key = draw(st.sampled_from(list(HELD)))
    operator = draw(st.sampled_from(OPERATORS))
    value = draw(VALUES["day"] if "date" in operator else VALUES[key])
    if "between" in operator:
        value = draw(st.sampled_from([[4, 6], [-3, 5], [5, 5]]))
    elif "multi" in operator:
        value = draw(st.sampled_from([["pro", "5"], ["R", "x"], []]))
    elif isinstance(value, list) and operator not in ("exact", "is_not", "unheard_of"):
        value = "pro"
    leaf = {"type": "person", "key": key, "operator": operator, "value": value}
    return leaf | ({"negation": True} if draw(st.integers(0, 4)) == 0 else {})


@st.composite
def event_leaves(draw: st.DrawFn) -> Json:
    leaf = draw(behaviours())
    if leaf["value"].endswith("performing_event") and span(leaf) < span(leaf, "seq_"):
        leaf["seq_time_value"], leaf["seq_time_interval"] = 1, "hour"
    if leaf["value"] in ("performed_event", "performed_event_multiple") and draw(st.booleans()):
        leaf["explicit_datetime"] = draw(st.sampled_from(list(SINCE)))
    return {**leaf, "negation": draw(st.integers(0, 3)) == 0}


def cohort_leaves(*ids: int) -> st.SearchStrategy[Json]:
    return st.builds(
        lambda value, more: {"type": "cohort", "key": "id", "value": value, **more},
        st.sampled_from([*ids, str(ids[0])]),
        st.sampled_from([{}, {}, {"negation": True}, {"operator": "not_in"}]),
    )


def trees(leaves: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Generate groups of leaves, and groups of those, never both in one list."""

    def group(values: st.SearchStrategy[list[Json]]) -> st.SearchStrategy[Json]:
        return st.builds(
            lambda kind, children: {"type": kind, "values": children},
            st.sampled_from(["AND", "OR"]),
            values,
        )

    flat = group(st.lists(leaves, min_size=0, max_size=3))
    return st.recursive(flat, lambda inner: group(st.lists(inner, min_size=1, max_size=3)))


simple = property_leaves() | event_leaves()
plain_properties = property_leaves().map(lambda leaf: {**leaf, "negation": False})
group_entries = st.one_of(
    st.fixed_dictionaries(
        {"event_id": st.sampled_from(EVENTS)},
        optional={
            "days": st.sampled_from([1, "3", 10]),
            "count": st.sampled_from([0, 1, "2", 3, -1]),
            "count_operator": st.sampled_from(["gte", "lte", "gt", "lt", "eq"]),
        },
    ),
    st.fixed_dictionaries(
        {
            "properties": st.lists(
                plain_properties.map(lambda leaf: {**leaf, "type": "event"}), min_size=1, max_size=2
            )
        }
    ),
    st.fixed_dictionaries({"properties": st.just({"plan": "pro", "n": 5})}),
    st.fixed_dictionaries({"properties": trees(plain_properties).filter(lambda t: t["values"])}),
)
criteria_cases = st.builds(
    CriteriaCase,
    trees(simple | cohort_leaves(STATIC, DYNAMIC, UNKNOWN, OLD)),
    trees(simple | cohort_leaves(STATIC, UNKNOWN, OLD)),
    st.lists(group_entries, min_size=1, max_size=3),
)


# ── Against the store ────────────────────────────────────────────────────────────────────


def random_persons(seed: int) -> list[Person]:
    chance = Random(seed)

    def properties() -> Json:
        drawn = {key: chance.choice((ABSENT, *values)) for key, values in HELD.items()}
        return {key: value for key, value in drawn.items() if value is not ABSENT}

    return [
        Person(properties(), some_events(chance, 6), chance.random() < 0.5) for _ in range(PERSONS)
    ]


async def populate(events: EventStore, project: int, persons: Sequence[Person]) -> list[UUID]:
    ids = [uuid4() for _ in persons]
    await events.mirror_persons(
        [
            PersonRow(project, uuid, json.dumps(person.properties).encode(), NOW, 1)
            for uuid, person in zip(ids, persons, strict=True)
        ]
    )
    rows = [
        stored(project, done, uuid)
        for uuid, person in zip(ids, persons, strict=True)
        for done in person.events
    ]
    await events.insert(events.encoder.batch(rows), f"{project}-plain")
    return ids


async def members(
    events: EventStore, project: int, case: CriteriaCase, picked: Sequence[UUID]
) -> set[UUID]:
    nested = {"properties": case.nested}
    others = {
        STATIC: Criteria(STATIC, None, True, None, ()),
        DYNAMIC: Criteria(DYNAMIC, None, False, nested, ()),
        OLD: Criteria(OLD, None, False, None, tuple(case.groups)),
    }
    tree = resolve(Criteria(1, None, False, {"properties": case.tree}, ()), others)
    moment = PlanContext(project, NOW, ZoneInfo("UTC"), uuid4())
    plan = compile_plan(tree, moment)
    if plan.inputs and picked:
        await events.put_inputs(moment.run, STATIC, [uuid.hex for uuid in picked])
    answer = await events.ask(plan.members, plan.parameters)
    return {UUID(bytes=member) for member in (answer.columns[0] if answer.columns else ())}


@pytest.fixture(scope="module")
async def population(
    events: EventStore,
) -> tuple[int, list[Person], list[UUID]]:
    """Store many persons at once, and only once: a statement costs the same for one person."""
    project, persons = uuid4().int >> 68, random_persons(7)
    return project, persons, await populate(events, project, persons)


# It takes seconds: each example is stored and asked about.
@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(case=criteria_cases)
async def test_criteria_find_the_same_persons_as_a_reference_implementation(
    events: EventStore, population: tuple[int, list[Person], list[UUID]], case: CriteriaCase
) -> None:
    project, persons, ids = population
    picked = [uuid for uuid, person in zip(ids, persons, strict=True) if person.picked]

    if unpaired(case.tree, case)[0]:
        with pytest.raises(CriteriaError, match="Negated conditions"):
            await members(events, project, case, picked)
        return
    matching = await members(events, project, case, picked)

    expected = {
        uuid for uuid, person in zip(ids, persons, strict=True) if holds(case.tree, person, case)
    }
    assert matching == expected, case
