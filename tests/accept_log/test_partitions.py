"""The accept log in partitions: batches are appended whole, and no reader misses an entry."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from msgspec import json

from fanion.accept_log.port import LogFull
from fanion.accept_log.postgres import PostgresLog, open_postgres_log
from fanion.ingest.items import read_items
from fanion.ingest.partitioning import cut
from tests.support.accept_logs import (
    BYTES_MAX,
    entry_ids,
    envelope,
    positions_behind,
    positions_everywhere,
    read_all,
)
from tests.support.postgres import Postgres

pytestmark = pytest.mark.postgresql

BODY = json.encode([{"event": f"e{n}", "distinct_id": f"u{n}"} for n in range(30)])
# An append of another program, halted before its transaction ends.
_HALTED = """
INSERT INTO accept_log_entries
       (historical, partition, id, project_id, received_at, client_ip, user_agent, body)
SELECT FALSE, 1, NEXTVAL('accept_log_id_seq'), 1, NOW(), '', '', '{}'
  FROM (SELECT PG_ADVISORY_XACT_LOCK_SHARED(1179602497, 1) OFFSET 0) AS held
RETURNING id
"""


async def opened(url: str, bytes_max: int = BYTES_MAX) -> PostgresLog:
    return await open_postgres_log(url, bytes_max=bytes_max, cut=cut)


@pytest.fixture
async def log(postgres_url: str) -> AsyncIterator[PostgresLog]:
    log = await opened(postgres_url)
    yield log
    await log.close()


@pytest.fixture
async def connection(postgres_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


async def test_a_log_that_cannot_be_opened_leaves_no_connection(
    postgres: Postgres, postgres_url: str
) -> None:
    await postgres.run("DROP TABLE log_positions", postgres_url.rpartition("/")[2])

    with pytest.raises(OSError, match="log_positions"):
        await opened(postgres_url)

    await postgres.until_left(postgres_url)


def names(bodies: list[bytes]) -> list[str]:
    return [item["event"] for body in bodies for item in read_items(body)]


async def test_a_batch_is_cut_into_one_envelope_a_partition(log: PostgresLog) -> None:
    last = await log.append(envelope(BODY))

    entries = await read_all(log)

    assert len({entry.partition for entry in entries}) == len(entries) > 10
    assert sorted(names([entry.envelope.body for entry in entries])) == sorted(names([BODY]))
    assert last == entries[-1].id


async def test_an_append_is_one_round_trip(
    log: PostgresLog, connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await log.append(envelope(BODY))
    await log.append(envelope(BODY))

    [last] = await connection.fetch(
        "SELECT query FROM pg_stat_activity"
        " WHERE application_name = 'fanion accept log' AND datname = CURRENT_DATABASE()"
    )
    assert "INSERT INTO accept_log_entries" in last["query"]


async def test_a_batch_is_appended_in_one_transaction(
    log: PostgresLog, connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await log.append(envelope(BODY))

    transactions = await connection.fetchval(
        "SELECT COUNT(DISTINCT xmin::text) FROM accept_log_entries"
    )

    assert transactions == 1


async def test_a_batch_that_does_not_fit_leaves_nothing(postgres_url: str) -> None:
    log = await opened(postgres_url, bytes_max=1_000)
    await log.append(envelope(b"x" * 1_000))

    with pytest.raises(LogFull):
        await log.append(envelope(BODY))

    assert len(await read_all(log)) == 1
    await log.close()


async def test_a_reader_stops_before_an_append_that_has_not_ended(
    log: PostgresLog, connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    before = await log.append(envelope(b"{}"))
    transaction = connection.transaction()
    await transaction.start()
    slow = await connection.fetchval(_HALTED)
    after = await log.append(envelope(b"{}"))

    reading = asyncio.create_task(log.read(positions_everywhere(log), 100, BYTES_MAX))
    done, _ = await asyncio.wait({reading}, timeout=0.3)
    await transaction.commit()

    assert not done
    assert entry_ids(await reading) == [before, slow, after]


async def test_an_append_that_is_rolled_back_holds_up_no_reader(
    log: PostgresLog, connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    transaction = connection.transaction()
    await transaction.start()
    await connection.fetchval(_HALTED)
    entry_id = await log.append(envelope(b"{}"))

    reading = asyncio.create_task(log.read(positions_everywhere(log), 100, BYTES_MAX))
    await transaction.rollback()

    assert entry_ids(await reading) == [entry_id]


async def test_several_programs_append_while_one_reads_in_the_order_of_each(
    postgres_url: str,
) -> None:
    """Each program appends one envelope after another; the reader must see them in that order."""
    logs = [await opened(postgres_url) for _ in range(4)]

    async def append(log: PostgresLog, who: int) -> None:
        for number in range(100):
            item = {"event": f"{number}", "distinct_id": f"u{who}"}
            await log.append(envelope(json.encode(item)))

    async def follow() -> dict[str, list[int]]:
        seen: dict[str, list[int]] = {}
        after = positions_everywhere(logs[0])
        while sum(map(len, seen.values())) < 400:
            await logs[0].appended(after)
            entries = await logs[0].read(after, 37, BYTES_MAX)
            after = dict(positions_behind(after, entries))
            for entry in entries:
                item = json.decode(entry.envelope.body)
                seen.setdefault(item["distinct_id"], []).append(int(item["event"]))
        return seen

    *_, seen = await asyncio.gather(*(append(log, who) for who, log in enumerate(logs)), follow())

    assert seen == {f"u{who}": list(range(100)) for who in range(4)}
    for log in logs:
        await log.close()


async def test_a_read_of_some_partitions_ends_where_it_is_told(log: PostgresLog) -> None:
    for _ in range(3):
        await log.append(envelope(BODY))
    entries = await read_all(log)
    first = {entry.partition: entry.id for entry in reversed(entries)}
    some = dict(list(first.items())[:5])

    read = await log.read(dict.fromkeys(some, 0), 100, BYTES_MAX, upto=some)

    assert {entry.partition: entry.id for entry in read} == some
    assert entry_ids(read) == sorted(some.values())


async def test_a_read_is_full_also_when_most_of_what_waits_is_in_one_partition(
    log: PostgresLog,
) -> None:
    await log.append(envelope(BODY))
    busy = [await log.append(envelope(b'{"event":"e","distinct_id":"u"}')) for _ in range(30)]
    every = entry_ids(await read_all(log))

    read = await log.read(positions_everywhere(log, 0), len(every) - 1, BYTES_MAX)
    few = await log.read(positions_everywhere(log, busy[4]), 20, BYTES_MAX)
    small = await log.read(positions_everywhere(log, busy[4]), 20, 1)

    assert entry_ids(read) == every[:-1]
    assert entry_ids(few) == busy[5:25]
    assert entry_ids(small) == busy[5:6]
