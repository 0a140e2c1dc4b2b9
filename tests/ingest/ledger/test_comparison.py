"""The comparison of stored events with the ledger, while a server runs."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from fanion.db.engine import Records
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.comparison import Counted, counted_time, missing_events
from fanion.ingest.ledger.comparison_worker import ComparisonWorker
from fanion.ingest.ledger.model import STORED, Tally, minute_of
from fanion.ingest.ledger.store import write_tally
from fanion.runtime.clock import utc_now
from tests.support.application import Tenant
from tests.support.management import NOW

SETTLED = NOW + timedelta(hours=1)


async def count_stored(records: Records, project_id: int, items: int) -> None:
    tally = Tally(Counter({(project_id, minute_of(NOW), STORED): items}))
    async with records.write() as connection:
        await connection.run_sync(write_tally, tally)


async def test_events_that_the_store_lacks_are_counted_and_named(
    tenant: Tenant, records: Records, events: EventStore
) -> None:
    reported: list[int] = []
    worker = ComparisonWorker(records, events, lambda: SETTLED, reported.append)
    await tenant.capture(*({"event": "stored", "distinct_id": f"u{n}"} for n in range(3)))

    with capture_logs() as lines:
        await count_stored(records, tenant.project_id, 3)
        await worker.compare()
        await count_stored(records, tenant.project_id, 2)
        await worker.compare()

    assert reported == [0, 2]
    [line] = lines
    assert (line["event"], line["log_level"]) == ("events_missing", "error")
    assert line["reason"].endswith(f": project {tenant.project_id} lacks 2 of 5")


async def test_a_server_that_no_longer_compares_reports_nothing(
    records: Records, events: EventStore
) -> None:
    reported: list[int] = []
    running = asyncio.create_task(ComparisonWorker(records, events, utc_now, reported.append).run())
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert reported == [0]


def test_what_is_missing_is_named_by_project() -> None:
    now = datetime(2026, 3, 31, 12, 34, 56, tzinfo=UTC)
    start, end = counted_time(now)
    counted = Counted(start, end, {1: 10, 2: 10, 3: 10, 4: 10}, deleted={3})

    assert (start, end) == (
        datetime(2026, 3, 1, 14, 0, tzinfo=UTC),
        datetime(2026, 3, 31, 12, 29, tzinfo=UTC),
    )
    assert missing_events(counted, {1: 9, 2: 11, 3: 0}) == {1: 1, 4: 10}


def test_events_that_clients_repeated_hours_later_are_not_missed() -> None:
    now = datetime(2026, 3, 31, 12, 34, 56, tzinfo=UTC)
    counted = Counted(*counted_time(now), {1: 20_000, 2: 20_000, 3: 100}, deleted=())

    assert missing_events(counted, {1: 19_980, 2: 19_979, 3: 99}) == {2: 21, 3: 1}
