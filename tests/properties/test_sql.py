"""The table of comparisons, as the event store answers them."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from fanion.events.event import PersonRow
from fanion.events.storage.store import EventStore
from fanion.properties.cohort_sql import Bindings, property_condition
from fanion.properties.filters import Property, parse_leaf
from fanion.properties.flag_sql import flag_condition
from fanion.properties.match import property_test

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "cases" / "filters.json").read_text()
)
NOW = datetime(2026, 3, 1, tzinfo=UTC)

CONDITIONS_AT_ONCE = 100  # which is most of the text that a statement may have

# Keys that need care: each is the whole name of one property.
KEYS = ["a b", "a.b", "a%2Eb", "null", "$x", "a`b", 'a"b', "a'b", "a\\b", "{v0:String}", "", "ä"]


def condition(raw: Mapping[str, Any], bindings: Bindings) -> str:
    return property_condition(parsed(raw), bindings)


def parsed(raw: Mapping[str, Any]) -> Property:
    leaf = parse_leaf({"type": "person", **raw})
    assert isinstance(leaf, Property)
    return leaf


def counted(raw: Mapping[str, Any], bindings: Bindings, now: datetime) -> str:
    """As flags compare."""
    return flag_condition(parsed(raw), bindings, now)


async def mirror(events: EventStore, project_id: int, held: Sequence[Mapping[str, Any]]) -> None:
    """A person for each, with its place as id."""
    await events.mirror_persons(
        [
            PersonRow(project_id, UUID(int=n), json.dumps(one).encode(), NOW, 1)
            for n, one in enumerate(held)
        ]
    )


async def answers(
    events: EventStore, project_id: int, conditions: list[str], bindings: Bindings
) -> dict[UUID, list[int]]:
    """For each person, what each of the conditions says. To read a condition takes the engine
    longer than to answer it for all persons, so that it reads equal ones once."""
    asked = list(dict.fromkeys(conditions))
    said: dict[UUID, dict[str, int]] = {}
    for start in range(0, len(asked), CONDITIONS_AT_ONCE):
        some = asked[start : start + CONDITIONS_AT_ONCE]
        statement = (
            f"SELECT person_id, [{', '.join(some)}] FROM persons FINAL "
            f"WHERE project_id = {bindings.add(project_id, 'UInt64')}"
        )
        found = await events.ask(statement, bindings.values)
        for person, truths in zip(*found.columns, strict=True):
            said.setdefault(person, {}).update(zip(some, truths, strict=True))
    return {person: [of[one] for one in conditions] for person, of in said.items()}


async def test_calculation_compares_as_the_table_says(events: EventStore, project_id: int) -> None:
    rows, bindings = CASES["rows"], Bindings()
    await mirror(events, project_id, holding("p", rows))
    conditions = [condition({"key": "p", **row}, bindings) for row in rows]

    found = await answers(events, project_id, conditions, bindings)

    assert [
        row
        for place, row in enumerate(rows)
        if bool(found[UUID(int=place)][place]) is not row.get("calculation", row["matches"])
    ] == []


# The second key has no column of its own.
@pytest.mark.parametrize("key", ["p", "p/"])
async def test_flags_are_counted_as_the_table_says(
    events: EventStore, project_id: int, key: str
) -> None:
    rows, bindings = CASES["rows"], Bindings()
    now = datetime.fromisoformat(CASES["now"])
    await mirror(events, project_id, holding(key, rows))
    conditions = [counted({**row, "key": key}, bindings, now) for row in rows]

    found = await answers(events, project_id, conditions, bindings)

    assert [
        row
        for place, row in enumerate(rows)
        if bool(found[UUID(int=place)][place]) is not row["matches"]
    ] == []


def holding(key: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the person of each row has."""
    return [{key: row["property"]} if "property" in row else {} for row in rows]


VALUES: list[Any] = [
    *("", "a", "A b", "pro", "None", "True", "false", "5", "5.0", "30", "1.206.0", " 7 ", "-3"),
    *(0, 5, -3, 30, 2**40, 2**63, 5.0, -0.5, 1.25, 1e15, True, False, None),
    *([], [1], ["a", "B"], [True, None], {}, {"a": 1}, "2022-04-30", "2022-05-01T00:00:00Z"),
    *("ä", "Ä", "\U0001f600", "a\nb", "a'b", 'a"b', "a\\b", "ab" * 50),
]
OPERATORS = (
    *("exact", "is_not", "icontains", "not_icontains", "regex", "not_regex", "is_set"),
    *("is_not_set", "gt", "gte", "lt", "lte", "is_date_before", "is_date_after", "is_date_exact"),
    "unknown",
)
OTHERS = (
    *("starts_with", "not_starts_with", "ends_with", "not_ends_with", "icontains_multi"),
    *("not_icontains_multi", "between", "not_between"),
)
# One of each kind: a negated condition is the negation of the whole, whatever the value.
SOME: list[Any] = ["A b", 5, True, None, ["a", "B"], {"a": 1}, "2022-04-30"]
LISTS: list[Any] = [[0, 30], ["-3", "5.0"], ["B", 5], [True, "a"], [], "a", 5, "True", "\U0001f600"]


