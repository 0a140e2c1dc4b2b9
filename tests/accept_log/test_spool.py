"""Captures go through the spool while PostgreSQL does not take them: none lost, doubled or late."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from fanion.accept_log.port import AppendSuspended, AppendUnsure, Backlog, LogEntry, LogFull
from fanion.accept_log.postgres import APPEND_S, LATE_S, PostgresLog, open_postgres_log
from fanion.accept_log.spool import SERVER, SpooledLog, SpoolSwitch
from fanion.accept_log.spool_folder import Spool, files_in, open_spool, send_file
from fanion.accept_log.sqlite import SqliteAppender
from fanion.ingest.items import are_named
from fanion.ingest.partitioning import cut
from fanion.processes.shared_counters import SharedCounters
from tests.support.accept_logs import BYTES_MAX, NOW, envelope, read_all
from tests.support.awaited import until_soon
from tests.support.postgres import Outage, Postgres

INSTALLATION = "9a0e1a9e-0000-4000-8000-000000000000"
pytestmark = pytest.mark.long("starts processes that write spools, while PostgreSQL is away")

NAMED = b'{"event": "e", "distinct_id": "u", "uuid": "0190c2f0-0000-7000-8000-000000000001"}'


@dataclass
class Node:
    """A server that captures, with its log in PostgreSQL and its spool."""

    log: PostgresLog
    spool: Spool
    captured: SpooledLog
    folder: Path

    async def append(self, *bodies: bytes) -> None:
        for body in bodies:
            await self.captured.append(envelope(body))

    async def stored(self) -> list[bytes]:
        """Return the bodies in PostgreSQL, in order."""
        return bodies_of(await read_all(self.log))

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*"))


def bodies_of(entries: Sequence[LogEntry]) -> list[bytes]:
    return [entry.envelope.body for entry in entries]


def item(number: int) -> bytes:
    return b'{"event": "%d", "distinct_id": "u"}' % number


@asynccontextmanager
async def open_node(
    url: str, folder: Path, spool_bytes_max: int = BYTES_MAX
) -> AsyncIterator[Node]:
    log = await open_postgres_log(url, bytes_max=BYTES_MAX, cut=cut)
    spool = await open_spool(folder, spool_bytes_max)
    spool.attach(log, INSTALLATION)
    captured = SpooledLog(log, spool, spool.switch, are_named)
    try:
        yield Node(log, spool, captured, folder)
    finally:
        await captured.close_lanes()
        await spool.close()
        await log.close()


@pytest.fixture
async def node(postgres_url: str, tmp_path: Path) -> AsyncIterator[Node]:
    async with open_node(postgres_url, tmp_path / "spool") as opened:
        yield opened


async def test_while_postgresql_takes_captures_there_is_no_spool(node: Node) -> None:
    await node.append(item(0), item(1))
    await node.spool.send()

    assert await node.stored() == [item(0), item(1)]
    assert not node.folder.exists()
    assert await node.spool.backlog() == Backlog(0, 0, None)


@pytest.mark.quick
async def test_captures_are_kept_while_postgresql_is_away_and_sent_in_order(
    node: Node, postgres: Postgres, postgres_url: str
) -> None:
    await node.append(item(0))
    async with Outage(postgres, postgres_url):
        await node.append(*map(item, range(1, 5)))
        with pytest.raises(OSError, match="accept log"):
            await node.spool.send()
        waiting = await node.spool.backlog()
    await node.append(item(5))  # PostgreSQL is back, but earlier captures wait in the spool
    before = await node.stored()
    await node.spool.send()
    await node.append(item(6))

    assert (waiting.envelopes, waiting.oldest) == (4, NOW)
    assert waiting.bytes > sum(map(len, map(item, range(1, 5))))
    assert before == [item(0)]
    assert await node.stored() == [item(number) for number in range(7)]
    assert await node.spool.backlog() == Backlog(0, 0, None)


async def test_lanes_are_kept_apart_and_imports_come_last(
    node: Node, postgres: Postgres, postgres_url: str
) -> None:
    async with Outage(postgres, postgres_url):
        await node.captured.append(envelope(item(0), historical=True))
        await node.append(item(1))
    await node.spool.send()

    assert await node.stored() == [item(1)]
    assert bodies_of(await read_all(node.log, historical=True)) == [item(0)]


async def test_the_file_is_deleted_once_it_is_sent(
    node: Node, postgres: Postgres, postgres_url: str
) -> None:
    async with Outage(postgres, postgres_url):
        await node.append(item(0))
    during = node.files()
    await node.spool.send()
    await node.spool.send()

    assert len([name for name in during if name.endswith(".db")]) == 1
    assert node.files() == []


async def test_a_restart_sends_what_is_left_before_later_captures(
    postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    async with open_node(postgres_url, tmp_path / "spool") as node, Outage(postgres, postgres_url):
        await node.append(*map(item, range(3)))

    async with open_node(postgres_url, tmp_path / "spool") as node:
        await node.append(item(3))
        assert await node.stored() == []
        assert (await node.spool.backlog()).envelopes == 4
        await node.spool.send()
        await node.append(item(4))

        assert await node.stored() == [item(number) for number in range(5)]
        await node.spool.send()
        assert node.files() == []


async def test_what_was_sent_is_not_sent_again(
    postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    folder, copy = tmp_path / "spool", tmp_path / "copy"
    async with open_node(postgres_url, folder) as node, Outage(postgres, postgres_url):
        await node.append(item(0), item(1))
        await node.captured.append(envelope(item(2), historical=True))
    shutil.copytree(folder, copy)

    async with open_node(postgres_url, folder) as node:
        await node.spool.send()
        [path] = files_in(copy)
        again = await send_file(path, INSTALLATION, node.log)

        assert again == 3
        assert await node.stored() == [item(0), item(1)]
        assert bodies_of(await read_all(node.log, historical=True)) == [item(2)]
        assert list(copy.iterdir()) == []


async def test_two_programs_that_send_the_same_file_store_it_once(
    postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    folder, copy = tmp_path / "spool", tmp_path / "copy"
    async with open_node(postgres_url, folder) as node, Outage(postgres, postgres_url):
        await node.append(*map(item, range(50)))
    shutil.copytree(folder, copy)

    async with open_node(postgres_url, tmp_path / "none") as node:
        files = [path for place in (folder, copy) for path in files_in(place)]
        await asyncio.gather(*(send_file(path, INSTALLATION, node.log) for path in files))

        assert await node.stored() == [item(number) for number in range(50)]


async def test_a_full_spool_refuses_and_takes_again_once_it_is_sent(
    postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    """The limit counts what bodies cost before compression, which makes these very small."""
    body = b'{"event": "e", "distinct_id": "u", "properties": {"text": "%s"}}' % (b"a" * 30_000)
    async with open_node(postgres_url, tmp_path / "spool", 100_000) as node:
        async with Outage(postgres, postgres_url):
            await node.append(body, body, body, body)
            with pytest.raises(LogFull):
                await node.append(body)
        await node.spool.send()
        async with Outage(postgres, postgres_url):
            await node.append(body)
        await node.spool.send()

        assert await node.stored() == [body] * 5


async def test_files_of_earlier_starts_count_in_the_limit(
    postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    body = b'{"event": "%s"}' % (b"a" * 30_000)
    spool = tmp_path / "spool"
    async with open_node(postgres_url, spool, 40_000) as node, Outage(postgres, postgres_url):
        await node.append(body, body)

    async with open_node(postgres_url, spool, 40_000) as node:
        with pytest.raises(LogFull):
            await node.append(body)


async def test_a_file_of_another_installation_is_kept(
    postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    async with open_node(postgres_url, tmp_path / "spool") as node:
        node.spool.attach(node.log, "another")
        async with Outage(postgres, postgres_url):
            await node.append(item(0))

    async with open_node(postgres_url, tmp_path / "spool") as node:
        await node.spool.send()
        await node.append(item(1))

        assert await node.stored() == [item(1)]
        assert (await node.spool.backlog()).envelopes == 1
        assert len(files_in(node.folder)) == 1


async def test_a_damaged_file_is_kept_and_does_not_hold_up_others(
    postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    async with open_node(postgres_url, tmp_path / "spool") as node, Outage(postgres, postgres_url):
        await node.append(item(0))
    damaged = tmp_path / "spool" / "20200101T000000000000-damaged.db"
    damaged.write_bytes(b"not a database" * 1000)

    async with open_node(postgres_url, tmp_path / "spool") as node:
        await node.spool.send()
        await node.append(item(1))

        assert await node.stored() == [item(0), item(1)]
        assert damaged.exists()
        assert len(files_in(node.folder)) == 1


async def test_a_folder_that_cannot_be_written_refuses_captures(
    postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    (tmp_path / "spool").write_text("a file where the folder should be")
    async with open_node(postgres_url, tmp_path / "spool") as node:
        async with Outage(postgres, postgres_url):
            with pytest.raises(OSError, match="spool"):
                await node.append(item(0))
        await node.spool.send()
        await node.append(item(1))

        assert await node.stored() == [item(1)]


@asynccontextmanager
async def appends_wait(url: str) -> AsyncIterator[asyncpg.Connection]:
    """Let appends wait in the middle of their statement."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute("LOCK TABLE accept_log_sizes")
            yield connection
    finally:
        await connection.close()


