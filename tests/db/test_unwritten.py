"""Polls of a store that nobody has written are left out; no write is missed."""

import os
import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import make_url, text

from fanion.db.change_feed import LEFT_OUT_MAX, ChangeFeed, FeedTopic
from fanion.db.drivers import RecordsUnavailable
from fanion.db.due_work import AHEAD
from fanion.db.engine import open_records
from fanion.db.unwritten import SETTLED_NS, Mark, UnwrittenPolls
from tests.db.test_due_work import DUE, EVERY, LEASE, NOW, Worker, add_rows, due_row, rows_of

SECOND_NS = 1_000_000_000


class Store:
    """A store whose mark and clock are set by hand; counts how often it is read."""

    def __init__(self, left_out_max: int = 4) -> None:
        self.mark: Mark = (10 * SECOND_NS, 500)
        self.now_ns = 20 * SECOND_NS
        self.reads = 0
        self.is_down = False
        self.polls = UnwrittenPolls(lambda: self.mark, left_out_max, lambda: self.now_ns)

    async def read(self) -> bool:
        self.reads += 1
        if self.is_down:
            raise RecordsUnavailable("down")
        return False

    async def reads_of(self, polls: int) -> int:
        before = self.reads
        for _ in range(polls):
            await self.polls.poll(self.read)
        return self.reads - before


async def test_of_polls_of_an_unwritten_store_one_in_five_reads() -> None:
    assert await Store(left_out_max=4).reads_of(25) == 5


@pytest.mark.parametrize("mark", [(11 * SECOND_NS, 500), (10 * SECOND_NS, 600)])
async def test_a_poll_after_a_write_reads(mark: Mark) -> None:
    store = Store()
    await store.reads_of(2)

    store.mark = mark

    assert await store.reads_of(1) == 1
    assert await store.reads_of(3) == 0


async def test_a_store_that_was_just_written_is_read_until_it_has_settled() -> None:
    """A second write within a tick of the file's clock does not change its time."""
    store = Store()
    store.mark = (store.now_ns, 500)

    assert await store.reads_of(3) == 3
    store.now_ns += SETTLED_NS + 1
    assert await store.reads_of(3) == 1


async def test_a_store_without_a_mark_is_read_by_every_poll() -> None:
    store = Store()
    store.mark = None

    assert await store.reads_of(5) == 5


async def test_a_poll_after_a_failed_one_reads() -> None:
    store = Store()
    store.is_down = True
    with pytest.raises(RecordsUnavailable):
        await store.reads_of(1)

    store.is_down = False

    assert await store.reads_of(1) == 1


async def test_a_commit_of_another_program_changes_the_mark_and_is_followed(
    sqlite_url: str,
) -> None:
    records = await open_records(sqlite_url)
    async with records.write() as connection:
        await connection.execute(text("UPDATE change_feed SET item_id = item_id"))
    path = str(make_url(sqlite_url).database)
    os.utime(f"{path}-wal", ns=(SECOND_NS, SECOND_NS))  # it was written long ago
    loaded: list[object] = []

    async def load(ids: object) -> None:
        loaded.append(ids)

    feed = ChangeFeed(records, {FeedTopic.PROJECT: load})
    await feed.follow()
    for _ in range(LEFT_OUT_MAX - 1):
        await feed.follow()
    before = records.write_mark()

    with closing(sqlite3.connect(path)) as other:
        other.execute("INSERT INTO change_feed (topic, item_id) VALUES ('project', 7)")
        other.commit()
    await feed.follow()

    assert before is not None
    assert before[0] == SECOND_NS
    assert records.write_mark() != before
    assert loaded == [None, *[set()] * (LEFT_OUT_MAX - 1), {7}]
    await records.close()


async def test_polls_of_an_unwritten_store_read_it_again_when_the_next_row_falls_due(
    sqlite_url: str,
) -> None:
    records = await open_records(sqlite_url)
    await add_rows(records, 1)
    os.utime(f"{make_url(sqlite_url).database}-wal", ns=(1, 1))  # it was written long ago
    worker = Worker(records, DUE - AHEAD / 2)

    polls = [await worker.poll() for _ in range(3)]
    reads_before_it_is_due = worker.reads
    worker.time = DUE
    polls.append(await worker.poll())

    assert (polls, reads_before_it_is_due) == ([False, None, None, True], 1)
    assert worker.done == [1]
    await records.close()


async def test_polls_of_an_unwritten_store_read_it_again_when_a_lease_expires(
    sqlite_url: str,
) -> None:
    records = await open_records(sqlite_url)
    await add_rows(records, 1)
    late = Worker(records, DUE)
    row = await due_row(rows_of(records))
    await rows_of(records).claim(row, DUE + AHEAD / 2 - LEASE)
    os.utime(f"{make_url(sqlite_url).database}-wal", ns=(1, 1))

    polls = [await late.poll() for _ in range(3)]
    late.time = DUE + AHEAD / 2
    polls.append(await late.poll())

    assert (polls, late.done) == ([False, None, None, True], [1])
    await records.close()


async def test_a_poll_after_a_write_reads_the_store(sqlite_url: str) -> None:
    records = await open_records(sqlite_url)
    await add_rows(records, 1)
    os.utime(f"{make_url(sqlite_url).database}-wal", ns=(1, 1))
    worker = Worker(records, NOW)
    await worker.poll()
    left_out = await worker.poll()

    await add_rows(records, 2, marker=NOW - EVERY)

    assert left_out is None
    assert await worker.poll()
    assert worker.done == [2]
    await records.close()
