"""The answer to the question of links to other sites, as clients read it.

Source: insights.md, section 11.
"""

from collections.abc import Sequence
from typing import Any, Final

from fanion.insights.web_analytics.clicks.query import COLUMNS, WebExternalClicksTableQuery
from fanion.insights.web_analytics.result import Row

_NAMES: Final = [f"context.columns.{name}" for name in ("url", *COLUMNS)]


def clicks_answer(query: WebExternalClicksTableQuery, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the answer.

    Args:
        rows: The rows of `clicks_statement`.
    """
    return {
        "columns": _NAMES,
        "results": [
            [row[0], *([row[at], row[at + 1] if query.is_compared else None] for at in (1, 3))]
            for row in rows[: query.limit]
        ],
        "hasMore": len(rows) > query.limit,
        "limit": query.limit,
        "offset": query.offset,
    }
