"""Pages of the events of an export, on every engine."""

import json
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from msgspec.structs import replace

from fanion.errors import Unavailable
from fanion.events.event import Event, EventStoreUnavailable, Override
from fanion.events.storage.export_query import ExportQuery, Place
from fanion.events.storage.store import EventStore
from fanion.exports.events_service import EventPages
from fanion.exports.model import PAGE_BYTES_MAX, read_cursor
from fanion.exports.service import Exports
from tests.support.application import Tenant

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ADA, EVE = UUID(int=1), UUID(int=2)


def event(project_id: int, number: int, days: float = 0, **changes: Any) -> Event:
    made = Event(
        project_id=project_id,
        uuid=UUID(int=number),
        event=("seen", "paid")[number % 2],
        distinct_id=f"user {number % 7}",
        person_id=ADA,
        timestamp=NOON + timedelta(days=days),
        received_at=NOON,
        properties=b'{"number":%d}' % number,
    )
    return replace(made, **changes)


async def stored(events: EventStore, *rows: Event) -> None:
    await events.insert(events.encoder.batch(rows, ()), uuid4().hex)


async def walked(events: EventStore, project_id: int, rows_max: int, **query: Any) -> list[Any]:
    """Return the rows of all pages, each of which is read with the cursor of the one before."""
    rows: list[Any] = []
    after: Place | None = None
    while True:
        pages = EventPages(events, project_id, ExportQuery("jsonl", **query), after)
        page = await pages.next_page(rows_max)
        lines = page.text.split(b"\n")[:-1]
        assert page.rows == len(lines) <= rows_max
        rows += map(json.loads, lines)
        if page.next is None:
            return rows
        after = read_cursor(page.next, Place)


async def test_pages_have_every_event_once(every_events: EventStore, project_id: int) -> None:
    days = (0, 0.1, -40, 0, 700, -50_000, 80_000)
    made = [event(project_id, n, days[n % len(days)]) for n in range(1, 60)]
    await stored(every_events, *made)
    await stored(every_events, *made[:20], event(project_id + 1, 99))

    small = await walked(every_events, project_id, 4)
    large = await walked(every_events, project_id, 1_000)

    assert small == large
    assert sorted(row["uuid"] for row in small) == [str(each.uuid) for each in made]
    assert [row["timestamp"][:10] for row in small] == sorted(r["timestamp"][:10] for r in small)


async def test_merged_persons_and_the_time_of_acceptance(
    every_events: EventStore, project_id: int
) -> None:
    later = NOON + timedelta(hours=1)
    made = [event(project_id, n, -n, received_at=(NOON, later)[n > 2]) for n in range(1, 5)]
    await stored(every_events, *made)
    await every_events.override_persons([Override(project_id, ADA, EVE, 1)])

    rows = await walked(every_events, project_id, 9, start=later, by_acceptance=True)

    assert [row["properties"]["number"] for row in rows] == [4, 3]
    assert {row["person_id"] for row in rows} == {str(EVE)}


async def test_large_events_end_a_page_early(events: EventStore, project_id: int) -> None:
    large = b'{"text":"%s"}' % (b"x" * (PAGE_BYTES_MAX // 8))
    await stored(events, *(event(project_id, n, properties=large) for n in range(1, 21)))
    pages = EventPages(events, project_id, ExportQuery("jsonl"))

    sizes = []
    while True:
        page = await pages.next_page(1_000)
        sizes.append(len(page.text))
        if page.next is None:
            break

    assert len(sizes) > 1
    assert sum(sizes) > 20 * len(large)


async def test_an_export_counts_until_it_is_read_or_closed(
    events: EventStore, project_id: int
) -> None:
    await stored(events, event(project_id, 1))
    exports = Exports(events, at_once_max=1)

    def pages() -> EventPages:
        return EventPages(events, project_id, ExportQuery("csv"))

    _, pieces = await exports.open_export(pages())
    async with aclosing(pieces):
        assert b"uuid" in await anext(pieces)
        with pytest.raises(Unavailable, match="At most 1 exports"):
            await exports.open_export(pages())
    assert exports.running == 0

    page, pieces = await exports.open_export(pages(), 1)
    assert page.rows == 1
    assert len([piece async for piece in pieces]) == 2
    assert exports.running == 0
    await exports.open_export(pages())  # its pieces are dropped unread


async def test_an_export_that_loses_the_store_is_broken_off(tenant: Tenant) -> None:
    await tenant.capture({"event": "seen", "distinct_id": "ada"})
    project_id, store = tenant.project_id, tenant.server.running.events
    made = [event(project_id, n, properties=b'{"t":"%s"}' % (b"x" * 2**20)) for n in range(40)]
    await stored(tenant.server.events, *made)  # type: ignore[arg-type]
    exports = Exports(store)
    _, pieces = await exports.open_export(EventPages(store, project_id, ExportQuery("jsonl")))

    async with aclosing(pieces):
        with pytest.raises(EventStoreUnavailable):
            async for _ in pieces:
                tenant.server.events.is_down = True
    tenant.server.events.is_down = False

    assert exports.running == 0
