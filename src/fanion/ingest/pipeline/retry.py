"""Retries with backoff while a store is unavailable: accepted events wait in the log."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

import structlog
from prometheus_client import Counter

from fanion.db.engine import RecordsUnavailable
from fanion.events.event import EventStoreUnavailable
from fanion.runtime.background import Backoff

RETRY_FIRST_S = 0.2
RETRY_MAX_S = 10.0

_STORE_FAILURES = (EventStoreUnavailable, RecordsUnavailable, OSError)

P = ParamSpec("P")
T = TypeVar("T")


class StoreRetry:
    def __init__(self, failures: Counter) -> None:
        self._failures = failures
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def call(
        self, work: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Repeat `work` with backoff while stores fail; other errors are raised."""
        backoff = Backoff(RETRY_FIRST_S, RETRY_MAX_S)
        while True:
            try:
                return await work(*args, **kwargs)
            except* _STORE_FAILURES as group:
                failure = group.exceptions[0]
            self._failures.inc()
            wait_s = backoff.next_s()
            self._log.warning("ingestion_waits", reason=str(failure), retry_s=wait_s)
            await asyncio.sleep(wait_s)
