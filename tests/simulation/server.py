"""One process: the product's own consumers, membership, loops and person changes.

They run over simulated stores, built as `app.parts.ingestion` builds them.
"""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from uuid import UUID

from fanion.activity.model import Author
from fanion.db.engine import RecordsUnavailable
from fanion.events.definitions.properties import PropertyCache
from fanion.events.event import Erasure, EventStoreUnavailable
from fanion.ingest.mirror_worker import MirrorWorker
from fanion.ingest.pipeline.batch import Budget
from fanion.ingest.pipeline.consumer import Consumer
from fanion.ingest.pipeline.membership_store import MembershipStore
from fanion.ingest.pipeline.membership_worker import Membership
from fanion.ingest.pipeline.person_cache import PersonCache
from fanion.ingest.pipeline.position_store import HISTORICAL, LIVE
from fanion.ingest.pipeline.store import IngestStore
from fanion.ingest.squash_worker import SquashWorker
from fanion.observability.metrics import Metrics
from fanion.persons.edits_store import PersonChanges
from fanion.persons.merge import PersonUpdate
from fanion.persons.state.versions_store import Versions
from fanion.projects.cache import Projects
from fanion.projects.model import Project
from fanion.runtime.change_bus import ChangeBus
from tests.simulation.accepted import Accepted, SimulatedLog
from tests.simulation.events import SimulatedEvents, Tables
from tests.simulation.loop import Process
from tests.simulation.network import Network
from tests.simulation.records import Database, SimulatedRecords
from tests.simulation.traffic import PROJECT, STARTED_AT

SQUASH_S = 5.0  # at most, between two of them
# Servers that ingest larger envelopes in pieces, as a program of another version may.
PIECES, FEW_ITEMS = 0.3, Budget(12_000)


class Server:
    def __init__(
        self, name: str, network: Network, database: Database, tables: Tables, accepted: Accepted
    ) -> None:
        self.process = Process(name)
        self.network = network
        self.records = SimulatedRecords(database, network)
        self.events = SimulatedEvents(tables, network)
        self.log = SimulatedLog(accepted)
        self.links = (self.records.link, self.events.link, self.log.link)
        turn, recent = asyncio.Lock(), PersonCache()
        versions, properties = Versions(self.records), PropertyCache()
        membership = Membership(MembershipStore(self.records, name), network.loop.time)
        self._consumers = [
            Consumer(
                self.log,
                IngestStore(
                    self.records,
                    HISTORICAL if historical else LIVE,
                    recent,
                    properties,
                    versions,
                ),
                self.events,
                self.now,
                _metrics(),
                _Projects(),
                ChangeBus(),
                turn,
                membership,
                historical=historical,
                clock=network.loop.time,
            )
            for historical in (False, True)
        ]
        if network.chance(PIECES):
            for consumer in self._consumers:
                consumer.reader.budget = FEW_ITEMS
        self._changes = PersonChanges(
            self.records, self.events, turn, recent.evict_person, _finished, versions
        )

    def now(self) -> datetime:
        return STARTED_AT + timedelta(seconds=self.network.loop.time())

    async def run(self) -> None:
        """Run until stopped."""
        loops = [asyncio.create_task(loop) for loop in (self._mirror(), self._squash())]
        lanes = [consumer.run() for consumer in self._consumers]
        ended = await asyncio.gather(*lanes, return_exceptions=True)
        for loop in loops:
            loop.cancel()
        for error in ended:
            if error is not None and not isinstance(error, RecordsUnavailable):
                raise error
        self.network.note(f"ended {ended}")

    def stop(self) -> None:
        for consumer in self._consumers:
            consumer.stop()

    async def change(self, person: UUID, name: str, value: int) -> None:
        """Change a property of a person.

        Raises:
            NotFound: There is no such person.
            Unavailable: Nothing was changed.
            RecordsUnavailable: The records failed.
        """
        author = Author(
            project_id=PROJECT, organization_id=UUID(int=1), user_id=None, now=self.now()
        )
        await self._changes.update_person(author, person, PersonUpdate({name: value}, {}))

    async def _mirror(self) -> None:
        await MirrorWorker(self.records, self.events).run()

    async def _squash(self) -> None:
        worker = SquashWorker(self.records, self.events, self.now, overrides_min=1)
        while True:
            await asyncio.sleep(self.network.random.uniform(0.0, SQUASH_S))
            try:
                await worker.squash()
            except (RecordsUnavailable, EventStoreUnavailable) as error:
                self.network.note(f"did not squash: {error}")


class _Projects(Projects):
    """Projects without rules of their own."""

    def __init__(self) -> None:
        pass

    async def by_ids(self, ids: Iterable[int]) -> Mapping[int, Project]:
        return {}


@cache
def _metrics() -> Metrics:
    return Metrics()


async def _finished(_: Erasure) -> bool:
    return True
