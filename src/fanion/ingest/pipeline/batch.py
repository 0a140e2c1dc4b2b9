"""A batch: the envelopes that are ingested together."""

import builtins
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Raw, Struct, structs

from fanion.accept_log.port import USER_AGENT_CHARS_MAX, Envelope, LogEntry
from fanion.errors import AppError
from fanion.events.storage.native_encoder import Draft
from fanion.ingest.items import parse_uuid, read_items
from fanion.ingest.ledger.model import STORED, Dropped, Tally, count_of, joined
from fanion.ingest.pipeline.prepare import Arrived, Context, Drop, GeoIp, Prepared, prepare
from fanion.projects.model import IngestionSettings
from fanion.server.forwarded import read_address

RulesOf = Callable[[int], IngestionSettings]


class ProjectSamples(Struct, frozen=True, array_like=True):
    """types: group type → index, among them all that the events of a project name
    seen:  event → properties that stand for those of all its occurrences
    """

    types: dict[str, int]
    seen: dict[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class PreparerResult:
    """Work done by the preparer process. Valid only if every event is stored and the group types
    match. The events themselves are without their properties then.

    projects: by id
    requests: the project of each, and how many events arrived of it, in the order of arrival
    drafts:   of the events of all requests
    """

    projects: Mapping[int, ProjectSamples]
    requests: Sequence[tuple[int, int]]
    drafts: Sequence[Draft]


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """arrived: by project, in the order of arrival; dropped: items by reason
    start:   of a piece of an envelope, as of its entry
    named:   the ids that clients gave to those that arrived, by project
    tally:   of the dropped items
    """

    first: int
    last: int
    arrived: Mapping[int, Sequence[Arrived]]
    named: Mapping[int, Sequence[UUID]]
    dropped: Mapping[Drop, int] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    preparer_result: PreparerResult | None = None
    start: int = 0

    @property
    def events(self) -> int:
        return sum(map(len, self.arrived.values()))

    def ledger(self, stored: Mapping[int, Sequence[datetime]]) -> Tally:
        """Of all items.

        stored: by project, when the stored ones were accepted; the others that arrived were
                left out because their person was deleted
        """
        counts = count_of(STORED, stored)
        if sum(counts.values()) < self.events:
            arrived = count_of(
                Drop.ERASED,
                {key: [one.received_at for one in events] for key, events in self.arrived.items()},
            )
            for (project_id, minute, _), items in list(counts.items()):
                arrived[project_id, minute, Drop.ERASED] -= items
            counts += arrived
        return joined(self.tally, Tally(counts))

    def named_days(self, project_id: int) -> list[date]:
        """The days, in UTC, of the events to which clients gave an id."""
        events = self.arrived[project_id]
        return sorted({one.prepared.timestamp.date() for one in events if one.is_named})


class Preparation:
    """Prepares the envelopes of a batch, one after another."""

    def __init__(self, rules_of: RulesOf, geoip: GeoIp | None = None) -> None:
        self._rules_of = rules_of
        self._geoip = geoip
        self._dropped = Dropped()
        self.counts: Counter[Drop] = Counter()

    def arrived(self, entry: LogEntry) -> list[Arrived]:
        """What arrives of this one."""
        envelope = entry.envelope
        context = Context(
            envelope.project_id,
            entry.id,
            envelope.received_at,
            envelope.sent_at,
            # Former versions, and other writers of the log, may have stored anything.
            read_address(envelope.client_ip),
            envelope.user_agent[:USER_AGENT_CHARS_MAX],
            self._rules_of(envelope.project_id),
            self._geoip,
        )
        arrived: list[Arrived] = []
        for index, item in enumerate(read_items(envelope.body), entry.start):
            outcome = prepare(item, context, index)
            if isinstance(outcome, Drop):
                self._drop(envelope, outcome, item)
            else:
                is_named = bool(item.get("uuid"))
                arrived.append(Arrived(outcome, envelope.received_at, is_named))
        return arrived

    def _drop(self, envelope: Envelope, reason: Drop, item: dict[str, Any]) -> None:
        self.counts[reason] += 1
        self._dropped.add(
            envelope.project_id, envelope.received_at, reason, item, envelope.user_agent
        )

    def tally(self) -> Tally:
        """Of what was dropped."""
        return self._dropped.tally()


def prepare_batch(
    entries: Sequence[LogEntry], rules_of: RulesOf, geoip: GeoIp | None = None
) -> PreparedBatch:
    """entries: at least one, in the order of their ids"""
    preparation = Preparation(rules_of, geoip)
    arrived: dict[int, list[Arrived]] = {}
    for entry in entries:
        arrived.setdefault(entry.envelope.project_id, []).extend(preparation.arrived(entry))
    return PreparedBatch(
        entries[0].id,
        entries[-1].id,
        arrived,
        named_ids(arrived),
        preparation.counts,
        preparation.tally(),
        start=entries[0].start,
    )


def named_ids(arrived: Mapping[int, Sequence[Arrived]]) -> dict[int, list[UUID]]:
    return {
        project_id: [one.prepared.uuid for one in events if one.is_named]
        for project_id, events in arrived.items()
    }


def count_items(body: bytes) -> int:
    """How many items a body counts for in the ledger: 1 for one that cannot be read."""
    try:
        return len(read_items(body)) or 1
    except (AppError, ValueError, RecursionError):
        return 1


def without_duplicates(
    batch: PreparedBatch, stored: Mapping[int, Mapping[UUID, datetime]]
) -> PreparedBatch:
    """Leave out what is stored already, and all but the first of what the batch says twice.

    stored: by project, ids of this batch that the event store has, and when they were accepted:
            one with the time of this batch's own is no repetition, but was stored by an attempt
            at this batch that did not come to its end
    """
    if not any(map(len, stored.values())) and all(
        len(set(uuids)) == len(uuids) for uuids in batch.named.values()
    ):
        return batch
    remaining: dict[int, list[Arrived]] = {}
    left_out = Dropped()
    for project_id, events in batch.arrived.items():
        accepted, met = stored.get(project_id, {}), set[UUID]()
        of_project = remaining[project_id] = []
        for event in events:
            uuid, at = event.prepared.uuid, event.received_at
            if event.is_named and (uuid in met or accepted.get(uuid, at) != at):
                left_out.add(project_id, at, Drop.DUPLICATE, _as_sent(event.prepared), "")
                continue
            if event.is_named:
                met.add(uuid)
            of_project.append(event)
    tally = left_out.tally()
    if not tally.counts:
        return batch
    dropped = {**batch.dropped, Drop.DUPLICATE: sum(tally.counts.values())}
    tally = joined(batch.tally, tally)
    named = named_ids(remaining)
    return replace(
        batch, arrived=remaining, named=named, dropped=dropped, tally=tally, preparer_result=None
    )


def _as_sent(prepared: Prepared) -> dict[str, Any]:
    return {
        "event": prepared.name,
        "distinct_id": prepared.distinct_id,
        "uuid": str(prepared.uuid),
        "properties": prepared.properties,
    }


# What a byte of JSON, an object and a list come to, once prepared and on the way to the event
# store. Of a MB each: events of 30 bytes took 1.1 of what is reckoned so, ordinary ones 1.0, items
# that are dropped 0.3, lists of lists 0.9, numbers 2.6.
TEXT_FACTOR, OBJECT_BYTES, LIST_BYTES = 8, 700, 64
# Where places of addresses are looked up, each event and its person get 13 properties more.
LOCATED_OBJECT_BYTES = 4_000
# 190,000 of the smallest events. Batches of ordinary ones, of 200 bytes and more, end at their
# 16 MiB of text before.
EXPANDED_BYTES_MAX = 256 * 2**20


class Budget(Struct, frozen=True):
    """Of what is ingested at once. bytes: as reckoned; object_bytes: for each object"""

    bytes: int = EXPANDED_BYTES_MAX
    object_bytes: int = OBJECT_BYTES

    def cost(self, body: builtins.bytes) -> int:
        """About as much memory as its events take while they are ingested. This takes 0.7 ms a
        MB."""
        objects, lists = body.count(b"{"), body.count(b"[")
        return len(body) * TEXT_FACTOR + objects * self.object_bytes + lists * LIST_BYTES

    def exceeds(self, entries: Sequence[LogEntry]) -> bool:
        """Whether they come to more."""
        return sum(self.cost(entry.envelope.body) for entry in entries) > self.bytes

    def surely_takes(self, entries: Sequence[LogEntry]) -> bool:
        """Whether the length of their bodies alone shows that they do not exceed it."""
        size = sum(len(entry.envelope.body) for entry in entries)
        return size <= self.bytes // (TEXT_FACTOR + self.object_bytes)

    def half(self) -> "Budget":
        return Budget(self.bytes // 2, self.object_bytes)


def within(entries: Sequence[LogEntry], budget: Budget) -> Sequence[LogEntry]:
    """The first ones that come to no more, or the first one alone."""
    size = 0
    for number, entry in enumerate(entries):
        size += budget.cost(entry.envelope.body)
        if number and size > budget.bytes:
            return entries[:number]
    return entries


class _Batch(Struct, gc=False):
    batch: list[Raw] | None = None


def pieces(entry: LogEntry, start: int, budget: Budget) -> list[LogEntry]:
    """The items from `start` on, in pieces that come to no more each, or have one item. The same
    again after any of them: a piece does not depend on those before it.

    One that is no list of items, or cannot be read, is one piece.
    """
    items = _raw_items(entry.envelope.body)
    if not items:
        return [entry]
    found: list[LogEntry] = []
    for some in _cut(items[start:], budget):
        body = b"[" + b",".join(some) + b"]"
        found.append(
            structs.replace(entry, start=start, envelope=structs.replace(entry.envelope, body=body))
        )
        start += len(some)
    return found


def named_before(entry: LogEntry, start: int) -> set[UUID]:
    """The ids that the client gave to the items before `start`."""
    return set() if start == 0 else ids_of((_raw_items(entry.envelope.body) or [])[:start])


def ids_of(items: Collection[Raw]) -> set[UUID]:
    given = (msgspec.json.decode(item, type=_Named).uuid for item in items)
    return {uuid for one in given if one and (uuid := parse_uuid(one))}


def with_ids(piece: LogEntry) -> LogEntry:
    """The same items, each with the id under which it is stored, as it would be had it stayed in
    its envelope; a body that cannot be read as it is."""
    envelope = piece.envelope
    context = Context(envelope.project_id, piece.id, envelope.received_at)
    try:
        items = [
            item if item.get("uuid") else {**item, "uuid": context.make_uuid(index)}
            for index, item in enumerate(read_items(envelope.body), piece.start)
        ]
    except (AppError, ValueError, RecursionError):
        return piece
    return structs.replace(
        piece, start=0, envelope=structs.replace(envelope, body=msgspec.json.encode(items))
    )


class _Named(Struct, gc=False):
    uuid: Any = None


def _raw_items(body: bytes) -> list[Raw] | None:
    try:
        if body[:1] == b"[":
            return msgspec.json.decode(body, type=list[Raw])
        return msgspec.json.decode(body, type=_Batch).batch
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _cut(items: Sequence[Raw], budget: Budget) -> Iterator[list[Raw]]:
    some: list[Raw] = []
    size = 0
    for item in items:
        cost = budget.cost(bytes(item))
        if some and size + cost > budget.bytes:
            yield some
            some, size = [], 0
        some.append(item)
        size += cost
    if some:
        yield some
