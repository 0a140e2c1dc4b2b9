"""The committed position of each lane in each partition of the accept log, and its lease.

A worker moves a position only under a lease: one for both lanes of a log without partitions, else
one for each partition.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, Update, case, select, text, update

from fanion.accept_log.port import AcceptLog, Backlog, Positions
from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.lease import Lease
from fanion.db.schema.tables import log_positions

# For a log without partitions. A server that has not renewed its lease for this long is taken to be
# dead, and another one continues.
LEASE_DURATION = timedelta(seconds=15)
RENEW_EVERY = LEASE_DURATION / 3  # while idle; each batch renews it too
LIVE, HISTORICAL = "live", "historical"  # the consumers of live events and of imports
LANES = (HISTORICAL, LIVE)  # in the order in which their rows are locked
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
# `held_until` is never null: a released lease expires at once.
_claimed = log_positions.c.claimed
_LEASE = Lease(log_positions.c.held_until, log_positions.c.holder)

# Each row is a fence: it moves only under the lease's epoch, and from the assumed position.
_MOVE = text("""
UPDATE log_positions AS held
   SET position = moved.position, claimed = GREATEST(held.claimed, moved.claimed)
  FROM UNNEST(CAST(:consumers AS text[]), CAST(:epochs AS bigint[]), CAST(:assumed AS bigint[]),
              CAST(:positions AS bigint[]), CAST(:claimed AS bigint[]))
       AS moved (consumer, epoch, assumed, position, claimed)
 WHERE held.consumer = moved.consumer AND held.epoch = moved.epoch
   AND held.position = moved.assumed
""")
# An entry stays in its table at least until it is ingested.
_IS_WAITING = text("""
SELECT EXISTS (
         SELECT
           FROM accept_log AS entry
          WHERE entry.historical = :historical AND entry.id <= :upto
            AND entry.id > COALESCE(
                (SELECT position FROM log_positions WHERE consumer = :lane), 0))
    OR EXISTS (
         SELECT
           FROM log_positions AS held
          WHERE held.partition > 0 AND held.consumer = :lane || '/' || held.partition
            AND EXISTS (SELECT
                          FROM accept_log_entries AS entry
                         WHERE entry.historical = :historical
                           AND entry.partition = held.partition
                           AND entry.id > held.position AND entry.id <= :upto)) AS is_waiting
