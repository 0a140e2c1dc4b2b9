"""The accept log as a table of the records database, for any number of processes."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import asyncpg

from fanion.accept_log.group_commit import GroupCommitLog
from fanion.accept_log.port import Backlog, Envelope, LogEntry, LogFull

CONNECTIONS_MAX = 4  # both lanes append, the consumer reads, one trims
CONNECT_S = 5.0
STATEMENT_S = 15.0
# Appends that arrive meanwhile wait as long again; clients of capture time out after 10 to 15 s.
APPEND_S = 4.0
TRIM_ROWS = 1_000  # a transaction; appends wait for one of them at most
POLL_S = 0.1  # how late a consumer sees what another process appended
ROW_BYTES = 100  # size of an envelope without its body

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
  SELECT id, project_id, received_at, client_ip, user_agent, sent_at, body
    FROM accept_log
   WHERE historical = $1 AND id > $2
     AND id <= (
         SELECT MAX(run.id) FILTER (WHERE run.place = 1 OR run.bytes <= $4)
           FROM (SELECT id,
                        ROW_NUMBER() OVER by_id AS place,
                        SUM(OCTET_LENGTH(body)) OVER by_id AS bytes
                   FROM (SELECT id, body
                           FROM accept_log
                          WHERE historical = $1 AND id > $2
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
_BACKLOG = """
SELECT lane.envelopes - passed.envelopes,
       lane.bytes - passed.bytes,
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
_LANES = """
INSERT INTO accept_log_lanes (historical, envelopes, bytes)
VALUES (FALSE, 0, 0), (TRUE, 0, 0)
ON CONFLICT DO NOTHING
"""


class PostgresLog(GroupCommitLog):
    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", bytes_max: int) -> None:
        super().__init__()
        self._pool = pool
        self._bytes_max = {False: bytes_max, True: bytes_max // 2}

    async def read(
        self, after: int, envelopes_max: int, bytes_max: int, *, historical: bool = False
    ) -> Sequence[LogEntry]:
        async with self._connection() as connection:
            rows = await connection.fetch(_READ, historical, after, envelopes_max, bytes_max)
        return [_entry(row, historical) for row in rows]

    async def trim(self, upto: int, *, historical: bool = False) -> None:
        gone = TRIM_ROWS
        while gone == TRIM_ROWS:
            async with self._connection() as connection:
                gone = await connection.fetchval(_TRIM, historical, upto, TRIM_ROWS, ROW_BYTES)

    async def backlog(self, after: int, *, historical: bool = False) -> Backlog:
        async with self._connection() as connection:
            row = await connection.fetchrow(_BACKLOG, historical, after, ROW_BYTES)
        return Backlog(0, 0, None) if row is None else Backlog(*map(_plain, row))

    async def appended(self, after: int, *, historical: bool = False) -> None:
        """Returns at once for appends of this process; those of others are polled for."""
        while not await self._exists(after, historical):
            try:
                async with asyncio.timeout(POLL_S):
                    await self.lane(historical).appended(after)
                return
            except TimeoutError:
                continue

    async def close(self) -> None:
        await self.close_lanes()
        await self._pool.close()

    async def commit(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        size = sum(len(envelope.body) for envelope in envelopes) + ROW_BYTES * len(envelopes)
        columns = zip(*map(_row, envelopes), strict=True)
        limit = self._bytes_max[historical]
        async with self._connection() as connection:
            rows = await connection.fetch(
                _INSERT,
                len(envelopes),
                size,
                historical,
                limit,
                *map(list, columns),
                timeout=APPEND_S,
            )
        if not rows:
            raise LogFull(f"the accept log has reached its limit of {limit} bytes")
        return [row[0] for row in rows]

    async def _exists(self, after: int, historical: bool) -> bool:
        async with self._connection() as connection:
            found: bool = await connection.fetchval(_EXISTS, historical, after)
        return found

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[Any]:
        with _store_failures():
            async with self._pool.acquire(timeout=CONNECT_S) as connection:
                yield connection


def _row(envelope: Envelope) -> tuple[object, ...]:
    return (
        envelope.project_id,
        envelope.received_at,
        envelope.client_ip,
        envelope.user_agent,
        envelope.sent_at,
        envelope.body,
    )


def _entry(row: Sequence[Any], historical: bool) -> LogEntry:
    entry_id, project_id, received_at, client_ip, user_agent, sent_at, body = row
    return LogEntry(
        entry_id,
        Envelope(project_id, received_at, client_ip, user_agent, sent_at, body, historical),
    )


def _plain(value: Any) -> Any:
    """PostgreSQL sums of bigint are numeric."""
    return value if value is None or hasattr(value, "tzinfo") else int(value)


@contextmanager
def _store_failures() -> Iterator[None]:
    """Raise OSError for failures of the store: also for a connection that is closed within a
    statement, for which the driver has an error of its own; not for an envelope that PostgreSQL
    cannot store."""
    try:
        yield
    except asyncpg.DataError:
        raise
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise OSError(f"accept log: {error}") from error


async def open_postgres_log(
    url: str, *, bytes_max: int, connections: int = CONNECTIONS_MAX
) -> PostgresLog:
    """Open the log of a migrated database.

    url:         `postgresql://…`, as for the records
    bytes_max:   of bodies, at which appends raise LogFull; passed by one group at most
    connections: at most
    raises:      OSError
    """
    with _store_failures():
        pool = await asyncpg.create_pool(
            url.replace("+asyncpg", "", 1),
            min_size=1,
            max_size=connections,
            timeout=CONNECT_S,
            command_timeout=STATEMENT_S,
            server_settings={"application_name": "fanion accept log", "jit": "off"},
        )
        await pool.execute(_LANES)
    return PostgresLog(pool, bytes_max)
