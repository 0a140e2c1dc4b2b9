"""The rows of one INSERT into the event store, and their form as tab-separated text.

Every version of the engine reads text, and derives `attributes` from the properties itself, which
costs it 12 µs a row. Native blocks (`native_encoder`) already hold the properties as columns; they
are written for versions whose format is known byte by byte.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from math import ceil

import msgspec
from msgspec import Struct

from fanion.events.event import Event, EventRejected, GroupRow, Override, PersonRow
from fanion.events.storage.native_format import EPOCH, micros
from fanion.events.storage.schema import ARRAY_DEPTH_MAX, OBJECT_DEPTH_MAX

# Each block is a part to merge: merges of blocks of 14,000 took 20 µs an event; now they take 6 to
# 10.
BLOCK_ROWS_MAX = 40_000
BLOCK_BYTES_MAX = 64 * 2**20
UINT64_MAX = 2**64 - 1

_FORMAT = "TabSeparated"
_TOKEN = re.compile(rb'"[^"]*+"|[\[\]{}:,]')
_EVENT_COLUMNS = (
    *("project_id", "uuid", "timestamp", "received_at", "event", "distinct_id", "person_id"),
    *("properties", "shallow"),
)
_PERSON_COLUMNS = (
    *("project_id", "person_id", "created_at", "version", "is_deleted"),
    *("properties", "shallow"),
)
_GROUP_COLUMNS = (
    *("project_id", "group_type_index", "group_key", "created_at", "version", "is_deleted"),
    *("properties", "shallow"),
)
_OVERRIDE_COLUMNS = ("project_id", "old_person", "new_person", "version")


class Block(Struct, frozen=True, gc=False):
    """Rows of which all or none are stored.

    Attributes:
        format: The engine's name for the format of the data.
        shard: The number of the shard to which the rows belong; 0 if there are no shards.
    """

    columns: tuple[str, ...]
    data: bytes
    format: str = "Native"
    shard: int = 0


class Batch(Struct, frozen=True, gc=False):
    """Blocks that are inserted together."""

    events: tuple[Block, ...]
    persons: tuple[Block, ...] = ()
    overrides: tuple[Block, ...] = ()
    groups: tuple[Block, ...] = ()


class EventEncoder(ABC):
    """An encoder of rows. The same rows always give the same blocks.

    It must be deterministic because the engine recognises a repeated insert block by block.

    Attributes:
        version: Part of the deduplication token of an insert. It must change whenever the same
            events give other blocks.
        has_drafts: Whether another process can encode blocks except for the column of persons.
        rows_max: The limit of one block of events.
        bytes_max: The limit of one block of events.
    """

    version: str
    has_drafts: bool

    def __init__(self, rows_max: int = BLOCK_ROWS_MAX, bytes_max: int = BLOCK_BYTES_MAX) -> None:
        self.rows_max = rows_max
        self.bytes_max = bytes_max

    def batch(
        self,
        events: Iterable[Event] = (),
        persons: Sequence[PersonRow] = (),
        overrides: Sequence[Override] = (),
    ) -> Batch:
        """Encode rows to be inserted together.

        Raises:
            EventRejected: A number does not fit its column.
        """
        return Batch(
            tuple(self.event_blocks(events)),
            self.person_blocks(persons),
            self.override_blocks(overrides),
        )

    @abstractmethod
    def event_blocks(self, events: Iterable[Event], count: int = 0) -> Iterator[Block]:
        """Yield blocks lazily: each one is encoded when it is requested.

        Args:
            count: The number of events; 0 if unknown. If given, blocks have about the same size.

        Raises:
            EventRejected: A number does not fit its column.
        """

    @abstractmethod
    def person_blocks(self, persons: Sequence[PersonRow]) -> tuple[Block, ...]:
        """Encode persons.

        Raises:
            EventRejected: A number does not fit its column.
        """

    @abstractmethod
    def group_blocks(self, groups: Sequence[GroupRow]) -> tuple[Block, ...]:
        """Encode groups.

        Raises:
            EventRejected: A number does not fit its column.
        """

    @abstractmethod
    def override_blocks(self, overrides: Sequence[Override]) -> tuple[Block, ...]:
        """Encode overrides.

        Raises:
            EventRejected: A number does not fit its column.
        """


def even_rows(count: int, rows_max: int) -> int:
    """Return the rows per block if `count` rows, more than `rows_max`, are cut evenly."""
    return ceil(count / ceil(count / rows_max))


class TextEncoder(EventEncoder):
    version = "t1"
    has_drafts = False

    def event_blocks(self, events: Iterable[Event], count: int = 0) -> Iterator[Block]:
        rows_max = even_rows(count, self.rows_max) if count > self.rows_max else self.rows_max
        rows: list[bytes] = []
        size = 0
        for event in events:
            length = len(event.properties)
            if len(rows) == rows_max or (rows and size + length > self.bytes_max):
                yield _block(_EVENT_COLUMNS, rows)
                rows, size = [], 0
            rows.append(_event_row(event))
            size += length
        if rows:
            yield _block(_EVENT_COLUMNS, rows)

    def person_blocks(self, persons: Sequence[PersonRow]) -> tuple[Block, ...]:
        rows = [_person_row(person) for person in persons]
        return (_block(_PERSON_COLUMNS, rows),) if rows else ()

    def group_blocks(self, groups: Sequence[GroupRow]) -> tuple[Block, ...]:
        rows = [_group_row(group) for group in groups]
        return (_block(_GROUP_COLUMNS, rows),) if rows else ()

    def override_blocks(self, overrides: Sequence[Override]) -> tuple[Block, ...]:
        rows = [_override_row(override) for override in overrides]
        return (_block(_OVERRIDE_COLUMNS, rows),) if rows else ()


def _block(columns: tuple[str, ...], rows: Sequence[bytes]) -> Block:
    return Block(columns, b"".join(rows), _FORMAT)


def _event_row(event: Event) -> bytes:
    return _row(
        _unsigned(event.project_id),
        str(event.uuid).encode(),
        _time(event.timestamp),
        _time(event.received_at),
        _escape(event.event.encode(errors="replace")),
        _escape(event.distinct_id.encode(errors="replace")),
        str(event.person_id).encode(),
        _escape(event.properties),
        _escape(shallow(event.properties)),
    )


def _person_row(person: PersonRow) -> bytes:
    return _row(
        _unsigned(person.project_id),
        str(person.person_id).encode(),
        _time(person.created_at),
        _unsigned(person.version),
        b"1" if person.is_deleted else b"0",
        _escape(person.properties),
        _escape(shallow(person.properties)),
    )


def _group_row(group: GroupRow) -> bytes:
    return _row(
        _unsigned(group.project_id),
        _unsigned(group.group_type_index),
        _escape(group.group_key.encode(errors="replace")),
        _time(group.created_at),
        _unsigned(group.version),
        b"1" if group.is_deleted else b"0",
        _escape(group.properties),
        _escape(shallow(group.properties)),
    )


def _override_row(override: Override) -> bytes:
    return _row(
        _unsigned(override.project_id),
        str(override.old_person).encode(),
        str(override.new_person).encode(),
        _unsigned(override.version),
    )


def _row(*fields: bytes) -> bytes:
    return b"\t".join(fields) + b"\n"


def _unsigned(number: int) -> bytes:
    """Encode a number.

    Raises:
        EventRejected: It is not a UInt64.
    """
    if not 0 <= number <= UINT64_MAX:
        raise EventRejected(f"a number does not fit its column: {number} is not a UInt64")
    return b"%d" % number


def _time(moment: datetime) -> bytes:
    """Encode a time in UTC, limited to the years that the engine can store."""
    at = EPOCH + timedelta(microseconds=micros(moment))
    return at.strftime("%Y-%m-%d %H:%M:%S.%f").encode()


def _escape(text: bytes) -> bytes:
    """Escape text for the TabSeparated format."""
    escaped = text.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n")
    return escaped.replace(b"\r", b"\\r")


# ── Properties that are nested too deeply ────────────────────────────────────────────────


def shallow(properties: bytes) -> bytes:
    """Return properties from which to derive columns; empty unless they are nested too deeply."""
    return shallow_properties(properties) if _is_deep(properties) else b""


def shallow_properties(properties: bytes) -> bytes:
    """Replace each value that is nested too deeply by its JSON as text."""
    pieces: list[bytes] = []
    end = 0
    for value in _values(properties):
        json = properties[value]
        if _is_deep(json):
            text = msgspec.json.encode(json.strip().decode("utf-8", "replace"))
            pieces += properties[end : value.start], text
            end = value.stop
    return b"".join([*pieces, properties[end:]])


def _values(json: bytes) -> Iterator[slice]:
    """Yield the positions of an object's values.

    This is not recursive, because they may be nested to any depth.
    """
    depth = start = 0
    for token in _tokens(json):
        mark = json[token.start() : token.start() + 1]
        if mark in b"[{":
            depth += 1
        elif mark in b"]}":
            depth -= 1
        if (depth == 1 and mark == b",") or (depth == 0 and mark == b"}" and start):
            yield slice(start, token.start())
        elif depth == 1 and mark == b":":
            start = token.end()


def _tokens(json: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the strings and marks of JSON text.

    Escapes are blanked out first, so that a string ends at its next quote.
    """
    return _TOKEN.finditer(json.replace(rb"\\", b"__").replace(rb"\"", b"__"))


def _is_deep(json: bytes) -> bool:
    """Return whether JSON is nested too deeply. Counting brackets decides nearly every value."""
    return (json.count(b"[") > ARRAY_DEPTH_MAX and depth(json, b"[]") > ARRAY_DEPTH_MAX) or (
        json.count(b"{") > OBJECT_DEPTH_MAX and depth(json, b"{}") > OBJECT_DEPTH_MAX
    )


def depth(json: bytes, brackets: bytes) -> int:
    """Return the depth of nested arrays, or of objects. Brackets in strings do not count.

    Args:
        brackets: `[]` or `{}`.
    """
    opening, closing = brackets
    now = deepest = 0
    for token in _tokens(json):
        mark = json[token.start()]
        if mark == opening:
            now += 1
            deepest = max(deepest, now)
        elif mark == closing:
            now -= 1
    return deepest
