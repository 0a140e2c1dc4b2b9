"""Columns of their own for properties: which are added, filled and removed, and what they hold."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

import pytest

from fanion.events.event import Erasure, Event
from fanion.events.storage.inspection import inspect_event_store
from fanion.events.storage.property_columns import ColumnLimits, PropertyColumns
from fanion.events.storage.store import EventStore, open_events
from fanion.properties.bindings import NESTED, column_of
from tests.support.dying_lanes import DyingLanes, Killed

# Every property that a question has used gets a column.
LIMITS: Final = ColumnLimits(columns=3, events=1, uses=1)
NOW: Final = datetime(2026, 5, 20, 12, tzinfo=UTC)
PROJECT: Final = 1


@pytest.fixture
async def store(own_events_url: str) -> AsyncIterator[EventStore]:
    store = await open_events(own_events_url)
    yield store
    await store.close()


async def add_events(store: EventStore, *properties: Mapping[str, Any], at: datetime = NOW) -> None:
    events = [
        Event(PROJECT, uuid4(), "e", "d", uuid4(), at, at, json.dumps(held).encode())
        for held in properties
    ]
    await store.insert(store.encoder.batch(events), uuid4().hex)


async def keep(columns: PropertyColumns) -> None:
    """Bring the columns up to date."""
    while await columns.step():
        pass


async def use(columns: PropertyColumns, **uses: int) -> None:
    await columns.add_uses([(PROJECT, key, number) for key, number in uses.items()])


async def keys_of(columns: PropertyColumns) -> list[str]:
    return sorted(column.key for column in await columns.stored())


async def held(store: EventStore, key: str) -> list[str | None]:
    """Return the values of a property's column in the order of the property `n`."""
    statement = f"SELECT {column_of(key)} FROM events ORDER BY toUInt32(toString(attributes.n))"
    values: list[str | None] = list((await store.ask(statement, {}, estimated=False)).columns[0])
    return values


async def test_a_property_that_questions_use_gets_a_column_that_is_filled(
    store: EventStore,
) -> None:
    await add_events(store, {"plan": "free"}, at=NOW - timedelta(days=40))
    await add_events(store, {"plan": "pro"})
    columns = store.property_columns(LIMITS)
    await use(columns, plan=1)

    await keep(columns)
    await add_events(store, {"plan": "team"})

    [column] = await columns.stored()
    assert (column.key, column.is_filled) == ("plan", True)


async def test_a_column_holds_the_text_of_a_property(store: EventStore) -> None:
    values = ["a", "", None, 1, 2.5, True, [1], ["a", None], {}, {"x": 1}, {"x": None}, "[1]", "\0"]
    before = [{"p": value, "n": n} for n, value in enumerate(values)]
    absent = len(before)
    again = [{"p": value, "n": absent + 1 + n} for n, value in enumerate(values)]
    await add_events(store, *before, {"n": absent})
    columns = store.property_columns(replace(LIMITS, nested_share=1.0))
    await use(columns, p=1)

    await keep(columns)
    await add_events(store, *again)

    texts = ["a", "", None, "1", "2.5", "true", "\0", "\0", "\0", "\0", "\0", "[1]", "\0"]
    assert NESTED == r"'\0'"
    assert await held(store, "p") == [*texts, None, *texts]


@pytest.mark.parametrize(
    "key",
    ["a.b", "$p", "a b", "uuid", "properties", "attributes", "property_1_x", "@-_.$ ", "x" * 200],
)
async def test_a_column_may_be_of_any_property_with_attributes(store: EventStore, key: str) -> None:
    await add_events(store, {key: "v", "n": 0}, {"n": 1})
    columns = store.property_columns(LIMITS)
    await columns.add_uses([(PROJECT, key, 1)])

    await keep(columns)
    await add_events(store, {key: "w", "n": 2})

    assert await keys_of(columns) == [key]
    assert await held(store, key) == ["v", None, "w"]


@pytest.mark.parametrize(
    "key", ["", "x" * 201, "a'b", "a`b", 'a"b', "a\\b", "a%2Eb", "{v0:String}", "ä", "'; DROP"]
)
async def test_a_property_of_any_other_name_gets_no_column(store: EventStore, key: str) -> None:
    await add_events(store, {key: "v"})
    columns = store.property_columns(LIMITS)
    await columns.add_uses([(PROJECT, key, 1)])

    await keep(columns)

    assert await keys_of(columns) == []


async def test_a_property_that_does_not_fit_gets_no_column(store: EventStore) -> None:
    await add_events(
        store,
        *({"many": str(n), "long": "x" * (n + 5), "nested": [n], "few": n % 2} for n in range(50)),
    )
    columns = store.property_columns(replace(LIMITS, columns=9, values=20, value_bytes=30))
    await use(columns, many=9, long=8, nested=7, unknown=6, few=5)

    await keep(columns)

    assert await keys_of(columns) == ["few"]


async def test_few_events_or_uses_make_no_column(store: EventStore) -> None:
    await add_events(store, {"plan": "free"})
    for limits in (replace(LIMITS, events=2), replace(LIMITS, uses=2)):
        columns = store.property_columns(limits)
        await use(columns, plan=1) if limits.uses == 1 else None

        await keep(columns)

        assert await keys_of(columns) == []