async def until_appending(postgres: Postgres, url: str) -> None:
    connection = await asyncpg.connect(postgres.url("postgres"))
    waiting = """
    SELECT COUNT(*) FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'
    """

    async def is_waiting() -> bool:
        count = await connection.fetchval(waiting, urlsplit(url).path.strip("/"))
        return bool(count)

    try:
        await until_soon(is_waiting, "no append waits")
    finally:
        await connection.close()


END_APPENDS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE datname = CURRENT_DATABASE() AND wait_event_type = 'Lock'
"""


@pytest.mark.parametrize("is_named", [True, False])
async def test_an_append_that_was_broken_off_is_kept_only_if_ingestion_recognizes_it(
    node: Node, postgres: Postgres, postgres_url: str, is_named: bool
) -> None:
    body = NAMED if is_named else item(0)
    async with appends_wait(postgres_url) as connection:
        appending = asyncio.ensure_future(node.captured.append(envelope(body)))
        await until_appending(postgres, postgres_url)
        await connection.execute(END_APPENDS)
        result = (await asyncio.gather(appending, return_exceptions=True))[0]
    await node.append(item(1))
    await node.spool.send()

    stored = await read_all(node.log)
    if is_named:
        assert bodies_of(stored) == [body, item(1)]
        # Were the first one stored too, this one would be a client's repetition, which is dropped.
        assert stored[0].envelope.received_at == NOW + timedelta(microseconds=1)
    else:
        assert isinstance(result, AppendUnsure)
        assert bodies_of(stored) == [item(1)]


async def test_a_process_that_was_suspended_does_not_take_postgresql_for_away(
    node: Node, postgres: Postgres, postgres_url: str
) -> None:
    """It takes longer than an append may: nothing else makes the timer late."""
    async with appends_wait(postgres_url):
        appending = asyncio.ensure_future(node.captured.append(envelope(NAMED)))
        await until_appending(postgres, postgres_url)
        time.sleep(APPEND_S + 2 * LATE_S)  # noqa: ASYNC251 - the whole process stands still
        [result] = await asyncio.gather(appending, return_exceptions=True)
    await node.append(item(1))

    assert isinstance(result, AppendSuspended)
    assert not node.spool.switch.is_on
    assert (await node.stored())[-1] == item(1)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (NAMED, True),
        (b"[%s, %s]" % (NAMED, NAMED), True),
        (b'{"api_key": "k", "batch": [%s]}' % NAMED, True),
        (b"[%s, %s]" % (NAMED, item(0)), False),
        (b'{"batch": [%s, %s]}' % (item(0), NAMED), False),
        (item(0), False),
        (b'{"event": "e", "uuid": ""}', False),
        (b"[%s]" % b",".join([NAMED] * 1000), True),
        (b"[%s,%s]" % (b",".join([NAMED] * 1000), item(0)), False),
    ],
)
def test_a_body_is_recognized_by_the_uuids_of_all_its_items(body: bytes, expected: bool) -> None:
    assert are_named(body) is expected


@pytest.mark.quick
async def test_a_worker_follows_the_spool_of_its_server(
    node: Node, postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    """The worker appends over its own connections, and learns of the spool by shared memory."""
    log = await open_postgres_log(postgres_url, bytes_max=BYTES_MAX, cut=cut)
    with (tmp_path / "counters").open("w+b") as file:
        counters = SharedCounters.create(file.fileno(), 1)
        node.spool.switch.share(counters.spool, SERVER)
        switch = SpoolSwitch()
        switch.share(SharedCounters(file.fileno(), 1).spool, 1)
        tasks: set[asyncio.Task[None]] = set()
        appender = SqliteAppender(lambda: tasks.add(asyncio.create_task(connect())), wait_s=60)

        async def connect() -> None:
            await appender.connect(await node.spool.add_channel())

        worker = SpooledLog(log, appender, switch, are_named)
        async with Outage(postgres, postgres_url):
            await worker.append(envelope(item(0)))
        await node.append(item(1))  # the server's own append has not failed
        await worker.append(envelope(item(2)))
        before = await node.stored()
        await node.spool.send()
        await worker.append(envelope(item(3)))
        await node.append(item(4))

        assert before == []
        assert await node.stored() == [item(number) for number in range(5)]
        await worker.close_lanes()
        await appender.close()
        await log.close()


async def until_each_has_sent(sent: Mapping[int, int], number: int) -> None:
    async def have_sent() -> bool:
        return min(sent.values()) >= number

    await until_soon(have_sent, "captures are not accepted")


async def test_sending_ends_while_captures_go_on(
    node: Node, postgres: Postgres, postgres_url: str
) -> None:
    """The spool is emptied although captures arrive all the time."""
    sent = dict.fromkeys(range(8), 0)
    stopping = asyncio.Event()

    async def send_on(client: int) -> None:
        while not stopping.is_set():
            body = b'{"event": "%d", "distinct_id": "%d"}' % (sent[client], client)
            await node.captured.append(envelope(body))
            sent[client] += 1

    async with Outage(postgres, postgres_url):
        clients = [asyncio.create_task(send_on(client)) for client in sent]
        await until_each_has_sent(sent, 20)
    await node.spool.send()
    await until_each_has_sent(sent, max(sent.values()) + 20)
    assert not node.spool.switch.is_on
    stopping.set()
    await asyncio.gather(*clients)

    stored = await node.stored()
    for client, count in sent.items():
        mine = [body for body in stored if body.endswith(b'"distinct_id": "%d"}' % client)]
        expected = [
            b'{"event": "%d", "distinct_id": "%d"}' % (number, client) for number in range(count)
        ]
        assert mine == expected


def test_a_switch_is_off_only_when_everything_that_was_counted_is_sent() -> None:
    switch = SpoolSwitch()
    seen = [switch.is_on]

    switch.count()
    written = switch.written
    switch.count()
    switch.sent(written)
    seen.append(switch.is_on)
    switch.sent(switch.written)
    seen.append(switch.is_on)

    assert seen == [False, True, False]


def test_what_was_counted_before_sharing_is_kept(tmp_path: Path) -> None:
    with (tmp_path / "counters").open("w+b") as file:
        counters = SharedCounters.create(file.fileno(), 2)
        server, worker = SpoolSwitch(), SpoolSwitch()
        server.count()
        server.share(counters.spool, SERVER)
        worker.share(counters.spool, 2)
        seen = [worker.is_on]

        server.sent(server.written)
        seen.append(worker.is_on)
        worker.count()
        counters.reset(1)  # the worker is started again
        seen.append(server.is_on)

    assert seen == [True, False, True]
