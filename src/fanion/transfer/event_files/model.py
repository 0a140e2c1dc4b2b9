"""Rows of files that are imported, events made of them, and the faults of both."""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from msgspec import Struct, field

REASON_CHARS_MAX = 300


class FileProblem(Exception):
    """A reason why an import ends; the text is one line."""


class RowRefused(Exception):
    """A reason why one row is not imported; the text is one line."""


class Line(NamedTuple):
    """A line of a file.

    Attributes:
        text: Without its end; None if it is too long to be read.
        number: Counted from 1.
        end: The position behind it in the file, decompressed.
    """

    text: bytes | None
    number: int
    end: int


class Row(NamedTuple):
    """A row of a file, or why it cannot be read.

    Attributes:
        fields: None if it cannot be read.
        line: The number of its first line.
        source: Its bytes.
        reason: Why it cannot be read.
        last_line: The number of its last line.
        end: The position behind it in the file, decompressed.
    """

    fields: dict[str, Any] | None
    line: int
    source: bytes
    reason: str
    last_line: int
    end: int


class ImportedEvent(Struct, gc=False):
    """An event of a file, with the fields of a capture request.

    Attributes:
        distinct_id: Under the name that precedes a property `distinct_id`.
        timestamp: Aware, in UTC.
    """

    event: str
    timestamp: datetime
    uuid: UUID
    distinct_id: str = field(name="$distinct_id")
    properties: dict[str, Any]


class RefusedRow(Struct, frozen=True):
    """A row that was not imported."""

    file: str
    line: int
    reason: str