async def test_there_are_at_most_so_many_columns_of_the_most_used_properties(
    store: EventStore,
) -> None:
    await add_events(store, dict.fromkeys("abcde", "v"))
    columns = store.property_columns(replace(LIMITS, replaces=4))
    await use(columns, a=5, b=4, c=3, d=2)

    await keep(columns)
    assert await keys_of(columns) == ["a", "b", "c"]

    await use(columns, d=9)  # less than four times as many as the least used
    await keep(columns)
    assert await keys_of(columns) == ["a", "b", "c"]

    await use(columns, e=12)
    await keep(columns)
    assert await keys_of(columns) == ["a", "b", "e"]


async def test_a_column_that_is_no_longer_used_is_removed(store: EventStore) -> None:
    await add_events(store, {"plan": "free", "n": 0})
    columns = store.property_columns(LIMITS)
    await use(columns, plan=1)
    await keep(columns)

    forgetful = store.property_columns(replace(LIMITS, unused_days=0))
    await keep(forgetful)

    assert await keys_of(columns) == []
    await add_events(store, {"plan": "pro"})


async def test_no_columns_are_left_if_none_are_wanted(store: EventStore) -> None:
    await add_events(store, {"plan": "free"})
    columns = store.property_columns(LIMITS)
    await use(columns, plan=1)
    await keep(columns)

    await keep(store.property_columns(replace(LIMITS, columns=0)))

    assert await keys_of(columns) == []


async def test_a_column_of_another_version_is_removed(store: EventStore) -> None:
    old = f"property_0_{'0' * 24}"
    await store.ask(f"ALTER TABLE events ADD COLUMN {old} String", {}, estimated=False)
    await store.ask("ALTER TABLE events ADD COLUMN property_mine String", {}, estimated=False)

    await keep(store.property_columns(LIMITS))

    statement = "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = "
    names = await store.ask(f"{statement}'events' AND name LIKE 'property%'", {}, estimated=False)
    assert list(names.columns[0]) == ["property_mine"]


async def test_columns_are_right_after_kills_at_any_statement(store: EventStore) -> None:
    for day in (0, 40, 80):
        await add_events(store, {"plan": str(day), "n": day}, at=NOW - timedelta(days=day))
    await use(store.property_columns(LIMITS), plan=1)

    for statements in range(1, 12):
        columns = PropertyColumns(DyingLanes(store, statements), LIMITS)
        with suppress(Killed):
            await keep(columns)
        if any(column.key == "plan" for column in await store.property_columns(LIMITS).stored()):
            assert await held(store, "plan") == ["0", "40", "80"]

    await keep(store.property_columns(LIMITS))
    [column] = await store.property_columns(LIMITS).stored()
    assert column.is_filled


async def test_a_column_that_cannot_be_filled_is_removed_and_holds_up_nothing(
    store: EventStore,
) -> None:
    await add_events(store, {"plan": "free", "n": 0})
    columns = store.property_columns(LIMITS)
    await use(columns, plan=1)
    failing = "if(throwIf(length(properties) > 0), NULL, 'x')"
    added = f"{column_of('plan')} Nullable(String) MATERIALIZED {failing} COMMENT 'plan'"
    await store.ask(f"ALTER TABLE events ADD COLUMN {added}", {}, estimated=False)

    async with asyncio.timeout(30):
        await keep(columns)

    assert await keys_of(columns) == []
    waiting = "SELECT count() FROM system.mutations WHERE NOT is_done"
    assert list((await store.ask(waiting, {}, estimated=False)).columns[0]) == [0]
    # Another server looks at the property anew.
    await keep(store.property_columns(LIMITS))
    assert await held(store, "plan") == ["free"]


async def test_erasures_squashes_and_merges_keep_columns(store: EventStore) -> None:
    person = uuid4()
    await add_events(store, {"plan": "free", "n": 0})
    columns = store.property_columns(LIMITS)
    await use(columns, plan=1)
    await keep(columns)
    event = Event(PROJECT, uuid4(), "e", "d", person, NOW, NOW, b'{"plan": "pro", "n": 1}')
    await store.insert(store.encoder.batch([event]), uuid4().hex)

    await store.erase(
        Erasure(
            id=1,
            project_id=PROJECT,
            persons=(person,),
            distinct_ids=frozenset(),
            version=1,
            with_events=True,
            requested_at=NOW + timedelta(days=1),
        )
    )
    await add_events(store, {"plan": "team", "n": 2})
    await store.ask("OPTIMIZE TABLE events FINAL", {}, estimated=False)

    assert await held(store, "plan") == ["free", "team"]
    [column] = await columns.stored()
    assert column.is_filled


async def test_columns_are_told(store: EventStore, own_events_url: str) -> None:
    now = datetime.now(UTC)

    def told() -> str:
        return inspect_event_store(own_events_url, None, (now, now)).property_columns

    assert told() == "none yet; properties that questions use often get one"
    await add_events(store, {"plan": "free"})
    columns = store.property_columns(LIMITS)
    await use(columns, plan=1)
    await columns.step()
    assert told() == "plan (is being filled)"
    await keep(columns)
    assert told() == "plan (0.0 MB)"


async def test_a_column_of_distributed_events_is_on_all_hosts(
    distributed_events: EventStore,
) -> None:
    store = distributed_events
    await add_events(store, {"plan": "free"})
    columns = store.property_columns(LIMITS)
    await use(columns, plan=1)

    await keep(columns)
    await add_events(store, {"plan": "pro"})

    assert [column.is_filled for column in await columns.stored()] == [True]
    statement = f"SELECT groupUniqArray({column_of('plan')}) FROM events WHERE project_id = 1"
    [(found,)] = zip(*(await store.ask(statement, {}, estimated=False)).columns, strict=True)
    assert {"free", "pro"} <= set(found)
    await keep(store.property_columns(replace(LIMITS, columns=0)))
    assert await columns.stored() == []