async def test_flags_are_counted_as_they_are_evaluated(events: EventStore, project_id: int) -> None:
    """Every operator with every value, against every value held."""
    asked = [(OPERATORS, VALUES, False), (OPERATORS, SOME, True)]
    held: list[dict[str, Any]] = [{}, *({"p": value} for value in VALUES)]
    await mirror(events, project_id, held)
    wrong = []

    for operators, values, negation in (*asked, (OTHERS, LISTS, False), (OTHERS, LISTS[:3], True)):
        for operator in operators:
            leaves = [
                {"key": "p", "operator": operator, "value": value, "negation": negation}
                for value in values
            ]
            wrong += await differing(events, project_id, leaves, held)

    assert wrong == []


async def differing(
    events: EventStore,
    project_id: int,
    leaves: Sequence[Mapping[str, Any]],
    held: Sequence[Mapping[str, Any]],
) -> list[tuple[Any, Any]]:
    """What the store and the evaluation do not agree on. A condition is 0 or 1: one that is null
    matches nothing, and nothing when negated either."""
    now, bindings = datetime.fromisoformat(CASES["now"]), Bindings()
    conditions = [counted(leaf, bindings, now) for leaf in leaves]
    found = await answers(events, project_id, conditions, bindings)
    return [
        (leaf, properties)
        for place, leaf in enumerate(leaves)
        for test in [property_test(parsed(leaf))]
        for number, properties in enumerate(held)
        if found[UUID(int=number)][place] != test(properties, SimpleNamespace(now=now))
    ]


@pytest.mark.parametrize("key", KEYS)
async def test_any_key_names_its_own_property(
    events: EventStore, project_id: int, key: str
) -> None:
    persons = {UUID(int=1): {key: "yes"}, UUID(int=2): {key: 7}, UUID(int=3): {f"{key}x": "yes"}}
    await events.mirror_persons(
        [PersonRow(project_id, p, json.dumps(v).encode(), NOW, 1) for p, v in persons.items()]
    )
    bindings = Bindings()
    asked: list[dict[str, Any]] = [
        {"key": key, "value": "yes"},
        {"key": key, "operator": "gt", "value": 5},
        {"key": key, "operator": "is_set"},
        {"key": key, "operator": "is_not_set"},
    ]

    found = await answers(events, project_id, [condition(one, bindings) for one in asked], bindings)

    assert found == {
        UUID(int=1): [1, 0, 1, 0],
        UUID(int=2): [0, 1, 1, 0],
        UUID(int=3): [0, 0, 0, 1],
    }


async def test_a_property_that_is_an_object_or_a_list_is_set(
    events: EventStore, project_id: int
) -> None:
    held: list[dict[str, Any]] = [{"p": {"a": 1}}, {"p": [1]}, {"p": []}, {"p": None}, {}]
    await events.mirror_persons(
        [
            PersonRow(project_id, UUID(int=n), json.dumps(properties).encode(), NOW, 1)
            for n, properties in enumerate(held)
        ]
    )
    bindings = Bindings()

    found = await answers(
        events, project_id, [condition({"key": "p", "operator": "is_set"}, bindings)], bindings
    )

    assert [found[UUID(int=n)] for n in range(5)] == [[1], [1], [1], [0], [0]]


@pytest.mark.parametrize(
    ("deep", "written"),
    [
        ("[" * 9 + "1" + "]" * 9, True),
        ('{"a":[' * 12 + "1" + "]}" * 12, True),
        ('{"a":' * 101 + "1" + "}" * 101, True),
        ("[" * 5_000 + "]" * 5_000, True),
        ('{"a,b":[' * 12 + r'"\"}]:,"' + "]}" * 12, True),
        ('"' + "[" * 50 + '"', False),
    ],
)
async def test_what_is_deep_hides_nothing(
    events: EventStore, project_id: int, deep: str, written: bool
) -> None:
    """Of the same person, and of the property itself its JSON."""
    properties = f'{{"plan":"pro","deep":{deep},"n":7}}'.encode()
    await events.mirror_persons([PersonRow(project_id, UUID(int=1), properties, NOW, 1)])
    bindings = Bindings()
    asked: list[dict[str, Any]] = [
        {"key": "plan", "value": "pro"},
        {"key": "n", "operator": "gte", "value": 7},
        {"key": "deep", "operator": "is_set"},
        {"key": "deep", "value": deep if written else deep.strip('"')},
        {"key": "other", "operator": "is_set"},
    ]

    found = await answers(events, project_id, [condition(one, bindings) for one in asked], bindings)

    assert found == {UUID(int=1): [1, 1, 1, 1, 0]}
