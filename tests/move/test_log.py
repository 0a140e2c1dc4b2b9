"""Sending on what a former server has accepted: once, in order, from either log to the other."""

from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fanion.accept_log.port import Envelope, LogFull
from fanion.accept_log.sqlite_file import LogFileReader, LogFileWriter, encode_group
from fanion.ingest.pipeline.position_store import HISTORICAL, LIVE
from fanion.move.log_store import LogFile, LogTables, NewLogFile, open_log_tables, send_on

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
MANY = 10_000_000
INSTALLATION = "an installation"


def envelope(number: int, *, historical: bool = False) -> Envelope:
    body = b'{"distinct_id":"%d","event":"e"}' % number
    return Envelope(1, NOW, "192.0.2.1", "agent", None, body, historical)


def append(path: Path, numbers: Sequence[int], *, historical: bool = False) -> None:
    with closing(LogFileWriter(path, MANY, 0)) as writer:
        group = encode_group([envelope(n, historical=historical) for n in numbers])
        writer.write(group, historical=historical)


@pytest.fixture
async def tables(postgres_url: str) -> AsyncIterator[LogTables]:
    async with open_log_tables(postgres_url, MANY) as log:
        yield log


async def bodies(log: LogTables, lane: str = LIVE) -> list[bytes]:
    return [entry.envelope.body for entry in await log.read(lane, {})]


async def test_entries_of_a_file_arrive_once_in_tables(tmp_path: Path, tables: LogTables) -> None:
    path = tmp_path / "accept-log.db"
    append(path, range(5))
    append(path, range(100, 103), historical=True)

    source = LogFile(path)
    first = await send_on(source, tables)
    append(path, range(5, 7))
    second = await send_on(source, tables)

    assert (first, second, await send_on(source, tables)) == (8, 2, 0)
    assert await bodies(tables) == [envelope(n).body for n in range(7)]
    assert await bodies(tables, HISTORICAL) == [envelope(n).body for n in range(100, 103)]
    source.close()


async def test_entries_of_tables_arrive_once_in_a_file(tmp_path: Path, tables: LogTables) -> None:
    """The command dies between two attempts; ids begin behind those of the source."""
    former, path = tmp_path / "former.db", tmp_path / "accept-log.db"
    append(former, range(5))
    await send_on(LogFile(former), tables)
    begun = {f"{LIVE}/{part}": 0 for part in range(1, 65)} | {f"{LIVE}/1": 1000}

    sent = []
    for _ in range(2):
        with closing(NewLogFile(path, MANY, begun, INSTALLATION)) as target:
            sent.append(await send_on(tables, target))

    assert sent == [5, 0]
    with closing(LogFileReader(path)) as reader:
        entries = reader.read(0, 100, MANY, historical=False)
    assert [entry.envelope.body for entry in entries] == [envelope(n).body for n in range(5)]
    assert entries[0].id == 1001


async def test_nothing_is_noted_as_sent_when_the_target_is_full(
    tmp_path: Path, postgres_url: str
) -> None:
    path = tmp_path / "accept-log.db"
    append(path, range(5))
    async with open_log_tables(postgres_url, 0) as full:
        with pytest.raises(LogFull):
            await send_on(LogFile(path), full)
        assert await full.positions() == {}


async def test_a_file_that_a_server_writes_is_not_left(tmp_path: Path) -> None:
    path = tmp_path / "accept-log.db"
    source = LogFile(path)
    with closing(LogFileWriter(path, MANY, 0)) as writer:
        writer.open()
        assert not await source.is_left()
    assert await source.is_left()
    source.close()
