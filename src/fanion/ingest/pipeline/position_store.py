"""The committed position of each lane in each partition of the accept log, and its lease.

In PostgreSQL a worker moves a position only under the lease of its partition. Rows of a log in
Kafka have negative partitions: the leases of the log in PostgreSQL do not concern them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from sqlalchemy import Connection, Row, case, select, text, update

from fanion.accept_log.kafka.records import partition_of
from fanion.accept_log.port import SINGLE, START, AcceptLog, Backlog, Positions
from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.schema.tables import log_positions

LIVE, HISTORICAL = "live", "historical"  # the consumers of live events and of imports
LANES = (HISTORICAL, LIVE)
# Of `held_until`, which is never null and which nothing reads: workers renew in `log_workers`.
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_claimed = log_positions.c.claimed

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
           FROM log_positions AS held
          WHERE held.partition > 0 AND held.consumer = :lane || '/' || held.partition
            AND EXISTS (SELECT
                          FROM accept_log_entries AS entry
                         WHERE entry.historical = :historical
                           AND entry.partition = held.partition
                           AND entry.id > held.position AND entry.id <= :upto)) AS is_waiting
""")


class NotLeaseHolder(Exception):
    """The error when another server holds the lease of a partition."""


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


async def is_ingested(records: Records, entry_id: int, lane: str = LIVE, prefix: str = "") -> bool:
    """Return whether everything in a lane up to this id is ingested; in Kafka, of its partition.

    Args:
        prefix: As `AcceptLog.positions_prefix`.
    """
    if prefix:
        consumer = consumer_of(prefix + lane, partition_of(entry_id))
        of_partition = select(log_positions.c.position).where(log_positions.c.consumer == consumer)
        return any(row.position >= entry_id for row in await records.fetch(of_partition))
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


async def committed_positions(records: Records, lane: str, prefix: str = "") -> Positions:
    """Return a lane's committed position in every partition.

    Args:
        prefix: As `AcceptLog.positions_prefix`.
    """
    rows = await records.fetch(
        select(log_positions.c.consumer, log_positions.c.partition, log_positions.c.position)
    )
    positions = {
        abs(row.partition): row.position
        for row in rows
        if row.consumer == consumer_of(prefix + lane, abs(row.partition))
    }
    return positions or START


async def lane_backlogs(records: Records, log: AcceptLog) -> list[Backlog]:
    """Return the backlog of each lane.

    Raises:
        RecordsUnavailable: The records store failed.
        OSError: The accept log failed.
    """
    return [await lane_backlog(records, log, lane) for lane in LANES]


async def lane_backlog(records: Records, log: AcceptLog, lane: str) -> Backlog:
    """Return the backlog of a lane.

    Raises:
        RecordsUnavailable: The records store failed.
        OSError: The accept log failed.
    """
    positions = await committed_positions(records, lane, log.positions_prefix)
    return await log.backlog(positions, historical=lane == HISTORICAL)


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
        epochs: The epochs of the partitions' leases; empty in SQLite.
    """

    after: Positions
    upto: Positions
    epochs: Mapping[int, int]

    @property
    def digest(self) -> str:
        """A text that is the same for the same entries in the same epochs only."""
        parts = sorted(self.upto.items())
        text = ",".join(
            f"{part}:{self.epochs[part]}:{self.after[part]}-{upto}" for part, upto in parts
        )
        return blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class PositionHolder:
    """A lane, and the positions that a server which writes assumes."""

    lane: str
    span: Span
    now: datetime

    @property
    def slot(self) -> int:
        """Return a partition that only this server holds."""
        return min(self.span.after)


def read_single(connection: Connection, lane: str) -> Position:
    """Return the position of a lane in SQLite, which is before all entries the first time."""
    values = {"consumer": lane, "position": 0, "claimed": 0, "holder": "", "held_until": LONG_AGO}
    begin = upsert(connection.dialect, log_positions).values(values)
    connection.execute(begin.on_conflict_do_nothing())
    found = select(log_positions).where(log_positions.c.consumer == lane)
    return _with_progress(connection, {SINGLE: connection.execute(found).one()})[SINGLE]


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
        if row.epoch != epochs[abs(row.partition)]:
            raise NotLeaseHolder(f"partition {abs(row.partition)} is in epoch {row.epoch}")
    return _with_progress(connection, {abs(row.partition): row for row in rows})


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


def advance_positions(
    connection: Connection, lane: str, span: Span, done: Positions, claimed: Positions
) -> None:
    """Move the positions of a lane to `done`, with the entries up to `claimed` begun.

    This requires the leases and positions that the span assumes. Otherwise another server has
    continued from there, and has written already what this batch would write. Entries stay claimed
    when a batch is halved, because an attempt may have stored events of all of them.

    Raises:
        NotLeaseHolder: Another server has taken a partition.
    """
    assumed = span.after
    if SINGLE in assumed:
        _advance_single(connection, lane, assumed[SINGLE], done[SINGLE], claimed[SINGLE])
        return
    moved = connection.execute(
        _MOVE,
        {
            "consumers": [consumer_of(lane, partition) for partition in assumed],
            "epochs": [span.epochs[partition] for partition in assumed],
            "assumed": list(assumed.values()),
            "positions": [done[partition] for partition in assumed],
            "claimed": [claimed[partition] for partition in assumed],
        },
    )
    if moved.rowcount != len(assumed):
        raise NotLeaseHolder("another server has taken a partition of this batch")


def _advance_single(
    connection: Connection, lane: str, assumed: int, position: int, claimed: int
) -> None:
    moved = connection.execute(
        update(log_positions)
        .where(log_positions.c.consumer == lane, log_positions.c.position == assumed)
        .values(
            position=position,
            claimed=case((_claimed > claimed, _claimed), else_=claimed),
        )
    )
    if moved.rowcount != 1:
        raise NotLeaseHolder(f"the lane is no longer at position {assumed}")


def require_held(connection: Connection, lane: str, span: Span) -> None:
    """Lock the rows of a span without entries: only their holder may change persons.

    Raises:
        NotLeaseHolder: Another server has taken a partition.
    """
    advance_positions(connection, lane, span, span.after, span.after)


def complete_span(
    connection: Connection, lane: str, span: Span, progress: EnvelopeProgress | None
) -> None:
    """Advance over what this transaction stores: the span, or part of its only envelope."""
    if progress is None:
        advance_positions(connection, lane, span, span.upto, span.upto)
        return
    require_held(connection, lane, span)
    [partition] = span.after
    values = {"position": progress.entry_id, "claimed": progress.items}
    statement = upsert(connection.dialect, log_positions).values(
        consumer=consumer_of(lane, partition) + PROGRESS_SUFFIX,
        holder="",
        held_until=LONG_AGO,
        **values,
    )
    connection.execute(
        statement.on_conflict_do_update(index_elements=[log_positions.c.consumer], set_=values)
    )
