"""The number of threads of the embedded engine that a question gets.

The engine shares the cores with everything else.
"""

import asyncio
import os
from collections.abc import Callable
from time import monotonic
from typing import Final, Never

from fanion.runtime.background import seconds_in_step

LOOK_EVERY_S: Final = 0.2
IDLE_LOOK_S: Final = 1.0  # while nothing was answered or ingested since the last look
# Events are counted when a batch is done, which may take longer than LOOK_EVERY_S.
BUSY_FOR_S: Final = 2.0
# From these rates on, half of the cores are left to requests and ingestion.
BUSY_REQUESTS_PER_S: Final = 200
BUSY_EVENTS_PER_S: Final = 2_000


class QuestionThreads:
    """The number of threads for questions, by the load of the server.

    Questions get all cores while the server has little else to do, and half of them while it
    answers clients or ingests.

    Args:
        answered: Returns the number of requests so far.
        ingested: Returns the number of events so far.
    """

    def __init__(
        self,
        answered: Callable[[], int],
        ingested: Callable[[], int],
        cores: int = os.cpu_count() or 1,
        at: float | None = None,
    ) -> None:
        self._answered = answered
        self._ingested = ingested
        self._cores = cores
        self._seen = (monotonic() if at is None else at, answered(), ingested())
        self._busy_until = self._seen[0]

    def now(self) -> int:
        return max(1, self._cores // 2) if self._seen[0] < self._busy_until else self._cores

    async def run(self) -> Never:
        """Look at the load every LOOK_EVERY_S, or IDLE_LOOK_S without any, until cancelled."""
        while True:
            is_idle = not self.look(monotonic())
            await asyncio.sleep(seconds_in_step(IDLE_LOOK_S if is_idle else LOOK_EVERY_S))

    def look(self, at: float) -> bool:
        """Decide by the load since the last look, for BUSY_FOR_S, and return whether there was any.

        Args:
            at: Seconds of a monotonic clock.
        """
        before, requests, events = self._seen
        self._seen = (at, self._answered(), self._ingested())
        seconds = max(at - before, 1e-3)
        if (
            self._seen[1] - requests >= BUSY_REQUESTS_PER_S * seconds
            or self._seen[2] - events >= BUSY_EVENTS_PER_S * seconds
        ):
            self._busy_until = at + BUSY_FOR_S
        return self._seen[1:] != (requests, events)
