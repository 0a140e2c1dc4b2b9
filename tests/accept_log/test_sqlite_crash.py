"""The embedded accept log with several appending processes, and a writer process that dies."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fanion.accept_log.port import START
from fanion.accept_log.sqlite import SqliteAppender, SqliteLog, open_sqlite_log
from tests.accept_log.test_crash import writer_of
from tests.support.accept_logs import entry_ids, envelope, read_all
from tests.support.awaited import until_soon

pytestmark = pytest.mark.long("kills the process that writes")

WAIT_S = 60


@dataclass
class Logs:
    """The log of the server, and that of another process.

    Attributes:
        requests: One entry for each time that the other process requested another channel.
    """

    server: SqliteLog
    worker: SqliteAppender
    requests: list[None] = field(default_factory=list)

    async def connect(self) -> None:
        await self.worker.connect(await self.server.add_channel())


@pytest.fixture
async def logs(tmp_path: Path) -> AsyncIterator[Logs]:
    server = await open_sqlite_log(tmp_path / "log.db", bytes_max=1024**3, shared=True)
    requests: list[None] = []
    made = Logs(server, SqliteAppender(lambda: requests.append(None)), requests)
    await made.connect()
    yield made
    await made.worker.close()
    await server.close()


async def test_the_ids_of_all_processes_are_in_one_order(logs: Logs) -> None:
    appends = [
        (logs.server if number % 2 else logs.worker).append(
            envelope(b"%d" % number, historical=number % 5 == 0)
        )
        for number in range(200)
    ]

    given = await asyncio.gather(*appends)

    live = await read_all(logs.server)
    historical = await read_all(logs.server, historical=True)
    bodies = {entry.id: int(entry.envelope.body) for entry in (*live, *historical)}
    assert bodies == {entry_id: number for number, entry_id in enumerate(given)}
    assert entry_ids(live) == sorted(entry_ids(live))
    assert (await logs.server.backlog(START)).envelopes == len(live)


async def test_the_consumer_learns_of_what_others_append(logs: Logs) -> None:
    waiting = asyncio.create_task(logs.server.appended(START))
    await asyncio.sleep(0)

    await logs.worker.append(envelope())

    async with asyncio.timeout(WAIT_S):
        await waiting


async def watched(logs: Logs) -> set[bool]:
    return (await logs.server.writer.client()).watched


async def until_watched(logs: Logs) -> None:
    async def is_watched() -> bool:
        return await watched(logs) == {False}

    await until_soon(is_watched, "the consumer does not watch")


async def test_an_idle_consumer_is_told_of_the_next_append_to_its_lane(logs: Logs) -> None:
    waiting = asyncio.create_task(logs.server.appended(START))
    await until_watched(logs)

    await logs.worker.append(envelope(historical=True))
    await logs.worker.append(envelope())
    await waiting

    # It was told once, and is told nothing more while it has something to read.
    await logs.worker.append(envelope())
    await logs.server.appended(START)
    assert await watched(logs) == set()


async def test_a_consumer_learns_of_appends_after_the_writer_has_ended(logs: Logs) -> None:
    waiting = asyncio.create_task(logs.server.appended(START))
    await until_watched(logs)

    os.kill(writer_of(logs.server), signal.SIGKILL)
    async with asyncio.timeout(WAIT_S):
        while not logs.requests:
            with suppress(OSError):
                await logs.worker.append(envelope(historical=True))
        await logs.connect()
        await logs.worker.append(envelope())
        await waiting


async def test_a_channel_is_requested_when_the_writer_has_ended(logs: Logs) -> None:
    first = await logs.worker.append(envelope(b"first"))
    os.kill(writer_of(logs.server), signal.SIGKILL)
    while not logs.requests:
        with suppress(OSError):
            await logs.worker.append(envelope(b"while it dies"))
    with pytest.raises(OSError, match="writer process has ended"):
        await logs.worker.append(envelope(b"refused"))

    await logs.connect()
    second = await logs.worker.append(envelope(b"second"))

    stored = {entry.id: entry.envelope.body for entry in await read_all(logs.server)}
    assert (stored[first], stored[second]) == (b"first", b"second")
    assert b"refused" not in stored.values()


async def test_the_writer_goes_on_when_another_process_has_ended(logs: Logs) -> None:
    other = SqliteAppender(lambda: None)
    await other.connect(await logs.server.add_channel())
    await other.append(envelope(b"other"))
    await other.close()

    await logs.worker.append(envelope(b"worker"))
    await logs.server.append(envelope(b"server"))

    bodies = [entry.envelope.body for entry in await read_all(logs.server)]
    assert bodies == [b"other", b"worker", b"server"]


async def test_without_a_channel_nothing_is_appended() -> None:
    requests: list[None] = []
    log = SqliteAppender(lambda: requests.append(None))

    with pytest.raises(OSError, match="writer process has ended"):
        await log.append(envelope())

    assert requests == [None]
    await log.close()


async def test_a_writer_that_dies_soon_after_each_start_is_started_with_backoff(
    logs: Logs,
) -> None:
    """Meanwhile appends fail at once, so that clients send them again."""
    first = await logs.server.append(envelope(b"first"))
    os.kill(writer_of(logs.server), signal.SIGKILL)
    with suppress(OSError):
        await logs.server.append(envelope(b"while it dies"))
    await logs.server.append(envelope(b"restarted at once"))

    # If this machine pauses for as long as the delay, the next delay is twice as long.
    refused: list[int | BaseException] = [0]
    while not all(isinstance(error, OSError) for error in refused):
        os.kill(writer_of(logs.server), signal.SIGKILL)
        refused = await asyncio.gather(
            *(logs.server.append(envelope(b"refused")) for _ in range(3)), return_exceptions=True
        )
    async with asyncio.timeout(WAIT_S):
        while True:
            try:
                last = await logs.server.append(envelope(b"last"))
                break
            except OSError:
                await asyncio.sleep(0.02)

    stored = {entry.id: entry.envelope.body for entry in await read_all(logs.server)}
    assert (stored[first], stored[last]) == (b"first", b"last")


async def test_a_writer_killed_within_a_request_keeps_what_it_acknowledged(
    logs: Logs,
) -> None:
    """The group is larger than what a socket's buffer holds."""
    first = await logs.server.append(envelope(b"first"))
    writer = writer_of(logs.server)
    os.kill(writer, signal.SIGSTOP)
    cut_off = logs.server.append(envelope(os.urandom(3_000_000)))
    await asyncio.sleep(0)
    os.kill(writer, signal.SIGKILL)
    with pytest.raises(OSError, match="writer process has ended"):
        await cut_off

    second = await logs.server.append(envelope(b"second"))

    stored = {entry.id: entry.envelope.body for entry in await read_all(logs.server)}
    assert stored == {first: b"first", second: b"second"}
