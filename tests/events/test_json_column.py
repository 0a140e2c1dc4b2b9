"""Columns encoded from properties equal those that the engine derives from their text."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import chdb
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fanion.events.event import Event, GroupRow, PersonRow
from fanion.events.storage.encoder import Batch, TextEncoder
from fanion.events.storage.json_column import PATHS_MAX, JsonColumn
from fanion.events.storage.native_encoder import PART_ROWS, NativeEncoder
from fanion.events.storage.store import EventStore, encoder_for
from tests.support.examples import examples

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NATIVE, TEXT = NativeEncoder(), TextEncoder()
HERE, ENGINE = "attributes", "shallow"
COLUMNS = """
  SELECT properties, toString(attributes), JSONAllPathsWithTypes(attributes)
    FROM events
   WHERE project_id = {project:UInt64}
ORDER BY uuid
"""
PERSONS = """
  SELECT person_id, version, created_at, properties, toString(attributes)
    FROM persons FINAL
   WHERE project_id = {project:UInt64}
ORDER BY person_id
"""
GROUPS = """
  SELECT group_type_index, group_key, version, created_at, properties, toString(attributes)
    FROM groups FINAL
   WHERE project_id = {project:UInt64}
ORDER BY group_key
"""
Objects = Sequence[Mapping[str, Any]]

NAMES = st.sampled_from(["a", "b", "plan", "$ip", "a.b", "", "a%2Eb", "c d", "ü", 'q"`', "x\0y"])
INTEGERS = st.integers(-(2**65), 2**65) | st.sampled_from([2**63 - 1, 2**63, -(2**63), 2**64])
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
SCALARS = (
    st.none()
    | st.booleans()
    | INTEGERS
    | FLOATS
    | TEXTS
    | st.sampled_from(["2026-01-01", "1", "1.5", "true", "null", "2026-01-02T03:04:05Z", "{}"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


def has_list(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(has_list, value.values()))
    return isinstance(value, list)


def scalars(row: Sequence[Any]) -> Mapping[str, str]:
    """Return path → type, except for lists."""
    return {path: kind for path, kind in row[2].items() if not kind.startswith("Array")}


def events_of(project_id: int, objects: Objects, *, with_values: bool) -> list[Event]:
    return [
        Event(
            project_id,
            UUID(int=number + 1),
            "paid",
            "ann",
            UUID(int=1),
            NOON,
            NOON,
            msgspec.json.encode(values),
            values if with_values else None,
        )
        for number, values in enumerate(objects)
    ]


async def stored(store: EventStore, batch: Batch, project_id: int) -> Sequence[Sequence[Any]]:
    await store.insert(batch, str(uuid4()))
    return await store._reads.fetch(COLUMNS, {"project": project_id})


async def assert_same(store: EventStore, objects: Objects) -> list[str]:
    """Compare the columns with the engine's; return who made the columns of each block."""
    project_id = uuid4().int >> 66
    made = NATIVE.batch(events_of(project_id, objects, with_values=True))
    read = NATIVE.batch(events_of(project_id + 1, objects, with_values=False))
    text = TEXT.batch(events_of(project_id + 2, objects, with_values=True))
    ours = await stored(store, made, project_id)
    assert {block.columns[-2] for block in read.events} == {ENGINE}
    theirs = await stored(store, read, project_id + 1)
    assert await stored(store, text, project_id + 2) == theirs
    assert [row[0] for row in ours] == [row[0] for row in theirs]
    # The engine reads a list as the type of earlier lists if possible: [1] as a list of floats, and
    # after lists of lists [null] as [[]].
    if sum(map(has_list, objects)) <= 1:
        assert ours == theirs
    assert list(map(scalars, ours)) == list(map(scalars, theirs))
    assert len(ours) == len(objects)
    return [block.columns[-2] for block in made.events]


# It takes seconds: the engine stores each example.
@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=4), min_size=1, max_size=8))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_columns_made_here_are_those_that_the_engine_makes(
    events: EventStore, objects: Objects
) -> None:
    await assert_same(events, objects)


