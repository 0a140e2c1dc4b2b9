"""The events of all files of an import, in blocks that end behind a row."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

import msgspec

from fanion.transfer.event_files.files.file_reader import SourceFile
from fanion.transfer.event_files.files.rows_reader import Kind, OpenRows, Place, open_rows
from fanion.transfer.event_files.formats.umami import table_of
from fanion.transfer.event_files.mapping import MappedRows
from fanion.transfer.event_files.model import (
    REASON_CHARS_MAX,
    ImportedEvent,
    RefusedRow,
    Row,
    RowRefused,
)

BLOCK_ROWS = 1000
BLOCK_BYTES = 4 * 1024**2
MARK = "$import_job_id"  # PostHog's own name for it
_encode = msgspec.json.Encoder().encode


class EventRows(Protocol):
    """A source of events, which it makes of rows.

    Attributes:
        is_replayed: Whether events depend on the rows before theirs.
    """

    is_replayed: bool

    def events(self, row: Row) -> list[ImportedEvent]:
        """Return the events of a row.

        Raises:
            RowRefused: The row cannot be imported.
        """


class Position(NamedTuple):
    """A position in an import.

    Attributes:
        file: The index of the file.
    """

    file: int = 0
    line: int = 0
    end: int = 0


@dataclass
class Block:
    """Events of consecutive rows.

    Attributes:
        items: Each event as JSON.
        position: Behind the last row.
        unused: The number of rows that are not for this import.
        names: The number of events of each name.
        previous: The time of the last event.
        unordered: The number of events that are earlier than the one before them.
    """

    position: Position
    items: list[bytes] = field(default_factory=list)
    size: int = 0
    rows: int = 0
    unused: int = 0
    refused: list[RefusedRow] = field(default_factory=list)
    names: Counter[str] = field(default_factory=Counter)
    first: datetime | None = None
    last: datetime | None = None
    previous: datetime | None = None
    unordered: int = 0

    @property
    def is_full(self) -> bool:
        return self.rows >= BLOCK_ROWS or self.size >= BLOCK_BYTES


@dataclass(frozen=True)
class ImportedFiles:
    """The files of an import and how their rows become events."""

    sources: Sequence[SourceFile]
    kind: Kind
    events: EventRows
    job: str

    def blocks(self, start: Position, previous: datetime | None = None) -> Iterator[Block]:
        """Yield the blocks behind a position.

        Args:
            previous: The time of the event before it.

        Raises:
            FileProblem: A file cannot be read.
        """
        begin = 0 if self.events.is_replayed else start.file
        for index in range(begin, len(self.sources)):
            for block in self._blocks_of(index, start, previous):
                yield block
                previous = block.previous or previous

    def _blocks_of(self, index: int, start: Position, previous: datetime | None) -> Iterator[Block]:
        source = self.sources[index]
        place = Place(*start[1:]) if index == start.file else Place()
        is_replayed = self.events.is_replayed
        with open_rows(source, self.kind, Place() if is_replayed else place) as opened:
            if not self._is_used(source, opened):
                return
            block = Block(Position(index, *place))
            for row in opened.rows:
                if index < start.file or row.end <= place.end:
                    self._replay(row)
                    continue
                previous = self._add(block, source, row, previous)
                block.position = Position(index, row.last_line, row.end)
                if block.is_full:
                    yield block
                    block = Block(block.position)
            if index >= start.file:
                yield block

    def _is_used(self, source: SourceFile, opened: OpenRows) -> bool:
        if isinstance(self.events, MappedRows) and opened.columns:
            self.events.require_columns(source.name, opened.columns)
        return self.kind != "umami" or table_of(opened.columns or ()) == "event"

    def _replay(self, row: Row) -> None:
        if row.fields is None:
            return
        try:
            self.events.events(row)
        except RowRefused:
            return

    def _add(
        self, block: Block, source: SourceFile, row: Row, previous: datetime | None
    ) -> datetime | None:
        block.rows += 1
        try:
            if row.fields is None:
                raise RowRefused(row.reason)
            events = self.events.events(row)
        except RowRefused as refused:
            reason = str(refused)[:REASON_CHARS_MAX]
            block.refused.append(RefusedRow(source.name, row.line, reason))
            return previous
        if not events:
            block.unused += 1
        for event in events:
            event.properties[MARK] = self.job
            item = _encode(event)
            block.items.append(item)
            block.size += len(item)
            block.names[event.event[:200]] += 1
            at = event.timestamp
            if previous is not None and at < previous:
                block.unordered += 1
            previous = block.previous = at
            block.first = at if block.first is None or at < block.first else block.first
            block.last = at if block.last is None or at > block.last else block.last
        return previous
