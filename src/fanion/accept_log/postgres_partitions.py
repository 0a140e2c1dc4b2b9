"""The statements of the accept log in PostgreSQL.

Appends take no lock that another append waits for, so that one flush can serve many of them. An
id can therefore become visible after a larger one: readers stop before the first id that an
append in progress may have drawn.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from fanion.accept_log.port import Backlog, Envelope, LogEntry, Positions

# As the first migration makes them. There will never be more workers, since a log keeps its number.
PARTITIONS = 64
SIZE_SLOTS = 64  # connections that append at the same time rarely share one
ROW_BYTES = 100  # size of an envelope without its body
# The advisory lock that each append holds, in shared mode so that appends do not delay each other.
_LOCK_CLASS, _LOCK = 1_179_602_497, 1
BOUND_POLL_S = 0.002  # an append takes as long as a flush of the disk
TRIM_ROWS = 5_000  # in one transaction
# At the first attempt, a batch reads up to this many times an even share from each partition: all
# entries up to that limit are looked at in every partition.
_UNEVEN = 2

_COUNT = "SELECT COALESCE(MAX(partition), 0) FROM log_positions"
# The rows come from the join with `held`, so that the lock is taken before the first id is drawn.
_INSERT = f"""
WITH held AS MATERIALIZED (
  SELECT PG_ADVISORY_XACT_LOCK_SHARED({_LOCK_CLASS}, {_LOCK})
), counted AS (
  UPDATE accept_log_sizes
     SET envelopes = envelopes + $1, bytes = bytes + $2
   WHERE slot = PG_BACKEND_PID() % {SIZE_SLOTS} AND historical = $3
     AND (SELECT SUM(bytes) FROM accept_log_sizes WHERE historical = $3) < $4
  RETURNING historical
)
INSERT INTO accept_log_entries
       (historical, partition, id,
        project_id, received_at, client_ip, user_agent, sent_at, body)
SELECT counted.historical, e.partition, NEXTVAL('accept_log_id_seq'),
       e.project_id, e.received_at, e.client_ip, e.user_agent, e.sent_at, e.body
  FROM counted
 CROSS JOIN held
 CROSS JOIN UNNEST($5::int[], $6::bigint[], $7::timestamptz[], $8::text[], $9::text[],
                   $10::timestamptz[], $11::bytea[])
       WITH ORDINALITY
       AS e (partition, project_id, received_at, client_ip, user_agent, sent_at, body, place)
ORDER BY e.place
RETURNING id
"""
_DRAWN = "SELECT last_value FROM accept_log_id_seq"
_APPENDING = f"""
SELECT virtualtransaction
  FROM pg_locks
 WHERE locktype = 'advisory' AND classid = {_LOCK_CLASS} AND objid = {_LOCK} AND objsubid = 2
   AND database = (SELECT oid FROM pg_database WHERE datname = CURRENT_DATABASE())
"""
# `has_room`: the batch has room for more entries of a partition whose limit was reached.
_READ = """
WITH next AS MATERIALIZED (
    SELECT e.partition, e.id, e.bytes
      FROM UNNEST($2::int[], $3::bigint[], $4::bigint[]) AS owned (partition, after, upto)
     CROSS JOIN LATERAL (
             SELECT partition, id, OCTET_LENGTH(body) AS bytes
               FROM accept_log_entries
              WHERE historical = $1 AND partition = owned.partition
                AND id > owned.after AND id <= owned.upto
           ORDER BY id
              LIMIT $5) AS e
  ORDER BY e.id
     LIMIT $6
), run AS (
  SELECT partition, id, ROW_NUMBER() OVER by_id AS place, SUM(bytes) OVER by_id AS bytes
    FROM next
  WINDOW by_id AS (ORDER BY id)
)
  SELECT e.id, e.project_id, e.received_at, e.client_ip, e.user_agent, e.sent_at, e.body,
         e.partition,
         (SELECT COUNT(*) < $6 AND SUM(bytes) < $7 FROM next)
         AND EXISTS (SELECT FROM next GROUP BY partition HAVING COUNT(*) = $5) AS has_room
    FROM run
    JOIN accept_log_entries AS e
      ON e.historical = $1 AND e.partition = run.partition AND e.id = run.id
   WHERE run.place = 1 OR run.bytes <= $7
