"""Flags are marked when events of applications say that their feature was viewed or used."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import cast

import pytest
from sqlalchemy import update
from structlog.testing import capture_logs

from fanion.db.schema.tables import feature_flags
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.store import EventStore
from fanion.flags.usage.enrichment_worker import Enrichment
from tests.support.application import Json, Tenant, open_tenant
from tests.support.events_engine import next_project
from tests.support.management import NOW

SOON_S = 60


@pytest.fixture(autouse=True)
async def _no_flags_of_other_tests(tenant: Tenant) -> None:
    """Delete other flags, or each run would query the event store for all of their projects."""
    others = feature_flags.c.project_id != tenant.project_id
    async with tenant.server.records.write() as connection:
        await connection.execute(update(feature_flags).where(others).values(deleted=True))


def reported(event: str, key: object, hours_ago: float = 1, prop: str = "feature_flag") -> Json:
    time = (NOW - timedelta(hours=hours_ago)).isoformat()
    return {"event": event, "distinct_id": "ann", "timestamp": time, "properties": {prop: key}}


def enrichment(tenant: Tenant) -> Enrichment:
    app_server = tenant.server
    return Enrichment(app_server.records, cast(EventStore, app_server.events), app_server.clock.now)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON_S):
        while not holds():  # noqa: ASYNC110  a log line wakes no task
            await asyncio.sleep(0.01)


async def test_flags_that_are_seen_or_used_become_enriched(tenant: Tenant) -> None:
    names = ("seen", "used", "Seen", "long-ago", "called", "a-number", "deleted")
    flags = {name: await tenant.create_flag(key=name) for name in names}
    await tenant.api.patch(f"/feature_flags/{flags['deleted']['id']}/", json={"deleted": True})
    async with open_tenant(tenant.server, next_project()) as elsewhere:
        other = await elsewhere.create_flag(key="seen")
        await tenant.capture(
            reported("$feature_view", "seen"),
            reported("$feature_view", "seen", 2),
            reported("$feature_interaction", "used", 11),
            reported("$feature_view", "long-ago", 13),
            reported("$feature_flag_called", "called"),
            reported("$feature_view", "called", prop="$feature_flag"),
            reported("$feature_view", "deleted"),
            reported("$feature_view", 7),
        )

        marked = await enrichment(tenant).mark_seen_flags()

        assert (await elsewhere.get(f"/feature_flags/{other['id']}/")) == other
    returned = (await tenant.get("/feature_flags/"))["results"]
    assert marked == 2
    assert {flag["key"] for flag in returned if flag["has_enriched_analytics"]} == {"seen", "used"}


async def test_a_flag_that_becomes_enriched_is_otherwise_as_before(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="seen")
    path = f"/feature_flags/{flag['id']}/"
    version = (await tenant.api.get(path)).headers["x-flag-version"]
    await tenant.capture(reported("$feature_view", "seen"))

    await enrichment(tenant).mark_seen_flags()
    again = await enrichment(tenant).mark_seen_flags()

    answer = await tenant.api.get(path)
    dashboard = await tenant.get(f"/dashboards/{flag['usage_dashboard']}/")
    assert again == 0
    assert answer.json() == {**flag, "has_enriched_analytics": True}
    assert answer.headers["x-flag-version"] == version
    assert (await tenant.get(f"{path}activity/"))["total_count"] == 1
    assert [tile["insight"]["name"] for tile in dashboard["tiles"]][2:] == [
        "Feature Viewed Total Volume",
        "Feature Interaction Total Volume",
    ]


async def test_a_dashboard_that_was_deleted_stays_deleted(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="seen")
    dashboard = f"/dashboards/{flag['usage_dashboard']}/"
    await tenant.api.patch(dashboard, json={"deleted": True})
    await tenant.capture(reported("$feature_interaction", "seen"))

    assert await enrichment(tenant).mark_seen_flags() == 1

    assert (await tenant.api.get(dashboard)).status_code == 404
    restored = await tenant.api.patch(dashboard, json={"deleted": False})
    assert len(restored.json()["tiles"]) == 2


async def test_the_task_goes_on_after_a_store_was_away(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="seen")
    await tenant.capture(reported("$feature_view", "seen"))
    tenant.server.events.is_down = True
    with pytest.raises(EventStoreUnavailable):
        await enrichment(tenant).mark_seen_flags()

    with capture_logs() as lines:
        task = asyncio.create_task(enrichment(tenant).run(first_s=0, every_s=0))
        try:
            await until(lambda: any(line["event"] == "flags_not_enriched" for line in lines))
            tenant.server.events.is_down = False
            await until(lambda: any(line["event"] == "flags_enriched" for line in lines))
        finally:
            tenant.server.events.is_down = False
            task.cancel()
            await asyncio.wait({task})

    assert (await tenant.get(f"/feature_flags/{flag['id']}/"))["has_enriched_analytics"] is True
