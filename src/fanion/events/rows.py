"""Rows as the engine reads them: RowBinary, built by splicing bytes."""

import re
import struct
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from math import ceil

import msgspec
from msgspec import Struct

from fanion.events.event import Event, EventRejected, Override, PersonRow
from fanion.events.schema import ARRAY_DEPTH_MAX, OBJECT_DEPTH_MAX

# Each is a part to merge: merges took 20 µs an event of blocks of 14,000, and take 6 to 10.
BLOCK_ROWS_MAX = 40_000
BLOCK_BYTES_MAX = 64 * 2**20

EVENT_COLUMNS = (
    "project_id",
    "uuid",
    "person_id",
    "timestamp",
    "received_at",
    "event",
    "distinct_id",
    "properties",
    "shallow",
)
PERSON_COLUMNS = (
    "project_id",
    "person_id",
    "created_at",
    "version",
    "is_deleted",
    "properties",
    "shallow",
)
OVERRIDE_COLUMNS = ("project_id", "old_person", "new_person", "version")

# What DateTime64(6) holds: the years 1900 to 2299.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROS_A_SECOND = 1_000_000


def micros(time: datetime) -> int:
    """Microseconds since 1970, moved into the years 1900–2299 that the store can hold."""
    since = time - _EPOCH
    exact = (since.days * 86_400 + since.seconds) * _MICROS_A_SECOND + since.microseconds
    if exact < MICROS_MIN:
        return MICROS_MIN
    return exact if exact < MICROS_MAX else MICROS_MAX


def _exact(time: datetime) -> int:
    return round((time - _EPOCH).total_seconds()) * _MICROS_A_SECOND


MICROS_MIN = _exact(datetime(1900, 1, 1, tzinfo=UTC))
MICROS_MAX = _exact(datetime(2299, 12, 31, 23, 59, 59, tzinfo=UTC))

# A UUID is two little-endian halves.
_HALF = (1 << 64) - 1
_event_head = struct.Struct("<Q2Q2Qqq").pack
_person_head = struct.Struct("<Q2QqQB").pack
_override = struct.Struct("<Q2Q2QQ").pack


class Batch(Struct, frozen=True, gc=False):
    """What is inserted together. events: in blocks, each of which is stored whole or not at all"""

    events: tuple[bytes, ...]
    persons: bytes = b""
    overrides: bytes = b""


def encode(
    events: Iterable[Event],
    persons: Iterable[PersonRow] = (),
    overrides: Iterable[Override] = (),
) -> Batch:
    """raises: EventRejected when a number does not fit its column"""
    return Batch(tuple(event_blocks(events)), person_rows(persons), override_rows(overrides))


def event_blocks(
    events: Iterable[Event],
    count: int = 0,
    *,
    rows_max: int = BLOCK_ROWS_MAX,
    bytes_max: int = BLOCK_BYTES_MAX,
) -> Iterator[bytes]:
    """The same blocks for the same events: a repetition is recognised block by block. Each is
    made when it is asked for.

    count:  of the events; when it is known, none of the blocks is much smaller than the others
    raises: EventRejected when a number does not fit its column
    """
    if count > rows_max:
        rows_max = ceil(count / ceil(count / rows_max))
    parts: list[bytes] = []
    rows = size = received_micros = 0
    received_at: datetime | None = None
    for event in events:
        length = len(event.properties)
        if rows == rows_max or (rows and size + length > bytes_max):
            yield b"".join(parts)
            parts, rows, size = [], 0, 0
        if event.received_at is not received_at:  # many came in one request
            received_at, received_micros = event.received_at, micros(event.received_at)
        try:
            parts += _event_row(event, received_micros)
        except struct.error as error:
            raise _no_number(error) from None
        rows += 1
        size += length
    if rows:
        yield b"".join(parts)