ORDER BY e.id
"""
# The scan begins after the entries trimmed before: deleted rows stay in the index until a vacuum.
_TRIM = f"""
WITH gone AS (
  DELETE FROM accept_log_entries
        WHERE ctid = ANY(ARRAY(
              SELECT e.ctid
                FROM UNNEST($2::int[], $3::bigint[], $4::bigint[]) AS owned (partition, after, upto)
               CROSS JOIN LATERAL (
                       SELECT ctid
                         FROM accept_log_entries
                        WHERE historical = $1 AND partition = owned.partition
                          AND id > owned.after AND id <= owned.upto
                     ORDER BY id
                        LIMIT $5) AS e
               LIMIT $5))
    RETURNING OCTET_LENGTH(body) + $6 AS bytes
), total AS (
  SELECT COUNT(*) AS envelopes, COALESCE(SUM(bytes), 0) AS bytes FROM gone
), counted AS (
  UPDATE accept_log_sizes AS size
     SET envelopes = size.envelopes - total.envelopes, bytes = size.bytes - total.bytes
    FROM total
   WHERE size.slot = PG_BACKEND_PID() % {SIZE_SLOTS} AND size.historical = $1
     AND total.envelopes > 0
)
SELECT envelopes FROM total
"""
# Counts only entries that are read and not yet trimmed. For the rest, looks up only the oldest
# entry of each partition.
_BACKLOG = """
SELECT size.envelopes - passed.envelopes, size.bytes - passed.bytes, waiting.oldest
  FROM (SELECT SUM(envelopes) AS envelopes, SUM(bytes) AS bytes
          FROM accept_log_sizes
         WHERE historical = $1) AS size,
       (SELECT COUNT(*) AS envelopes, COALESCE(SUM(OCTET_LENGTH(e.body) + $4), 0) AS bytes
          FROM UNNEST($2::int[], $3::bigint[]) AS owned (partition, after)
          JOIN accept_log_entries AS e
            ON e.historical = $1 AND e.partition = owned.partition AND e.id <= owned.after
       ) AS passed,
       (SELECT MIN(e.received_at) AS oldest
          FROM UNNEST($2::int[], $3::bigint[]) AS owned (partition, after)
         CROSS JOIN LATERAL (
                 SELECT received_at
                   FROM accept_log_entries
                  WHERE historical = $1 AND partition = owned.partition AND id > owned.after
               ORDER BY id
                  LIMIT 1) AS e) AS waiting
"""
# The position of each lane of a spool up to which it is appended, in a row without a partition. The
# row is locked, so that of two programs that send the same spool the second sees what the first has
# sent.
_LOCK_SPOOL_POSITION = """
INSERT INTO log_positions AS sent (consumer, position, claimed, holder, held_until)
     VALUES ($1, 0, 0, '', CURRENT_TIMESTAMP)
ON CONFLICT (consumer) DO UPDATE SET position = sent.position
  RETURNING position
"""
_MOVE_SPOOL_POSITION = """
UPDATE log_positions SET position = $2, held_until = CURRENT_TIMESTAMP WHERE consumer = $1
"""
_FORGET_SPOOLS = """
DELETE FROM log_positions
      WHERE consumer LIKE 'spool/%' AND held_until < CURRENT_TIMESTAMP - INTERVAL '90 days'
"""
_EXISTS = """
SELECT EXISTS (
    SELECT
      FROM UNNEST($2::int[], $3::bigint[]) AS owned (partition, after)
     WHERE EXISTS (SELECT
                     FROM accept_log_entries
                    WHERE historical = $1 AND partition = owned.partition AND id > owned.after))
