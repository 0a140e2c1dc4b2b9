"""Envelopes that would take too much memory are ingested in pieces: each item once, in order.

This holds whatever happens in between.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import msgspec
import pytest
from sqlalchemy import insert, select

from fanion.accept_log.port import Envelope
from fanion.db.engine import Records
from fanion.db.schema.tables import (
    dead_letters,
    person_distinct_ids,
    person_overrides,
    persons,
)
from fanion.events.event import EventRejected, Override
from fanion.events.storage.encoder import Batch
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.dead_letters_store import DeadLetterFilter, DeadLetters
from fanion.ingest.pipeline.batch import Budget
from fanion.ingest.pipeline.position_store import ingested_upto
from fanion.persons.merge import person_uuid
from tests.support.application import AppServer, Json, Tenant, open_app_server, open_tenant
from tests.support.awaited import until_soon
from tests.support.killing_event_store import KillingEventStore, ProcessKilled
from tests.support.management import NOW

# The same id occurs twice, in two pieces.
OTHER = UUID("018e0000-0000-7000-8000-00000000000b")
REPEATED = "018e0000-0000-7000-8000-00000000000a"


def item(number: int) -> Json:
    named = {"uuid": REPEATED} if number in (1, 7) else {}
    return {"event": f"e{number}", "distinct_id": "ann", "$set": {"n": number}, **named}


ITEMS = [item(number) for number in range(9)]
# Two or three items each, so that there are four or five pieces.
BUDGET = Budget(3 * Budget().cost(msgspec.json.encode(item(0))))


class RefusingEventStore:
    """An event store that refuses batches which name one event."""

    def __init__(self, store: EventStore, refused: bytes) -> None:
        self._store = store
        self.refused = refused
        self.inserts = 0

    async def insert(self, batch: Batch, token: str) -> None:
        if any(self.refused in block.data for block in batch.events):
            raise EventRejected("one of these")
        self.inserts += bool(batch.events)
        await self._store.insert(batch, token)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def limit_memory(app_server: AppServer, budget: Budget = BUDGET) -> None:
    for consumer in app_server.running.ingestion.consumers:
        consumer.reader.budget = budget


async def names(tenant: Tenant) -> list[str]:
    return sorted(event["event"] for event in await tenant.events())


async def counts(tenant: Tenant) -> tuple[int, int, int]:
    """Return the ledger's numbers of stored items, duplicates and dead letters."""
    totals = (await tenant.get("/ingestion/"))["totals"]
    return totals["stored"], totals["duplicates"], totals["dead_lettered"]


ALL_BUT_THE_REPEATED = [f"e{n}" for n in range(9) if n != 7]


