"""Events in any order give the persons and owners of the reference, on every store."""

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any, TypeVar
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from msgspec import json
from sqlalchemy import select

from fanion.accept_log.port import Envelope, LogEntry
from fanion.db.engine import Records, open_records
from fanion.db.schema.tables import person_overrides
from fanion.events.definitions.properties import PropertyCache
from fanion.ingest.pipeline.batch import prepare_batch
from fanion.ingest.pipeline.person_cache import PersonCache
from fanion.ingest.pipeline.position_store import Span
from fanion.ingest.pipeline.resolve import Resolution
from fanion.ingest.pipeline.store import IngestStore
from fanion.persons.list_store import PersonQuery, find_persons
from fanion.persons.merge import person_uuid
from fanion.persons.state.versions_store import Versions
from fanion.projects.model import IngestionSettings
from tests.support.examples import examples
from tests.support.identities import OTHER_ID, Identities

pytestmark = pytest.mark.every_engine

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SETTINGS = settings(
    max_examples=examples(25),
    stateful_step_count=30,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)

# Few legal ids, so that they occur again and again; one of them resembles an illegal one.
LEGAL = [*"abcdefgh", "42", "Nan"]
ILLEGAL = ["Guest", "null", "'none'", '"anonymous"', " ", "[object Object]", "0"]
IDS = st.sampled_from(LEGAL) | st.sampled_from(LEGAL) | st.sampled_from(LEGAL + ILLEGAL)
NAMES = st.sampled_from("xyz")
VALUES = st.sampled_from([None, 0, 1, True, "1", [1], {"k": 1.5}])
ONCE = VALUES.filter(lambda value: value is not None)
UPDATES = st.fixed_dictionaries(
    {},
    optional={
        "$set": st.dictionaries(NAMES, VALUES, max_size=2),
        "$set_once": st.dictionaries(NAMES, ONCE, max_size=2),
        "$unset": st.lists(NAMES, max_size=2),
    },
)
AGES = st.integers(0, 5)

T = TypeVar("T")
Returned = tuple[
    list[tuple[list[str], dict[str, Any], bool, datetime, list[str]]], dict[UUID, list[str]]
]


class SharedRecords:
    """The records of all examples, each in its own project."""

    def __init__(self, url: str) -> None:
        self._loop = asyncio.new_event_loop()
        self.records: Records = self.run(open_records(url))
        self.ids = count(1)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def close(self) -> None:
        self.run(self.records.close())
        self._loop.close()


class Persons(RuleBasedStateMachine):
    """A state machine that sends events to the oracle at once, and to the store batch by batch."""

    def __init__(self, shared_records: SharedRecords) -> None:
        super().__init__()
        self.shared_records = shared_records
        self.project_id = next(shared_records.ids)
        self.oracle = Identities()
        self.waiting: list[LogEntry] = []
        self.persons: dict[str, UUID] = {}
        self.begin()

    def begin(self) -> None:
        """Start a server."""
        recent, properties = PersonCache(), PropertyCache()
        self.store = IngestStore(
            self.shared_records.records,
            "live",
            recent,
            properties,
            Versions(self.shared_records.records),
        )
        self.position = self.shared_records.run(self.store.single_position()).at

    @rule(own=IDS, update=UPDATES, age=AGES)
    def send(self, own: str, update: dict[str, Any], age: int) -> None:
        self._send("a", own, update, age)

    @rule(own=IDS, update=UPDATES)
    def send_without_a_profile(self, own: str, update: dict[str, Any]) -> None:
        self._send("a", own, {"$process_person_profile": False, **update}, 0)

    @rule(name=st.sampled_from([*OTHER_ID]), own=IDS, other=IDS, update=UPDATES, age=AGES)
    def join(self, name: str, own: str, other: str, update: dict[str, Any], age: int) -> None:
        given = 42 if other == "42" else other
        self._send(name, own, {OTHER_ID[name]: given, **update}, age)

    @rule()
    def run_ends(self) -> None:
        if self.waiting:
            self.shared_records.run(self._store())

    @rule()
    def server_is_started_anew(self) -> None:
        self.begin()

    @invariant()
    def persons_are_those_of_the_oracle(self) -> None:
        if not self.waiting:
            assert self.shared_records.run(self._stored()) == self._expected()

    def teardown(self) -> None:
        self.run_ends()
        assert self.shared_records.run(self._stored()) == self._expected()

    def _send(self, name: str, own: str, properties: dict[str, Any], age: int) -> None:
        event = uuid4()
        item = {
            "event": name,
            "distinct_id": own,
            "timestamp": (NOW - timedelta(days=age)).isoformat(),
            "properties": properties,
        }
        self.oracle.apply(item, str(event))
        body = json.encode({**item, "uuid": event})
        place = (self.waiting[-1].id if self.waiting else self.position) + 1
        self.waiting.append(LogEntry(place, Envelope(self.project_id, NOW, "", "", None, body)))

    async def _store(self) -> None:
        """Store the waiting events as the consumer does, but without an event store."""
        batch = prepare_batch(self.waiting, lambda _: IngestionSettings())
        known = await self.store.load_states(batch, NOW)
        [(project_id, arrived)] = batch.arrived.items()
        resolution = Resolution(project_id, arrived, known[project_id])
        events = list(resolution.events())
        resolved = resolution.outcome()
        written = [await self.store.versioned_changes(resolved)]
        span = Span({0: self.position}, {0: batch.last}, {})
        await self.store.claim_span(span)
        await self.store.write_batch(written, batch.tally, span, NOW)
        self.persons.update({str(event.uuid): event.person_id for event in events})
        self.position, self.waiting = batch.last, []

    async def _stored(self) -> Returned:
        records, project_id = self.shared_records.records, self.project_id
        persons = (await find_persons(records, project_id, PersonQuery(limit=1000))).persons
        moved = person_overrides.c
        rows = await records.fetch(
            select(moved.old_person, moved.new_person).where(moved.project_id == project_id)
        )
        became: dict[UUID, UUID] = {row.old_person: row.new_person for row in rows}
        events: dict[UUID, list[str]] = {}
        for event, person in self.persons.items():
            events.setdefault(became.get(person, person), []).append(event)
        stored_persons = sorted(
            (
                sorted(stored.distinct_ids),
                dict(stored.properties),
                stored.is_identified,
                stored.created_at,
                sorted(events.pop(stored.uuid, [])),
            )
            for stored in persons
        )
        return stored_persons, {uuid: sorted(names) for uuid, names in events.items()}

    def _expected(self) -> Returned:
        persons = sorted(
            (
                sorted(person.distinct_ids),
                person.properties,
                person.is_identified,
                person.created_at,
                sorted(person.events),
            )
            for person in self.oracle.persons
        )
        anonymous = self.oracle.anonymous.items()
        return persons, {
            person_uuid(self.project_id, name): sorted(names) for name, names in anonymous
        }


def test_any_sequence_makes_the_persons_of_the_reference(records_url: str) -> None:
    shared_records = SharedRecords(records_url)
    try:
        machine = partial(Persons, shared_records)
        run_state_machine_as_test(machine, settings=SETTINGS)  # type: ignore[arg-type]  # it calls it
    finally:
        shared_records.close()
