"""An event store in memory: rows are not checked, and each insert lands block by block."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import UUID

import msgspec

from fanion.events.event import (
    Event,
    EventStoreUnavailable,
    GroupRow,
    Override,
    PersonRow,
)
from fanion.events.storage import mutations
from fanion.events.storage.client import Lanes
from fanion.events.storage.encoder import Batch, Block, EventEncoder, even_rows
from fanion.events.storage.store import EventStore
from tests.simulation.network import Link, Network

MUTATION_S = 1.0  # the longest time until its parts are rewritten
_pack = msgspec.msgpack.encode
_COLUMNS = ("row",)


class SimulatedEncoder(EventEncoder):
    """An encoder of small blocks, so that a batch has several."""

    version = "s1"
    has_drafts = False

    def __init__(self) -> None:
        super().__init__(rows_max=3)

    def event_blocks(self, events: Iterable[Event], count: int = 0) -> Iterator[Block]:
        rows_max = even_rows(count, self.rows_max) if count > self.rows_max else self.rows_max
        rows: list[Event] = []
        for event in events:
            if len(rows) == rows_max:
                yield from _block(rows)
                rows = []
            rows.append(msgspec.structs.replace(event, values=None))
        yield from _block(rows)

    def person_blocks(self, persons: Sequence[PersonRow]) -> tuple[Block, ...]:
        return _block([msgspec.structs.replace(person, values=None) for person in persons])

    def group_blocks(self, groups: Sequence[GroupRow]) -> tuple[Block, ...]:
        return _block([msgspec.structs.replace(group, values=None) for group in groups])

    def override_blocks(self, overrides: Sequence[Override]) -> tuple[Block, ...]:
        return _block(overrides)


def _block(rows: Sequence[msgspec.Struct]) -> tuple[Block, ...]:
    return (Block(_COLUMNS, _pack(rows)),) if rows else ()


@dataclass(slots=True)
class Tables:
    """The stored rows. Of a person, group or override, the highest version counts.

    Attributes:
        tokens: The tokens of the inserted blocks of events.
        pending: The number of mutations that are not done.
        mutated_at: When the last of them will be done.
    """

    events: list[Event] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    persons: dict[UUID, PersonRow] = field(default_factory=dict)
    groups: dict[tuple[int, str], GroupRow] = field(default_factory=dict)
    overrides: list[Override] = field(default_factory=list)
    pending: int = 0
    mutated_at: float = 0.0

    def insert_events(self, data: bytes, token: str) -> None:
        if token not in self.tokens:
            self.tokens.add(token)
            self.events += msgspec.msgpack.decode(data, type=list[Event])

    def insert_persons(self, data: bytes) -> None:
        for row in msgspec.msgpack.decode(data, type=list[PersonRow]):
            known = self.persons.get(row.person_id)
            if known is None or known.version <= row.version:
                self.persons[row.person_id] = row

    def insert_groups(self, data: bytes) -> None:
        for row in msgspec.msgpack.decode(data, type=list[GroupRow]):
            known = self.groups.get((row.group_type_index, row.group_key))
            if known is None or known.version <= row.version:
                self.groups[row.group_type_index, row.group_key] = row

    def insert_overrides(self, data: bytes) -> None:
        self.overrides += msgspec.msgpack.decode(data, type=list[Override])

    def final_overrides(self) -> dict[UUID, tuple[UUID, int]]:
        overrides: dict[UUID, tuple[UUID, int]] = {}
        for row in self.overrides:
            if row.version >= overrides.get(row.old_person, (None, 0))[1]:
                overrides[row.old_person] = (row.new_person, row.version)
        return overrides

    @property
    def newest_version(self) -> int:
        versions = [row.version for row in self.overrides]
        versions += [row.version for row in self.persons.values()]
        versions += [row.version for row in self.groups.values()]
        return max(versions, default=0)


class SimulatedEvents(EventStore):
    """A process's connection to the event store."""

    def __init__(self, tables: Tables, network: Network) -> None:
        self._encoder = SimulatedEncoder()
        self._cluster = None
        self._tables, self._network = tables, network
        self.link = Link(network, EventStoreUnavailable)
        self._jobs = _Reads(tables, network, self.link)

    async def insert(self, batch: Batch, token: str) -> None:
        """Insert blocks one after another, even if the process has died since."""
        tables, network = self._tables, self._network
        await self.link.request()
        network.note(f"inserts {len(batch.events)} blocks of events as {token}")
        effects: list[Callable[[], None]] = []
        for number, block in enumerate(batch.events):
            effects.append(_effect(tables.insert_events, block.data, f"{token}/{number}"))
        effects += [_effect(tables.insert_persons, block.data) for block in batch.persons]
        effects += [_effect(tables.insert_overrides, block.data) for block in batch.overrides]
        effects += [_effect(tables.insert_groups, block.data) for block in batch.groups]
        if network.chance(self.link.fails):
            del effects[network.random.randrange(len(effects) + 1) :]
            effects.append(_refuse)
        await self._landed(effects)
        await self.link.answer()

    def _landed(self, effects: Sequence[Callable[[], None]]) -> "asyncio.Future[None]":
        network = self._network
        landed: asyncio.Future[None] = network.loop.create_future()
        waiting = deque(effects)

        def land() -> None:
            try:
                if waiting:
                    waiting.popleft()()
            except EventStoreUnavailable as error:
                if not landed.done():
                    landed.set_exception(error)
                return
            if waiting:
                network.later(network.random.uniform(0.0, 0.01), land)
            elif not landed.done():
                landed.set_result(None)

        network.later(self._insert_s(), land)
        return landed

    def _insert_s(self) -> float:
        network = self._network
        if network.chance(0.1):
            return network.random.uniform(0.0, network.late_s)
        return network.random.uniform(0.0, 0.02)

    async def mirror_persons(self, persons: Sequence[PersonRow]) -> None:
        if persons:
            await self.insert(self.encoder.batch((), persons), "")

    async def mirror_groups(self, groups: Sequence[GroupRow]) -> None:
        if groups:
            await self.insert(Batch((), groups=self.encoder.group_blocks(groups)), "")

    async def override_persons(self, overrides: Sequence[Override]) -> None:
        if overrides:
            await self.insert(self.encoder.batch((), (), overrides), "")

    async def newest_version(self) -> int:
        return await self.link.call(lambda: self._tables.newest_version)

    async def existing(self, project_id: int, uuids: Sequence[UUID]) -> dict[UUID, datetime]:
        return await self.link.call(self._existing, uuids)

    async def existing_on(
        self, project_id: int, uuids: Sequence[UUID], days: Sequence[date]
    ) -> dict[UUID, datetime]:
        return await self.link.call(self._existing, uuids)

    async def recent_ids(self, since: datetime, limit: int) -> Sequence[UUID]:
        return await self.link.call(lambda: [event.uuid for event in self._tables.events])

    def _existing(self, uuids: Sequence[UUID]) -> dict[UUID, datetime]:
        ids, stored = set(uuids), dict[UUID, datetime]()
        for event in self._tables.events:
            if event.uuid in ids:
                stored[event.uuid] = min(
                    event.received_at, stored.get(event.uuid, event.received_at)
                )
        return stored


