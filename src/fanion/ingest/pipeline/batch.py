"""A batch: the envelopes that are ingested together."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from fanion.accept_log.port import USER_AGENT_CHARS_MAX, Envelope, LogEntry
from fanion.errors import AppError
from fanion.events.storage.native_encoder import Draft
from fanion.ingest.items import read_items
from fanion.ingest.ledger.model import STORED, Dropped, Tally, count_of, joined
from fanion.ingest.pipeline.prepare import prepare
from fanion.ingest.pipeline.types import Arrived, Context, Drop, GeoIp, Prepared, ProjectRules
from fanion.server.forwarded import read_address

RulesOf = Callable[[int], ProjectRules]


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
