"""Questions that are being answered, by the names that their clients gave them."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fanion.errors import QueryCancelled

_T = TypeVar("_T")


class RunningQueries:
    """The questions that this server is answering."""

    def __init__(self) -> None:
        self._running: dict[tuple[int, str], set[asyncio.Task[Any]]] = {}

    async def run_query(
        self, project_id: int, query_id: str | None, work: Coroutine[Any, Any, _T]
    ) -> _T:
        """Return the result of the work, whose errors are passed on.

        Args:
            query_id: The name by which it can be cancelled; None if it cannot.

        Raises:
            QueryCancelled: It was cancelled by its name.
        """
        task = asyncio.ensure_future(work)
        if query_id is None:
            return await task
        same = self._running.setdefault((project_id, query_id), set())
        same.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if task in same:
                raise
            raise QueryCancelled from None
        finally:
            same.discard(task)
            if not same and self._running.get((project_id, query_id)) is same:
                del self._running[project_id, query_id]

    def cancel_query(self, project_id: int, query_id: str) -> None:
        """Cancel the questions of this name, if there are any."""
        same = self._running.pop((project_id, query_id), set())
        tasks = list(same)
        same.clear()
        for task in tasks:
            task.cancel()
