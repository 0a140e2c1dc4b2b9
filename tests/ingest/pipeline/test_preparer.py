"""Batches that another process prepares are stored once, on the right persons.

This holds whatever that process and the stores do meanwhile.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import select

from fanion.accept_log.port import Envelope, LogEntry
from fanion.db.schema.tables import dead_letters
from fanion.events.storage.store import EventStore
from fanion.ingest.pipeline import reader
from fanion.ingest.pipeline.batch import PreparedBatch
from fanion.ingest.pipeline.preparer_client import Preparer
from fanion.projects.model import IngestionSettings
from tests.support.accept_logs import ids_of_one_partition
from tests.support.application import AppServer, Tenant, open_app_server, open_tenant
from tests.support.awaited import until_soon
from tests.support.management import NOW
from tests.support.maxmind import write_maxmind
from tests.support.sse import messages


@dataclass
class PreparedCounts:
    """The numbers of batches that came back prepared and unprepared."""

    ahead: int = 0
    not_prepared: int = 0


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> PreparedCounts:
    """Make every batch a full one, so that each is sent to the process, and count the results."""
    monkeypatch.setattr(reader, "BATCH_ENVELOPES_MAX", 1)
    counts, prepare = PreparedCounts(), Preparer.prepare

    async def counted(self: Preparer, *asked: Any) -> PreparedBatch | None:
        batch = await prepare(self, *asked)
        counts.ahead += batch is not None
        counts.not_prepared += batch is None
        return batch

    monkeypatch.setattr(Preparer, "prepare", counted)
    return counts


@asynccontextmanager
async def open_with_preparer(
    records_url: str, events: EventStore, project_id: int, folder: Path, watched: PreparedCounts
) -> AsyncGenerator[Tenant]:
    """Open a workspace whose batches are prepared by another process from now on."""
    async with (
        open_app_server(records_url, events, folder, processes=2) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        await until_preparer_helps(tenant, watched)
        yield tenant


async def until_preparer_helps(tenant: Tenant, watched: PreparedCounts) -> None:
    before = watched.ahead

    async def helped() -> bool:
        await tenant.capture({"event": "warm", "distinct_id": "warm"})
        return watched.ahead > before

    await until_soon(helped, "no run was prepared elsewhere")


def process_of(app_server: AppServer) -> int:
    preparer = app_server.running.ingestion.preparer
    assert preparer is not None
    assert preparer.pid is not None
    return preparer.pid


async def named(tenant: Tenant, *events: str) -> list[dict[str, Any]]:
    matching = [event for event in await tenant.events() if event["event"] in events]
    return sorted(matching, key=lambda event: str(event["event"]))


async def test_events_are_stored_whole_and_on_the_right_persons(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path, watched: PreparedCounts
) -> None:
    async with open_with_preparer(records_url, events, project_id, tmp_path, watched) as tenant:
        before = watched.ahead
        await tenant.capture(
            {"event": "a", "distinct_id": "visitor", "$set": {"n": 1}, "properties": {"x": [1]}},
            {
                "event": "$identify",
                "distinct_id": "ann",
                "properties": {"$anon_distinct_id": "visitor", "deep": [{"er": 1}]},
            },
            {"event": "", "distinct_id": "dropped"},
        )
        stored = await named(tenant, "a", "$identify")
        person = await tenant.person("ann")
        of_person = await tenant.events(person_id=person["uuid"])
        definitions = await tenant.get("/property_definitions/", search="deep")
        dropped = await tenant.server.metric("fanion_items_dropped_total", reason="no_name")

    assert watched.ahead == before + 1
    assert [event["event"] for event in stored] == ["$identify", "a"]
    assert sorted(event["event"] for event in of_person) == ["$identify", "a"]
    assert stored[0]["properties"]["deep"] == [{"er": 1}]
    assert stored[1]["properties"]["x"] == [1]
    assert person["properties"] == {"n": 1}
    assert [result["name"] for result in definitions["results"]] == ["deep"]
    assert dropped == 1


async def test_live_events_have_their_properties(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path, watched: PreparedCounts
) -> None:
    async with open_with_preparer(records_url, events, project_id, tmp_path, watched) as tenant:
        await tenant.capture({"event": "first", "distinct_id": "ann", "$set": {"email": "a@x.y"}})
        before = watched.ahead
        stream = tenant.api.build_request("GET", "/events/stream/?distinct_id=ann")
        answer = await tenant.api.send(stream, stream=True)
        pieces = answer.aiter_raw()
        await anext(pieces)  # the stream has begun
        await tenant.capture(
            {"event": "a", "distinct_id": "ann", "properties": {"x": [1]}},
            {"event": "b", "distinct_id": "bob", "properties": {"x": [2]}},
            {"event": "c", "distinct_id": "ann", "properties": {"$elements_chain": "a:b"}},
        )
        shown = messages(((await anext(pieces)) + (await anext(pieces))).decode())
        await answer.aclose()
        stored = await named(tenant, "a", "c")

    assert watched.ahead == before + 1
    assert [message.data for message in shown] == stored


@pytest.mark.every_engine
async def test_new_group_types_are_given_here_and_known_there_from_then_on(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path, watched: PreparedCounts
) -> None:
    async with open_with_preparer(records_url, events, project_id, tmp_path, watched) as tenant:
        before = PreparedCounts(watched.ahead, watched.not_prepared)
        groups = {"$groups": {"org": "o1"}}
        await tenant.capture({"event": "a", "distinct_id": "ann", "properties": groups})
        await tenant.capture({"event": "b", "distinct_id": "ann", "properties": groups})
        await tenant.capture({"event": "c", "distinct_id": "ann", "properties": groups})
        stored = await named(tenant, "a", "b", "c")

    assert watched.not_prepared > before.not_prepared
    assert watched.ahead > before.ahead
    assert [event["properties"]["$group_0"] for event in stored] == ["o1"] * 3


async def test_what_is_sent_again_is_left_out(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path, watched: PreparedCounts
) -> None:
    async with open_with_preparer(records_url, events, project_id, tmp_path, watched) as tenant:
        first = {"event": "a", "distinct_id": "ann", "uuid": str(uuid4()), "$set": {"n": 1}}
        await tenant.capture(first, first)
        tenant.server.clock.move(seconds=1)
        await tenant.capture({"event": "b", "distinct_id": "ann", "$set": {"n": 2}})
        await tenant.capture(first, {"event": "c", "distinct_id": "ann", "uuid": str(uuid4())})
        stored = await named(tenant, "a", "b", "c")
        person = await tenant.person("ann")
        duplicates = await tenant.server.metric("fanion_items_dropped_total", reason="duplicate")

    assert [event["event"] for event in stored] == ["a", "b", "c"]
    assert person["properties"] == {"n": 2}
    assert duplicates == 2


# It takes seconds: a process of its own starts, and another one when it has ended.
@pytest.mark.every_engine
async def test_events_of_a_deleted_person_are_left_out(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path, watched: PreparedCounts
) -> None:
    """The person is deleted at the very moment at which they are accepted."""
    ann, bob = ids_of_one_partition(project_id, 2)
    async with open_with_preparer(records_url, events, project_id, tmp_path, watched) as tenant:
        await tenant.capture({"event": "a", "distinct_id": ann})
        person = await tenant.person(ann)
        answer = await tenant.api.delete(f"/persons/{person['id']}/?delete_events=true")
        assert answer.is_success
        # The process ends when it has nothing to do for a while.
        await until_preparer_helps(tenant, watched)
        before = watched.ahead
        await tenant.capture({"event": "b", "distinct_id": ann}, {"event": "c", "distinct_id": bob})
        stored = await named(tenant, "b", "c")
        erased = await tenant.server.metric("fanion_items_dropped_total", reason="erased")

    assert watched.ahead == before + 1
    assert [event["event"] for event in stored] == ["c"]
    assert erased == 1


async def test_when_the_process_dies_the_batch_is_prepared_here_and_another_one_is_started(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path, watched: PreparedCounts
) -> None:
    async with open_with_preparer(records_url, events, project_id, tmp_path, watched) as tenant:
        first = process_of(tenant.server)
        os.kill(first, signal.SIGKILL)
        await tenant.capture({"event": "a", "distinct_id": "ann"})
        await until_preparer_helps(tenant, watched)
        second = process_of(tenant.server)
        stored = await named(tenant, "a")

    assert len(stored) == 1
    assert first != second
    assert not _is_alive(second)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_poisoned_envelope_is_put_aside_and_the_rest_goes_on(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path, watched: PreparedCounts
) -> None:
    poison = Envelope(project_id, NOW, "203.0.113.7", "curl", None, b'[{"event": ')

    async with open_with_preparer(records_url, events, project_id, tmp_path, watched) as tenant:
        await tenant.server.log.append(poison)
        await tenant.capture({"event": "after", "distinct_id": "ann"})
        stored = await named(tenant, "after")
        put_aside = await tenant.server.records.fetch(select(dead_letters))

    assert len(stored) == 1
    assert [row.body for row in put_aside] == [poison.body]


async def test_with_one_process_nothing_is_prepared_elsewhere(
    sqlite_url: str, events: EventStore, tmp_path: Path
) -> None:
    async with open_app_server(sqlite_url, events, tmp_path, processes=1) as app_server:
        assert app_server.running.ingestion.preparer is None


def entry(number: int, body: bytes, ip: str = "") -> LogEntry:
    return LogEntry(number, Envelope(1, NOW, ip, "", None, body))


async def prepared(preparer: Preparer, entries: list[LogEntry]) -> PreparedBatch:
    batches: list[PreparedBatch] = []

    async def is_prepared() -> bool:
        batch = await preparer.prepare(entries, {1: IngestionSettings()}, {})
        batches.extend([] if batch is None else [batch])
        return bool(batches)

    await until_soon(is_prepared, "it never became ready")
    return batches[0]


async def test_it_looks_up_where_an_address_is(tmp_path: Path) -> None:
    germany = {"country": {"iso_code": "DE", "names": {"en": "Germany"}}}
    database = write_maxmind(tmp_path / "country.mmdb", {"192.0.2.0/24": germany})
    preparer = Preparer(str(database))
    try:
        body = b'{"event":"a","distinct_id":"ann"}'
        batch = await prepared(preparer, [entry(1, body, "192.0.2.1")])
    finally:
        await preparer.close()

    assert batch.preparer_result is not None
    [properties] = batch.preparer_result.projects[1].seen["a"]
    assert properties["$geoip_country_code"] == "DE"


async def test_a_process_that_cannot_open_its_database_prepares_nothing(tmp_path: Path) -> None:
    """The server itself would not have started."""
    preparer = Preparer(str(tmp_path / "none.mmdb"))
    try:
        for _ in range(3):
            assert await preparer.prepare([entry(1, b"{}")], {1: IngestionSettings()}, {}) is None
    finally:
        await preparer.close()


async def test_a_cancelled_request_ends_the_process() -> None:
    """Otherwise its response would be taken for the one to the next request."""
    preparer = Preparer()
    try:
        batch = await prepared(preparer, [entry(1, b'{"event":"a","distinct_id":"ann"}')])
        assert batch.events == 1
        many = b"[" + b",".join([b'{"event":"a","distinct_id":"ann"}'] * 200_000) + b"]"
        asking = asyncio.create_task(
            preparer.prepare([entry(2, many)], {1: IngestionSettings()}, {})
        )
        await asyncio.sleep(0)
        assert preparer._turn.locked()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert preparer.pid is None
        again = await prepared(preparer, [entry(3, b'{"event":"b","distinct_id":"ann"}')])
    finally:
        await preparer.close()

    assert [arrived.prepared.name for arrived in again.arrived[1]] == ["b"]
