"""Rows in the engine's Native format, with the properties already as columns."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from msgspec import Struct

from fanion.events.event import Event, EventRejected, GroupRow, Override, PersonRow
from fanion.events.storage import native_format
from fanion.events.storage.encoder import (
    BLOCK_BYTES_MAX,
    BLOCK_ROWS_MAX,
    Block,
    EventEncoder,
    even_rows,
    shallow,
)
from fanion.events.storage.json_column import JsonColumn
from fanion.events.storage.native_format import Column, all_micros, micros
from fanion.events.storage.schema import ATTRIBUTES_TYPE

# Events encoded at a time.
PART_ROWS = 500
_Held = TypeVar("_Held", PersonRow, GroupRow)
# An event and its index among all.
Placed = tuple[int, Event]


class Draft(Struct, frozen=True, gc=False, array_like=True):
    """A block of events without the column of their persons.

    Attributes:
        order: For each row, the index of its event among all events.
    """

    order: list[int]
    columns: tuple[str, ...]
    data: bytes

    def block(self, persons: Sequence[UUID]) -> Block:
        """Return the block, given the persons of all events."""
        of_rows = [persons[index] for index in self.order]
        column = ("person_id", native_format.UUIDS, of_rows)
        return Block((*self.columns, "person_id"), native_format.with_columns(self.data, column))


class NativeEncoder(EventEncoder):
    version = "2"
    has_drafts = True

    def event_blocks(self, events: Iterable[Event], count: int = 0) -> Iterator[Block]:
        persons: list[UUID] = []

        def noted() -> Iterator[Event]:
            for event in events:
                persons.append(event.person_id)
                yield event

        for draft in self.event_drafts(noted(), count):
            yield draft.block(persons)

    def event_drafts(self, events: Iterable[Event], count: int = 0) -> Iterator[Draft]:
        """Yield `event_blocks` without the persons of the events.

        Events whose properties the engine must parse come last.
        """
        rows_max = even_rows(count, self.rows_max) if count > self.rows_max else self.rows_max
        draft, part, left = DraftBuilder(), list[Placed](), list[Placed]()
        rows = size = 0
        for index, event in enumerate(events):
            length = len(event.properties)
            if rows == rows_max or (rows and size + length > self.bytes_max):
                left += draft.add_events(part)
                yield from draft.take_draft()
                part, rows, size = [], 0, 0
            part.append((index, event))
            rows += 1
            size += length
            if len(part) == PART_ROWS:
                left += draft.add_events(part)
                part = []
        left += draft.add_events(part)
        yield from draft.take_draft()
        yield from text_drafts(left, rows_max, self.bytes_max)

    def person_blocks(self, persons: Sequence[PersonRow]) -> tuple[Block, ...]:
        return _held_blocks(persons, _person_columns)

    def group_blocks(self, groups: Sequence[GroupRow]) -> tuple[Block, ...]:
        return _held_blocks(groups, _group_columns)

    def override_blocks(self, overrides: Sequence[Override]) -> tuple[Block, ...]:
        if not overrides:
            return ()
        columns = _columns(
            ("project_id", native_format.UINT64, [override.project_id for override in overrides]),
            ("old_person", native_format.UUIDS, [override.old_person for override in overrides]),
            ("new_person", native_format.UUIDS, [override.new_person for override in overrides]),
            ("version", native_format.UINT64, [override.version for override in overrides]),
        )
        return (_block(columns, len(overrides)),)


class DraftBuilder:
    """A draft to which events are added some at a time."""

    def __init__(self) -> None:
        self._order: list[int] = []
        self._columns: list[tuple[Column, ...]] = []
        self._attributes = JsonColumn()

    def add_events(self, placed_events: Sequence[Placed]) -> list[Placed]:
        """Add events, and return those whose properties the engine must parse.

        Raises:
            EventRejected: A number does not fit its column.
        """
        order, left = self._attributes.add_objects([event.values for _, event in placed_events])
        if order:
            self._order += [placed_events[at][0] for at in order]
            self._columns.append(_event_columns([placed_events[at][1] for at in order]))
        return [placed_events[at] for at in left]

    def take_draft(self) -> Iterator[Draft]:
        """Yield the draft, if it is not empty. Further events start another one."""
        if self._order:
            columns = native_format.joined(self._columns)
            yield _draft(self._order, (*columns, _attributes(self._attributes)))
            self._order, self._columns, self._attributes = [], [], JsonColumn()


def text_drafts(
    left: Sequence[Placed], rows_max: int = BLOCK_ROWS_MAX, bytes_max: int = BLOCK_BYTES_MAX
) -> Iterator[Draft]:
    """Yield drafts of events whose properties the engine must parse."""
    block_events: list[Placed] = []
    size = 0
    for placed in left:
        length = len(placed[1].properties)
        if len(block_events) == rows_max or (block_events and size + length > bytes_max):
            yield _text_draft(block_events)
            block_events, size = [], 0
        block_events.append(placed)
        size += length
    if block_events:
        yield _text_draft(block_events)


def _text_draft(placed_events: Sequence[Placed]) -> Draft:
    events = [event for _, event in placed_events]
    return _draft(
        [index for index, _ in placed_events], (*_event_columns(events), *_shallow(events))
    )


def _draft(order: list[int], columns: Sequence[Column]) -> Draft:
    names = tuple([column.name for column in columns])
    return Draft(order, names, native_format.block(columns, len(order), more=1))


def _block(columns: Sequence[Column], rows: int) -> Block:
    return Block(tuple([column.name for column in columns]), native_format.block(columns, rows))


def _held_blocks(
    rows: Sequence[_Held], columns: Callable[[Sequence[_Held]], tuple[Column, ...]]
) -> tuple[Block, ...]:
    """Return blocks of rows. Rows whose properties the engine must parse come last."""
    attributes = JsonColumn()
    order, rest = attributes.add_objects([row.values for row in rows])
    blocks: list[Block] = []
    if order:
        plain: list[_Held] = [rows[at] for at in order]
        blocks.append(_block((*columns(plain), _attributes(attributes)), len(plain)))
    if rest:
        left: list[_Held] = [rows[at] for at in rest]
        blocks.append(_block((*columns(left), *_shallow(left)), len(left)))
    return tuple(blocks)


def _attributes(made: JsonColumn) -> Column:
    return Column("attributes", ATTRIBUTES_TYPE, (made.data(),))


def _event_columns(events: Sequence[Event]) -> tuple[Column, ...]:
    return _columns(
        ("project_id", native_format.UINT64, [event.project_id for event in events]),
        ("uuid", native_format.UUIDS, [event.uuid for event in events]),
        ("timestamp", native_format.MICROSECONDS, all_micros([e.timestamp for e in events])),
        ("received_at", native_format.MICROSECONDS, _acceptances(events)),
        ("event", native_format.TEXT, [event.event for event in events]),
        ("distinct_id", native_format.TEXT, [event.distinct_id for event in events]),
        ("properties", native_format.BYTES, [event.properties for event in events]),
    )


def _acceptances(events: Iterable[Event]) -> list[int]:
    received_at: datetime | None = None
    at = 0
    times: list[int] = []
    for event in events:
        if event.received_at is not received_at:  # many arrived in one request
            received_at, at = event.received_at, micros(event.received_at)
        times.append(at)
    return times


def _person_columns(persons: Sequence[PersonRow]) -> tuple[Column, ...]:
    created_at = all_micros([person.created_at for person in persons])
    return _columns(
        ("project_id", native_format.UINT64, [person.project_id for person in persons]),
        ("person_id", native_format.UUIDS, [person.person_id for person in persons]),
        ("created_at", native_format.MICROSECONDS, created_at),
        ("version", native_format.UINT64, [person.version for person in persons]),
        ("is_deleted", native_format.UINT8, [person.is_deleted for person in persons]),
        ("properties", native_format.BYTES, [person.properties for person in persons]),
    )


def _group_columns(groups: Sequence[GroupRow]) -> tuple[Column, ...]:
    return _columns(
        ("project_id", native_format.UINT64, [group.project_id for group in groups]),
        ("group_type_index", native_format.UINT8, [group.group_type_index for group in groups]),
        ("group_key", native_format.TEXT, [group.group_key for group in groups]),
        ("created_at", native_format.MICROSECONDS, all_micros([g.created_at for g in groups])),
        ("version", native_format.UINT64, [group.version for group in groups]),
        ("is_deleted", native_format.UINT8, [group.is_deleted for group in groups]),
        ("properties", native_format.BYTES, [group.properties for group in groups]),
    )


def _shallow(rows: Sequence[Event | PersonRow | GroupRow]) -> tuple[Column, ...]:
    return _columns(("shallow", native_format.BYTES, [shallow(row.properties) for row in rows]))


def _columns(
    *given: tuple[str, native_format.ColumnType, Sequence[object]],
) -> tuple[Column, ...]:
    """Encode columns.

    Raises:
        EventRejected: A number does not fit its column.
    """
    try:
        return native_format.columns(*given)
    except OverflowError as error:
        raise EventRejected(f"a number does not fit its column: {error}") from None
