"""The accept log when its process is killed, its disk is full, or several processes append."""

import asyncio
import os
import random
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from pathlib import Path

import pytest

from fanion.accept_log import sqlite_file
from fanion.accept_log.port import LogFull
from fanion.accept_log.sqlite import SqliteLog, open_sqlite_log
from fanion.accept_log.sqlite_file import LogFileWriter
from tests.support.accept_logs import (
    BYTES_MAX,
    envelope,
    log_location,
    open_log,
    positions_everywhere,
    read_all,
)
from tests.support.postgres import ENGINES

pytestmark = pytest.mark.long("kills the process that writes, again and again")

ROOT = Path(__file__).parents[2]
KILLS = 4
APPENDERS = 16


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return log_location(request.param, request, tmp_path)


async def start_writer(place: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.log_writer", place, str(APPENDERS),
        cwd=ROOT, stdout=PIPE, stderr=DEVNULL,
    )  # fmt: skip


async def acknowledged_until_killed(writer: Process, lines: int) -> dict[int, bytes]:
    """Kill the writer in the middle of its work, once it has acknowledged `lines`."""
    assert writer.stdout is not None
    lines_read = [await writer.stdout.readline() for _ in range(lines)]
    writer.kill()
    lines_read += (await writer.stdout.read()).splitlines()
    await writer.wait()
    pairs = (line.split() for line in lines_read if line.strip())
    return {int(entry_id): name for entry_id, name in pairs}


@pytest.mark.quick
async def test_every_acknowledged_append_survives_a_kill(place: str) -> None:
    moments = random.Random(20240506)
    acknowledged: dict[int, bytes] = {}

    for _ in range(KILLS):
        writer = await start_writer(place)
        new = await acknowledged_until_killed(writer, moments.randint(1, 1500))
        assert new
        assert not new.keys() & acknowledged.keys()
        acknowledged |= new

    log = await open_log(place)
    live, historical = await read_all(log), await read_all(log, historical=True)
    await log.close()
    stored = {entry.id: entry.envelope.body.partition(b" ")[0] for entry in live + historical}
    assert len(stored) == len(live) + len(historical)
    assert acknowledged.items() <= stored.items()


def writer_of(log: SqliteLog) -> int:
    """Return the id of the process that writes a log."""
    assert log.writer.pid is not None
    return log.writer.pid


async def test_a_writing_process_that_dies_is_started_again(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    log = await open_sqlite_log(path, bytes_max=BYTES_MAX)
    stored = [await log.append(envelope(b"%d" % number)) for number in range(3)]
    first = writer_of(log)
    os.kill(first, signal.SIGSTOP)
    waiting = [log.append(envelope(b"lost")) for _ in range(2)]
    await asyncio.sleep(0)  # the group has been sent
    os.kill(first, signal.SIGKILL)

    for append in waiting:
        with pytest.raises(OSError, match="writer process has ended"):
            await append
    stored.append(await log.append(envelope(b"3")))

    assert writer_of(log) != first
    bodies = {entry.id: entry.envelope.body for entry in await read_all(log)}
    assert [bodies[entry_id] for entry_id in stored] == [b"0", b"1", b"2", b"3"]
    assert (await log.backlog(positions_everywhere(log, 0))).envelopes == len(bodies)
    await log.close()


async def test_a_writing_process_ends_with_its_server(tmp_path: Path) -> None:
    place = str(tmp_path / "log.db")
    server = await start_writer(place)
    await acknowledged_until_killed(server, 1)

    # The file is locked until the process has ended.
    log = await open_log(place)
    assert await read_all(log)
    await log.close()


def test_a_file_has_one_writer_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "LOCK_WAIT_S_MAX", 0.0)
    first, second = (LogFileWriter(tmp_path / "log.db", BYTES_MAX, 0) for _ in range(2))
    first.open()

    with pytest.raises(OSError, match="is locked by another process"):
        second.open()
    first.close()
    second.open()
    second.close()


async def test_a_file_that_cannot_be_opened_is_an_oserror(tmp_path: Path) -> None:
    (tmp_path / "log.db").write_bytes(b"no database, but longer than its header" * 100)

    with pytest.raises(OSError, match="accept log: file is not a database"):
        await open_log(str(tmp_path / "log.db"))


async def test_a_closed_log_starts_no_writer_again(tmp_path: Path) -> None:
    log = await open_sqlite_log(tmp_path / "log.db", bytes_max=BYTES_MAX)
    await log.close()

    with pytest.raises(OSError, match="closed"):
        await log.backlog(positions_everywhere(log, 0))
    assert log.writer.pid is None


async def test_a_full_disk_refuses_exactly_what_it_cannot_keep(tmp_path: Path) -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.log_small_disk", str(tmp_path / "log.db"),
        cwd=ROOT, stdout=PIPE,
    )  # fmt: skip

    output, _ = await program.communicate()

    refused, refused_later, *claims = output.decode().split()
    assert int(refused) > 0
    assert refused_later == "0"
    assert claims == ["True", "True"]


async def test_a_disk_with_little_room_refuses_and_still_lets_trim(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    log = await open_sqlite_log(path, bytes_max=BYTES_MAX)
    last = await log.append(envelope())
    await log.close()

    log = await open_sqlite_log(path, bytes_max=BYTES_MAX, disk_free_bytes_min=2**62)
    with pytest.raises(LogFull, match="disk"):
        await log.append(envelope())
    await log.trim(positions_everywhere(log, last))

    assert await read_all(log) == []
    await log.close()


async def test_a_reader_misses_nothing_of_several_processes(postgres_url: str) -> None:
    log = await open_log(postgres_url)
    writers = [await start_writer(postgres_url) for _ in range(2)]

    seen: list[int] = []
    while len(seen) < 3000:
        after = seen[-1] if seen else 0
        await log.appended(positions_everywhere(log, after))
        seen += [entry.id for entry in await log.read(positions_everywhere(log, after), 50, 10**6)]
    for writer in writers:
        await acknowledged_until_killed(writer, 1)

    there = [entry.id for entry in await read_all(log) if entry.id <= seen[-1]]
    await log.close()
    assert seen == there


async def test_a_lost_server_is_an_oserror(postgres_url: str) -> None:
    with pytest.raises(OSError, match=r".+"):
        await open_log("postgresql://fanion@127.0.0.1:1/none")
    with pytest.raises(OSError, match="accept log"):
        await open_log(postgres_url + "_which_is_not_there")
