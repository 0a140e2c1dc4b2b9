"""The parameters that all exports take, and what the OpenAPI document says of their answers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from litestar.openapi.spec import (
    OpenAPIFormat,
    OpenAPIMediaType,
    OpenAPIResponse,
    OpenAPIType,
    Operation,
    Schema,
)

from fanion.errors import Invalid
from fanion.events.storage.export_query import ExportFormat
from fanion.exports.model import FORMATS, MEDIA_TYPES, PAGE_ROWS_MAX
from fanion.properties.validation import read_time_parameter
from fanion.rest.pagination import read_number
from fanion.rest.unknown_fields import choice

# The number of rows of the answer to a request with `limit`.
ROWS_HEADER: Final = "x-fanion-rows"

_TEXT: Final = Schema(type=OpenAPIType.STRING)
_BINARY: Final = Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY)


@dataclass
class ExportOperation(Operation):
    """An operation that answers with a file in one of the formats."""

    def __post_init__(self) -> None:
        response = (self.responses or {})["200"]
        assert isinstance(response, OpenAPIResponse)
        response.content = {
            media_type: OpenAPIMediaType(schema=_BINARY if name == "parquet" else _TEXT)
            for name, media_type in MEDIA_TYPES.items()
        }


def read_format(text: str | None) -> ExportFormat:
    """Return the format that a text names, by default CSV.

    Raises:
        Invalid: There is no such format.
    """
    return choice("csv" if text is None else text, FORMATS, "format")


def read_range(
    start_at: str | None, end_at: str | None, now: datetime
) -> tuple[datetime | None, datetime | None]:
    """Return the times from which, and before which, something is exported.

    Raises:
        Invalid: A text is no time, or the range is empty.
    """
    start = read_time_parameter(start_at, "start_at", now)
    end = read_time_parameter(end_at, "end_at", now)
    if start and end and start >= end:
        raise Invalid("Must be after start_at.", attr="end_at")
    return start, end


def read_page_limit(text: str | None) -> int | None:
    """Return the rows of a page, of which there are at most PAGE_ROWS_MAX; None for all pages."""
    if text is None:
        return None
    return min(read_number(text) or PAGE_ROWS_MAX, PAGE_ROWS_MAX)
