"""The worker that compares the stored events with the ledger while the server runs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Never

import structlog

from fanion.db.engine import Records, RecordsUnavailable
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.counts_query import ACCEPTED
from fanion.events.storage.native_format import micros
from fanion.events.storage.store import EventStore
from fanion.ingest.ledger.comparison import missing_events, missing_text
from fanion.ingest.ledger.comparison_store import read_ledger
from fanion.runtime.background import run_loop

# It reads when the events of a month were accepted, and nothing else of them.
EVERY_S: Final = 3600.0
# A start has other things to do.
FIRST_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class ComparisonWorker:
    """Compares the stored events with the ledger, and reports how many are missing.

    Attributes:
        now: The time of day.
        report: Is called with the number of missing events, and with 0 when another server may
            go on.
    """

    records: Records
    events: EventStore
    now: Callable[[], datetime]
    report: Callable[[int], None]

    async def run(self) -> Never:
        """Compare regularly, until cancelled."""
        failures = EventStoreUnavailable, RecordsUnavailable
        try:
            await run_loop(
                self.compare, EVERY_S, "events_not_compared", failures, initial_delay_s=FIRST_S
            )
        finally:
            self.report(0)

    async def compare(self) -> None:
        """Compare once.

        Raises:
            EventStoreUnavailable: The event store failed, or took too long to count.
            RecordsUnavailable: The records store failed.
        """
        # Read the ledger first: events are stored before they are counted.
        counted = await read_ledger(self.records, self.now())
        bounds = {"start": micros(counted.start), "end": micros(counted.end)}
        result = await self.events.ask(ACCEPTED, bounds, estimated=False)
        missing = missing_events(counted, dict(zip(*result.columns, strict=True)))
        self.report(sum(missing.values()))
        if missing:
            structlog.get_logger().error("events_missing", reason=missing_text(counted, missing))
