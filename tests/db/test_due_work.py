"""Rows whose work is due: claimed, renewed, finished and put off by one of several workers."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest
from sqlalchemy import insert, select, update
from structlog.testing import capture_logs

from fanion.db.due_work import (
    AHEAD,
    DUE_MAX,
    PUT_OFF_FIRST,
    PUT_OFF_MAX,
    DueRow,
    DueRows,
    LeasedWorker,
)
from fanion.db.engine import Records, open_records
from fanion.db.lease import LeaseLost
from fanion.db.schema.insights import dashboard_refreshes, dashboards

pytestmark = pytest.mark.every_engine

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
EVERY = timedelta(hours=1)
DUE = NOW + EVERY
LEASE = timedelta(minutes=10)
MOMENT = timedelta(microseconds=1)


@pytest.fixture
async def others(records: Records, records_url: str) -> AsyncIterator[Records]:
    """Yield the records of a second server that uses the same store."""
    store = await open_records(records_url)
    yield store
    await store.close()


def rows_of(records: Records) -> DueRows:
    return DueRows(records, dashboard_refreshes, dashboard_refreshes.c.refreshed_at, LEASE, EVERY)


async def add_rows(records: Records, *ids: int, marker: datetime = NOW) -> None:
    boards = [
        {
            "id": n,
            "project_id": 1,
            "name": "",
            "description": "",
            "pinned": False,
            "filters": {},
            "tags": [],
            "deleted": False,
            "restriction_level": 0,
            "created_at": NOW,
        }
        for n in ids
    ]
    rows = [
        {"dashboard_id": n, "project_id": 1, "viewed_at": NOW, "refreshed_at": marker} for n in ids
    ]
    async with records.write() as connection:
        await connection.execute(insert(dashboards), boards)
        await connection.execute(insert(dashboard_refreshes), rows)


async def due_row(rows: DueRows, now: datetime = DUE) -> DueRow:
    [row] = await rows.due_rows(now)
    return row


async def finish(rows: DueRows, row: DueRow, now: datetime) -> bool:
    async with rows.records.write() as connection:
        return await connection.run_sync(rows.finish, row, refreshed_at=now)


async def test_a_row_is_due_an_interval_after_its_marker(records: Records) -> None:
    rows = rows_of(records)
    await add_rows(records, 1)

    assert await rows.due_rows(DUE - MOMENT) == []
    assert await rows.due_rows(DUE) == [DueRow(1, 1, NOW)]


async def test_the_longest_overdue_come_first_and_other_conditions_are_kept(
    records: Records,
) -> None:
    await add_rows(records, 1, 2)
    await add_rows(records, 3, marker=NOW - EVERY)

    listed = await rows_of(records).due_rows(DUE, dashboard_refreshes.c.dashboard_id != 1)

    assert [row.id for row in listed] == [3, 2]


async def test_rows_whose_leases_expire_soon_come_after_all_that_are_free(
    records: Records,
) -> None:
    rows, ahead = rows_of(records), 2 * LEASE
    await add_rows(records, 1, marker=NOW - EVERY)
    await rows.claim(await due_row(rows), DUE)
    await add_rows(records, 2)

    listed = await rows.due_rows(DUE, ahead=ahead)

    assert [(row.id, row.lease_until) for row in listed] == [(2, None), (1, DUE + LEASE)]
    assert [row.id for row in await rows.due_rows(DUE, ahead=LEASE - MOMENT)] == [2]


async def test_of_several_workers_one_claims_a_row(records: Records, others: Records) -> None:
    await add_rows(records, 1)
    stores = [rows_of(store) for store in (records, others, records, others)]
    listed = [await due_row(rows) for rows in stores]

    claimed = await asyncio.gather(
        *(rows.claim(row, DUE) for rows, row in zip(stores, listed, strict=True))
    )

    assert claimed.count(True) == 1


async def test_an_expired_lease_is_taken_and_its_former_holder_changes_nothing(
    records: Records,
) -> None:
    rows = rows_of(records)
    await add_rows(records, 1)
    former = await due_row(rows)
    await rows.claim(former, DUE)

    held = await rows.due_rows(DUE + LEASE - MOMENT)
    latter = await due_row(rows, DUE + LEASE)
    assert await rows.claim(latter, DUE + LEASE)
    finished_by_former = await finish(rows, former, DUE + LEASE)
    await rows.put_off(former, DUE + 2 * LEASE)
    with pytest.raises(LeaseLost):
        await rows.renew(former, DUE + LEASE)

    assert (held, finished_by_former) == ([], False)
    assert await finish(rows, latter, DUE + LEASE)
    assert await rows.due_rows(DUE + LEASE + EVERY - MOMENT) == []


async def test_a_holder_whose_lease_expired_may_finish_while_nobody_has_taken_it(
    records: Records,
) -> None:
    rows = rows_of(records)
    await add_rows(records, 1)
    row = await due_row(rows)
    await rows.claim(row, DUE)

    assert await finish(rows, row, DUE + 2 * LEASE)


async def test_a_renewed_lease_expires_later(records: Records) -> None:
    rows = rows_of(records)
    await add_rows(records, 1)
    row = await due_row(rows)
    await rows.claim(row, DUE)

    await rows.renew(row, DUE + LEASE / 2)

    assert await rows.due_rows(DUE + LEASE) == []
    assert await finish(rows, row, DUE + LEASE)


@pytest.mark.parametrize("is_claimed", [False, True])
async def test_a_changed_marker_loses_the_claim(records: Records, is_claimed: bool) -> None:
    rows = rows_of(records)
    await add_rows(records, 1)
    row = await due_row(rows)
    if is_claimed:
        await rows.claim(row, DUE)
    async with records.write() as connection:
        await connection.execute(
            update(dashboard_refreshes).values(refreshed_at=NOW + MOMENT, lease_until=None)
        )

    assert not await rows.claim(row, DUE)
    assert not await finish(rows, row, DUE)
    assert (await due_row(rows, DUE + MOMENT)).marker == NOW + MOMENT


async def test_a_delay_grows_with_each_failure_up_to_a_maximum(records: Records) -> None:
    rows, now = rows_of(records), DUE
    await add_rows(records, 1)
    delays = []

    for _ in range(7):
        row = await due_row(rows, now)
        await rows.claim(row, now)
        await rows.put_off(row, now)
        assert row.lease_until is not None
        delays.append(row.lease_until - now)
        now = row.lease_until

    assert delays == [*(PUT_OFF_FIRST * factor for factor in (1, 2, 4, 8)), *[PUT_OFF_MAX] * 3]


async def test_success_after_a_failure_makes_the_row_due_an_interval_later(
    records: Records,
) -> None:
    rows = rows_of(records)
    await add_rows(records, 1)
    row = await due_row(rows)
    await rows.claim(row, DUE)
    await rows.put_off(row, DUE)
    later = DUE + PUT_OFF_FIRST
    again = await due_row(rows, later)
    await rows.claim(again, later)

    assert await finish(rows, again, later)

    assert await rows.due_rows(later + EVERY - MOMENT) == []
    assert await rows.due_rows(later + EVERY) == [DueRow(1, 1, later)]


class Worker(LeasedWorker[str]):
    """A worker that records whose work it does.

    Args:
        errors: By the row's id: what its work raises.
    """

    waits, all_wait, id_name = "item_waits", "items_wait", "item"
    expected: ClassVar[tuple[type[Exception], ...]] = (OSError,)

    def __init__(
        self, records: Records, now: datetime = DUE, errors: Mapping[int, BaseException] = {}
    ) -> None:
        async def project_of(project_id: int) -> str | None:
            return "p" if project_id == 1 else None

        super().__init__(rows_of(records), project_of, lambda: self.time)
        self.time = now
        self.errors = errors
        self.done: list[int] = []
        self.reads = 0

    async def _due_items(self, now: datetime) -> Sequence[DueRow]:
        self.reads += 1
        return await self._rows.due_rows(now, ahead=AHEAD)

    async def _process(self, row: DueRow, project: str) -> None:
        self.done.append(row.id)
        if row.id in self.errors:
            raise self.errors[row.id]
        await finish(self._rows, row, self._now())


async def test_a_full_round_is_followed_by_the_next_at_once(records: Records) -> None:
    await add_rows(records, *range(1, DUE_MAX + 2))
    worker = Worker(records)

    rounds = [await worker.work_once() for _ in range(3)]

    assert (rounds, sorted(worker.done)) == ([True, True, False], list(range(1, DUE_MAX + 2)))


async def test_a_row_that_fails_is_put_off_and_the_others_are_done(records: Records) -> None:
    await add_rows(records, 1, 2, 3)
    worker = Worker(records, errors={1: KeyError("x"), 2: OSError("full")})

    with capture_logs() as lines:
        first = await worker.work_once()
        second = await worker.work_once()

    assert (first, second, worker.done) == (True, False, [1, 2, 3])
    assert [(line["event"], line["item"], line["reason"]) for line in lines] == [
        ("item_waits", 1, "'x'"),
        ("item_waits", 2, "full"),
    ]
    assert [line["exc_info"] is None for line in lines] == [False, True]
    later = Worker(records, DUE + PUT_OFF_FIRST)
    await later.work_once()
    assert later.done == [1, 2]


async def test_work_of_a_worker_that_is_stopped_is_done_by_another_at_once(
    records: Records, others: Records
) -> None:
    await add_rows(records, 1)
    stopped = Worker(records, errors={1: asyncio.CancelledError()})
    with pytest.raises(asyncio.CancelledError):
        await stopped.work_once()
    other = Worker(others)

    assert await other.work_once()

    assert other.done == [1]


class Killed(BaseException):
    """The end of a process in the middle of its work."""


async def test_work_of_a_killed_worker_is_done_once_more_when_its_lease_has_expired(
    records: Records, others: Records
) -> None:
    await add_rows(records, 1)
    killed = Worker(records, errors={1: Killed()})
    with pytest.raises(Killed):
        await killed.work_once()

    early, late = (Worker(others, DUE + LEASE - MOMENT), Worker(others, DUE + LEASE))
    rounds = [await early.work_once(), await late.work_once(), await late.work_once()]

    assert (rounds, early.done, late.done) == ([False, True, False], [], [1])


async def test_a_row_without_a_project_is_not_claimed(records: Records) -> None:
    await add_rows(records, 1)
    async with records.write() as connection:
        await connection.execute(update(dashboard_refreshes).values(project_id=2))
    worker = Worker(records)

    assert not await worker.work_once()

    leases = await records.fetch(select(dashboard_refreshes.c.lease_until))
    assert (worker.done, [row.lease_until for row in leases]) == ([], [None])
