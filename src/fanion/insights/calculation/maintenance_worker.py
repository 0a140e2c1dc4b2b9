"""The worker that keeps data derived from events up to date, in short steps."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Final, Never

from fanion.events.event import EventRejected, EventStoreUnavailable, StatementFailed
from fanion.runtime.background import run_loop

# After each step it rests for so many times as long as the step took, and leaves the engine to
# questions.
REST: Final = 4.0
_FAILURES: Final = (EventStoreUnavailable, EventRejected, StatementFailed)


@dataclass(slots=True)
class MaintenanceWorker:
    """The worker of one maintenance task.

    Attributes:
        step: Does the next step, and returns whether there is more to do at once.
        every_s: How often it is called when there is nothing to do.
        failure: The name under which failures are logged.
    """

    step: Callable[[], Awaitable[bool]]
    every_s: float
    failure: str

    async def run(self) -> Never:
        """Run steps regularly, until cancelled."""
        await run_loop(
            self.work, self.every_s, self.failure, _FAILURES, initial_delay_s=self.every_s
        )

    async def work(self) -> bool:
        """Do the next step, and return whether there is more to do.

        Raises:
            EventStoreUnavailable: The event store failed.
            EventRejected: The event store refuses the step.
            StatementFailed: The step needs too much.
        """
        started = perf_counter()
        has_more = await self.step()
        await asyncio.sleep(REST * (perf_counter() - started) if has_more else 0)
        return has_more
