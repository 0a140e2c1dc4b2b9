"""The records store, opened by URL: SQLite in one file, or PostgreSQL."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import structlog
from sqlalchemy import URL, Engine, Executable, Row, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.pool import ConnectionPoolEntry

from fanion.db.drivers import (
    CONNECTION_WAIT_S,
    CONNECTIONS_MAX,
    READERS_MAX,
    WRITER_WAIT_S,
    RecordsRefused,
    RecordsUnavailable,
    is_store_failure,
    make_parent_folder,
    parse_url,
    postgres_engine,
    records_unavailable,
    sqlite_engine,
    sqlite_reading_engine,
)

__all__ = ["Records", "RecordsRefused", "RecordsUnavailable", "open_records"]

_PING = {
    "sqlite": text("SELECT 1 FROM sqlite_master LIMIT 1"),  # a bare SELECT 1 reads no file
    "postgresql": text("SELECT 1"),
}


Parameters = Mapping[str, Any]


class Fetch(Protocol):
    """Runs one SELECT and returns all its rows."""

    async def __call__(
        self, statement: Executable, parameters: Parameters | None
    ) -> Sequence[Row[Any]]: ...

    async def close(self) -> None: ...


class Number(Protocol):
    """A counter: a list or shared memory whose first element is the number."""

    def __getitem__(self, index: int, /) -> int: ...

    def __setitem__(self, index: int, value: int, /) -> None: ...


class PoolUse:
    """The use of a pool of connections.

    Attributes:
        connections_max: The number of connections that can be in use at a time.
        callers: The number of callers that have a connection or wait for one.
    """

    __slots__ = ("callers", "connections_max")

    def __init__(self, connections_max: int) -> None:
        self.connections_max = connections_max
        self.callers = 0

    @property
    def in_use(self) -> int:
        return min(self.callers, self.connections_max)

    @property
    def waiting(self) -> int:
        return max(0, self.callers - self.connections_max)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a caller for the length of the block."""
        self.callers += 1
        try:
            yield
        finally:
            self.callers -= 1


class Records:
    """The transactions and reads on one store.

    A failing store raises RecordsUnavailable from any call that meets it; a broken constraint
    raises SQLAlchemy's IntegrityError.
    """

    def __init__(
        self,
        reads: AsyncEngine,
        writes: AsyncEngine,
        fetch: Fetch,
        pools: Mapping[str, PoolUse],
        log_path: Path | None = None,
    ) -> None:
        """Use these engines.

        Args:
            pools: The use of the pools, by name: `read`, `write` and `select`, or one for all.
            log_path: SQLite's write-ahead log.
        """
        self.pools = pools
        shared = pools.get("records")
        self._reading, self._writing, self._selecting = (
            shared or pools[name] for name in ("read", "write", "select")
        )
        self.dialect = writes.dialect.name
        self._log_path = log_path
        self._reads = reads
        self._writes = writes
        self._fetch = fetch
        self._took: Callable[[float], None] = _unobserved
        self._written: Number = [0]
        self._is_counted_here = True

    def observe(self, took: Callable[[float], None]) -> None:
        """Report durations from now on.

        Args:
            took: Called with the seconds of each transaction and each read.
        """
        self._took = took

    def writes(self) -> int:
        """Return how many writing transactions have ended, in the process that counts them."""
        return self._written[0]

    def count_writes(self, number: Number, *, here: bool) -> None:
        """Keep the count of writes in `number`.

        Args:
            here: Whether this process counts, and not another one that shares the number.
        """
        if here:
            number[0] = self._written[0]  # no repeated number: reads are remembered by it
        self._written, self._is_counted_here = number, here

    def write_mark(self) -> tuple[int, int] | None:
        """Return when and up to where SQLite's write-ahead log was written, by any process.

        Returns:
            Nanoseconds since 1970 and bytes; None if only a query can tell whether the store was
            written.
        """
        if self._log_path is None:
            return None
        try:
            log = self._log_path.stat()
        except OSError:
            return None
        return log.st_mtime_ns, log.st_size

    @contextmanager
    def _timed(self) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            self._took(perf_counter() - started)

    @asynccontextmanager
    async def read(self) -> AsyncGenerator[AsyncConnection]:
        """Open a transaction that only reads, with one snapshot for all its statements."""
        with self._timed(), self._reading.counted():
            async with pooled_connection(self._reads) as connection, connection.begin():
                yield connection

    @asynccontextmanager
    async def write(self) -> AsyncGenerator[AsyncConnection]:
        """Open a transaction that is committed at the end, and rolled back on an exception.

        SQLite has one at a time; the next waits for it, WRITER_WAIT_S at most.
        """
        try:
            with self._timed(), self._writing.counted():
                async with pooled_connection(self._writes) as connection, connection.begin():
                    yield connection
        finally:
            if self._is_counted_here:
                self._written[0] += 1

    async def fetch(
        self, statement: Executable, parameters: Parameters | None = None
    ) -> Sequence[Row[Any]]:
        """Return all rows of one SELECT. On SQLite this costs a quarter of `read`."""
        with self._timed(), self._selecting.counted():
            return await self._fetch(statement, parameters)

    async def ping(self) -> None:
        """Ask the store for an answer.

        Raises:
            RecordsUnavailable: The store does not answer.
        """
        await self.fetch(_PING[self.dialect])

    async def close(self) -> None:
        """Close all connections; one that is in use is closed when its transaction ends."""
        await self._fetch.close()
        for engine in (self._reads, self._writes):
            event.listen(engine.sync_engine, "checkin", _close_returned)
            await engine.dispose()


