"""A run that is prepared in a process of its own: what goes there, and what comes back.

With the events come the columns in which they are stored, all but their persons; the properties
themselves stay there.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import ceil
from typing import Any

import msgspec

from fanion.accept_log.port import Entry
from fanion.events.definitions.property_cache import OCCURRENCES_MAX, ONE_IN, detect_type
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
from fanion.ingest.ledger.model import Example, Tally
from fanion.ingest.pipeline.batch import (
    Preparation,
    PreparedBatch,
    PreparerResult,
    ProjectSamples,
    named_ids,
)
from fanion.ingest.pipeline.resolve import named_types, properties_by_name, stored_event
from fanion.ingest.pipeline.types import Arrived, Drop, GeoIp, Prepared, ProjectRules

_NO_PROPERTIES: Mapping[str, Any] = {}
_NO_MORE: tuple[object, ...] = (True, None, None, {}, None, None)


class Question(msgspec.Struct, array_like=True):
    """rules and types (group type → index): by project"""

    entries: list[Entry]
    rules: dict[int, ProjectRules]
    types: dict[int, dict[str, int]]


class _Request(msgspec.Struct, array_like=True, gc=False):
    """What arrived of one request; named: which events have an id of the client's."""

    project_id: int
    received_at: datetime
    prepared: list[Prepared]
    named: list[bool]


class _Answer(msgspec.Struct, array_like=True):
    requests: list[_Request]
    dropped: dict[Drop, int]
    counts: list[tuple[int, int, str, int]]
    examples: list[tuple[int, str, list[Example]]]
    brought: dict[int, ProjectSamples]
    drafts: list[Draft]


_encode = msgspec.msgpack.Encoder(uuid_format="bytes").encode
_decode_question = msgspec.msgpack.Decoder(Question).decode
_decode_answer = msgspec.msgpack.Decoder(_Answer).decode


def question(
    entries: Sequence[Entry],
    rules: Mapping[int, ProjectRules],
    types: Mapping[int, Mapping[str, int]],
) -> bytes:
    return _encode((entries, rules, types))


def answer(asked: bytes | bytearray, geoip: GeoIp | None) -> bytes:
    """Empty when the events name group types that are not given. raises: whatever an event that
    cannot be prepared, or sent, does"""
    given = _decode_question(asked)
    preparation = Preparation(given.rules.__getitem__, geoip)
    specimens: dict[int, Specimens] = {}
    requests: list[msgspec.Raw] = []
    drafting = _Drafting(given.entries)
    for entry in given.entries:
        project_id = entry.envelope.project_id
        types = given.types.get(project_id, {})
        arrived = preparation.arrived(entry)
        if len(types) < GROUP_TYPES_MAX and not types.keys() >= set(named_types(arrived)):
            return b""
        specimens.setdefault(project_id, Specimens()).look(arrived)
        drafting.add(entry, [stored_event(project_id, one, NO_PERSON, types) for one in arrived])
        requests.append(msgspec.Raw(_encode(_request(entry, arrived))))
    tally = preparation.tally()
    return _encode(
        (
            requests,
            preparation.counts,
            [(*place, items) for place, items in tally.counts.items()],
            [(*place, examples) for place, examples in tally.examples.items()],
            {key: (given.types.get(key, {}), some.found) for key, some in specimens.items()},
            drafting.drafts(),
        )
    )


def read(entries: Sequence[Entry], answered: bytes | bytearray) -> PreparedBatch:
    """The run that these entries were made, of the answer to the question about them."""
    told = _decode_answer(answered)
    arrived: dict[int, list[Arrived]] = {}
    for request in told.requests:
        at = request.received_at
        arrived.setdefault(request.project_id, []).extend(
            [
                Arrived(prepared, at, is_named)
                for prepared, is_named in zip(request.prepared, request.named, strict=True)
            ]
        )
    counts = Counter({(project, minute, what): n for project, minute, what, n in told.counts})
    examples = {(project, what): some for project, what, some in told.examples}
    requests = [(request.project_id, len(request.prepared)) for request in told.requests]
    return PreparedBatch(
        entries[0].id,
        entries[-1].id,
        arrived,
        named_ids(arrived),
        told.dropped,
        Tally(counts, examples),
        PreparerResult(told.brought, requests, told.drafts),
    )


def _request(entry: Entry, arrived: Sequence[Arrived]) -> object:
    """As _Request, whose events have no properties any more."""
    envelope = entry.envelope
    rows = [_row(one.prepared) for one in arrived]
    return envelope.project_id, envelope.received_at, rows, [one.is_named for one in arrived]


def _row(one: Prepared) -> tuple[object, ...]:
    told = (one.name, one.uuid, one.distinct_id, one.timestamp)
    more = (
        one.makes_person,
        one.update,
        one.merge,
        one.groups,
        one.group_identify,
        one.ignored_time,
    )
    return told if more == _NO_MORE else (*told, _NO_PROPERTIES, *more)


class _Drafting:
    """The events of a run in blocks of about one size, as far as the requests so far tell how many
    events there are in all."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._bytes = sum(len(entry.envelope.body) for entry in entries)
        self._seen = 0
        self._of_block = 0
        self._place = 0
        self._waiting: list[Placed] = []
        self._left: list[Placed] = []
        self._block = DraftBuilder()
        self._drafts: list[Draft] = []

    def add(self, entry: Entry, events: Sequence[Event]) -> None:
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
        self._left += self._block.add(self._waiting)
        self._waiting = []

    def _cut(self) -> None:
        self._write()
        self._drafts += self._block.take()
        self._of_block = 0


class Specimens:
    """Properties of all occurrences of each event of a project, with values that show their types,
    as far as those show them that are looked at: of an event that occurs often one in eight."""

    def __init__(self) -> None:
        self.found: dict[str, list[dict[str, Any]]] = {}
        self._occurrences: Counter[str] = Counter()

    def look(self, arrived: Iterable[Arrived]) -> None:
        by_name = properties_by_name(arrived)
        for name, occurrences in by_name.items():
            step = ONE_IN if self._occurrences[name] > OCCURRENCES_MAX else 1
            self._occurrences[name] += len(occurrences)
            [known] = self.found.setdefault(name, [{}])
            for properties in occurrences[::step]:
                if not properties.keys() <= known.keys() or None in known.values():
                    _note(known, properties)


def _note(known: dict[str, Any], properties: Mapping[str, Any]) -> None:
    for name, value in properties.items():
        if known.get(name) is None:
            known[name] = None if detect_type(name, value) is None else value
