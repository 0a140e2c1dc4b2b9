"""The accept log as tables of the records database, for any number of processes.

The log has partitions, numbered from 1.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import asyncpg

from fanion.accept_log import postgres_partitions
from fanion.accept_log.port import (
    AppendSuspended,
    AppendUnsure,
    Backlog,
    Envelope,
    LogEntry,
    LogFull,
    Positions,
)
from fanion.accept_log.shared import SharedLog

CONNECTIONS_MAX = 4  # both lanes append, the consumer reads, and one connection trims
CONNECT_S = 5.0
STATEMENT_S = 15.0
# Appends that arrive during one wait as long again; clients of capture time out after 10 to 15 s.
APPEND_S = 4.0
# A timer that is later than this tells of a process that was suspended, or had no processor.
LATE_S = 0.8
NAME = "fanion accept log"  # of the connections in `pg_stat_activity`
POLL_S = 0.1  # how late a consumer sees what another process appended
# How the driver's error begins if a connection was lost before the append was sent.
NOT_SENT = "cannot switch to state"
# Larger groups of bodies are split in a thread: splitting a MB takes 2 ms, too long for the event
# loop.
CUT_HERE_BYTES_MAX = 512 * 1024

# Splits an envelope into one for each partition that its items belong to; partitions count from 1.
Cut = Callable[[Envelope, int], Sequence[tuple[int, Envelope]]]


class PostgresLog(SharedLog):
    """The accept log in PostgreSQL, as one process uses it."""

    def __init__(
        self, pool: "asyncpg.Pool[asyncpg.Record]", bytes_max: int, cut: Cut, partitions: int
    ) -> None:
        super().__init__()
        self._pool = pool
        self._bytes_max = {False: bytes_max, True: bytes_max // 2}
        self._cut = cut
        self._trimmed: dict[bool, dict[int, int]] = {False: {}, True: {}}  # trimmed by this process
        self._partitions = partitions

    @property
    def partitions(self) -> int:
        return self._partitions

    @property
    def positions_prefix(self) -> str:
        return ""

    async def read(
        self,
        after: Positions,
        envelopes_max: int,
        bytes_max: int,
        *,
        historical: bool = False,
        upto: Positions | None = None,
    ) -> Sequence[LogEntry]:
        async with self._connection() as connection:
            return await postgres_partitions.read(
                connection, after, envelopes_max, bytes_max, historical, upto
            )

    async def trim(self, upto: Positions, *, historical: bool = False) -> None:
        trimmed = self._trimmed[historical]
        after = {partition: trimmed.get(partition, 0) for partition in upto}
        is_more = True
        while is_more:
            async with self._connection() as connection:
                is_more = await postgres_partitions.trim_some(connection, after, upto, historical)
        trimmed.update(upto)

    async def backlog(self, after: Positions, *, historical: bool = False) -> Backlog:
        async with self._connection() as connection:
            return await postgres_partitions.backlog(connection, after, historical)

    async def appended(self, after: Positions, *, historical: bool = False) -> None:
        """Wait for an entry after these positions.

        An append of this process is noticed at once, one of another process within POLL_S.
        """
        lane = self.lane(historical)
        last = lane.last
        while not await self._exists(after, historical):
            try:
                async with asyncio.timeout(POLL_S):
                    await lane.appended(last)
            except TimeoutError:
                continue
            last = lane.last

    async def close(self) -> None:
        await self.close_lanes()
        await self._pool.close()

    async def commit(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        """Append the pieces of all envelopes in one transaction.

        Returns:
            Of each envelope the id of its last piece.

        Raises:
            LogFull: Nothing was appended.
            AppendSuspended: The append was late, because this process was suspended.
            AppendUnsure: The connection was lost, or the server was stopped, during the append.
            OSError: Nothing was appended.
        """
        cut = await self._cut_all(envelopes)
        pieces = [piece for pieces_of_one in cut for piece in pieces_of_one]
        async with self._connection() as connection:
            with _unsure_if_broken_off(connection):
                ids = await self._append(connection, pieces, historical)
        last, lasts = -1, []
        for pieces_of_one in cut:
            last += len(pieces_of_one)
            lasts.append(ids[last])
        return lasts

    async def append_spooled(
        self, spool: str, entries: Sequence[LogEntry], *, historical: bool
    ) -> None:
        """Append entries of a spool, except those that were appended before.

        The same transaction notes the last of them, so that a repetition changes nothing.

        Args:
            spool: Name of the spool, in which the entries' ids are unique.

        Raises:
            LogFull: Nothing was appended.
            OSError: The store failed; whether it has appended the entries shows in a repetition.
        """
        cut = await self._cut_all([entry.envelope for entry in entries])
        async with self._connection() as connection, connection.transaction():
            upto = await postgres_partitions.lock_spool_position(connection, spool, historical)
            pieces = [
                piece
                for entry, pieces_of_one in zip(entries, cut, strict=True)
                if entry.id > upto
                for piece in pieces_of_one
            ]
            if not pieces:
                return
            if not upto:
                await postgres_partitions.forget_old_spools(connection)
            ids = await self._append(connection, pieces, historical)
            last = entries[-1].id
            await postgres_partitions.move_spool_position(connection, spool, historical, last)
        self.lane(historical).note_appended(ids[-1])

    async def require_fits(self, envelopes: Sequence[Envelope]) -> None:
        """Do nothing: PostgreSQL takes any request that is accepted."""

    async def ping(self) -> None:
        """Ask the server for an answer.

        Raises:
            OSError: It does not answer.
        """
        async with self._connection() as connection:
            await connection.fetchval("SELECT 1", timeout=APPEND_S)

    async def _append(
        self, connection: Any, pieces: Sequence[tuple[int, Envelope]], historical: bool
    ) -> list[int]:
        limit = self._bytes_max[historical]
        ids = await postgres_partitions.append(connection, pieces, historical, limit, APPEND_S)
        if not ids:
            raise LogFull(f"the accept log has reached its limit of {limit} bytes")
        return ids

    async def _cut_all(self, envelopes: Sequence[Envelope]) -> list[Sequence[tuple[int, Envelope]]]:
        def cut() -> list[Sequence[tuple[int, Envelope]]]:
            return [self._cut(envelope, self._partitions) for envelope in envelopes]

        if sum(len(envelope.body) for envelope in envelopes) <= CUT_HERE_BYTES_MAX:
            return cut()
        return await asyncio.to_thread(cut)

    async def _exists(self, after: Positions, historical: bool) -> bool:
        async with self._connection() as connection:
            return await postgres_partitions.exists(connection, after, historical)

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[Any]:
        with _store_failures():
            async with self._pool.acquire(timeout=CONNECT_S) as connection:
                yield connection


@contextmanager
def _store_failures() -> Iterator[None]:
    """Turn failures of the store into OSError.

    They include a connection closed during a statement, for which the driver has an error of its
    own. An envelope that PostgreSQL cannot store is not a failure of the store.
    """
    try:
        yield
    except asyncpg.DataError:
        raise
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise OSError(f"accept log: {error}") from error


@contextmanager
def _unsure_if_broken_off(connection: Any) -> Iterator[None]:
    """Raise AppendUnsure for failures after which an append may be stored nevertheless.

    Errors that the server reports about the append itself say that it is not, and so do an
    InterfaceError and NOT_SENT.
    """
    now = asyncio.get_running_loop().time
    late_at = now() + APPEND_S + LATE_S
    try:
        yield
    except (
        OSError,
        asyncpg.InternalClientError,
        asyncpg.OperatorInterventionError,
        asyncpg.PostgresConnectionError,
    ) as error:
        if str(error).startswith(NOT_SENT):
            raise
        if isinstance(error, TimeoutError):
            # The pool would wait for a server that hangs to cancel the append.
            connection.terminate()
            if now() > late_at:
                raise AppendSuspended("accept log: this process was suspended") from error
        raise AppendUnsure(f"accept log: {error or type(error).__name__}") from error


async def open_postgres_log(
    url: str, *, bytes_max: int, cut: Cut, connections: int = CONNECTIONS_MAX
) -> PostgresLog:
    """Open the log of a migrated database.

    Args:
        url: `postgresql://…`, as for the records.
        bytes_max: Size of the bodies at which appends raise LogFull; one group may exceed it.
        cut: Splits the envelopes that are appended into those of each partition.
        connections: The largest number of connections.

    Raises:
        OSError: The database cannot be used.
    """
    with _store_failures():
        pool = await asyncpg.create_pool(
            plain_url(url),
            min_size=0,  # with more, the pool logs each attempt while the server is down
            max_size=connections,
            timeout=CONNECT_S,
            command_timeout=STATEMENT_S,
            reset=_leave,
            server_settings={
                "application_name": NAME,
                "jit": "off",
                # PostgreSQL plans with row counts taken while a queue's tables were empty. It would
                # then read all that waits for each batch, instead of the first rows of an index.
                "enable_bitmapscan": "off",
                # A program that is paused while it sends an append would block all readers.
                "statement_timeout": f"{STATEMENT_S:.0f}s",
            },
        )
        try:
            partitions = await postgres_partitions.count(pool)
        except BaseException:
            pool.terminate()  # its connection would be left open
            raise
    return PostgresLog(pool, bytes_max, cut, partitions)


async def _leave(_: Any) -> None:
    """Do nothing when a connection goes back to the pool.

    Nothing here leaves state in a session. Resetting it would be a second round trip for each
    group of appends, before they are answered.
    """


def plain_url(url: str) -> str:
    return url.replace("+asyncpg", "", 1)
