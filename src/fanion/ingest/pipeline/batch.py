"""A batch of envelopes: its memory budget, its prepared events and what it leaves out.

The size of a body says little about the memory that its items take, which is therefore estimated.
"""

import builtins
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from hashlib import blake2b
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Raw, Struct, structs

from fanion.accept_log.port import USER_AGENT_CHARS_MAX, Envelope, LogEntry
from fanion.errors import AppError
from fanion.events.storage.native_encoder import Draft
from fanion.ingest.event import Drop, PreparedEvent, ReceivedEvent
from fanion.ingest.items import parse_uuid, read_items
from fanion.ingest.ledger.model import STORED, Dropped, Tally, count_outcome, joined_tallies
from fanion.ingest.pipeline.prepare import Context, GeoIp, prepare
from fanion.projects.model import IngestionSettings
from fanion.server.forwarded import read_address

RulesOf = Callable[[int], IngestionSettings]


class ProjectSamples(Struct, frozen=True, array_like=True):
    """The group types and sample properties of a project's events in a batch.

    Attributes:
        types: Group type → index, including all types that the events name.
        seen: Event → sample properties that represent all its occurrences.
    """

    types: dict[str, int]
    seen: dict[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class PreparerResult:
    """The work of the preparer process on a batch, whose events then have no properties.

    It is valid only if every event is stored and the group types match.

    Attributes:
        projects: The samples by project id.
        requests: For each request in the order of arrival, its project and number of events.
        drafts: The encoded columns of the events of all requests.
        entries: The entries from which the events were prepared, one for each request.
    """

    projects: Mapping[int, ProjectSamples]
    requests: Sequence[tuple[int, int]]
    drafts: Sequence[Draft]
    entries: Sequence[LogEntry]


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """A batch whose items have been prepared or dropped.

    Attributes:
        arrived: The events by project, in the order of arrival.
        named: The event ids given by clients, by project.
        dropped: The number of items by reason.
        tally: The tally of the dropped items.
        start: The `start` of the entry, for a piece of an envelope.
    """

    first: int
    last: int
    arrived: Mapping[int, Sequence[ReceivedEvent]]
    named: Mapping[int, Sequence[UUID]]
    dropped: Mapping[Drop, int] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    preparer_result: PreparerResult | None = None
    start: int = 0

    @property
    def events(self) -> int:
        return sum(map(len, self.arrived.values()))

    def names(self, project_id: int) -> Collection[str]:
        """Return the names of a project's events."""
        if self.preparer_result is not None:
            return self.preparer_result.projects[project_id].seen
        return {event.prepared.name for event in self.arrived[project_id]}

    def ledger(self, stored: Mapping[int, Sequence[datetime]]) -> Tally:
        """Return the tally of all items.

        Args:
            stored: By project, the times of acceptance of the stored events. All others that
                arrived were left out because their person was deleted.
        """
        counts = count_outcome(STORED, stored)
        if sum(counts.values()) < self.events:
            arrived = count_outcome(
                Drop.ERASED,
                {
                    key: [event.received_at for event in events]
                    for key, events in self.arrived.items()
                },
            )
            for (project_id, minute, _), items in list(counts.items()):
                arrived[project_id, minute, Drop.ERASED] -= items
            counts += arrived
        return joined_tallies(self.tally, Tally(counts))

    def named_by_day(self, project_id: int) -> dict[date, list[UUID]]:
        """Return the event ids given by clients, by the day of the event in UTC."""
        by_day = defaultdict[date, list[UUID]](list)
        for event in self.arrived[project_id]:
            if event.is_named:
                by_day[event.prepared.timestamp.date()].append(event.prepared.uuid)
        return by_day


class Preparation:
    """The preparation of the envelopes of a batch, one after another."""

    def __init__(self, rules_of: RulesOf, geoip: GeoIp | None = None) -> None:
        self._rules_of = rules_of
        self._geoip = geoip
        self._dropped = Dropped()
        self.counts: Counter[Drop] = Counter()

    def arrived(self, entry: LogEntry) -> list[ReceivedEvent]:
        """Return the events of an envelope that are not dropped."""
        envelope = entry.envelope
        context = Context(
            envelope.project_id,
            entry.id,
            envelope.received_at,
            envelope.sent_at,
            # Earlier versions, and other writers of the log, may have stored anything.
            read_address(envelope.client_ip),
            envelope.user_agent[:USER_AGENT_CHARS_MAX],
            self._rules_of(envelope.project_id),
            self._geoip,
        )
        arrived: list[ReceivedEvent] = []
        for index, item in enumerate(read_items(envelope.body), entry.start):
            outcome = prepare(item, context, index)
            if isinstance(outcome, Drop):
                self._drop(envelope, outcome, item)
            else:
                is_named = bool(item.get("uuid"))
                arrived.append(ReceivedEvent(outcome, envelope.received_at, is_named))
        return arrived

    def _drop(self, envelope: Envelope, reason: Drop, item: dict[str, Any]) -> None:
        self.counts[reason] += 1
        self._dropped.add_item(
            envelope.project_id, envelope.received_at, reason, item, envelope.user_agent
        )

    def tally(self) -> Tally:
        """Return the tally of the dropped items."""
        return self._dropped.tally()


def prepare_batch(
    entries: Sequence[LogEntry], rules_of: RulesOf, geoip: GeoIp | None = None
) -> PreparedBatch:
    """Prepare entries, at least one, in the order of their ids."""
    preparation = Preparation(rules_of, geoip)
    arrived: dict[int, list[ReceivedEvent]] = {}
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


def named_ids(arrived: Mapping[int, Sequence[ReceivedEvent]]) -> dict[int, list[UUID]]:
    return {
        project_id: [event.prepared.uuid for event in events if event.is_named]
        for project_id, events in arrived.items()
    }


def count_items(body: bytes) -> int:
    """Return the number of items that the ledger counts for a body: 1 if it cannot be read."""
    try:
        return len(read_items(body)) or 1
    except (AppError, ValueError, RecursionError):
        return 1


def without_duplicates(
    batch: PreparedBatch, stored: Mapping[int, Mapping[UUID, datetime]]
) -> PreparedBatch:
    """Leave out events that are already stored, and repetitions within the batch.

    Args:
        stored: By project, the ids of this batch that the event store has, with their time of
            acceptance. An event with the same time as in this batch is no repetition: an earlier,
            failed attempt at this batch stored it.
    """
    if not any(map(len, stored.values())) and all(
        len(set(uuids)) == len(uuids) for uuids in batch.named.values()
    ):
        return batch
    remaining: dict[int, list[ReceivedEvent]] = {}
    left_out = Dropped()
    for project_id, events in batch.arrived.items():
        accepted, met = stored.get(project_id, {}), set[UUID]()
        of_project = remaining[project_id] = []
        for event in events:
            uuid, at = event.prepared.uuid, event.received_at
            if event.is_named and (uuid in met or accepted.get(uuid, at) != at):
                left_out.add_item(project_id, at, Drop.DUPLICATE, _as_sent(event.prepared), "")
                continue
            if event.is_named:
                met.add(uuid)
            of_project.append(event)
    tally = left_out.tally()
    if not tally.counts:
        return batch
    dropped = {**batch.dropped, Drop.DUPLICATE: sum(tally.counts.values())}
    tally = joined_tallies(batch.tally, tally)
    named = named_ids(remaining)
    return replace(
        batch, arrived=remaining, named=named, dropped=dropped, tally=tally, preparer_result=None
    )


def _as_sent(prepared: PreparedEvent) -> dict[str, Any]:
    return {
        "event": prepared.name,
        "distinct_id": prepared.distinct_id,
        "uuid": str(prepared.uuid),
        "properties": prepared.properties,
    }


# Memory for each byte of JSON, object and list, from preparing to inserting. Measured for a MB of
# each, relative to this estimate: events of 30 bytes 1.1, ordinary ones 1.0, dropped items 0.3,
# lists of lists 0.9, numbers 2.6.
TEXT_FACTOR, OBJECT_BYTES, LIST_BYTES = 8, 700, 64
# With GeoIP, each event and its person get 13 more properties.
LOCATED_OBJECT_BYTES = 4_000
# 190,000 of the smallest events. Batches of ordinary events, of 200 bytes and more, reach their
# limit of 16 MiB of text first.
EXPANDED_BYTES_MAX = 256 * 2**20


class Budget(Struct, frozen=True):
    """A limit on the memory of a batch.

    Attributes:
        bytes: The limit, for the estimated memory.
        object_bytes: The estimate for each JSON object.
    """

    bytes: int = EXPANDED_BYTES_MAX
    object_bytes: int = OBJECT_BYTES

    def cost(self, body: builtins.bytes) -> int:
        """Return the estimated bytes that a body's events take during ingestion; 0.7 ms per MB."""
        objects, lists = body.count(b"{"), body.count(b"[")
        return len(body) * TEXT_FACTOR + objects * self.object_bytes + lists * LIST_BYTES

    def exceeds(self, entries: Sequence[LogEntry]) -> bool:
        """Return whether the total cost of these entries is higher than the budget."""
        return sum(self.cost(entry.envelope.body) for entry in entries) > self.bytes

    def surely_takes(self, entries: Sequence[LogEntry]) -> bool:
        """Return whether the length of the bodies alone proves that they are within the budget."""
        size = sum(len(entry.envelope.body) for entry in entries)
        return size <= self.bytes // (TEXT_FACTOR + self.object_bytes)

    def half(self) -> "Budget":
        return Budget(self.bytes // 2, self.object_bytes)


def entries_within(entries: Sequence[LogEntry], budget: Budget) -> Sequence[LogEntry]:
    """Return the first entries whose total cost is within the budget, at least one."""
    size = 0
    for number, entry in enumerate(entries):
        size += budget.cost(entry.envelope.body)
        if number and size > budget.bytes:
            return entries[:number]
    return entries


class _Batch(Struct, gc=False):
    batch: list[Raw] | None = None


def divide_entry(entry: LogEntry, start: int, budget: Budget) -> list[LogEntry]:
    """Divide the items from `start` on into pieces that are within the budget or have one item.

    A piece does not depend on those before it, so that dividing can be resumed after any piece. An
    envelope that is not a list of items, or cannot be read, is one piece.
    """
    items = _raw_items(entry.envelope.body)
    if not items:
        return [entry]
    divided: list[LogEntry] = []
    for chunk in _chunks(items[start:], budget):
        body = b"[" + b",".join(chunk) + b"]"
        divided.append(
            structs.replace(entry, start=start, envelope=structs.replace(entry.envelope, body=body))
        )
        start += len(chunk)
    return divided


def named_before(entry: LogEntry, start: int) -> set[UUID]:
    """Return the ids that the client gave to the items before `start`."""
    return set() if start == 0 else ids_of((_raw_items(entry.envelope.body) or [])[:start])


def ids_of(items: Collection[Raw]) -> set[UUID]:
    texts = (msgspec.json.decode(item, type=_Named).uuid for item in items)
    return {uuid for text in texts if text and (uuid := parse_uuid(text))}


def with_ids(piece: LogEntry) -> LogEntry:
    """Add to each item the id that it would get in its whole envelope.

    A body that cannot be read stays as it is.
    """
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


def named_as_spooled(spool: str, entry: LogEntry) -> Envelope:
    """Return a spooled envelope whose items have ids, the same each time it is sent.

    Args:
        spool: The name of the spool, in which the entry's id is unique.
    """
    digest = blake2b(f"{spool}/{entry.id}".encode(), digest_size=7).digest()
    return with_ids(structs.replace(entry, id=int.from_bytes(digest))).envelope


class _Named(Struct, gc=False):
    uuid: Any = None


def _raw_items(body: bytes) -> list[Raw] | None:
    try:
        if body[:1] == b"[":
            return msgspec.json.decode(body, type=list[Raw])
        return msgspec.json.decode(body, type=_Batch).batch
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _chunks(items: Sequence[Raw], budget: Budget) -> Iterator[list[Raw]]:
    chunk: list[Raw] = []
    size = 0
    for item in items:
        cost = budget.cost(bytes(item))
        if chunk and size + cost > budget.bytes:
            yield chunk
            chunk, size = [], 0
        chunk.append(item)
        size += cost
    if chunk:
        yield chunk