"""


async def count(connection: Any) -> int:
    """Return the number of partitions."""
    partitions: int = await connection.fetchval(_COUNT)
    return partitions


async def append(
    connection: Any,
    pieces: Sequence[tuple[int, Envelope]],
    historical: bool,
    bytes_max: int,
    wait_s: float,
) -> list[int]:
    """Append pieces, each with its partition, and return their ids; none if the log is full."""
    size = sum(len(envelope.body) for _, envelope in pieces) + ROW_BYTES * len(pieces)
    rows = ((partition, *_values(envelope)) for partition, envelope in pieces)
    columns = map(list, zip(*rows, strict=True))
    drawn = await connection.fetch(
        _INSERT, len(pieces), size, historical, bytes_max, *columns, timeout=wait_s
    )
    return [row[0] for row in drawn]


async def lock_spool_position(connection: Any, spool: str, historical: bool) -> int:
    """Return the last id of a spool that was appended, and hold it until the commit."""
    upto: int = await connection.fetchval(_LOCK_SPOOL_POSITION, _spool_consumer(spool, historical))
    return upto


async def move_spool_position(connection: Any, spool: str, historical: bool, upto: int) -> None:
    await connection.execute(_MOVE_SPOOL_POSITION, _spool_consumer(spool, historical), upto)


def _spool_consumer(spool: str, historical: bool) -> str:
    return f"spool/{spool}/{'historical' if historical else 'live'}"


async def forget_old_spools(connection: Any) -> None:
    """Forget spools of which nothing was sent for a long time; their files are deleted."""
    await connection.execute(_FORGET_SPOOLS)


async def read(
    connection: Any,
    after: Positions,
    envelopes_max: int,
    bytes_max: int,
    historical: bool,
    upto: Positions | None,
) -> list[LogEntry]:
    bound = await _settled_upto(connection)
    last = [bound if upto is None else min(bound, upto[partition]) for partition in after]

    async def fetch(of_each: int) -> Any:
        return await connection.fetch(
            _READ, historical, *_columns(after), last, of_each, envelopes_max, bytes_max
        )

    rows = await fetch(min(envelopes_max, _UNEVEN * envelopes_max // len(after) + 1))
    if rows and rows[0]["has_room"]:  # most of what waits is in few partitions
        rows = await fetch(envelopes_max)
    return [_entry(row[:-1], historical) for row in rows]


async def _settled_upto(connection: Any) -> int:
    """Return the highest id below which no append is still in progress.

    An append holds the append lock from before it draws an id until its commit. So every entry up
    to the returned id is visible to later statements, or will never be.
    """
    drawn: int = await connection.fetchval(_DRAWN)
    appending = await _appending(connection)
    while appending:
        await asyncio.sleep(BOUND_POLL_S)
        appending &= await _appending(connection)
    return drawn


async def _appending(connection: Any) -> set[str]:
    return {row[0] for row in await connection.fetch(_APPENDING)}


async def trim_some(connection: Any, after: Positions, upto: Positions, historical: bool) -> bool:
    """Delete some entries up to `upto`; return whether there may be more to delete.

    Args:
        after: What was trimmed before, in the same partitions.
    """
    trimmed: int = await connection.fetchval(
        _TRIM, historical, *_columns(after), list(upto.values()), TRIM_ROWS, ROW_BYTES
    )
    return trimmed == TRIM_ROWS


async def backlog(connection: Any, after: Positions, historical: bool) -> Backlog:
    row = await connection.fetchrow(_BACKLOG, historical, *_columns(after), ROW_BYTES)
    return _backlog(row)


async def exists(connection: Any, after: Positions, historical: bool) -> bool:
    has_entry: bool = await connection.fetchval(_EXISTS, historical, *_columns(after))
    return has_entry


def _columns(positions: Positions) -> tuple[list[int], list[int]]:
    return list(positions), list(positions.values())


def _values(envelope: Envelope) -> tuple[object, ...]:
    return (
        envelope.project_id,
        envelope.received_at,
        envelope.client_ip,
        envelope.user_agent,
        envelope.sent_at,
        envelope.body,
    )


def _entry(row: Sequence[Any], historical: bool) -> LogEntry:
    entry_id, project_id, received_at, client_ip, user_agent, sent_at, body, partition = row
    envelope = Envelope(project_id, received_at, client_ip, user_agent, sent_at, body, historical)
    return LogEntry(entry_id, envelope, partition=partition)


def _backlog(row: Sequence[Any]) -> Backlog:
    """Return the counts as integers: PostgreSQL's sums of bigint are numeric."""
    envelopes, size, oldest = row
    return Backlog(int(envelopes or 0), int(size or 0), oldest)
