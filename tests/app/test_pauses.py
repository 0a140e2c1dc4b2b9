"""A pause begins when a command asks for it, and ends when it says so or has died."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from fanion.app.pauses import Pauses, require_arrived
from fanion.db.engine import Records
from fanion.db.maintenance import MOVE, Maintenance, State, end_maintenance, set_maintenance
from fanion.errors import StartRefused

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PAUSED = Maintenance(MOVE, State.PAUSED, NOW + MINUTE, "elsewhere")
MOVED = Maintenance(MOVE, State.MOVED, None, "elsewhere")

pytestmark = pytest.mark.every_engine


async def ask(records: Records, wanted: Maintenance | None) -> None:
    async with records.write() as connection:
        if wanted is None:
            await connection.run_sync(end_maintenance, MOVE)
        else:
            await connection.run_sync(set_maintenance, wanted)


async def test_a_pause_ends_when_the_command_ends_it(records: Records) -> None:
    pauses = Pauses(records, lambda: NOW)
    assert await pauses.current() is None
    await ask(records, PAUSED)
    assert await pauses.current() == PAUSED
    await ask(records, MOVED)
    assert await pauses.current() == MOVED
    await ask(records, None)
    assert await pauses.current() is None


async def test_a_pause_ends_by_itself_and_a_move_does_not(records: Records) -> None:
    later = Pauses(records, lambda: NOW + MINUTE)
    await ask(records, PAUSED)
    assert await later.current() is None
    await ask(records, MOVED)
    assert await later.current() == MOVED


@pytest.mark.parametrize("wanted", [PAUSED, MOVED])
async def test_a_server_sees_that_a_pause_begins(records: Records, wanted: Maintenance) -> None:
    pauses, stop = Pauses(records, lambda: NOW), asyncio.Event()
    assert await pauses.current() is None
    seen = asyncio.create_task(pauses.changed(stop))
    await ask(records, wanted)
    await seen
    assert pauses.last == wanted


async def test_a_server_that_stops_does_not_wait_for_the_end_of_a_pause(records: Records) -> None:
    pauses, stop = Pauses(records, lambda: NOW), asyncio.Event()
    await ask(records, MOVED)
    assert await pauses.current() == MOVED
    waiting = asyncio.create_task(pauses.changed(stop))
    stop.set()
    await waiting


async def test_no_server_starts_on_records_that_are_not_complete(records: Records) -> None:
    await require_arrived(records)
    await ask(records, Maintenance(MOVE, State.ARRIVING, note="an installation"))
    with pytest.raises(StartRefused, match="still being moved into these records"):
        await require_arrived(records)
