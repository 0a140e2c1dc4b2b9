"""Retries with backoff while a store is unavailable and accepted events wait in the log."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from prometheus_client import Counter

from fanion.db.engine import RecordsUnavailable
from fanion.events.event import EventStoreUnavailable
from fanion.runtime.background import Backoff
from fanion.runtime.failure_log import FailureLog

RETRY_FIRST_S = 0.2
# A store that is down refuses at once, so that asking again costs little. Waiting events are
# ingested within this time after it is back.
RETRY_MAX_S = 0.5

_STORE_FAILURES = (EventStoreUnavailable, RecordsUnavailable, OSError)

P = ParamSpec("P")
T = TypeVar("T")


class StoreRetry:
    def __init__(self, failures: Counter) -> None:
        self._failures = failures

    async def call(
        self, work: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Repeat `work` with backoff while stores fail. Other errors are raised."""
        backoff, log = Backoff(RETRY_FIRST_S, RETRY_MAX_S), FailureLog("ingestion_waits")
        while True:
            try:
                done = await work(*args, **kwargs)
                log.succeeded()
                return done
            except* _STORE_FAILURES as group:
                failure = group.exceptions[0]
            self._failures.inc()
            log.failed(str(failure))
            await asyncio.sleep(backoff.next_s())
