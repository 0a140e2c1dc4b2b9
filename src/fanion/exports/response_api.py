"""The answer to an export: a file, or one page of it with the address of the next."""

from typing import Any, Final
from urllib.parse import urlencode

from litestar import Response

from fanion.events.storage.export_query import ExportFormat
from fanion.exports.model import MEDIA_TYPES, PAGE_ROWS_MAX, Pages
from fanion.exports.schemas import ROWS_HEADER
from fanion.exports.service import Exports
from fanion.projects.request_api import ManagementRequest
from fanion.rest.endpoints import Streamed, no_pieces

# Parameters that a next link has in another form, or that only this request may have.
_REPLACED: Final = frozenset({"cursor", "limit", "personal_api_key", "api_key", "token"})


async def export_response(
    request: ManagementRequest,
    exports: Exports,
    pages: Pages,
    name: str,
    file_format: ExportFormat,
    rows_max: int | None,
) -> Response[Any]:
    """Return the file, or a page of it; a Parquet file always is a page.

    Args:
        name: What the file holds.
        rows_max: The rows of the page; None for the whole file.
    """
    headers = {"content-disposition": f'attachment; filename="{name}.{file_format}"'}
    if request.is_head:
        return Streamed(no_pieces(), MEDIA_TYPES[file_format], headers=headers)
    if rows_max is None and file_format == "parquet":
        rows_max = PAGE_ROWS_MAX
    first, pieces = await exports.open_export(pages, rows_max)
    if rows_max is not None:
        headers[ROWS_HEADER] = str(first.rows)
        if first.next is not None:
            headers["link"] = f'<{_next_address(request, first.next, rows_max)}>; rel="next"'
    return Streamed(pieces, MEDIA_TYPES[file_format], headers=headers)


def _next_address(request: ManagementRequest, cursor: str, limit: int) -> str:
    kept = [(name, value) for name, value in request.page.query if name not in _REPLACED]
    return f"{request.address}?{urlencode([*kept, ('limit', str(limit)), ('cursor', cursor)])}"
