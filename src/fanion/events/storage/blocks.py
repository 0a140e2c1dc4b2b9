"""What is inserted together: rows in blocks, each of which is stored whole or not at all."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from math import ceil
from uuid import UUID

from msgspec import Struct

from fanion.events.event import Event, EventRejected, Override, PersonRow
from fanion.events.storage import native_format
from fanion.events.storage.json_column import Attributes
from fanion.events.storage.json_depth import shallow
from fanion.events.storage.native_format import Column, column
from fanion.events.storage.schema import ATTRIBUTES_TYPE
from fanion.events.times import all_micros, micros

# Each is a part to merge: merges took 20 µs an event of blocks of 14,000, and take 6 to 10.
BLOCK_ROWS_MAX = 40_000
BLOCK_BYTES_MAX = 64 * 2**20
# Of which columns are made at a time.
PART_ROWS = 500
# Part of the token of an insert. It must change when the same events come to other blocks.
BLOCKS_VERSION = 2
# An event and its place among all.
Placed = tuple[int, Event]
_TIME = "DateTime64(6, 'UTC')"


class Block(Struct, frozen=True, gc=False):
    """data: in the engine's Native format"""

    columns: tuple[str, ...]
    data: bytes


class Batch(Struct, frozen=True, gc=False):
    events: tuple[Block, ...]
    persons: tuple[Block, ...] = ()
    overrides: tuple[Block, ...] = ()


class Draft(Struct, frozen=True, gc=False, array_like=True):
    """A block of events of which only the column of their persons is missing.

    order: of its rows, the place of each event among all
    """

    order: list[int]
    columns: tuple[str, ...]
    data: bytes

    def block(self, persons: Sequence[UUID]) -> Block:
        """persons: of all events"""
        person = native_format.uuids([persons[place] for place in self.order])
        written = native_format.written(column("person_id", "UUID", person))
        return Block((*self.columns, "person_id"), b"".join((self.data, *written)))


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
    drafting, some, left = Drafting(), list[Placed](), list[Placed]()
    rows = size = 0
    for place, event in enumerate(events):
        length = len(event.properties)
        if rows == rows_max or (rows and size + length > bytes_max):
            left += drafting.add(some)
            yield from drafting.taken()
            some, rows, size = [], 0, 0
        some.append((place, event))
        rows += 1
        size += length
        if len(some) == PART_ROWS:
            left += drafting.add(some)
            some = []
    left += drafting.add(some)
    yield from drafting.taken()
    yield from drafts_left(left, rows_max, bytes_max)


def drafts_left(
    left: Sequence[Placed], rows_max: int = BLOCK_ROWS_MAX, bytes_max: int = BLOCK_BYTES_MAX
) -> Iterator[Draft]:
    """Of events whose properties the engine must read."""
    some: list[Placed] = []
    size = 0
    for placed in left:
        length = len(placed[1].properties)
        if len(some) == rows_max or (some and size + length > bytes_max):
            yield _left(some)
            some, size = [], 0
        some.append(placed)
        size += length
    if some:
        yield _left(some)


class Drafting:
    """A block of events in the making, of some after others."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._order: list[int] = []
        self._columns: list[tuple[Column, ...]] = []
        self._attributes = Attributes()

    def add(self, some: Sequence[Placed]) -> list[Placed]:
        """Returns those whose properties the engine must read. raises: EventRejected"""
        order, left = self._attributes.add([event.values for _, event in some])
        if order:
            self._order += [some[at][0] for at in order]
            self._columns.append(_event_columns([some[at][1] for at in order]))
        return [some[at] for at in left]

    def taken(self) -> Iterator[Draft]:
        """The block, if there is anything in it; from now on it is another one."""
        if self._order:
            columns = map(_joined, zip(*self._columns, strict=True))
            attributes = column("attributes", ATTRIBUTES_TYPE, self._attributes.data())
            yield _draft(self._order, (*columns, attributes))
            self._begin()


def _left(some: Sequence[Placed]) -> Draft:
    events = [event for _, event in some]
    return _draft([place for place, _ in some], (*_event_columns(events), _shallow(events)))


def _draft(order: list[int], columns: Sequence[Column]) -> Draft:
    names = tuple(one.name for one in columns)
    return Draft(order, names, native_format.block(columns, len(order), more=1))


def _joined(parts: Sequence[Column]) -> Column:
    return Column(parts[0].name, parts[0].type, [data for part in parts for data in part.data])


def _event_columns(events: Sequence[Event]) -> tuple[Column, ...]:
    return (
        _unsigned("project_id", [event.project_id for event in events]),
        column("uuid", "UUID", native_format.uuids([event.uuid for event in events])),
        column("timestamp", _TIME, native_format.signed(all_micros([e.timestamp for e in events]))),
        column("received_at", _TIME, native_format.signed(_acceptances(events))),
        column("event", "String", native_format.texts([event.event for event in events])),
        column(
            "distinct_id", "String", native_format.texts([event.distinct_id for event in events])
        ),
        column("properties", "String", native_format.blobs([event.properties for event in events])),
    )


def person_blocks(persons: Sequence[PersonRow]) -> tuple[Block, ...]:
    """raises: EventRejected when a number does not fit its column"""
    attributes = Attributes()
    order, rest = attributes.add([person.values for person in persons])
    plain, left = [persons[at] for at in order], [persons[at] for at in rest]
    blocks: list[Block] = []
    if plain:
        made = column("attributes", ATTRIBUTES_TYPE, attributes.data())
        blocks.append(_block((*_person_columns(plain), made), len(plain)))
    if left:
        blocks.append(_block((*_person_columns(left), _shallow(left)), len(left)))
    return tuple(blocks)


def override_blocks(overrides: Sequence[Override]) -> tuple[Block, ...]:
    """raises: EventRejected when a number does not fit its column"""
    if not overrides:
        return ()
    columns = (
        _unsigned("project_id", [one.project_id for one in overrides]),
        column("old_person", "UUID", native_format.uuids([one.old_person for one in overrides])),
        column("new_person", "UUID", native_format.uuids([one.new_person for one in overrides])),
        _unsigned("version", [one.version for one in overrides]),
    )
    return (_block(columns, len(overrides)),)


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
        column("person_id", "UUID", native_format.uuids([person.person_id for person in persons])),
        column("created_at", _TIME, native_format.signed(created_at)),
        _unsigned("version", [person.version for person in persons]),
        column("is_deleted", "UInt8", bytes([person.is_deleted for person in persons])),
        column(
            "properties", "String", native_format.blobs([person.properties for person in persons])
        ),
    )


def _shallow(rows: Sequence[Event] | Sequence[PersonRow]) -> Column:
    return column(
        "shallow", "String", native_format.blobs([shallow(row.properties) for row in rows])
    )


def _unsigned(name: str, numbers: Sequence[int]) -> Column:
    """raises: EventRejected"""
    try:
        return column(name, "UInt64", native_format.unsigned(numbers))
    except OverflowError as error:
        raise EventRejected(f"a number does not fit its column: {error}") from None


def _block(columns: Sequence[Column], rows: int) -> Block:
    return Block(tuple(one.name for one in columns), native_format.block(columns, rows))
