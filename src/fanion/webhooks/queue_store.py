"""A queue of due deliveries, which are claimed with a lease, finished and released.

A claim moves the due time to the end of the lease, when another server may claim the delivery.
The number of the attempt identifies the holder. Unlike `db/due_work` a claim takes one delivery of
each of many receivers within the limits of their projects (decision 23).
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, delete, func, select, update

from fanion.db.engine import Records
from fanion.db.schema.webhooks import webhook_deliveries, webhooks
from fanion.webhooks.model import DeliveryOutcome, read_former, wait_after

LEASE = timedelta(seconds=30)  # three times the timeout of an attempt
PROJECT_SENDING_MAX = 8  # concurrent deliveries of one project and one server
WEBHOOKS_READ_MAX = 1_000  # webhooks with a due delivery; a project has at most 20
# Finished deliveries of one webhook that are kept; older ones are deleted.
FINISHED_MAX = 200
ERROR_CHARS_MAX = 500

_hook, _delivery = webhooks.c, webhook_deliveries.c


@dataclass(frozen=True, slots=True)
class Claim:
    """A delivery that this server is to attempt.

    Attributes:
        attempt: The number of this attempt, from 1.
        secrets: The valid secrets, the current one first.
    """

    id: int
    project_id: int
    webhook_id: int
    message_id: UUID
    body: bytes
    attempt: int
    url: str
    secrets: Sequence[str]


@dataclass(frozen=True, slots=True)
class DeliveriesInFlight:
    """The deliveries that a server is sending: webhook ids, and counts by project."""

    webhooks: Collection[int]
    projects: Mapping[int, int]

    def room(self, project_id: int) -> int:
        return PROJECT_SENDING_MAX - self.projects.get(project_id, 0)

    def full_projects(self) -> Collection[int]:
        return [project_id for project_id in self.projects if self.room(project_id) <= 0]


@dataclass(frozen=True, slots=True)
class DeliveryQueue:
    records: Records

    async def claim_deliveries(
        self, now: datetime, sending: DeliveriesInFlight, limit: int
    ) -> Sequence[Claim]:
        """Claim one due delivery of each webhook that has none in flight.

        At most `limit` deliveries are claimed, and of each project no more than PROJECT_SENDING_MAX
        less those in flight.
        """
        rows: Sequence[Any] = await self.records.fetch(_first_due(now, sending))
        chosen = _within_limits(rows, sending)[:limit]
        if not chosen:
            return []  # and open no write transaction: only one runs at a time
        async with self.records.write() as connection:
            return await connection.run_sync(_claim_deliveries, chosen, now)

    async def finish(self, claim: Claim, outcome: DeliveryOutcome, now: datetime) -> None:
        """Store the outcome of an attempt.

        Nothing happens if another server has claimed the delivery or the webhook is deleted.
        """
        async with self.records.write() as connection:
            await connection.run_sync(_finish_delivery, claim, _outcome_values(claim, outcome, now))

    async def release(self, claim: Claim, now: datetime) -> None:
        """Make the delivery due at once, for another server."""
        async with self.records.write() as connection:
            await connection.execute(
                update(webhook_deliveries).where(_holds(claim)).values(due_at=now)
            )


def _first_due(now: datetime, sending: DeliveriesInFlight) -> Select[Any]:
    """Select the first due delivery of each webhook: a server sends one at a time to a receiver."""
    return (
        select(func.min(_delivery.id).label("first"), _delivery.project_id)
        .where(
            _delivery.due_at <= now,
            _delivery.webhook_id.not_in(sending.webhooks),
            _delivery.project_id.not_in(sending.full_projects()),
        )
        .group_by(_delivery.webhook_id, _delivery.project_id)
        .order_by(func.min(_delivery.due_at))
        .limit(WEBHOOKS_READ_MAX)
    )


def _within_limits(rows: Sequence[Any], sending: DeliveriesInFlight) -> Sequence[int]:
    """Return ids of deliveries within the limit of each project, longest due first."""
    chosen, counts = [], Counter[int]()
    for row in rows:
        if counts[row.project_id] < sending.room(row.project_id):
            counts[row.project_id] += 1
            chosen.append(row.first)
    return chosen


def _claim_deliveries(connection: Connection, ids: Sequence[int], now: datetime) -> Sequence[Claim]:
    rows = connection.execute(
        select(
            _delivery.id,
            _delivery.project_id,
            _delivery.webhook_id,
            _delivery.uuid,
            _delivery.body,
            _delivery.attempts + 1,
            _hook.url,
            _hook.secret,
            _hook.former_secrets,
        )
        .join(webhooks, _hook.id == _delivery.webhook_id)
        .where(_delivery.id.in_(ids), _delivery.due_at <= now)
        .order_by(_delivery.id)
        .with_for_update(of=webhook_deliveries, skip_locked=True)
    )
    claims = [Claim(*row[:-2], secrets=_secrets(row, now)) for row in rows]
    if claims:
        connection.execute(
            update(webhook_deliveries)
            .where(_delivery.id.in_([claim.id for claim in claims]))
            .values(due_at=now + LEASE, attempts=_delivery.attempts + 1)
        )
    return claims


def _secrets(row: Any, now: datetime) -> Sequence[str]:
    former = [
        secret.secret for secret in read_former(row.former_secrets) if secret.valid_until > now
    ]
    return [row.secret, *former]


def _outcome_values(claim: Claim, outcome: DeliveryOutcome, now: datetime) -> Mapping[str, Any]:
    values: dict[str, Any] = {"response_code": outcome.response_code, "error": None}
    over = {"body": b"", "due_at": None, "finished_at": now}
    if outcome.error is None:
        return {**values, **over, "status": "delivered"}
    values["error"] = outcome.error[:ERROR_CHARS_MAX]
    wait = wait_after(claim.attempt, outcome)
    if wait is None:
        return {**values, **over, "status": "failed"}
    return {**values, "due_at": now + wait}


def _finish_delivery(connection: Connection, claim: Claim, values: Mapping[str, Any]) -> None:
    # Lock the webhook, so that a transaction that deletes it waits for this one.
    connection.execute(
        select(_hook.id).where(_hook.id == claim.webhook_id).with_for_update(read=True)
    )
    connection.execute(update(webhook_deliveries).where(_holds(claim)).values(**values))
    if values["due_at"] is None:
        _delete_oldest(connection, claim.webhook_id)


def _delete_oldest(connection: Connection, webhook_id: int) -> None:
    over = (_delivery.webhook_id == webhook_id) & _delivery.due_at.is_(None)
    oldest = (
        select(_delivery.id).where(over).order_by(_delivery.id.desc()).offset(FINISHED_MAX).limit(1)
    )
    connection.execute(
        delete(webhook_deliveries).where(over, _delivery.id <= oldest.scalar_subquery())
    )


def _holds(claim: Claim) -> ColumnElement[bool]:
    same = (_delivery.id == claim.id) & (_delivery.attempts == claim.attempt)
    return same & _delivery.due_at.is_not(None)
