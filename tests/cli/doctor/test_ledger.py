"""The doctor's comparison of stored events with the ledger."""

from collections import Counter
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from fanion.cli.doctor.stores import Finding, RunningServer, examine_stores
from fanion.config import Settings
from fanion.db.engine import open_records
from fanion.db.migrate import migrate
from fanion.events.storage.client import connect, engine_at
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.comparison import counted_time
from fanion.ingest.ledger.model import STORED, Tally, minute_of
from fanion.ingest.ledger.store import write_tally
from fanion.projects.admin_store import Installation, set_up
from fanion.runtime.clock import utc_now

INSERT = """
  INSERT INTO events (project_id, uuid, event, distinct_id, timestamp, received_at)
  SELECT 1, generateUUIDv4(), 'e', 'd', at, at
    FROM (SELECT now64(6) - INTERVAL {minutes} MINUTE AS at, number FROM numbers({number}))
"""


@pytest.fixture
async def settings(tmp_path: Path, own_events_url: str) -> Settings:
    """Return the settings of an installation whose stores know each other."""
    settings = Settings(data=tmp_path, events_url=own_events_url)
    await migrate(settings.records_url)
    records = await open_records(settings.records_url)
    await set_up(records, Installation(email="olga@example.com", first_name="Olga"), utc_now())
    events = EventStore(settings.event_store_url)
    await events.open(records)
    await events.close()
    await records.close()
    return settings


async def count_items(settings: Settings, minutes_ago: int, items: int) -> None:
    """Count items in the ledger."""
    minute = minute_of(utc_now() - timedelta(minutes=minutes_ago))
    tally = Tally(Counter({(1, minute, STORED): items, (1, minute, "no_name"): 7}))
    records = await open_records(settings.records_url)
    async with records.write() as connection:
        await connection.run_sync(write_tally, tally)
    await records.close()


def store_events(settings: Settings, minutes_ago: int, number: int) -> None:
    with closing(connect(engine_at(settings.event_store_url))) as client:
        client.command(INSERT.format(minutes=minutes_ago, number=number))


async def stored_events(settings: Settings) -> Finding:
    findings = await examine_stores(settings, RunningServer(), {})
    return next(finding for finding in findings if finding.what == "stored events")


async def test_fewer_events_than_the_ledger_says_are_found(settings: Settings) -> None:
    for minutes_ago in (60, 3_000):
        await count_items(settings, minutes_ago, 20)
    store_events(settings, 3_000, 20)
    store_events(settings, 60, 12)

    missing = await stored_events(settings)
    store_events(settings, 60, 8)
    complete = await stored_events(settings)
    await count_items(settings, 1, 5)  # perhaps not yet ingested everywhere
    await count_items(settings, 60 * 24 * 31, 5)  # about to be forgotten
    settled = await stored_events(settings)

    since = counted_time(utc_now())[0].isoformat(timespec="minutes")
    assert (missing.ok, missing.text) == (
        False,
        f"fewer events than the ledger says, of those accepted since {since}: project 1 lacks 8 "
        "of 40",
    )
    assert missing.advice.startswith("A part of the event store is lost: restore it")
    assert (complete.ok, complete.text) == (True, f"has what the ledger counts since {since}")
    assert settled == complete


async def test_projects_whose_persons_were_deleted_are_not_compared(settings: Settings) -> None:
    await count_items(settings, 60, 20)
    records = await open_records(settings.records_url)
    async with records.write() as connection:
        organization = (await connection.exec_driver_sql("SELECT id FROM organizations")).scalar()
        await connection.exec_driver_sql(
            "INSERT INTO activity_log (project_id, organization_id, scope, item_id, activity, "
            "detail, created_at) VALUES (1, ?, 'Person', 'u', 'deleted', '{}', ?)",
            (organization, str(utc_now().replace(tzinfo=None))),
        )
    await records.close()

    finding = await stored_events(settings)

    assert finding.ok
    assert finding.text.endswith("; projects not compared, since events were deleted in them: 1")
