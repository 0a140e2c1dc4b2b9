"""Work on flags that falls due at a time; any of several servers may do it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, Never, TypeVar

import structlog

from fanion.db.engine import RecordsUnavailable
from fanion.runtime.background import run_loop

T = TypeVar("T")


class DueWork(Generic[T]):
    """What is wrong with one thing does not stop the others: it waits until it is looked at again.

    name:   of one such thing, for the log
    due:    what is due now, the longest due first
    do:     does one; whether there was something left to do
    log_fields: that name a thing in the log
    look_s: between two looks
    """

    def __init__(
        self,
        name: str,
        due: Callable[[], Awaitable[Sequence[T]]],
        do: Callable[[T], Awaitable[bool]],
        log_fields: Callable[[T], Mapping[str, Any]],
        look_s: float,
    ) -> None:
        self._name = name
        self._due = due
        self._do = do
        self._log_fields = log_fields
        self._look_s = look_s
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def run(self) -> Never:
        """Do what is due, until cancelled. What came due while no server ran is done at once."""
        await run_loop(self.work_once, self._look_s, f"{self._name}s_wait", (RecordsUnavailable,))

    async def work_once(self) -> bool:
        """Everything that is due, each once; whether any was done.

        raises: RecordsUnavailable when the list of what is due cannot be read
        """
        done = 0
        for one in await self._due():
            try:
                done += await self._do(one)
            except Exception as error:
                known = isinstance(error, RecordsUnavailable)
                self._log.warning(
                    f"{self._name}_waits",
                    reason=str(error),
                    exc_info=None if known else error,
                    **self._log_fields(one),
                )
        return done > 0