class _Reads(Lanes):
    """The lanes that run the statements of a squash."""

    def __init__(self, tables: Tables, network: Network, link: Link) -> None:
        self._tables, self._network, self._link = tables, network, link

    async def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        name = work.__name__
        return await self._link.call(getattr(self, f"run{name}"), *arguments)

    def run_projects_with_overrides(self, overrides_min: int) -> list[int]:
        overrides = self._tables.final_overrides()
        return [1] if len(overrides) >= overrides_min else []

    def run_read_overrides(self, project_id: int) -> list[tuple[UUID, UUID, int]]:
        overrides = [(old, *rest) for old, rest in self._tables.final_overrides().items()]
        return sorted(overrides, key=lambda row: row[2])[: mutations.OVERRIDES_MAX]

    def run_write_events(self, parameters: Mapping[str, Any]) -> None:
        became = dict(zip(parameters["old"], parameters["new"], strict=True))
        self._network.note(
            "squashes " + ", ".join(f"{person} → {became[person]}" for person in became)
        )
        events = self._tables.events
        stored = len(events)

        def rewrite() -> None:
            for place, event in enumerate(events[:stored]):
                if person := became.get(event.person_id):
                    events[place] = msgspec.structs.replace(event, person_id=person)

        self._mutate(rewrite)

    def run_send_mutation(self, _: str, parameters: Mapping[str, Any]) -> None:
        """Delete overrides."""
        old, upto = set(parameters["old"]), parameters["version"]
        stored = [override for override in self._tables.overrides if override.old_person in old]
        gone = {id(override) for override in stored if override.version <= upto}

        def rewrite() -> None:
            left = [override for override in self._tables.overrides if id(override) not in gone]
            self._tables.overrides[:] = left

        self._mutate(rewrite)

    def run_pending_mutations(self) -> list[tuple[str, str]]:
        return [("events", "")] * self._tables.pending

    def _mutate(self, rewrite: Callable[[], None]) -> None:
        """Change the present rows in the background, one mutation after another."""
        tables, now = self._tables, self._network.loop.time()
        tables.pending += 1

        def done() -> None:
            rewrite()
            tables.pending -= 1

        ends_at = now + self._network.random.uniform(0.0, MUTATION_S)
        tables.mutated_at = max(tables.mutated_at, ends_at) + 0.001
        self._network.later(tables.mutated_at - now, done)


def _effect(work: Callable[..., None], *args: Any) -> Callable[[], None]:
    return lambda: work(*args)


def _refuse() -> None:
    raise EventStoreUnavailable("the connection broke")
