"""Ingestion stores each envelope once and in order, and none blocks the others."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest
from msgspec import json
from sqlalchemy import select

from fanion.accept_log.port import Envelope
from fanion.app.parts import ingestion
from fanion.db.schema.tables import dead_letters
from fanion.events.storage.native_encoder import NativeEncoder
from fanion.events.storage.store import EventStore
from fanion.ingest.pipeline.deduplication_store import IMPORTED_DAYS_MAX
from fanion.ingest.pipeline.store import IngestStore
from tests.support.accept_logs import ids_of_one_partition
from tests.support.application import Json, Tenant, open_app_server, open_tenant
from tests.support.killing_event_store import KillingEventStore, ProcessKilled
from tests.support.management import NOW

pytestmark = pytest.mark.every_engine

BATCH: list[Json] = [
    {"event": "a", "distinct_id": "visitor", "$set": {"n": 1}},
    {"event": "$identify", "distinct_id": "ann", "properties": {"$anon_distinct_id": "visitor"}},
    {"event": "b", "distinct_id": "ann", "properties": {"$groups": {"org": "o"}}},
]


async def send(tenant: Tenant, *items: Json) -> None:
    body = {"api_key": tenant.token, "batch": list(items)}
    assert (await tenant.public.post("/batch/", json=body)).status_code == 200


# It takes seconds: two servers start, one after another.
@pytest.mark.parametrize("inserts", [1, 2, 3])
async def test_what_was_in_hand_when_the_process_died_is_there_once(
    records_url: str,
    events: EventStore,
    project_id: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    inserts: int,
) -> None:
    """The batch has two blocks of events, and persons."""
    monkeypatch.setattr(events, "_encoder", NativeEncoder(rows_max=2))
    dying_store = cast(EventStore, KillingEventStore(events, inserts))
    with pytest.raises((ProcessKilled, BaseExceptionGroup)):
        async with (
            open_app_server(records_url, dying_store, tmp_path) as app_server,
            open_tenant(app_server, project_id) as first,
        ):
            await send(first, *BATCH)
            key = first.key
            await app_server.running_out()
    # Where several servers may ingest, another one continues only after the first has been silent.
    later = NOW + timedelta(minutes=1)
    async with open_app_server(records_url, events, tmp_path, later) as app_server:
        api = app_server.client(key, f"/api/projects/{project_id}")
        async with api, app_server.client() as public:
            tenant = Tenant(
                app_server, first.organization_id, 0, project_id, first.token, key, api, public
            )
            await tenant.capture({"event": "later", "distinct_id": "ann"})
            stored = await tenant.events()
            person = await tenant.person("ann")

    assert sorted(event["event"] for event in stored) == ["$identify", "a", "b", "later"]
    assert sorted(person["distinct_ids"]) == ["ann", "visitor"]
    assert person["properties"] == {"n": 1}


async def test_an_envelope_that_cannot_be_ingested_is_put_aside_and_the_rest_goes_on(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    poison = Envelope(project_id, NOW, "203.0.113.7", "curl", None, b'[{"event": ')

    async with (
        open_app_server(records_url, events, tmp_path) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        await send(tenant, {"event": "before", "distinct_id": "u"})
        await app_server.log.append(poison)
        await send(tenant, {"event": "after", "distinct_id": "u"})
        await app_server.ingested()
        stored = await tenant.events()
        put_aside = await app_server.records.fetch(select(dead_letters))
        counted = await app_server.metric("fanion_dead_letters_total")

    assert sorted(event["event"] for event in stored) == ["after", "before"]
    assert [(row.project_id, row.client_ip, row.body) for row in put_aside] == [
        (project_id, "203.0.113.7", poison.body)
    ]
    assert put_aside[0].error
    assert counted == 1


async def test_a_lost_log_begins_behind_what_was_ingested(
    sqlite_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    """An operator restores the records without the file of the accept log."""
    async with (
        open_app_server(sqlite_url, events, tmp_path) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        await tenant.capture({"event": "before", "distinct_id": "u"})
        token, key = tenant.token, tenant.key
    lose_log(tmp_path)
    async with (
        open_app_server(sqlite_url, events, tmp_path) as app_server,
        app_server.client() as public,
    ):
        body = {"api_key": token, "event": "after", "distinct_id": "u"}
        assert (await public.post("/capture/", json=body)).status_code == 200
        await app_server.ingested()
        async with app_server.client(key, f"/api/projects/{project_id}") as api:
            listed = (await api.get("/events/")).json()["results"]

    assert sorted(event["event"] for event in listed) == ["after", "before"]


async def test_an_import_and_live_events_are_both_ingested(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    async with (
        open_app_server(records_url, events, tmp_path) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        old = {"event": "old", "distinct_id": "u", "timestamp": "2015-01-01T00:00:00Z"}
        body = {"api_key": tenant.token, "batch": [old], "historical_migration": True}
        assert (await tenant.public.post("/batch/", json=body)).status_code == 200
        await tenant.capture({"event": "new", "distinct_id": "u"})
        stored = await tenant.events()

    assert [event["event"] for event in stored] == ["new", "old"]


async def test_an_import_that_is_repeated_much_later_adds_and_changes_nothing(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    """The ids in memory do not reach that far back, so the event store is queried."""
    old = {
        "event": "old",
        "uuid": "0190d0a6-0000-7000-8000-0000000000ab",
        "distinct_id": "u",
        "timestamp": "2015-01-01T00:00:00.000001Z",
        "$set": {"plan": "old"},
    }
    async with (
        open_app_server(records_url, events, tmp_path) as app_server,
        open_tenant(app_server, project_id) as first,
    ):
        await first.capture(old, historical_migration=True)
        await first.capture({"event": "new", "distinct_id": "u", "$set": {"plan": "new"}})
    async with open_app_server(
        records_url, events, tmp_path, NOW + timedelta(days=1)
    ) as app_server:
        api = app_server.client(first.key, f"/api/projects/{project_id}")
        async with api, app_server.client() as public:
            tenant = Tenant(
                app_server, first.organization_id, 0, project_id, first.token, "", api, public
            )
            other = {**old, "uuid": None, "$set": {}}
            await tenant.capture(old, other, historical_migration=True)
            stored = await tenant.events()
            person = await tenant.person("u")
        duplicates = await app_server.metric("fanion_items_dropped_total", reason="duplicate")

    assert [event["event"] for event in stored] == ["new", "old", "old"]
    assert person["properties"] == {"plan": "new"}
    assert duplicates == 1


async def test_a_repeated_import_adds_nothing_however_many_days_its_batch_spans(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    start, count = datetime(2015, 1, 1, tzinfo=UTC), 2 * IMPORTED_DAYS_MAX + 1
    past: list[Json] = [
        {
            "event": "old",
            "uuid": str(UUID(int=(project_id << 16) + number, version=4)),
            "distinct_id": "u",
            "timestamp": (start + timedelta(days=number)).isoformat(),
        }
        for number in range(count)
    ]
    async with (
        open_app_server(records_url, events, tmp_path) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        await tenant.capture(*past, historical_migration=True)
    async with (
        open_app_server(records_url, events, tmp_path, NOW + timedelta(days=1)) as app_server,
        app_server.client() as public,
    ):
        body = {"api_key": tenant.token, "batch": past, "historical_migration": True}
        assert (await public.post("/batch/", json=body)).status_code == 200
        await app_server.ingested()
        duplicates = await app_server.metric("fanion_items_dropped_total", reason="duplicate")

    assert duplicates == count


def lose_log(folder: Path) -> None:
    for file in folder.glob("accept-log.db*"):
        file.unlink()


async def test_events_that_name_many_large_persons_are_taken_fewer_at_a_time(
    records_url: str,
    events: EventStore,
    project_id: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ids_of_one_partition(project_id, 4)
    large = [{"event": "a", "distinct_id": name, "$set": {"text": "x" * 1_000}} for name in names]
    small = [{"event": "b", "distinct_id": name, "$set": {"n": 1}} for name in names]
    async with (
        open_app_server(records_url, events, tmp_path) as app_server,
        open_tenant(app_server, project_id) as first,
    ):
        await send(first, *large)
        await app_server.ingested()
    monkeypatch.setattr(ingestion, "IngestStore", partial(IngestStore, read_bytes_max=2_500))

    later = NOW + timedelta(minutes=1)
    async with open_app_server(records_url, events, tmp_path, later) as app_server:
        sent = [Envelope(project_id, NOW, "", "", None, json.encode([item])) for item in small]
        whole = Envelope(project_id, NOW, "", "", None, json.encode(small))
        await asyncio.gather(*map(app_server.log.append, [whole, *sent]))
        await app_server.ingested()
        api = app_server.client(first.key, f"/api/projects/{project_id}")
        async with api:
            listed = (await api.get("/events/", params={"event": "b"})).json()["results"]
            persons = (await api.get("/persons/")).json()["results"]
        put_aside = await app_server.records.fetch(select(dead_letters))

    assert sorted(event["distinct_id"] for event in listed) == names
    assert [person["properties"]["n"] for person in persons] == [1] * 4
    [letter] = put_aside
    assert letter.body == whole.body
    assert "more than 2500 bytes of properties" in letter.error
