"""Formats, limits and cursors of exports."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar, get_args

import msgspec

from fanion.errors import Invalid
from fanion.events.storage.export_query import ExportFormat

FORMATS: Final[tuple[ExportFormat, ...]] = get_args(ExportFormat)
MEDIA_TYPES: Final[Mapping[ExportFormat, str]] = {
    "csv": "text/csv",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
}
# Rows of one page, and so of one Parquet file.
PAGE_ROWS_MAX: Final = 100_000
# A page ends when its properties have more bytes.
PAGE_BYTES_MAX: Final = 16 * 2**20
# Exports that one server answers at once.
EXPORTS_AT_ONCE_MAX: Final = 4

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of an export.

    Attributes:
        text: In the format of the export, without the heading of a CSV file.
        next: The cursor of the next page; None after the last one.
    """

    rows: int
    text: bytes
    next: str | None


class Pages(Protocol):
    """The rows of one export, page by page."""

    @property
    def head(self) -> bytes:
        """The bytes before the first row."""

    async def next_page(self, rows_max: int) -> Page:
        """Return the next page. It ends early when it has more than PAGE_BYTES_MAX bytes."""


def write_cursor(place: object) -> str:
    return urlsafe_b64encode(msgspec.msgpack.encode(place)).decode().rstrip("=")


def read_cursor(text: str, kind: type[_T]) -> _T:
    """Return the place of a cursor.

    Raises:
        Invalid: The text was not made by `write_cursor`.
    """
    try:
        packed = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return msgspec.msgpack.decode(packed, type=kind)
    except (ValueError, msgspec.MsgspecError):
        raise Invalid("Must be the cursor of a next link.", attr="cursor") from None
