"""The ledger counts each item once, whatever happens to the process in between."""

from pathlib import Path
from typing import cast

import pytest

from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.store import Ledger, totals_of
from tests.support.application import AppServer, Json, open_app_server, open_tenant
from tests.support.killing_event_store import KillingEventStore, ProcessKilled
from tests.support.management import NOW

pytestmark = pytest.mark.long("starts real servers and kills them")

BATCH: list[Json] = [
    {"event": "a", "distinct_id": "u1"},
    {"event": "b", "distinct_id": "u2"},
    {"event": "nobody's"},
]


async def counted(app_server: AppServer, project_id: int) -> tuple[int, int, int]:
    """Return the numbers of accepted, stored and dropped items."""
    totals = totals_of(
        await Ledger(app_server.records, app_server.clock.now).counts(NOW, NOW, project_id)
    )
    return totals.accepted, totals.stored, totals.dropped


async def test_a_batch_that_is_repeated_after_a_crash_counts_once(
    sqlite_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    dying_store = cast(EventStore, KillingEventStore(events))
    with pytest.raises((ProcessKilled, BaseExceptionGroup)):
        async with (
            open_app_server(sqlite_url, dying_store, tmp_path) as app_server,
            open_tenant(app_server, project_id) as tenant,
        ):
            body = {"api_key": tenant.token, "batch": BATCH}
            assert (await tenant.public.post("/batch/", json=body)).status_code == 200
            await app_server.running_out()
            before = await counted(app_server, project_id)
    async with (
        open_app_server(sqlite_url, events, tmp_path) as app_server,
        app_server.client() as public,
    ):
        event = {"event": "later", "distinct_id": "u1", "api_key": tenant.token}
        assert (await public.post("/capture/", json=event)).status_code == 200
        await app_server.ingested()
        after = await counted(app_server, project_id)

    assert before == (0, 0, 0)
    assert after == (4, 3, 1)
