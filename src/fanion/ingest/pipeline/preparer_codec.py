"""The messages between the server and its preparer process.

A response has the events without properties, and their encoded columns except the persons.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from math import ceil
from typing import Any

import msgspec

from fanion.accept_log.port import LogEntry
from fanion.events.definitions.properties import OCCURRENCES_MAX, ONE_IN, detect_type
from fanion.events.event import NO_PERSON, Event
from fanion.events.storage.encoder import BLOCK_ROWS_MAX
from fanion.events.storage.native_encoder import (
    PART_ROWS,
    Draft,
    DraftBuilder,
    Placed,
    text_drafts,
)
from fanion.groups.model import GROUP_TYPES_MAX
from fanion.ingest.event import Drop, PreparedEvent, ReceivedEvent
from fanion.ingest.ledger.model import Example, Tally
from fanion.ingest.pipeline.batch import (
    Preparation,
    PreparedBatch,
    PreparerResult,
    ProjectSamples,
    named_ids,
)
from fanion.ingest.pipeline.prepare import GeoIp
from fanion.ingest.pipeline.resolve import named_types, properties_by_name, stored_event
from fanion.projects.model import IngestionSettings

_NO_PROPERTIES: Mapping[str, Any] = {}
# Events that are decoded by one call, in which no other thread runs, also that of the event loop:
# 0.3 ms. All events of a batch at once were 100 to 250 ms.
_PORTION = 50
_DEFAULTS: tuple[object, ...] = (True, None, None, {}, None, ())


class _Request(msgspec.Struct, array_like=True):
    """A request; the rules and the group types (type → index) are by project."""

    entries: list[LogEntry]
    rules: dict[int, IngestionSettings]
    types: dict[int, dict[str, int]]


class _Envelope(msgspec.Struct, array_like=True, gc=False):
    """The events of one envelope, in portions that are decoded one after the other.

    `named` says which of them have a UUID given by the client.
    """

    project_id: int
    received_at: datetime
    portions: list[msgspec.Raw]
    named: list[bool]


class _Response(msgspec.Struct, array_like=True):
    envelopes: list[_Envelope]
    dropped: dict[Drop, int]
    counts: list[tuple[int, int, str, int]]
    examples: list[tuple[int, str, list[Example]]]
    brought: dict[int, ProjectSamples]
    drafts: list[Draft]


_encode = msgspec.msgpack.Encoder(uuid_format="bytes").encode
_decode_request = msgspec.msgpack.Decoder(_Request).decode
_decode_response = msgspec.msgpack.Decoder(_Response).decode
_decode_events = msgspec.msgpack.Decoder(list[PreparedEvent]).decode


def encode_request(
    entries: Sequence[LogEntry],
    rules: Mapping[int, IngestionSettings],
    types: Mapping[int, Mapping[str, int]],
) -> bytes:
    return _encode((entries, rules, types))


def respond(request: bytes, geoip: GeoIp | None) -> bytes:
    """Prepare the batch of a request and return the response.

    Returns:
        Empty if the events name group types that are not in the request.

    Raises:
        Exception: The error of an event that cannot be prepared or encoded.
    """
    decoded = _decode_request(request)
    preparation = Preparation(decoded.rules.__getitem__, geoip)
    samples: dict[int, PropertySamples] = {}
    envelopes: list[msgspec.Raw] = []
    drafting = _BlockCutter(decoded.entries)
    for entry in decoded.entries:
        project_id = entry.envelope.project_id
        types = decoded.types.get(project_id, {})
        arrived = preparation.arrived(entry)
        if len(types) < GROUP_TYPES_MAX and not types.keys() >= set(named_types(arrived)):
            return b""
        samples.setdefault(project_id, PropertySamples()).add_events(arrived)
        drafting.add_events(
            entry, [stored_event(project_id, event, NO_PERSON, types) for event in arrived]
        )
        envelopes.append(msgspec.Raw(_encode(_envelope(entry, arrived))))
    tally = preparation.tally()
    return _encode(
        (
            envelopes,
            preparation.counts,
            [(*kind, items) for kind, items in tally.counts.items()],
            [(*kind, examples) for kind, examples in tally.examples.items()],
            {key: (decoded.types.get(key, {}), some.by_name) for key, some in samples.items()},
            drafting.drafts(),
        )
    )


def decode_response(entries: Sequence[LogEntry], response: bytes) -> PreparedBatch:
    """Return the prepared batch of the entries that were in the request."""
    decoded = _decode_response(response)
    arrived: dict[int, list[ReceivedEvent]] = {}
    for envelope in decoded.envelopes:
        arrived.setdefault(envelope.project_id, []).extend(_received(envelope))
    counts = Counter({(project, minute, what): n for project, minute, what, n in decoded.counts})
    examples = {(project, what): some for project, what, some in decoded.examples}
    requests = [(envelope.project_id, len(envelope.named)) for envelope in decoded.envelopes]
    return PreparedBatch(
        entries[0].id,
        entries[-1].id,
        arrived,
        named_ids(arrived),
        decoded.dropped,
        Tally(counts, examples),
        PreparerResult(decoded.brought, requests, decoded.drafts, entries),
    )


def _received(envelope: _Envelope) -> list[ReceivedEvent]:
    at = envelope.received_at
    prepared = chain.from_iterable(map(_decode_events, envelope.portions))
    return [
        ReceivedEvent(event, at, is_named)
        for event, is_named in zip(prepared, envelope.named, strict=True)
    ]


def _envelope(entry: LogEntry, arrived: Sequence[ReceivedEvent]) -> object:
    """Return the fields of an _Envelope, whose events have no properties."""
    envelope = entry.envelope
    rows = [_event_fields(event.prepared) for event in arrived]
    portions = [
        msgspec.Raw(_encode(rows[start : start + _PORTION]))
        for start in range(0, len(rows), _PORTION)
    ]
    named = [event.is_named for event in arrived]
    return envelope.project_id, envelope.received_at, portions, named


def _event_fields(event: PreparedEvent) -> tuple[object, ...]:
    fields = (event.name, event.uuid, event.distinct_id, event.timestamp)
    more = (
        event.makes_person,
        event.update,
        event.merge,
        event.groups,
        event.group_identify,
        event.ignored_times,
    )
    return fields if more == _DEFAULTS else (*fields, _NO_PROPERTIES, *more)


class _BlockCutter:
    """The division of a request's events into blocks of about equal size.

    The total number of events is estimated from the envelopes read so far.
    """

    def __init__(self, entries: Sequence[LogEntry]) -> None:
        self._bytes = sum(len(entry.envelope.body) for entry in entries)
        self._seen = 0
        self._of_block = 0
        self._place = 0
        self._waiting: list[Placed] = []
        self._left: list[Placed] = []
        self._block = DraftBuilder()
        self._drafts: list[Draft] = []

    def add_events(self, entry: LogEntry, events: Sequence[Event]) -> None:
        size = len(entry.envelope.body)
        self._seen += size
        self._of_block += size
        self._waiting += enumerate(events, self._place)
        self._place += len(events)
        if len(self._waiting) >= PART_ROWS:
            self._write()
        blocks = max(1, ceil(self._place * self._bytes / self._seen / BLOCK_ROWS_MAX))
        if self._of_block * blocks >= self._bytes:
            self._cut()

    def drafts(self) -> list[Draft]:
        self._cut()
        return [*self._drafts, *text_drafts(self._left)]

    def _write(self) -> None:
        self._left += self._block.add_events(self._waiting)
        self._waiting = []

    def _cut(self) -> None:
        self._write()
        self._drafts += self._block.take_draft()
        self._of_block = 0


class PropertySamples:
    """Samples of the properties of each event name of a project.

    Each property has a value from which its type can be detected. Of frequent events, one
    occurrence in ONE_IN is sampled.
    """

    def __init__(self) -> None:
        self.by_name: dict[str, list[dict[str, Any]]] = {}
        self._occurrences: Counter[str] = Counter()

    def add_events(self, arrived: Iterable[ReceivedEvent]) -> None:
        for name, occurrences in properties_by_name(arrived).items():
            step = ONE_IN if self._occurrences[name] > OCCURRENCES_MAX else 1
            self._occurrences[name] += len(occurrences)
            [known] = self.by_name.setdefault(name, [{}])
            for properties in occurrences[::step]:
                if not properties.keys() <= known.keys() or None in known.values():
                    _add_sample(known, properties)


def _add_sample(known: dict[str, Any], properties: Mapping[str, Any]) -> None:
    for name, value in properties.items():
        if known.get(name) is None:
            known[name] = None if detect_type(name, value) is None else value
