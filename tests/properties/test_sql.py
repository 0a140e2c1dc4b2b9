"""The event store's answers for the table of comparisons."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from fanion.events.event import Event, PersonRow
from fanion.events.storage.filters_sql import event_condition
from fanion.events.storage.store import EventStore
from fanion.properties.bindings import Bindings
from fanion.properties.condition_sql import property_condition
from fanion.properties.filters import Property, parse_leaf

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "cases" / "filters.json").read_text()
)
NOW = datetime(2026, 3, 1, tzinfo=UTC)
TODAY = datetime.fromisoformat(CASES["now"])

CONDITIONS_AT_ONCE = 100  # these take most of the text that a statement may have

# Keys with special characters, each of which is the whole name of one property.
KEYS = ["a b", "a.b", "a%2Eb", "null", "$x", "a`b", 'a"b', "a'b", "a\\b", "{v0:String}", "", "ä"]


def condition(raw: Mapping[str, Any], bindings: Bindings) -> str:
    return property_condition(parsed(raw), bindings, TODAY)


def parsed(raw: Mapping[str, Any]) -> Property:
    leaf = parse_leaf({"type": "person", **raw})
    assert isinstance(leaf, Property)
    return leaf


async def store_persons(
    events: EventStore, project_id: int, held: Sequence[Mapping[str, Any]]
) -> None:
    """Store a person for each object of properties, with its position as id."""
    await events.mirror_persons(
        [
            PersonRow(project_id, UUID(int=n), encoded(properties), NOW, 1)
            for n, properties in enumerate(held)
        ]
    )


async def answers(
    events: EventStore,
    project_id: int,
    conditions: list[str],
    bindings: Bindings,
    table: str = "persons",
) -> dict[UUID, list[int]]:
    """Return the answers to all conditions, by row.

    Parsing a condition takes the engine longer than evaluating it for all persons, so equal
    conditions are sent once.
    """
    unique_conditions = list(dict.fromkeys(conditions))
    said: dict[UUID, dict[str, int]] = {}
    for start in range(0, len(unique_conditions), CONDITIONS_AT_ONCE):
        batch = unique_conditions[start : start + CONDITIONS_AT_ONCE]
        statement = (
            f"SELECT {'person_id' if table == 'persons' else 'uuid'}, [{', '.join(batch)}] "
            f"FROM {table} FINAL "
            f"WHERE project_id = {bindings.add(project_id, 'UInt64')}"
        )
        result = await events.ask(statement, bindings.values)
        for person, truths in zip(*result.columns, strict=True):
            said.setdefault(person, {}).update(zip(batch, truths, strict=True))
    return {person: [of[text] for text in conditions] for person, of in said.items()}


# The second key has no column of its own.
@pytest.mark.parametrize("key", ["p", "p/"])
async def test_persons_are_selected_as_the_table_says(
    events: EventStore, project_id: int, key: str
) -> None:
    rows, bindings = CASES["rows"], Bindings()
    await store_persons(events, project_id, properties_of_rows(key, rows))
    conditions = [condition({**row, "key": key}, bindings) for row in rows]

    truths = await answers(events, project_id, conditions, bindings)

    assert [
        row
        for index, row in enumerate(rows)
        if bool(truths[UUID(int=index)][index]) is not row["matches"]
    ] == []


# The engine takes five seconds to parse so many conditions.
@pytest.mark.parametrize("key", ["p", "p/"])
@pytest.mark.parametrize("any_object", [False, True])
async def test_events_are_selected_as_the_table_says(
    events: EventStore, project_id: int, key: str, any_object: bool
) -> None:
    """If the project has an object under the key, the JSON text is read for some conditions."""
    rows = [row for row in CASES["rows"] if any_object or not holds_object(row)]
    bindings = Bindings()
    project = f"project_id = {bindings.add(project_id, 'UInt64')}"
    await store_events(events, project_id, properties_of_rows(key, rows))
    conditions = [
        event_condition(parsed({**row, "key": key, "type": "event"}), bindings, project, TODAY)
        for row in rows
    ]

    truths = await answers(events, project_id, conditions, bindings, table="events")

    assert [
        row
        for index, row in enumerate(rows)
        if bool(truths[UUID(int=index)][index]) is not row["matches"]
    ] == []


def holds_object(row: Mapping[str, Any]) -> bool:
    return "{" in json.dumps(row.get("property"))


async def store_events(
    events: EventStore, project_id: int, held: Sequence[Mapping[str, Any]]
) -> None:
    """Store an event for each object of properties, with its position as id."""
    sent = [
        Event(
            project_id,
            UUID(int=n),
            "e",
            "d",
            UUID(int=n + 1),
            NOW,
            NOW,
            encoded(properties),
            properties,
        )
        for n, properties in enumerate(held)
    ]
    await events.insert(events.encoder.batch(sent), str(uuid4()))


def encoded(properties: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(properties)


def properties_of_rows(key: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the properties of the person of each row."""
    return [{key: row["property"]} if "property" in row else {} for row in rows]


@pytest.mark.parametrize("key", KEYS)
async def test_any_key_names_its_own_property(
    events: EventStore, project_id: int, key: str
) -> None:
    persons = {UUID(int=1): {key: "yes"}, UUID(int=2): {key: 7}, UUID(int=3): {f"{key}x": "yes"}}
    await events.mirror_persons(
        [PersonRow(project_id, p, json.dumps(v).encode(), NOW, 1) for p, v in persons.items()]
    )
    bindings = Bindings()
    leaves: list[dict[str, Any]] = [
        {"key": key, "value": "yes"},
        {"key": key, "operator": "gt", "value": 5},
        {"key": key, "operator": "is_set"},
        {"key": key, "operator": "is_not_set"},
    ]

    truths = await answers(
        events, project_id, [condition(leaf, bindings) for leaf in leaves], bindings
    )

    assert truths == {
        UUID(int=1): [1, 0, 1, 0],
        UUID(int=2): [0, 1, 1, 0],
        UUID(int=3): [0, 0, 0, 1],
    }


async def test_a_property_that_is_an_object_a_list_or_null_is_set(
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

    truths = await answers(
        events, project_id, [condition({"key": "p", "operator": "is_set"}, bindings)], bindings
    )

    assert [truths[UUID(int=n)] for n in range(5)] == [[1], [1], [1], [1], [0]]


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
    """A deep value hides neither the person's other properties nor its own JSON."""
    properties = f'{{"plan":"pro","deep":{deep},"n":7}}'.encode()
    await events.mirror_persons([PersonRow(project_id, UUID(int=1), properties, NOW, 1)])
    bindings = Bindings()
    leaves: list[dict[str, Any]] = [
        {"key": "plan", "value": "pro"},
        {"key": "n", "operator": "gte", "value": 7},
        {"key": "deep", "operator": "is_set"},
        {"key": "deep", "value": deep if written else deep.strip('"')},
        {"key": "other", "operator": "is_set"},
    ]

    truths = await answers(
        events, project_id, [condition(leaf, bindings) for leaf in leaves], bindings
    )

    assert truths == {UUID(int=1): [1, 1, 1, 1, 0]}