PLAIN: Mapping[str, Objects] = {
    "one kind each": [{"s": "x", "i": 1, "f": 1.5, "b": True}] * 3,
    "nothing at all": [{}, {"n": None}, {"o": {}}, {"o": {"n": None}}],
    "kinds that change": [{"a": "x"}, {"a": 1}, {"a": None}, {"a": 1.5}, {"a": False}, {}],
    "the same names in another order": [{"a": 1, "b": 2}, {"b": 3, "a": 4}],
    "objects": [{"$set": {"email": "a@b", "deep": {"er": 1}}}, {"$set": "text"}],
    "dots": [{"a.b": 1, "a": {"b": 2, "c.d": 3}}],
    "a name with a dot behind the object of that path": [{"a": {"b": 1}, "a.b": 2}],
    "lists": [
        {"a": ["x", None], "b": [1, 2], "c": [1, 2.5], "d": [True], "e": [], "f": [None]},
        {"a": ["y"], "b": ["x"], "c": [], "d": [None, False], "e": 1, "f": [None, None]},
    ],
    "the ends of numbers": [{"i": 2**63 - 1, "f": 1.7976931348623157e308}, {"i": -(2**63)}],
    "texts that look like something else": [{"a": "2026-01-01", "b": "1", "c": "null"}],
    "repeated and different texts": [
        {"a": "same", "b": str(n), "c": "xy"[n % 2]} for n in range(9)
    ],
    "long texts": [{"a": "x" * 20_000}, {"a": "ü" * 200}],
    "more paths than columns": [{f"p{n}": n, "q": "x"} for n in range(400)],
    "deep objects": [{"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}}],
}


async def test_the_encoder_of_an_opened_store_is_that_of_its_version(events: EventStore) -> None:
    [(version,)] = await events._reads.fetch("SELECT version()", {})

    assert type(events.encoder) is type(encoder_for(version))


async def test_the_embedded_engine_is_one_whose_format_is_known() -> None:
    """If this fails for a new engine that passes the suite, add it to NATIVE_VERSIONS."""
    assert isinstance(encoder_for(chdb.engine_version), NativeEncoder)


@pytest.mark.parametrize("name", PLAIN)
async def test_what_is_plain_is_written_as_columns(events: EventStore, name: str) -> None:
    assert await assert_same(events, PLAIN[name]) == [HERE]


async def test_lists_are_whole_however_many_parts_a_column_is_made_of(events: EventStore) -> None:
    project_id = uuid4().int >> 66
    objects = list(PLAIN["lists"]) * PART_ROWS
    batch = NATIVE.batch(events_of(project_id, objects, with_values=True))

    rows = await stored(events, batch, project_id)

    assert len(batch.events) == 1
    assert [msgspec.json.decode(row[1]) for row in rows] == objects


LEFT: Mapping[str, Mapping[str, Any]] = {
    "integer beyond 64 bits": {"a": 2**63},
    "integer below 64 bits": {"a": -(2**63) - 1},
    "in a list": {"a": [2**70]},
    "in a list of both kinds of numbers": {"a": [-(2**63) - 1, 0.0]},
    "list of objects": {"a": [{"b": 1}]},
    "list of lists": {"a": [[1]]},
    "list of kinds": {"a": [1, "x"]},
    "truth among numbers": {"a": [1, True]},
    "no name": {"": 1},
    "no name within": {"a": {"": 1}},
    "percent": {"a%2Eb": 1, "a.b": 2},
    "deeper than the stack": {"a": {"a": [[[[[[[[[[[[1]]]]]]]]]]]]}},
    "objects in objects": {"a": {"b" * n: {} for n in range(1, 3)} | {"c": {"d": [{}]}}},
}


@pytest.mark.parametrize("name", LEFT)
async def test_what_is_not_plain_is_left_to_the_engine_and_the_others_are_not(
    events: EventStore, name: str
) -> None:
    objects = [{"a": 1}, LEFT[name], {"a": 2}]

    assert await assert_same(events, objects) == [HERE, ENGINE]


def persons_of(project_id: int, objects: Objects, *, with_values: bool) -> list[PersonRow]:
    return [
        PersonRow(
            project_id,
            UUID(int=number + 1),
            msgspec.json.encode(values),
            NOON,
            number,
            values=values if with_values else None,
        )
        for number, values in enumerate(objects)
    ]


async def test_persons_have_the_columns_that_the_engine_makes_too(events: EventStore) -> None:
    objects: Objects = [*PLAIN["kinds that change"], *LEFT.values()]
    ways = ((NATIVE, True), (NATIVE, False), (TEXT, True))
    read_back = []
    for encoder, with_values in ways:
        project_id = uuid4().int >> 66
        persons = persons_of(project_id, objects, with_values=with_values)

        await events.insert(encoder.batch((), persons), "")

        read_back.append(await events._reads.fetch(PERSONS, {"project": project_id}))
    ours, theirs, text = read_back
    assert len(ours) == len(objects)
    assert ours == theirs == text


async def test_groups_have_the_columns_that_the_engine_makes_too(events: EventStore) -> None:
    objects: Objects = [*PLAIN["kinds that change"], *LEFT.values()]
    read_back = []
    for encoder, with_values in ((NATIVE, True), (NATIVE, False), (TEXT, True)):
        project_id = uuid4().int >> 66
        rows = [
            GroupRow(
                project_id,
                number % 5,
                f"Ü\t{number:03}",
                msgspec.json.encode(values),
                NOON,
                number,
                values=values if with_values else None,
            )
            for number, values in enumerate(objects)
        ]

        await events.insert(Batch((), groups=encoder.group_blocks(rows)), "")

        read_back.append(await events._reads.fetch(GROUPS, {"project": project_id}))
    ours, theirs, text = read_back
    assert len(ours) == len(objects)
    assert ours == theirs == text


async def test_objects_within_objects_are_followed_so_far_only() -> None:
    deep: dict[str, Any] = {"a": 1}
    for _ in range(100):
        deep = {"a": deep}

    assert JsonColumn().add_objects([deep, {"a": 1}]) == ([1], [0])


def test_a_number_that_json_cannot_write_is_left() -> None:
    objects = [{"a": 1.0}, {"a": math.inf}, {"a": math.nan}]

    assert JsonColumn().add_objects(objects) == ([0], [1, 2])


def test_numbers_whose_sum_is_too_large_are_left() -> None:
    assert JsonColumn().add_objects([{"a": 1.7e308}, {"a": 1.7e308}]) == ([], [0, 1])


def test_paths_beyond_the_most_are_left() -> None:
    objects = [{f"p{n}": n for n in range(start, start + 600)} for start in (0, 600, 300)]

    made = JsonColumn()

    assert 600 < PATHS_MAX < 1200
    assert made.add_objects(objects) == ([0, 2], [1])
    assert made.add_objects(objects[1:]) == ([1], [0])
