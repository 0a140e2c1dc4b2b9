"""The rules for two servers on one store, and for what each may keep in memory."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from msgspec import json
from sqlalchemy import Table, delete, select, update

from fanion.accept_log.port import START, Envelope, LogEntry
from fanion.db.engine import Records
from fanion.db.schema.tables import (
    groups,
    log_positions,
    person_distinct_ids,
    person_overrides,
    persons,
)
from fanion.events.definitions.properties import PropertyCache
from fanion.events.storage.encoder import Batch
from fanion.events.storage.native_encoder import NativeEncoder
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.model import Tally
from fanion.ingest.pipeline.batch import PreparedBatch, prepare_batch
from fanion.ingest.pipeline.batch_writer import CONFLICTS_MAX
from fanion.ingest.pipeline.changes_store import BatchChanges
from fanion.ingest.pipeline.person_cache import PersonCache
from fanion.ingest.pipeline.position_store import LIVE, NotLeaseHolder, Span
from fanion.ingest.pipeline.resolve import ProjectState, Resolution
from fanion.ingest.pipeline.store import IngestStore
from fanion.persons.merge import person_uuid
from fanion.persons.state.conflicts_store import PersonsChanged
from fanion.persons.state.versions_store import Versions
from fanion.projects.model import IngestionSettings
from tests.support.application import Json, Tenant, open_app_server, open_tenant
from tests.support.management import NOW

PROJECT = 1
MERGE = {
    "event": "$identify",
    "distinct_id": "ann",
    "properties": {"$anon_distinct_id": "bob"},
}
MOMENT = timedelta(seconds=1)
HIGH = 10**9


# ── The position of a lane in SQLite ─────────────────────────────────────────────────────


async def test_what_was_claimed_stays_so_when_the_batch_is_halved(records: Records) -> None:
    """An attempt at the whole batch may have stored events of its second half."""
    store = IngestStore(records, LIVE, PersonCache(), PropertyCache(), Versions(records))
    await store.single_position()
    await store.claim_span(Span(START, {0: 5}, {}))

    first = Span(START, {0: 2}, {})
    await store.claim_span(first)
    halved = await store.single_position()
    await store.write_batch([], Tally(), first, NOW)
    half_done = await store.single_position()

    assert (halved.at, halved.claimed) == (0, 5)
    assert (half_done.at, half_done.claimed) == (2, 5)


async def test_nobody_moves_a_position_twice(records: Records) -> None:
    store = IngestStore(records, LIVE, PersonCache(), PropertyCache(), Versions(records))
    await store.single_position()
    await store.write_batch([], Tally(), Span(START, {0: 2}, {}), NOW)

    with pytest.raises(NotLeaseHolder):
        await store.write_batch([], Tally(), Span(START, {0: 2}, {}), NOW)

    assert (await store.single_position()).at == 2


# ── Versions of persons ──────────────────────────────────────────────────────────────────


class Ingester:
    """A server that ingests live events, without an event store."""

    def __init__(self, records: Records) -> None:
        self.recent = PersonCache()
        self.store = IngestStore(records, LIVE, self.recent, PropertyCache(), Versions(records))
        self.position = 0

    async def ingest(self, *items: Json) -> None:
        await self.write(await self.resolved(*items))

    async def resolved(self, *items: Json) -> BatchChanges:
        known = await self.known(*items)
        resolution = Resolution(PROJECT, self._batch(*items).arrived[PROJECT], known)
        if resolution.new_types:
            await self.store.create_types({PROJECT: resolution.new_types})
        list(resolution.events())
        resolved = resolution.outcome()
        return await self.store.versioned_changes(resolved)

    async def known(self, *items: Json) -> ProjectState:
        return (await self.store.load_states(self._batch(*items), NOW))[PROJECT]

    async def write(self, written: BatchChanges) -> None:
        await self.store.single_position()
        batch = self._batch()
        done = self.position + 1
        span = Span({0: self.position}, {0: done}, {})
        await self.store.write_batch([written], batch.tally, span, NOW)
        self.position = done

    def _batch(self, *items: Json) -> PreparedBatch:
        return prepare_batch([self._entry(*items)], lambda _: IngestionSettings())

    def _entry(self, *items: Json) -> LogEntry:
        body = json.encode(list(items))
        return LogEntry(self.position + 1, Envelope(PROJECT, NOW, "", "", None, body))


@pytest.fixture
async def ingester(records: Records) -> Ingester:
    """Return one with ann in memory, who is bob too."""
    made = Ingester(records)
    await made.ingest({"event": "a", "distinct_id": "ann", "$set": {"plan": "free"}}, MERGE)
    return made


async def edit(records: Records) -> None:
    """Change all persons, as another server does."""
    change = update(persons).values(properties={"plan": "pro"}, version=persons.c.version + 2)
    async with records.write() as connection:
        await connection.execute(change)


async def remove(records: Records) -> None:
    async with records.write() as connection:
        await connection.execute(delete(person_distinct_ids))
        await connection.execute(delete(persons))


def seen(distinct_id: str, **properties: Any) -> Json:
    return {"event": "seen", "distinct_id": distinct_id, "$set": properties}


@pytest.mark.postgresql
async def test_what_another_server_has_changed_of_a_remembered_person_is_read(
    records: Records, ingester: Ingester
) -> None:
    remembered, _ = ingester.recent.find_persons(PROJECT, ["ann", "bob"])
    await edit(records)

    known = (await ingester.known(seen("ann"))).persons
    await ingester.ingest(seen("ann"))
    both = (await ingester.known(seen("ann"), seen("bob"))).persons

    assert remembered["ann"] is remembered["bob"]
    assert known["ann"].properties == {"plan": "pro"}
    assert both["ann"] is both["bob"]
    assert both["bob"].properties == {"plan": "pro"}


@pytest.mark.postgresql
async def test_a_person_met_by_another_distinct_id_is_not_the_remembered_one(
    records: Records, ingester: Ingester
) -> None:
    """The person is cached as ann, changed, and then found as bob for the first time."""
    [bob] = ingester.recent.find_persons(PROJECT, ["bob"])[0].values()
    ingester.recent.evict(PROJECT, {"bob": bob}, {(bob.id, bob.version)})
    ingester.recent.put_persons(PROJECT, {"ann": bob})
    ingester.recent.canonical({"ann": bob})
    await edit(records)

    known = (await ingester.known(seen("bob"))).persons

    assert known["bob"].properties == {"plan": "pro"}


@pytest.mark.postgresql
async def test_a_person_that_is_gone_is_not_remembered(
    records: Records, ingester: Ingester
) -> None:
    await remove(records)

    known = (await ingester.known(seen("ann"))).persons

    assert known == {}


def described(group_type: str, key: str, **properties: Any) -> Json:
    group = {"$group_type": group_type, "$group_key": key, "$group_set": properties}
    return {"event": "$groupidentify", "distinct_id": "ann", "properties": group}


def merged(distinct_id: str, alias: str) -> Json:
    event = {"event": "$merge_dangerously", "distinct_id": distinct_id}
    return {**event, "properties": {"alias": alias}}


@pytest.mark.every_engine
@pytest.mark.parametrize("happens", [edit, remove])
async def test_a_batch_is_refused_when_a_person_was_changed_that_it_only_used(
    records: Records, ingester: Ingester, happens: Callable[[Records], Awaitable[None]]
) -> None:
    written = await ingester.resolved(seen("ann", plan="free"))
    assert not written.resolved.persons.updated
    await happens(records)

    with pytest.raises(PersonsChanged):
        await ingester.write(written)

    [position] = await records.fetch(
        select(log_positions.c.position).where(log_positions.c.consumer == LIVE)
    )
    assert position.position == ingester.position


@pytest.mark.every_engine
@pytest.mark.parametrize(
    ("replaced", "item"),
    [
        (persons, seen("ann", plan="pro")),
        (groups, described("company", "acme", size=5)),
        (person_overrides, merged("dan", "ann")),
    ],
    ids=["person", "group", "override"],
)
async def test_a_batch_has_a_higher_version_than_all_that_it_replaces(
    records: Records, ingester: Ingester, replaced: Table, item: Json
) -> None:
    """A server of an earlier version counts versions by itself."""
    await ingester.ingest(seen("cat"), seen("dan"), described("company", "acme"))
    await ingester.ingest(merged("ann", "cat"))
    async with records.write() as connection:
        await connection.execute(update(replaced).values(version=HIGH))

    written = await Ingester(records).resolved(item)

    assert written.version > HIGH


@pytest.mark.every_engine
async def test_events_of_a_person_that_was_never_created_count_for_the_owner(
    records: Records, ingester: Ingester
) -> None:
    """An attempt has stored events of cat with the person that it would have created."""
    attempt = await Ingester(records).resolved(seen("cat"))
    [never] = [person.uuid for person in attempt.resolved.persons.created]

    await ingester.ingest({**MERGE, "properties": {"$anon_distinct_id": "cat"}})

    rows = await records.fetch(select(person_overrides.c.old_person, person_overrides.c.new_person))
    assert (never, person_uuid(PROJECT, "ann")) in {
        (row.old_person, row.new_person) for row in rows
    }


@pytest.mark.every_engine
async def test_of_two_batches_that_create_one_group_type_index_the_second_is_repeated(
    records: Records,
) -> None:
    one, other = Ingester(records), Ingester(records)
    await one.store.create_types({PROJECT: {"company": 0}})

    with pytest.raises(PersonsChanged):
        await other.store.create_types({PROJECT: {"team": 0}})
    await other.ingest(described("team", "red", plan="pro"))

    types = (await other.known(seen("ann"))).types
    assert types == {"company": 0, "team": 1}


@pytest.mark.every_engine
async def test_a_group_that_another_batch_has_changed_is_read_again(records: Records) -> None:
    one, other = Ingester(records), Ingester(records)
    await one.ingest(described("company", "acme", plan="free"))
    stale = await other.resolved(described("company", "acme", plan="free", size=1))
    await one.ingest(described("company", "acme", plan="pro"))
    other.position = one.position

    with pytest.raises(PersonsChanged):
        await other.write(stale)


@pytest.mark.every_engine
async def test_two_batches_cannot_create_one_distinct_id_for_two_persons(
    records: Records,
) -> None:
    one, other = Ingester(records), Ingester(records)
    first, second = await one.resolved(MERGE), await other.resolved(seen("bob"))
    await one.write(first)
    other.position = one.position

    with pytest.raises(PersonsChanged):
        await other.write(second)


@pytest.mark.every_engine
async def test_a_person_that_is_merged_while_it_gets_an_override_takes_it_along(
    records: Records, ingester: Ingester
) -> None:
    """The visitor eve was never a person of her own, but may have visited without a profile."""
    merge = {
        "event": "$merge_dangerously",
        "distinct_id": "zoe",
        "properties": {"alias": "ann"},
    }
    other = Ingester(records)
    await ingester.ingest(seen("zoe"))
    attached = await ingester.resolved({**MERGE, "properties": {"$anon_distinct_id": "eve"}})
    merged = await other.resolved(merge)
    await ingester.write(attached)
    other.position = ingester.position

    with pytest.raises(PersonsChanged):
        await other.write(merged)
    await other.ingest(merge)

    rows = await records.fetch(select(person_overrides.c.old_person, person_overrides.c.new_person))
    ann, bob, eve, zoe = (person_uuid(PROJECT, name) for name in ("ann", "bob", "eve", "zoe"))
    assert {row.old_person: row.new_person for row in rows} == {ann: zoe, bob: zoe, eve: zoe}


# ── While a run is in hand ───────────────────────────────────────────────────────────────


class HaltingEventStore:
    """An event store that halts after the first insert of an attempt, while `goes_on` is cleared.

    The rows of the insert are stored.

    Attributes:
        tokens: The tokens of these inserts.
    """

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self.reached, self.goes_on = asyncio.Event(), asyncio.Event()
        self.goes_on.set()
        self.tokens: list[str] = []

    async def insert(self, batch: Batch, token: str) -> None:
        await self._store.insert(batch, token)
        if token.endswith("-0"):
            self.tokens.append(token)
            self.reached.set()
            await self.goes_on.wait()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@dataclass
class ServerPair:
    """Two servers on one store.

    Attributes:
        tenant: An organization on the server that ingests.
        other: A client of the other server's management API, by whose clock it is a minute earlier.
    """

    tenant: Tenant
    other: httpx.AsyncClient
    halting: HaltingEventStore

    async def append_while(
        self, *bodies: list[Json], happens: Callable[[], Awaitable[httpx.Response]], times: int = 1
    ) -> None:
        """Append events and call `happens` between the reading of their persons and the writing.

        That takes at least three events.
        """
        sent = [
            Envelope(self.tenant.project_id, NOW, "", "", None, json.encode(body))
            for body in bodies
        ]
        self.halting.reached.clear()
        self.halting.goes_on.clear()
        self.halting.tokens.clear()
        await asyncio.gather(*map(self.tenant.server.log.append, sent))  # one group
        for _ in range(times):
            await self.halting.reached.wait()
            self.halting.reached.clear()
            answer = await happens()
            assert answer.is_success, answer.text
            self.halting.goes_on.set()
            self.halting.goes_on.clear()
        self.halting.goes_on.set()
        await self.tenant.server.ingested()

    async def names(self, **query: Any) -> list[str]:
        return sorted(event["event"] for event in await self.tenant.events(**query))


@pytest.fixture
async def pair(
    records_url: str,
    events: EventStore,
    project_id: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[ServerPair]:
    """Yield two servers, of which only the first ingests.

    Blocks have one event: the third is made only when the first is stored.
    """
    monkeypatch.setattr(events, "_encoder", NativeEncoder(rows_max=1))
    halting = HaltingEventStore(events)
    earlier = NOW - timedelta(minutes=1)
    async with (
        open_app_server(records_url, cast(EventStore, halting), tmp_path / "a") as app_server,
        open_tenant(app_server, project_id) as tenant,
        open_app_server(records_url, events, tmp_path / "b", earlier, role="api") as second,
        second.client(tenant.key, f"/api/projects/{project_id}") as other,
    ):
        yield ServerPair(tenant, other, halting)


def named(distinct_id: str, *names: str, **properties: Any) -> list[Json]:
    return [{**seen(distinct_id, **properties), "event": name} for name in names]


@pytest.mark.postgresql
async def test_an_edit_on_another_server_while_a_batch_is_in_hand_does_not_lose_a_set(
    pair: ServerPair,
) -> None:
    await pair.tenant.capture(seen("ann", plan="free"))
    person = await pair.tenant.person("ann")
    change = {"properties": {"plan": "pro"}}

    await pair.append_while(
        named("ann", "x", "y", "z", plan="free"),
        happens=lambda: pair.other.patch(f"/persons/{person['id']}/", json=change),
    )

    assert (await pair.tenant.person("ann"))["properties"] == {"plan": "free"}
    assert await pair.names() == ["seen", "x", "y", "z"]


@pytest.mark.postgresql
async def test_events_in_hand_of_a_person_that_another_server_deletes_are_of_a_new_one(
    pair: ServerPair,
) -> None:
    await pair.tenant.capture(seen("ann"), MERGE)
    gone = await pair.tenant.person("bob")

    await pair.append_while(
        named("bob", "x", "y", "z"), happens=lambda: pair.other.delete(f"/persons/{gone['id']}/")
    )

    person = await pair.tenant.person("bob")
    assert person["id"] != gone["id"]
    assert await pair.names(person_id=person["id"]) == ["x", "y", "z"]


@pytest.mark.postgresql
async def test_a_group_type_has_its_index_before_an_event_is_stored_with_it(
    pair: ServerPair,
) -> None:
    """Otherwise another type could get the index, while the event stays as it is."""
    types: list[Json] = []

    async def look() -> httpx.Response:
        answer = await pair.other.get("/groups_types/")
        types.extend(answer.json())
        return answer

    grouped = {"event": "x", "distinct_id": "ann", "properties": {"$groups": {"team": "red"}}}
    await pair.append_while([grouped, *named("ann", "y", "z")], happens=look)

    assert [(group_type["group_type"], group_type["group_type_index"]) for group_type in types] == [
        ("team", 0)
    ]


@pytest.mark.postgresql
async def test_a_batch_whose_persons_are_changed_again_and_again_is_taken_in_halves(
    pair: ServerPair,
) -> None:
    await pair.tenant.capture(seen("ann"), seen("bob"))
    person = await pair.tenant.person("ann")
    numbers = count()

    await pair.append_while(
        named("ann", "a", "b"),
        named("bob", "c", "d"),
        happens=lambda: pair.other.patch(
            f"/persons/{person['id']}/", json={"properties": {"n": next(numbers)}}
        ),
        times=CONFLICTS_MAX,
    )

    spans = [tuple(token.split("-")[1:3]) for token in pair.halting.tokens]
    (first, last), halves = spans[0], spans[CONFLICTS_MAX:]
    assert spans[:CONFLICTS_MAX] == [(first, last)] * CONFLICTS_MAX
    assert halves == [(first, first), (last, last)]
    assert len(set(pair.halting.tokens)) == len(pair.halting.tokens)
    assert await pair.names() == ["a", "b", "c", "d", "seen", "seen"]
