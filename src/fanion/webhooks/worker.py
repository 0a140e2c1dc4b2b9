"""Background worker that sends the due deliveries of webhooks.

Each server sends to many receivers concurrently, but one delivery of a webhook and a few of a
project at a time, so a slow receiver delays only its own deliveries.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Never

import structlog

from fanion.db.due_work import POLL_S
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.unwritten import UnwrittenPolls
from fanion.observability.metrics import Metrics
from fanion.observability.tracing import NO_TRACING, Tracing
from fanion.runtime.background import run_loop
from fanion.webhooks.announcements_store import announce_due
from fanion.webhooks.client import Sender
from fanion.webhooks.model import DeliveryOutcome, signed_headers
from fanion.webhooks.queue_store import Claim, DeliveriesInFlight, DeliveryQueue

SENDING_MAX = 64  # concurrent deliveries of one server
# The most polls skipped in a row while an SQLite store does not change. A retry is delayed by at
# most that long.
LEFT_OUT_MAX = 10
_INTERNAL = "The attempt failed because of an error of this server."


class Deliverer:
    def __init__(
        self,
        records: Records,
        sender: Sender,
        metrics: Metrics,
        now: Callable[[], datetime],
        tracing: Tracing = NO_TRACING,
    ) -> None:
        self._records = records
        self._tracing = tracing
        self._queue = DeliveryQueue(records)
        self._sender = sender
        self._attempts = metrics.webhook_attempts
        self._now = now
        self._sending: dict[asyncio.Task[None], Claim] = {}
        self._freed = asyncio.Event()
        self._unwritten = UnwrittenPolls(records.write_mark, LEFT_OUT_MAX)
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def run(self) -> Never:
        """Send due deliveries until cancelled, then release those in flight for other servers."""
        try:
            await run_loop(
                self._poll, POLL_S, "webhooks_wait", (RecordsUnavailable,), wake=self._freed
            )
        finally:
            await self._end()

    async def _poll(self) -> None:
        await self._unwritten.poll(self._start_due, has_work=bool(self._sending))

    async def _start_due(self) -> None:
        await self.start_deliveries()

    async def work_once(self) -> bool:
        """Send all due deliveries and wait until they end.

        Returns:
            Whether there were any.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        begun = await self.start_deliveries()
        while self._sending:
            await asyncio.wait(list(self._sending))
        return begun > 0

    async def start_deliveries(self) -> int:
        """Start as many due deliveries as the limits allow.

        Returns:
            The number of deliveries that were started.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        while await announce_due(self._records, self._now()):
            pass
        free = SENDING_MAX - len(self._sending)
        claims = (
            await self._queue.claim_deliveries(self._now(), self._in_flight(), free) if free else ()
        )
        for claim in claims:
            task = asyncio.create_task(self._deliver(claim))
            self._sending[task] = claim
            task.add_done_callback(self._done)
        return len(claims)

    def _in_flight(self) -> DeliveriesInFlight:
        claims = self._sending.values()
        return DeliveriesInFlight(
            [claim.webhook_id for claim in claims], Counter(claim.project_id for claim in claims)
        )

    async def _deliver(self, claim: Claim) -> None:
        outcome = await self._sent(claim)
        self._attempts.labels("delivered" if outcome.error is None else "failed").inc()
        try:
            await self._queue.finish(claim, outcome, self._now())
        except RecordsUnavailable as error:
            # The delivery is sent again, with the same id, after its lease has expired.
            self._log.warning("webhook_outcome_not_written", reason=str(error))

    async def _sent(self, claim: Claim) -> DeliveryOutcome:
        with self._tracing.span("webhook delivery", {"fanion.project": claim.project_id}):
            return await self._sent_in_span(claim)

    async def _sent_in_span(self, claim: Claim) -> DeliveryOutcome:
        headers = signed_headers(claim.secrets, str(claim.message_id), self._now(), claim.body)
        try:
            return await self._sender.send(claim.url, headers, claim.body)
        except Exception as error:
            self._log.error("webhook_attempt_failed", exc_info=error, webhook=claim.webhook_id)
            return DeliveryOutcome(error=_INTERNAL)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._sending.pop(task, None)
        self._freed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("webhook_delivery_failed", exc_info=error)

    async def _end(self) -> None:
        """Cancel the deliveries in flight, and make them due at once for other servers."""
        cancelled = dict(self._sending)
        for task in cancelled:
            task.cancel()
        await asyncio.gather(*cancelled, return_exceptions=True)
        try:
            for claim in cancelled.values():
                await self._queue.release(claim, self._now())
        except RecordsUnavailable as error:
            self._log.warning("webhooks_not_released", reason=str(error))
        await self._sender.close()