def _close_returned(_: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
    """Close a connection that is returned after its pool was closed."""
    entry.invalidate()


@asynccontextmanager
async def pooled_connection(engine: AsyncEngine) -> AsyncGenerator[AsyncConnection]:
    """Yield a connection from the pool.

    Raises:
        RecordsUnavailable: No connection became free or could be made; a refused one is an OSError
            of the driver.
    """
    connection = engine.connect()
    try:
        await connection.start()
    except PoolTimeout:
        raise RecordsUnavailable("no connection became free in time") from None
    except Exception as error:
        if is_store_failure(error):
            raise records_unavailable(error) from error
        raise
    try:
        yield connection
    finally:
        # The connection must go back to the pool even if the task is cancelled.
        await asyncio.shield(connection.close())


class SqliteFetch:
    """A reader that runs one SELECT in its own thread.

    aiosqlite crosses threads for each step of a read: 1.5 ms for one row against 0.37 ms here; 32
    rows 0.93 ms against 0.39 ms.
    """

    def __init__(self, url: URL) -> None:
        self._engine = sqlite_reading_engine(url)
        self._threads = ThreadPoolExecutor(READERS_MAX, thread_name_prefix="records-read")

    async def __call__(
        self, statement: Executable, parameters: Parameters | None
    ) -> Sequence[Row[Any]]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._threads, _all_rows, self._engine, statement, parameters
        )

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)
        self._engine.dispose()


def _all_rows(
    engine: Engine, statement: Executable, parameters: Parameters | None
) -> Sequence[Row[Any]]:
    with engine.connect() as connection:
        return connection.execute(statement, parameters).all()


class PostgresFetch:
    """A reader on the shared pool, without the round trips of BEGIN and ROLLBACK."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")

    async def __call__(
        self, statement: Executable, parameters: Parameters | None
    ) -> Sequence[Row[Any]]:
        async with pooled_connection(self._engine) as connection:
            return (await connection.execute(statement, parameters)).all()

    async def close(self) -> None:
        """Do nothing: the pool belongs to the engine."""


def _unobserved(_: float) -> None:
    pass


async def open_records(url: str) -> Records:
    """Open a store that has been migrated.

    Args:
        url: `sqlite:////absolute/path/records.db` or `postgresql://user:password@host/name`.

    Raises:
        RecordsUnavailable: The store does not answer.
        ValueError: The URL is of another kind.
    """
    records = unopened_records(url)
    try:
        await records.ping()
    except BaseException:
        await records.close()
        raise
    return records


def unopened_records(url: str, connections: int = CONNECTIONS_MAX) -> Records:
    """Return a store without checking that it answers; the first call does.

    Args:
        connections: The most connections to PostgreSQL.

    Raises:
        ValueError: The URL is of another kind.
    """
    parsed = parse_url(url)
    sqlite = parsed.get_backend_name() == "sqlite"
    return _open_sqlite(parsed) if sqlite else _open_postgres(parsed, connections)


def _open_sqlite(url: URL) -> Records:
    """Open SQLite with one writing connection, whose pool is the queue of the writers."""
    make_parent_folder(url)
    # Deleted rows are overwritten, which is the default only of some builds of SQLite.
    deletion = "secure_delete = ON"
    pragmas = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", deletion)
    writes = sqlite_engine(url, "BEGIN IMMEDIATE", 1, WRITER_WAIT_S, *pragmas)
    reads = sqlite_engine(url, "BEGIN", READERS_MAX, CONNECTION_WAIT_S, "query_only = ON")
    pools = {
        "read": PoolUse(READERS_MAX),
        "write": PoolUse(1),
        "select": PoolUse(READERS_MAX),
    }
    return Records(reads, writes, SqliteFetch(url), pools, Path(f"{url.database}-wal"))


def _open_postgres(url: URL, connections: int) -> Records:
    """Open PostgreSQL, with one pool for reads, writes and single SELECTs."""
    writes = postgres_engine(url, connections)
    reads = writes.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    return Records(reads, writes, PostgresFetch(writes), {"records": PoolUse(connections)})


# At the start flags wait for the store. Later there is time to wait for a slow one.
ANSWER_S = 5.0
RETRY_S = 0.5


async def can_reach_records(url: str) -> bool:
    """Return whether the store answers.

    Raises:
        RecordsRefused: The server refuses the login or the database.
    """
    try:
        async with asyncio.timeout(ANSWER_S):
            records = await open_records(url)
            await records.close()
    except RecordsRefused:
        raise
    except (RecordsUnavailable, TimeoutError):
        return False
    return True


async def wait_for_records(url: str, stop: asyncio.Event) -> None:
    """Wait until the store answers or `stop` is set.

    A refusal is waited for too: flags are answered meanwhile, and the server may be in the middle
    of being restored.
    """
    stopping, refused = asyncio.ensure_future(stop.wait()), ""
    try:
        while not stopping.done():
            try:
                if await can_reach_records(url):
                    return
            except RecordsRefused as error:
                if str(error) != refused:
                    refused = str(error)
                    structlog.get_logger().error("records_refused", reason=refused)
            await asyncio.wait([stopping], timeout=RETRY_S)
    finally:
        stopping.cancel()
