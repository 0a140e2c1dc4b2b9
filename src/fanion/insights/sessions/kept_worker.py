"""The worker that keeps the rows of sessions up to date."""

import asyncio
from dataclasses import dataclass
from time import perf_counter
from typing import Final, Never

from fanion.events.event import EventStoreUnavailable, StatementFailed
from fanion.events.storage.session_rows import SessionRows
from fanion.runtime.background import run_loop

EVERY_S: Final = 60.0
# After each step it rests for so many times as long as the step took, and leaves the engine to
# questions.
REST: Final = 4.0


@dataclass(slots=True)
class SessionRowsWorker:
    rows: SessionRows

    async def run(self) -> Never:
        """Write rows regularly, until cancelled."""
        failures = (EventStoreUnavailable, StatementFailed)
        await run_loop(
            self.work, EVERY_S, "session_rows_not_written", failures, initial_delay_s=EVERY_S
        )

    async def work(self) -> bool:
        """Do the next step, and return whether there is more to do.

        Raises:
            EventStoreUnavailable: The event store failed.
            StatementFailed: The step needs too much.
        """
        started = perf_counter()
        has_more = await self.rows.step()
        await asyncio.sleep(REST * (perf_counter() - started) if has_more else 0)
        return has_more
