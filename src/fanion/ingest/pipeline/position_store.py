"""The committed position of each lane of the accept log, and the lease of its consumer."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, Update, select, update

from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.lease import Lease
from fanion.db.schema.tables import log_positions

# A server that has not renewed its lease for so long is taken to be dead; another one continues.
LEASE_DURATION = timedelta(seconds=15)
RENEW_EVERY = LEASE_DURATION / 3  # while idle; each batch renews it too
LIVE, HISTORICAL = "live", "historical"  # the consumers of live events and of imports
LANES = (HISTORICAL, LIVE)  # in the order in which their rows are locked
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
# `held_until` is never null: a lease that is released expires at once.
_LEASE = Lease(log_positions.c.held_until, log_positions.c.holder)


class NotLeaseHolder(Exception):
    """Another server holds the lease of the lanes."""


# Suffix of a consumer's second row, for an envelope that is ingested in pieces: its `position` is
# the envelope's id, its `claimed` the number of items that are stored.
PROGRESS_SUFFIX = ":progress"


async def ingested_upto(records: Records) -> int:
    """The last position in the log that any consumer has completed or claimed."""
    rows = await records.fetch(
        select(log_positions.c.position, log_positions.c.claimed).where(
            log_positions.c.consumer.not_like(f"%{PROGRESS_SUFFIX}")
        )
    )
    return max((max(row.position, row.claimed) for row in rows), default=0)


async def is_ingested(records: Records, entry_id: int) -> bool:
    """Whether an entry of the live lane is ingested, and with it all before it."""
    statement = select(log_positions.c.position).where(log_positions.c.consumer == LIVE)
    return any(row.position >= entry_id for row in await records.fetch(statement))


@dataclass(frozen=True, slots=True)
class EnvelopeProgress:
    """items: how many of the envelope are stored, while others are not"""

    entry_id: int
    items: int


@dataclass(frozen=True, slots=True)
class Position:
    """at: the last completed id; claimed: the last id of the current batch, or the same
    progress: in the next envelope, if some of its items are stored
    """

    at: int
    claimed: int
    progress: EnvelopeProgress | None = None


@dataclass(frozen=True, slots=True)
class PositionHolder:
    """The server that writes, and the position that it assumes."""

    consumer: str
    holder: str
    position: int
    now: datetime


def acquire(connection: Connection, consumer: str, holder: str, now: datetime) -> Position:
    """Acquire the lease of all lanes: one of them may be idle. raises: NotLeaseHolder"""
    rows = _locked(connection)
    if len(rows) < len(LANES):
        rows = _begin(connection)
    for row in rows.values():
        if row.holder != holder and row.held_until > now:
            raise NotLeaseHolder(f"{row.holder} holds the lease until {row.held_until.isoformat()}")
    connection.execute(
        update(log_positions)
        .where(log_positions.c.consumer.in_(LANES))
        .values(**_LEASE.taken(now + LEASE_DURATION, holder))
    )
    row = rows[consumer]
    progress = connection.execute(
        select(log_positions).where(log_positions.c.consumer == consumer + PROGRESS_SUFFIX)
    ).first()
    if progress is None or progress.position <= row.position:
        return Position(row.position, row.claimed)
    return Position(
        row.position, row.claimed, EnvelopeProgress(progress.position, progress.claimed)
    )


def _begin(connection: Connection) -> dict[str, Row[Any]]:
    statement = upsert(connection.dialect, log_positions).values(
        [
            {
                "consumer": consumer,
                "position": 0,
                "claimed": 0,
                "holder": "",
                "held_until": _LONG_AGO,
            }
            for consumer in LANES
        ]
    )
    connection.execute(statement.on_conflict_do_nothing())
    return _locked(connection)


def _locked(connection: Connection) -> dict[str, Row[Any]]:
    """The rows of the lanes, locked until this transaction ends."""
    wanted = (
        select(log_positions)
        .where(log_positions.c.consumer.in_(LANES))
        .order_by(log_positions.c.consumer)
        .with_for_update()
    )
    return {row.consumer: row for row in connection.execute(wanted)}


def _of(consumer: str) -> Update:
    return update(log_positions).where(log_positions.c.consumer == consumer)


def release(connection: Connection, consumer: str, holder: str, now: datetime) -> None:
    """Release the lease, so that another server can continue at once."""
    mine = _of(consumer).where(_LEASE.is_held_by(holder))
    connection.execute(mine.values(**_LEASE.taken(now)))


def advance(connection: Connection, holder: PositionHolder, position: int, claimed: int) -> None:
    """Only for the lease holder, and only from the position that it assumes: otherwise another
    server has continued from there, and what this batch would write is written already."""
    moved = connection.execute(
        _of(holder.consumer)
        .where(_LEASE.is_held_by(holder.holder), log_positions.c.position == holder.position)
        .values(position=position, claimed=claimed, **_LEASE.taken(holder.now + LEASE_DURATION))
    )
    if moved.rowcount != 1:
        raise NotLeaseHolder(f"the lane is no longer at position {holder.position}")


def renew(connection: Connection, holder: PositionHolder) -> None:
    """Only the lease holder may change persons, at whatever position it is."""
    mine = _of(holder.consumer).where(_LEASE.is_held_by(holder.holder))
    if connection.execute(mine.values(**_LEASE.taken(holder.now + LEASE_DURATION))).rowcount != 1:
        raise NotLeaseHolder("another server holds the lease")


def complete(
    connection: Connection, holder: PositionHolder, done: int, progress: EnvelopeProgress | None
) -> None:
    """Advance over what this transaction stores: to `done`, or within an envelope."""
    if progress is None:
        advance(connection, holder, done, done)
        return
    advance(connection, holder, holder.position, holder.position)
    values = {"position": progress.entry_id, "claimed": progress.items}
    statement = upsert(connection.dialect, log_positions).values(
        consumer=holder.consumer + PROGRESS_SUFFIX, holder="", held_until=_LONG_AGO, **values
    )
    connection.execute(
        statement.on_conflict_do_update(index_elements=[log_positions.c.consumer], set_=values)
    )
