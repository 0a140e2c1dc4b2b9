"""How far each lane of the accept log is ingested, and which server holds the lanes."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, Update, select, update

from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.lease import Lease
from fanion.db.schema.tables import log_positions

# A server that is silent for so long has died; another one goes on with its log.
HELD = timedelta(seconds=15)
RENEW_EVERY = HELD / 3  # while nothing comes; each batch renews it too
LIVE, HISTORICAL = "live", "historical"  # the consumers of live events and of imports
LANES = (HISTORICAL, LIVE)  # in the order in which their rows are locked
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
# `held_until` is never null: a lease that is released expires at once.
_LEASE = Lease(log_positions.c.held_until, log_positions.c.holder)


class NotOurs(Exception):
    """Another server ingests from this log now."""


# Of an envelope that is ingested in pieces: a second row of the consumer, whose `position` is the
# envelope's id, and `claimed` how many of its items are done.
BEGUN = ":begun"


async def ingested_upto(records: Records) -> int:
    """The last place in the log that any consumer has done or claimed."""
    rows = await records.fetch(
        select(log_positions.c.position, log_positions.c.claimed).where(
            log_positions.c.consumer.not_like(f"%{BEGUN}")
        )
    )
    return max((max(row.position, row.claimed) for row in rows), default=0)


@dataclass(frozen=True, slots=True)
class Begun:
    """How many items of an envelope are done, of which the others are not."""

    entry_id: int
    items: int


@dataclass(frozen=True, slots=True)
class Position:
    """at: the last id that is done; claimed: the last id of the batch in hand, or the same
    begun: of the envelope behind it, unless that is of one that is done
    """

    at: int
    claimed: int
    begun: Begun | None = None


@dataclass(frozen=True, slots=True)
class PositionHolder:
    """The server that writes, and the position from which it believes to go on."""

    consumer: str
    holder: str
    position: int
    now: datetime


def take(connection: Connection, consumer: str, holder: str, now: datetime) -> Position:
    """The lease is held for as long as it is held for any lane: one of them may be idle."""
    rows = _locked(connection)
    if len(rows) < len(LANES):
        rows = _begin(connection)
    for row in rows.values():
        if row.holder != holder and row.held_until > now:
            raise NotOurs(f"{row.holder} ingests until {row.held_until.isoformat()}")
    connection.execute(
        update(log_positions)
        .where(log_positions.c.consumer.in_(LANES))
        .values(**_LEASE.taken(now + HELD, holder))
    )
    row = rows[consumer]
    begun = connection.execute(
        select(log_positions).where(log_positions.c.consumer == consumer + BEGUN)
    ).first()
    if begun is None or begun.position <= row.position:
        return Position(row.position, row.claimed)
    return Position(row.position, row.claimed, Begun(begun.position, begun.claimed))


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
    """The rows of the lanes, which no other server may change before this transaction ends."""
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
    """Let another server go on at once."""
    mine = _of(consumer).where(_LEASE.is_held_by(holder))
    connection.execute(mine.values(**_LEASE.taken(now)))


def move(connection: Connection, holder: PositionHolder, position: int, claimed: int) -> None:
    """Only for the holder, and only from where it believes to be: otherwise another server has
    gone on from there, and what this batch would write is written already."""
    moved = connection.execute(
        _of(holder.consumer)
        .where(_LEASE.is_held_by(holder.holder), log_positions.c.position == holder.position)
        .values(position=position, claimed=claimed, **_LEASE.taken(holder.now + HELD))
    )
    if moved.rowcount != 1:
        raise NotOurs(f"the position is no longer {holder.position}")


def hold(connection: Connection, holder: PositionHolder) -> None:
    """Only the holder may change persons, whichever entry it is about; wherever it stands."""
    mine = _of(holder.consumer).where(_LEASE.is_held_by(holder.holder))
    if connection.execute(mine.values(**_LEASE.taken(holder.now + HELD))).rowcount != 1:
        raise NotOurs("another server ingests")


def step(connection: Connection, holder: PositionHolder, done: int, begun: Begun | None) -> None:
    """Over what is stored in this transaction: to `done`, or into the envelope that was begun."""
    if begun is None:
        move(connection, holder, done, done)
        return
    move(connection, holder, holder.position, holder.position)
    values = {"position": begun.entry_id, "claimed": begun.items}
    statement = upsert(connection.dialect, log_positions).values(
        consumer=holder.consumer + BEGUN, holder="", held_until=_LONG_AGO, **values
    )
    connection.execute(
        statement.on_conflict_do_update(index_elements=[log_positions.c.consumer], set_=values)
    )
