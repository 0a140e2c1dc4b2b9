"""The checking and writing of expressions in SQL, in a thread of their own.

Source: insights.md, section 10b.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from fanion.insights.entities import SqlText
from fanion.insights.expressions.model import WrittenExpression
from fanion.insights.query import InsightQuery, sql_named

# For texts and answers of all projects, one after another: each may take half a second of the
# processor, and so takes no more than one core, even if its client has left.
_THREAD: Final = ThreadPoolExecutor(1, "sql")


async def in_sql_thread(work: Callable[..., Any], *arguments: Any) -> Any:
    """Return what work on the text of a user returns."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work, *arguments)


async def write_sql_of(query: InsightQuery, zone: str) -> Mapping[SqlText, WrittenExpression]:
    """Return the expressions in SQL of a question, checked and written again.

    Args:
        zone: The name of the time zone of the project.

    Raises:
        Invalid: A part of one is not allowed, with the place in the request and in the text.
    """
    texts = sql_named(query)
    if not texts:
        return {}
    written: Mapping[SqlText, WrittenExpression] = await in_sql_thread(_write, texts, zone)
    return written


async def check_sql_of(query: InsightQuery) -> None:
    """Raise Invalid for a question with an expression in SQL that is not allowed."""
    await write_sql_of(query, "UTC")


def _write(texts: Sequence[SqlText], zone: str) -> Mapping[SqlText, WrittenExpression]:
    # The parser takes a tenth of a second to load, and most servers never need it.
    from fanion.insights.expressions.writing_sql import write_expressions

    return write_expressions(texts, zone)
