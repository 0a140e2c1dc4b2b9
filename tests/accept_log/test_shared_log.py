"""The embedded accept log, appended to by processes beside the server's."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fanion.accept_log.shared_log import JoinedLog
from fanion.accept_log.sqlite import SqliteLog, open_sqlite_log
from tests.accept_log.test_crash import writing_process
from tests.support.accept_logs import envelope, ids, read_all

WAIT_S = 10


@dataclass
class Logs:
    """The server's, and one joined to it. wanted: how often that asked for another line"""

    path: Path
    server: SqliteLog
    joined: JoinedLog
    wanted: list[None] = field(default_factory=list)

    async def join(self) -> None:
        await self.joined.join(await self.server.another_line())


@pytest.fixture
async def logs(tmp_path: Path) -> AsyncIterator[Logs]:
    path = tmp_path / "log.db"
    server = await open_sqlite_log(path, bytes_max=1024**3, apart=True, shared=True)
    wanted: list[None] = []
    made = Logs(path, server, JoinedLog(lambda: wanted.append(None)), wanted)
    await made.join()
    yield made
    await made.joined.close()
    await server.close()


async def test_the_ids_of_all_who_append_are_in_one_order(logs: Logs) -> None:
    appends = [
        (logs.server if number % 2 else logs.joined).append(
            envelope(b"%d" % number, historical=number % 5 == 0)
        )
        for number in range(200)
    ]

    given = await asyncio.gather(*appends)

    live = await read_all(logs.server)
    historical = await read_all(logs.server, historical=True)
    bodies = {entry.id: int(entry.envelope.body) for entry in (*live, *historical)}
    assert bodies == {entry_id: number for number, entry_id in enumerate(given)}
    assert ids(live) == sorted(ids(live))
    assert (await logs.server.backlog(0)).envelopes == len(live)


async def test_the_consumer_learns_of_what_others_append(logs: Logs) -> None:
    waiting = asyncio.create_task(logs.server.appended(0))
    await asyncio.sleep(0)

    await logs.joined.append(envelope())

    async with asyncio.timeout(WAIT_S):
        await waiting


async def test_a_line_is_asked_for_when_the_writer_has_ended(logs: Logs) -> None:
    first = await logs.joined.append(envelope(b"first"))
    os.kill(writing_process(logs.path), signal.SIGKILL)
    while not logs.wanted:
        with suppress(OSError):
            await logs.joined.append(envelope(b"while it dies"))
    with pytest.raises(OSError, match="writer has ended"):
        await logs.joined.append(envelope(b"refused"))

    await logs.join()
    second = await logs.joined.append(envelope(b"second"))

    kept = {entry.id: entry.envelope.body for entry in await read_all(logs.server)}
    assert (kept[first], kept[second]) == (b"first", b"second")
    assert b"refused" not in kept.values()


async def test_the_writer_goes_on_when_one_who_appends_has_ended(logs: Logs) -> None:
    other = JoinedLog(lambda: None)
    await other.join(await logs.server.another_line())
    await other.append(envelope(b"other"))
    await other.close()

    await logs.joined.append(envelope(b"joined"))
    await logs.server.append(envelope(b"server"))

    bodies = [entry.envelope.body for entry in await read_all(logs.server)]
    assert bodies == [b"other", b"joined", b"server"]


async def test_a_log_that_this_process_writes_has_no_line_for_others(tmp_path: Path) -> None:
    log = await open_sqlite_log(tmp_path / "log.db", bytes_max=1024**3)

    with pytest.raises(OSError, match="written by this process"):
        await log.another_line()
    await log.close()


async def test_without_a_line_nothing_is_appended() -> None:
    wanted: list[None] = []
    log = JoinedLog(lambda: wanted.append(None))

    with pytest.raises(OSError, match="writer has ended"):
        await log.append(envelope())

    assert wanted == [None]
    await log.close()