""")


class NotLeaseHolder(Exception):
    """The error when another server holds the lease of the lanes, or of a partition."""


# The suffix of a consumer's second row, for an envelope that is ingested in pieces. Its `position`
# is the envelope's id, its `claimed` the number of items that are stored.
PROGRESS_SUFFIX = ":progress"


def consumer_of(lane: str, partition: int) -> str:
    """Return the name of the row that holds a position."""
    return f"{lane}/{partition}" if partition else lane


async def ingested_upto(records: Records) -> int:
    """Return the last id in the log that any consumer has completed or claimed."""
    rows = await records.fetch(
        select(log_positions.c.position, log_positions.c.claimed).where(
            log_positions.c.consumer.not_like(f"%{PROGRESS_SUFFIX}")
        )
    )
    return max((max(row.position, row.claimed) for row in rows), default=0)


async def is_ingested(records: Records, entry_id: int, lane: str = LIVE) -> bool:
    """Return whether everything in a lane up to this id is ingested."""
    if records.dialect == "postgresql":
        parameters = {"lane": lane, "historical": lane == HISTORICAL, "upto": entry_id}
        [row] = await records.fetch(_IS_WAITING, parameters)
        return not row.is_waiting
    statement = select(log_positions.c.position).where(log_positions.c.consumer == lane)
    return any(row.position >= entry_id for row in await records.fetch(statement))


async def claimed_positions(records: Records) -> dict[str, int]:
    """Return, for each consumer, the last entry of the batch that it began last."""
    rows = await records.fetch(
        select(log_positions.c.consumer, log_positions.c.claimed).where(
            log_positions.c.consumer.not_like(f"%{PROGRESS_SUFFIX}")
        )
    )
    return {row.consumer: row.claimed for row in rows}


async def consumers_before(records: Records, claimed: Mapping[str, int]) -> list[str]:
    """Return the consumers that have not committed everything up to these positions."""
    rows = await records.fetch(select(log_positions.c.consumer, log_positions.c.position))
    return [row.consumer for row in rows if row.position < claimed.get(row.consumer, 0)]


async def committed_positions(records: Records, lane: str) -> Positions:
    """Return every partition's committed position.

    The position of the log without partitions is included, which may still hold entries.
    """
    rows = await records.fetch(
        select(log_positions.c.consumer, log_positions.c.partition, log_positions.c.position)
    )
    positions = {
        row.partition: row.position
        for row in rows
        if row.consumer == consumer_of(lane, row.partition)
    }
    return {0: 0, **positions}


async def lane_backlogs(records: Records, log: AcceptLog) -> list[Backlog]:
    """Return the backlog of each lane.

    Raises:
        RecordsUnavailable: The records store failed.
        OSError: The accept log failed.
    """
    return [
        await log.backlog(await committed_positions(records, lane), historical=lane == HISTORICAL)
        for lane in LANES
    ]


@dataclass(frozen=True, slots=True)
class EnvelopeProgress:
    """The progress in an envelope that is ingested in pieces.

    Attributes:
        items: How many items of the envelope are stored.
    """

    entry_id: int
    items: int


@dataclass(frozen=True, slots=True)
class Position:
    """The position of a lane in a partition.

    Attributes:
        at: The last completed id.
        claimed: The last id that was begun; equal to `at` if none was begun since.
        progress: In the next envelope, if some of its items are stored.
    """

    at: int
    claimed: int
    progress: EnvelopeProgress | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """The entries of a batch: in each partition those behind `after`, up to `upto`.

    Attributes:
        epochs: The epochs of the partitions' leases; empty for a log without partitions.
    """

    after: Positions
    upto: Positions
    epochs: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class PositionHolder:
    """The server that writes, and the positions that it assumes."""

    lane: str
    holder: str
    span: Span
    now: datetime

    @property
    def slot(self) -> int:
        """Return a partition that only this server holds."""
        return min(self.span.after)


def acquire_lease(connection: Connection, lane: str, holder: str, now: datetime) -> Position:
    """Acquire the lease of both lanes of a log without partitions, since one of them may be idle.

    Raises:
        NotLeaseHolder: Another server holds the lease.
    """
    rows = _lock_lane_rows(connection)
    if len(rows) < len(LANES):
        rows = _create_lane_rows(connection)
    for row in rows.values():
        if row.holder != holder and row.held_until > now:
            raise NotLeaseHolder(f"{row.holder} holds the lease until {row.held_until.isoformat()}")
    connection.execute(
        update(log_positions)
        .where(log_positions.c.consumer.in_(LANES))
        .values(**_LEASE.taken(now + LEASE_DURATION, holder))
    )
    return _with_progress(connection, {0: rows[lane]})[0]


def read_held(connection: Connection, lane: str, epochs: Mapping[int, int]) -> dict[int, Position]:
    """Return the positions in these partitions.

    Raises:
        NotLeaseHolder: The epoch of a partition is over.
    """
    consumers = [consumer_of(lane, partition) for partition in epochs]
    rows = connection.execute(
        select(log_positions).where(log_positions.c.consumer.in_(consumers))
    ).all()
    for row in rows:
        if row.epoch != epochs[row.partition]:
            raise NotLeaseHolder(f"partition {row.partition} is in epoch {row.epoch}")
    return _with_progress(connection, {row.partition: row for row in rows})


def _with_progress(connection: Connection, rows: Mapping[int, Row[Any]]) -> dict[int, Position]:
    names = [row.consumer + PROGRESS_SUFFIX for row in rows.values()]
    progress_rows = connection.execute(
        select(log_positions).where(log_positions.c.consumer.in_(names))
    )
    progress = {row.consumer: EnvelopeProgress(row.position, row.claimed) for row in progress_rows}
    positions = {}
    for partition, row in rows.items():
        of_next = progress.get(row.consumer + PROGRESS_SUFFIX)
        if of_next is not None and of_next.entry_id <= row.position:
            of_next = None
        positions[partition] = Position(row.position, row.claimed, of_next)
    return positions


def _create_lane_rows(connection: Connection) -> dict[str, Row[Any]]:
    statement = upsert(connection.dialect, log_positions).values(
        [
            {
                "consumer": lane,
                "position": 0,
                "claimed": 0,
                "holder": "",
                "held_until": LONG_AGO,
            }
            for lane in LANES
        ]
    )
    connection.execute(statement.on_conflict_do_nothing())
    return _lock_lane_rows(connection)


def _lock_lane_rows(connection: Connection) -> dict[str, Row[Any]]:
    """Return the rows of the lanes, locked until this transaction ends."""
    statement = (
        select(log_positions)
        .where(log_positions.c.consumer.in_(LANES))
        .order_by(log_positions.c.consumer)
        .with_for_update()
    )
    return {row.consumer: row for row in connection.execute(statement)}


def _update_lane(lane: str) -> Update:
    return update(log_positions).where(log_positions.c.consumer == lane)


def release_lease(connection: Connection, lane: str, holder: str, now: datetime) -> None:
    """Release the lease, so that another server can continue at once."""
    mine = _update_lane(lane).where(_LEASE.is_held_by(holder))
    connection.execute(mine.values(**_LEASE.taken(now)))


def advance_positions(
    connection: Connection, holder: PositionHolder, done: Positions, claimed: Positions
) -> None:
    """Move the positions of a span to `done`, with the entries up to `claimed` begun.

    This requires the lease and the assumed positions. Otherwise another server has continued from
    there, and has written already what this batch would write. Entries stay claimed when a batch is
    halved, because an attempt may have stored events of all of them.

    Raises:
        NotLeaseHolder: Another server has taken a partition.
    """
    assumed = holder.span.after
    if 0 in assumed:
        _advance_single(connection, holder, done[0], claimed[0])
        return
    moved = connection.execute(
        _MOVE,
        {
            "consumers": [consumer_of(holder.lane, partition) for partition in assumed],
            "epochs": [holder.span.epochs[partition] for partition in assumed],
            "assumed": list(assumed.values()),
            "positions": [done[partition] for partition in assumed],
            "claimed": [claimed[partition] for partition in assumed],
        },
    )
    if moved.rowcount != len(assumed):
        raise NotLeaseHolder("another server has taken a partition of this batch")


def _advance_single(
    connection: Connection, holder: PositionHolder, position: int, claimed: int
) -> None:
    assumed = holder.span.after[0]
    moved = connection.execute(
        _update_lane(holder.lane)
        .where(_LEASE.is_held_by(holder.holder), log_positions.c.position == assumed)
        .values(
            position=position,
            claimed=case((_claimed > claimed, _claimed), else_=claimed),
            **_LEASE.taken(holder.now + LEASE_DURATION),
        )
    )
    if moved.rowcount != 1:
        raise NotLeaseHolder(f"the lane is no longer at position {assumed}")


def renew_lease(connection: Connection, lane: str, holder: str, now: datetime) -> None:
    """Renew the lease of a log without partitions, at whatever position it is.

    Raises:
        NotLeaseHolder: Another server holds the lease.
    """
    mine = _update_lane(lane).where(_LEASE.is_held_by(holder))
    if connection.execute(mine.values(**_LEASE.taken(now + LEASE_DURATION))).rowcount != 1:
        raise NotLeaseHolder("another server holds the lease")


def require_held(connection: Connection, holder: PositionHolder) -> None:
    """Lock the rows of a span without entries: only their holder may change persons.

    Raises:
        NotLeaseHolder: Another server has taken a partition.
    """
    advance_positions(connection, holder, holder.span.after, holder.span.after)


def complete_span(
    connection: Connection, holder: PositionHolder, progress: EnvelopeProgress | None
) -> None:
    """Advance over what this transaction stores: the span, or part of its only envelope."""
    if progress is None:
        advance_positions(connection, holder, holder.span.upto, holder.span.upto)
        return
    require_held(connection, holder)
    [partition] = holder.span.after
    values = {"position": progress.entry_id, "claimed": progress.items}
    statement = upsert(connection.dialect, log_positions).values(
        consumer=consumer_of(holder.lane, partition) + PROGRESS_SUFFIX,
        holder="",
        held_until=LONG_AGO,
        **values,
    )
    connection.execute(
        statement.on_conflict_do_update(index_elements=[log_positions.c.consumer], set_=values)
    )
