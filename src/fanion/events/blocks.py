"""What is inserted together: rows in blocks, each of which is stored whole or not at all."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from math import ceil
from uuid import UUID

from msgspec import Struct

from fanion.events import native
from fanion.events.attributes import attributes
from fanion.events.event import Event, EventRejected, Override, PersonRow
from fanion.events.native import Column
from fanion.events.schema import ATTRIBUTES_TYPE
from fanion.events.shallow import shallow
from fanion.events.times import all_micros, micros

# Each is a part to merge: merges took 20 µs an event of blocks of 14,000, and take 6 to 10.
BLOCK_ROWS_MAX = 40_000
BLOCK_BYTES_MAX = 64 * 2**20
# Part of the token of an insert. It must change when the same events come to other blocks.
BLOCKS_VERSION = 2
_TIME = "DateTime64(6, 'UTC')"


class Block(Struct, frozen=True, gc=False):
    """data: in the engine's Native format"""

    columns: tuple[str, ...]
    data: bytes


class Batch(Struct, frozen=True, gc=False):
    events: tuple[Block, ...]
    persons: tuple[Block, ...] = ()
    overrides: tuple[Block, ...] = ()


class Draft(Struct, frozen=True, gc=False):
    """A block of events of which only the persons are missing.

    order: of its rows, the place of each event among all
    """

    order: list[int]
    columns: tuple[Column, ...]

    def block(self, persons: Sequence[UUID]) -> Block:
        """persons: of all events"""
        data = native.uuids([persons[place] for place in self.order])
        return _block((*self.columns, Column("person_id", "UUID", data)), len(self.order))


def encode(
    events: Iterable[Event],
    persons: Sequence[PersonRow] = (),
    overrides: Sequence[Override] = (),
) -> Batch:
    """raises: EventRejected when a number does not fit its column"""
    return Batch(tuple(event_blocks(events)), person_blocks(persons), override_blocks(overrides))


def event_blocks(
    events: Iterable[Event],
    count: int = 0,
    *,
    rows_max: int = BLOCK_ROWS_MAX,
    bytes_max: int = BLOCK_BYTES_MAX,
) -> Iterator[Block]:
    """As `event_drafts`, with the persons of the events."""
    persons: list[UUID] = []

    def noted() -> Iterator[Event]:
        for event in events:
            persons.append(event.person_id)
            yield event

    for draft in event_drafts(noted(), count, rows_max=rows_max, bytes_max=bytes_max):
        yield draft.block(persons)


def event_drafts(
    events: Iterable[Event],
    count: int = 0,
    *,
    rows_max: int = BLOCK_ROWS_MAX,
    bytes_max: int = BLOCK_BYTES_MAX,
) -> Iterator[Draft]:
    """The same blocks for the same events: a repetition is recognised block by block. Each is
    made when it is asked for. Events whose properties the engine must read come last.

    count:  of the events; when it is known, none of the blocks is much smaller than the others
    raises: EventRejected when a number does not fit its column
    """
    if count > rows_max:
        rows_max = ceil(count / ceil(count / rows_max))
    left: list[tuple[int, Event]] = []
    for some in _portions(enumerate(events), rows_max, bytes_max):
        made = attributes([event.values for _, event in some])
        left += [some[place] for place in made.left]
        if made.order:
            column = Column("attributes", ATTRIBUTES_TYPE, made.data)
            yield _draft([some[place] for place in made.order], column)
    for some in _portions(left, rows_max, bytes_max):
        yield _draft(some, _shallow([event for _, event in some]))


def person_blocks(persons: Sequence[PersonRow]) -> tuple[Block, ...]:
    """raises: EventRejected when a number does not fit its column"""
    made = attributes([person.values for person in persons])
    plain = [persons[place] for place in made.order]
    left = [persons[place] for place in made.left]
    blocks: list[Block] = []
    if plain:
        column = Column("attributes", ATTRIBUTES_TYPE, made.data)
        blocks.append(_block((*_person_columns(plain), column), len(plain)))
    if left:
        blocks.append(_block((*_person_columns(left), _shallow(left)), len(left)))
    return tuple(blocks)


def override_blocks(overrides: Sequence[Override]) -> tuple[Block, ...]:
    """raises: EventRejected when a number does not fit its column"""
    if not overrides:
        return ()
    columns = (
        _unsigned("project_id", [one.project_id for one in overrides]),
        Column("old_person", "UUID", native.uuids([one.old_person for one in overrides])),
        Column("new_person", "UUID", native.uuids([one.new_person for one in overrides])),
        _unsigned("version", [one.version for one in overrides]),
    )
    return (_block(columns, len(overrides)),)


def _portions(
    events: Iterable[tuple[int, Event]], rows_max: int, bytes_max: int
) -> Iterator[list[tuple[int, Event]]]:
    some: list[tuple[int, Event]] = []
    size = 0
    for one in events:
        length = len(one[1].properties)
        if len(some) == rows_max or (some and size + length > bytes_max):
            yield some
            some, size = [], 0
        some.append(one)
        size += length
    if some:
        yield some


def _draft(rows: Sequence[tuple[int, Event]], attributes: Column) -> Draft:
    events = [event for _, event in rows]
    columns = (
        _unsigned("project_id", [event.project_id for event in events]),
        Column("uuid", "UUID", native.uuids([event.uuid for event in events])),
        Column("timestamp", _TIME, native.signed(all_micros([e.timestamp for e in events]))),
        Column("received_at", _TIME, native.signed(_acceptances(events))),
        Column("event", "String", native.texts([event.event for event in events])),
        Column("distinct_id", "String", native.texts([event.distinct_id for event in events])),
        Column("properties", "String", native.blobs([event.properties for event in events])),
        attributes,
    )
    return Draft([place for place, _ in rows], columns)


def _acceptances(events: Iterable[Event]) -> Iterator[int]:
    received_at: datetime | None = None
    at = 0
    for event in events:
        if event.received_at is not received_at:  # many came in one request
            received_at, at = event.received_at, micros(event.received_at)
        yield at


def _person_columns(persons: Sequence[PersonRow]) -> tuple[Column, ...]:
    created_at = all_micros([person.created_at for person in persons])
    return (
        _unsigned("project_id", [person.project_id for person in persons]),
        Column("person_id", "UUID", native.uuids([person.person_id for person in persons])),
        Column("created_at", _TIME, native.signed(created_at)),
        _unsigned("version", [person.version for person in persons]),
        Column("is_deleted", "UInt8", bytes([person.is_deleted for person in persons])),
        Column("properties", "String", native.blobs([person.properties for person in persons])),
    )


def _shallow(rows: Sequence[Event] | Sequence[PersonRow]) -> Column:
    return Column("shallow", "String", native.blobs([shallow(row.properties) for row in rows]))


def _unsigned(name: str, numbers: Sequence[int]) -> Column:
    """raises: EventRejected"""
    try:
        return Column(name, "UInt64", native.unsigned(numbers))
    except OverflowError as error:
        raise EventRejected(f"a number does not fit its column: {error}") from None


def _block(columns: Sequence[Column], rows: int) -> Block:
    return Block(tuple(column.name for column in columns), native.block(columns, rows))