def _event_row(e: Event, received_micros: int) -> tuple[bytes, ...]:
    uuid, person, properties = e.uuid.int, e.person_id.int, e.properties
    distinct_id = e.distinct_id.encode(errors="replace")
    head = _event_head(
        e.project_id,
        uuid >> 64,
        uuid & _HALF,
        person >> 64,
        person & _HALF,
        micros(e.timestamp),
        received_micros,
    )
    return (
        head,
        _name(e.event),
        _length(len(distinct_id)),
        distinct_id,
        _length(len(properties)),
        properties,
        _shallow(properties),
    )


@lru_cache(maxsize=4096)  # a project has few names, and they are short
def _name(name: str) -> bytes:
    raw = name.encode(errors="replace")
    return _length(len(raw)) + raw


def person_rows(persons: Iterable[PersonRow]) -> bytes:
    return b"".join([_person_row(person) for person in persons])


def _person_row(p: PersonRow) -> bytes:
    person, created = p.person_id.int, micros(p.created_at)
    halves = (person >> 64, person & _HALF)
    head = _packed(_person_head, p.project_id, *halves, created, p.version, p.is_deleted)
    length = _length(len(p.properties))
    return b"".join((head, length, p.properties, _shallow(p.properties)))


def override_rows(overrides: Iterable[Override]) -> bytes:
    return b"".join([_override_row(override) for override in overrides])


def _override_row(o: Override) -> bytes:
    old, new = o.old_person.int, o.new_person.int
    halves = (old >> 64, old & _HALF, new >> 64, new & _HALF)
    return _packed(_override, o.project_id, *halves, o.version)


def _packed(pack: Callable[..., bytes], *numbers: int) -> bytes:
    try:
        return pack(*numbers)
    except struct.error as error:
        raise _no_number(error) from None


def _no_number(error: struct.error) -> EventRejected:
    return EventRejected(f"a number does not fit its column: {error}")


def _shallow(properties: bytes) -> bytes:
    """As the engine reads it: empty when the properties can be held as columns as they are."""
    if not _is_deep(properties):
        return b"\x00"
    shallow = shallow_properties(properties)
    return _length(len(shallow)) + shallow


def shallow_properties(properties: bytes) -> bytes:
    """The same, each value that is too deep replaced by its JSON as text."""
    kept: list[bytes] = []
    end = 0
    for value in _values(properties):
        json = properties[value]
        if _is_deep(json):
            text = msgspec.json.encode(json.strip().decode("utf-8", "replace"))
            kept += properties[end : value.start], text
            end = value.stop
    return b"".join([*kept, properties[end:]])


def _values(json: bytes) -> Iterator[slice]:
    """Where the values of an object stand. Nothing recurses: they may be of any depth."""
    depth = start = 0
    for token in _TOKEN.finditer(json):
        mark = json[token.start() : token.start() + 1]
        if mark in b"[{":
            depth += 1
        elif mark in b"]}":
            depth -= 1
        if (depth == 1 and mark == b",") or (depth == 0 and mark == b"}" and start):
            yield slice(start, token.start())
        elif depth == 1 and mark == b":":
            start = token.end()


def _is_deep(json: bytes) -> bool:
    """Counting brackets is enough for nearly all."""
    return (json.count(b"[") > ARRAY_DEPTH_MAX and depth(json, b"[]") > ARRAY_DEPTH_MAX) or (
        json.count(b"{") > OBJECT_DEPTH_MAX and depth(json, b"{}") > OBJECT_DEPTH_MAX
    )


_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}:,]', re.DOTALL)


def depth(json: bytes, brackets: bytes) -> int:
    """How many arrays, or objects, lie within one another at most; strings do not count.

    brackets: the two of the kind that is counted
    """
    opening, closing = brackets
    now = deepest = 0
    for token in _TOKEN.finditer(json):
        mark = json[token.start()]
        if mark == opening:
            now += 1
            deepest = max(deepest, now)
        elif mark == closing:
            now -= 1
    return deepest


@lru_cache(maxsize=4096)
def _length(n: int) -> bytes:
    """LEB128, as the engine writes the length of a string."""
    if n < 0x80:
        return _SHORT[n]
    return _SHORT[0x80 | n & 0x7F] + _length(n >> 7)


_SHORT = tuple(bytes((n,)) for n in range(256))
