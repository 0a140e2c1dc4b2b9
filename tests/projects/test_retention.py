"""The time for which a project keeps its events."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.schema import EVENT_TABLES
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.comparison_store import read_ledger
from fanion.ingest.old_events_worker import OldEventsWorker
from fanion.projects.retention.model import kept_since
from tests.support.application import Tenant, open_tenant
from tests.support.management import NOW, invalid

# A day before NOW, the 1st of March, it was February.
KEPT_SINCE = datetime(2024, 2, 1, tzinfo=UTC)


async def changed(tenant: Tenant, **body: Any) -> httpx.Response:
    return await tenant.api.patch("/", json=body)


async def capture_at(tenant: Tenant, **times: datetime) -> None:
    """Capture an event of each name, at its time."""
    await tenant.capture(
        *(
            {"event": name, "distinct_id": "ann", "timestamp": at.isoformat()}
            for name, at in times.items()
        )
    )


def worker_of(tenant: Tenant) -> OldEventsWorker:
    return tenant.server.running.ingestion.old_events


async def names(tenant: Tenant) -> set[str]:
    """Return the names of the events, by the table of all and by that of each distinct id."""
    found = await tenant.get("/events/", after="2000-01-01T00:00:00Z")
    of_ann = await tenant.get("/events/", after="2000-01-01T00:00:00Z", distinct_id="ann")
    every, own = ({event["event"] for event in page["results"]} for page in (found, of_ann))
    assert every == own
    return every


@pytest.mark.every_engine
async def test_events_of_whole_months_go_and_those_of_others_stay(
    tenant: Tenant, events: EventStore
) -> None:
    times = {
        "ancient": datetime(2001, 5, 6, tzinfo=UTC),
        "before": KEPT_SINCE - timedelta(microseconds=1),
        "first": KEPT_SINCE,
        "now": NOW,
    }
    await capture_at(tenant, **times)
    async with open_tenant(tenant.server, tenant.project_id + 9_000_001) as neighbour:
        await capture_at(neighbour, **times)
        preview = await tenant.get("/old_events/", events_kept_days=1)
        await changed(tenant, events_kept_days=1)

        await worker_of(tenant).work_once()
        await worker_of(tenant).work_once()

        assert await names(neighbour) == set(times)
    assert await names(tenant) == {"first", "now"}
    assert preview == {"before": as_text(KEPT_SINCE), "events": 2, "stored": 4}
    for table in EVENT_TABLES:
        statement = f"SELECT count() FROM {table} WHERE project_id = {{project_id:UInt64}}"
        assert await events._reads.fetch(statement, {"project_id": tenant.project_id}) == [(2,)]
    [entry] = (await tenant.get("/activity_log/", scope="Project", activity="events_expired"))[
        "results"
    ]
    assert entry["user"]["is_system"]
    assert [(change["field"], change["before"]) for change in entry["detail"]["changes"]] == [
        ("events", 2),
        ("events_kept_since", None),
    ]


def as_text(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


async def test_by_default_everything_is_kept(tenant: Tenant) -> None:
    await capture_at(tenant, ancient=datetime(2001, 5, 6, tzinfo=UTC))
    await changed(tenant, events_kept_days=30)
    answer = await changed(tenant, events_kept_days=None)

    await worker_of(tenant).work_once()

    assert answer.json()["events_kept_days"] is None
    assert await names(tenant) == {"ancient"}


async def test_a_deletion_that_is_interrupted_goes_on(tenant: Tenant) -> None:
    await capture_at(tenant, ancient=datetime(2001, 5, 6, tzinfo=UTC), now=NOW)
    await changed(tenant, events_kept_days=1)
    tenant.server.events.is_down = True
    with pytest.raises(EventStoreUnavailable):
        await worker_of(tenant).work_once()
    tenant.server.events.is_down = False

    await worker_of(tenant).work_once()

    assert await names(tenant) == {"now"}


async def test_the_comparison_with_the_ledger_leaves_the_project_out(tenant: Tenant) -> None:
    await capture_at(tenant, ancient=datetime(2001, 5, 6, tzinfo=UTC))
    await changed(tenant, events_kept_days=1)
    before = await read_ledger(tenant.server.records, NOW)

    await worker_of(tenant).work_once()

    after = await read_ledger(tenant.server.records, NOW)
    assert tenant.project_id not in before.deleted
    assert tenant.project_id in after.deleted


REFUSED: dict[str, tuple[int | str, str, str]] = {
    "none": (0, "min_value", "Ensure this value is greater than or equal to 1."),
    "too many": (36_501, "max_value", "Ensure this value is less than or equal to 36500."),
    "no number": ("long", "invalid_input", "A valid integer is required."),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_other_times_are_refused(tenant: Tenant, name: str) -> None:
    days, code, detail = REFUSED[name]

    answer = await changed(tenant, events_kept_days=days)
    preview = await tenant.api.get("/old_events/", params={"events_kept_days": days})

    assert answer.json() == invalid(code, detail, "events_kept_days")
    assert (preview.status_code, preview.json()["attr"]) == (400, "events_kept_days")


async def test_the_preview_needs_a_time_or_that_of_the_project(tenant: Tenant) -> None:
    without = await tenant.api.get("/old_events/")
    await changed(tenant, events_kept_days=30)

    assert without.json() == invalid("required", "This field is required.", "events_kept_days")
    assert (await tenant.get("/old_events/"))["stored"] == 0


def test_the_time_begins_with_a_month() -> None:
    now = datetime(2024, 3, 15, 12, tzinfo=UTC)

    assert kept_since(now, 14) == datetime(2024, 3, 1, tzinfo=UTC)
    assert kept_since(now, 15) == datetime(2024, 2, 1, tzinfo=UTC)
    assert kept_since(now, 36_500).year == 1924