@pytest.mark.every_engine
@pytest.mark.parametrize("historical", [False, True])
async def test_each_item_is_stored_once_and_in_order(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path, historical: bool
) -> None:
    watched = RefusingEventStore(events, b"nothing of that")
    async with (
        open_app_server(records_url, cast(EventStore, watched), tmp_path) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        limit_memory(app_server)
        await tenant.capture(*ITEMS, historical_migration=historical)
        await tenant.capture(
            {"event": "later", "distinct_id": "ann"}, historical_migration=historical
        )

        assert await names(tenant) == sorted([*ALL_BUT_THE_REPEATED, "later"])
        assert watched.inserts >= 4
        assert (await tenant.person("ann"))["properties"] == {"n": 8}
        assert await counts(tenant) == (9, 1, 0)
        # The notes about pieces are not positions in the log.
        consumers = app_server.running.ingestion.consumers
        positions = [at for consumer in consumers for at in consumer.positions.values()]
        assert await ingested_upto(app_server.records) == max(positions) < len(ITEMS)


# The first insert, one between pieces and the last one; the others repeat the proof.
REPEATS = pytest.mark.long("starts two servers for each insert of one envelope")
INSERTS = [n if n in (1, 4, 8) else pytest.param(n, marks=REPEATS) for n in range(1, 9)]


# It takes seconds: two servers start, one after another.
@pytest.mark.parametrize("inserts", INSERTS)
async def test_what_was_in_hand_when_the_process_died_goes_on(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path, inserts: int
) -> None:
    """A piece is one insert of events and one of its person."""
    dying_store = cast(EventStore, KillingEventStore(events, inserts))
    with pytest.raises((ProcessKilled, BaseExceptionGroup)):
        async with (
            open_app_server(records_url, dying_store, tmp_path) as app_server,
            open_tenant(app_server, project_id) as first,
        ):
            limit_memory(app_server)
            body = {"api_key": first.token, "batch": ITEMS}
            assert (await first.public.post("/batch/", json=body)).status_code == 200
            key = first.key
            await app_server.running_out()
    # The limit for large envelopes may have changed by then.
    budget = BUDGET if inserts % 2 else Budget()
    async with open_app_server(
        records_url, events, tmp_path, NOW + timedelta(minutes=1)
    ) as app_server:
        limit_memory(app_server, budget)
        api = app_server.client(key, f"/api/projects/{project_id}")
        async with api, app_server.client() as public:
            tenant = Tenant(
                app_server, first.organization_id, 0, project_id, first.token, key, api, public
            )
            await tenant.capture({"event": "later", "distinct_id": "ann"})

            assert await names(tenant) == sorted([*ALL_BUT_THE_REPEATED, "later"])
            assert (await tenant.person("ann"))["properties"] == {"n": 8}
            assert await counts(tenant) == (9, 1, 0)


@pytest.mark.every_engine
async def test_what_was_in_hand_when_the_process_died_counts_for_the_person_there_is_by_then(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    """The first piece was stored with a person that was never created."""
    dying_store = cast(EventStore, KillingEventStore(events))
    with pytest.raises((ProcessKilled, BaseExceptionGroup)):
        async with (
            open_app_server(records_url, dying_store, tmp_path) as app_server,
            open_tenant(app_server, project_id) as first,
        ):
            limit_memory(app_server)
            body = {"api_key": first.token, "batch": ITEMS}
            assert (await first.public.post("/batch/", json=body)).status_code == 200
            key = first.key
            await app_server.running_out()
            await attach_to_other_person(app_server.records, events, project_id, "ann")
    async with open_app_server(
        records_url, events, tmp_path, NOW + timedelta(minutes=1)
    ) as app_server:
        limit_memory(app_server)
        api = app_server.client(key, f"/api/projects/{project_id}")
        async with api, app_server.client() as public:
            tenant = Tenant(
                app_server, first.organization_id, 0, project_id, first.token, key, api, public
            )
            await tenant.capture({"event": "later", "distinct_id": "ann"})

            of_ann = await tenant.events(person_id=str(OTHER))
            assert sorted(event["event"] for event in of_ann) == [*ALL_BUT_THE_REPEATED, "later"]


async def attach_to_other_person(
    records: Records, events: EventStore, project_id: int, distinct_id: str
) -> None:
    """Attach a distinct id to a person that has another one too, as another server does."""
    person = {"project_id": project_id, "uuid": OTHER, "properties": {}, "is_identified": False}
    async with records.write() as connection:
        made = await connection.execute(
            insert(persons).values(**person, created_at=NOW, version=1, email=None)
        )
        assert made.inserted_primary_key is not None
        [number] = made.inserted_primary_key
        await connection.execute(
            insert(person_distinct_ids).values(
                project_id=project_id, distinct_id=distinct_id, person_id=number
            )
        )
        override = Override(project_id, person_uuid(project_id, distinct_id), OTHER, 1)
        row = msgspec.structs.asdict(override)
        await connection.execute(insert(person_overrides).values(row))
    await events.override_persons([override])


async def test_a_piece_that_cannot_be_stored_is_put_aside_alone(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    refusing = cast(EventStore, RefusingEventStore(events, b"e4"))
    async with (
        open_app_server(records_url, refusing, tmp_path) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        limit_memory(app_server)
        await tenant.capture(*ITEMS)
        put_aside = await app_server.records.fetch(select(dead_letters))
        stored = await names(tenant)
        reported = await counts(tenant)

    [letter] = put_aside
    aside = msgspec.json.decode(letter.body)
    assert "e4" in [item["event"] for item in aside]
    assert all(item["uuid"] for item in aside)
    missing = {item["event"] for item in aside}
    assert stored == sorted(set(ALL_BUT_THE_REPEATED) - missing)
    assert reported[2] == letter._mapping["items"] == len(aside) < 4
    assert reported[0] == len(stored)


# It takes seconds: a server of its own stores each piece alone.
async def test_a_large_dead_letter_is_tried_again_in_pieces(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    """An earlier version stored it whole as a dead letter."""
    refusing = RefusingEventStore(events, b"e")
    async with (
        open_app_server(records_url, cast(EventStore, refusing), tmp_path) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        await tenant.capture(*(sent for sent in ITEMS if "uuid" not in sent))
        before = await counts(tenant)
        limit_memory(app_server)
        refusing.refused = b"nothing of that"
        letters = DeadLetters(app_server.records)
        assert await letters.mark_for_retry(DeadLetterFilter(), NOW) == 1
        await until_soon(lambda: all_tried(app_server), "the letters stay")

        assert await names(tenant) == [f"e{n}" for n in range(9) if n not in (1, 7)]
        assert (await tenant.person("ann"))["properties"] == {"n": 8}
        assert before == (0, 0, 7)
        assert await counts(tenant) == (7, 0, 0)


async def all_tried(app_server: AppServer) -> bool:
    return not await app_server.records.fetch(select(dead_letters.c.id))


async def test_what_cannot_be_read_is_put_aside_whole(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    body = b'[{"event": ' * 100
    async with (
        open_app_server(records_url, events, tmp_path) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        limit_memory(app_server)
        await app_server.log.append(Envelope(project_id, NOW, "", "", None, body))
        await tenant.capture({"event": "later", "distinct_id": "ann"})
        put_aside = await app_server.records.fetch(select(dead_letters.c.body))
        stored = await names(tenant)

    assert [row.body for row in put_aside] == [body]
    assert stored == ["later"]


async def test_many_envelopes_are_several_batches(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> None:
    watched = RefusingEventStore(events, b"nothing of that")
    async with (
        open_app_server(records_url, cast(EventStore, watched), tmp_path) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        limit_memory(app_server, Budget(2 * Budget().cost(b'[{"event":"e0","distinct_id":"ann"}]')))
        for n in range(9):
            body = msgspec.json.encode([{"event": f"e{n}", "distinct_id": "ann"}])
            await app_server.log.append(
                Envelope(project_id, NOW, "", "", None, body, historical=True)
            )
        await app_server.ingested()

        assert await names(tenant) == [f"e{n}" for n in range(9)]
        assert watched.inserts >= 5
