"""The statements of an accept log in PostgreSQL that has one partition."""

from collections.abc import Sequence
from typing import Any

from fanion.accept_log.port import Backlog, Envelope, LogEntry

ROW_BYTES = 100  # size of an envelope without its body
TRIM_ROWS = 1_000  # a transaction; appends wait for one of them at most
# Added to the size of a lane that takes no more appends, by programs of any version.
CLOSED_BYTES = 2**62

# The lane's row is locked from here to the commit: ids are drawn, and become visible, in one
# order, whichever process appends. So a reader never passes an id that commits later.
_INSERT = """
WITH lane AS (
  UPDATE accept_log_lanes
     SET envelopes = envelopes + $1, bytes = bytes + $2
   WHERE historical = $3 AND bytes < $4
  RETURNING historical
)
INSERT INTO accept_log
       (project_id, received_at, client_ip, user_agent, sent_at, historical, body)
SELECT e.project_id, e.received_at, e.client_ip, e.user_agent, e.sent_at, lane.historical, e.body
  FROM lane
 CROSS JOIN UNNEST($5::bigint[], $6::timestamptz[], $7::text[], $8::text[], $9::timestamptz[],
                   $10::bytea[])
       WITH ORDINALITY
       AS e (project_id, received_at, client_ip, user_agent, sent_at, body, place)
ORDER BY e.place
RETURNING id
"""
# The size of a body is known without reading it, so the run is cut before it is fetched.
_READ = """
  SELECT id, project_id, received_at, client_ip, user_agent, sent_at, body, 0
    FROM accept_log
   WHERE historical = $1 AND id > $2
     AND id <= (
         SELECT MAX(run.id) FILTER (WHERE run.place = 1 OR run.bytes <= $4)
           FROM (SELECT id,
                        ROW_NUMBER() OVER by_id AS place,
                        SUM(OCTET_LENGTH(body)) OVER by_id AS bytes
                   FROM (SELECT id, body
                           FROM accept_log
                          WHERE historical = $1 AND id > $2 AND ($5::bigint IS NULL OR id <= $5)
                       ORDER BY id
                          LIMIT $3) AS next
                 WINDOW by_id AS (ORDER BY id)) AS run)
ORDER BY id
"""
_TRIM = """
WITH gone AS (
  DELETE FROM accept_log
        WHERE id IN (SELECT id
                       FROM accept_log
                      WHERE historical = $1 AND id <= $2
                   ORDER BY id
                      LIMIT $3)
    RETURNING OCTET_LENGTH(body) + $4 AS bytes
), total AS (
  SELECT COUNT(*) AS envelopes, COALESCE(SUM(bytes), 0) AS bytes FROM gone
)
UPDATE accept_log_lanes AS lane
   SET envelopes = lane.envelopes - total.envelopes, bytes = lane.bytes - total.bytes
  FROM total
 WHERE lane.historical = $1
RETURNING total.envelopes
"""
# Counts only what is read and not trimmed yet.
_BACKLOG = f"""
SELECT lane.envelopes - passed.envelopes,
       lane.bytes % {CLOSED_BYTES} - passed.bytes,
       (SELECT received_at
          FROM accept_log
         WHERE historical = $1 AND id > $2
      ORDER BY id
         LIMIT 1)
  FROM accept_log_lanes AS lane,
       (SELECT COUNT(*) AS envelopes, COALESCE(SUM(OCTET_LENGTH(body) + $3), 0) AS bytes
          FROM accept_log
         WHERE historical = $1 AND id <= $2) AS passed
 WHERE lane.historical = $1
"""
_EXISTS = "SELECT EXISTS (SELECT FROM accept_log WHERE historical = $1 AND id > $2)"
LANES = """
INSERT INTO accept_log_lanes (historical, envelopes, bytes)
VALUES (FALSE, 0, 0), (TRUE, 0, 0)
ON CONFLICT DO NOTHING
"""


async def append(
    connection: Any, envelopes: Sequence[Envelope], historical: bool, bytes_max: int, wait_s: float
) -> list[int]:
    """The ids; none when the log is full or closed."""
    size = sum(len(envelope.body) for envelope in envelopes) + ROW_BYTES * len(envelopes)
    columns = map(list, zip(*map(values_of, envelopes), strict=True))
    rows = await connection.fetch(
        _INSERT, len(envelopes), size, historical, bytes_max, *columns, timeout=wait_s
    )
    return [row[0] for row in rows]


async def read(
    connection: Any,
    after: int,
    envelopes_max: int,
    bytes_max: int,
    historical: bool,
    upto: int | None,
) -> list[LogEntry]:
    rows = await connection.fetch(_READ, historical, after, envelopes_max, bytes_max, upto)
    return [entry_of(row, historical) for row in rows]


async def trim_some(connection: Any, upto: int, historical: bool) -> bool:
    """Whether there may be more to trim."""
    gone: int = await connection.fetchval(_TRIM, historical, upto, TRIM_ROWS, ROW_BYTES)
    return gone == TRIM_ROWS


async def backlog(connection: Any, after: int, historical: bool) -> Backlog:
    row = await connection.fetchrow(_BACKLOG, historical, after, ROW_BYTES)
    return Backlog(0, 0, None) if row is None else backlog_of(row)


async def exists(connection: Any, after: int, historical: bool) -> bool:
    found: bool = await connection.fetchval(_EXISTS, historical, after)
    return found


def values_of(envelope: Envelope) -> tuple[object, ...]:
    return (
        envelope.project_id,
        envelope.received_at,
        envelope.client_ip,
        envelope.user_agent,
        envelope.sent_at,
        envelope.body,
    )


def entry_of(row: Sequence[Any], historical: bool) -> LogEntry:
    entry_id, project_id, received_at, client_ip, user_agent, sent_at, body, partition = row
    envelope = Envelope(project_id, received_at, client_ip, user_agent, sent_at, body, historical)
    return LogEntry(entry_id, envelope, partition=partition)


def backlog_of(row: Sequence[Any]) -> Backlog:
    """PostgreSQL sums of bigint are numeric."""
    envelopes, size, oldest = row
    return Backlog(int(envelopes or 0), int(size or 0), oldest)
