"""Divides the persons of an installation that runs into partitions: `fanion persons partition`
(decision 20).

Triggers make every change of `persons` in the divided table too, while the persons that were there
before are copied in small portions. Then both tables have the same rows at any time, and change
places. What is done is stored: after a crash the next call goes on from there.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import asyncpg

from fanion.db.drivers import CONNECT_S, RecordsUnavailable, reason
from fanion.db.person_partitions import (
    COLUMNS,
    IS_DIVIDED,
    NEW,
    NEW_KEYS,
    OLD,
    REFERENCES,
    Reference,
    copy,
    create,
    follow,
    stop_following,
    swap,
)

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]

# Of one statement, during which these persons can be read but not changed: some 30 ms.
PORTION: Final = 1_000
# Others wait for so long at most when a lock is asked for, and before it is asked for again they go
# on. Less than PostgreSQL takes to look for a deadlock.
LOCK_MS: Final = 500
RETRY_S: Final = 1.0
TRIES: Final = 600
SKIPPED_S: Final = 0.02  # a transaction of ingestion
# Any number no other program locks in the same database.
_ONE_AT_A_TIME: Final = "SELECT pg_try_advisory_lock(7238414923)"
_PROGRESS: Final = "persons_partitioning"
_IS_THERE: Final = "SELECT to_regclass($1) IS NOT NULL"
# All persons that have no trigger to thank for being copied are visible by then.
_UPTO: Final = f"""
UPDATE {_PROGRESS}
   SET upto = COALESCE(upto, (SELECT COALESCE(MAX(id), 0) FROM persons))
RETURNING copied, upto
"""
_END: Final = """
SELECT MAX(id)
  FROM (SELECT id FROM persons WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3) AS portion
"""
# A transaction that still reads what was there before the last person was copied.
_HAS_OLD_READER: Final = """
SELECT EXISTS (
         SELECT
           FROM pg_stat_activity
          WHERE datname = CURRENT_DATABASE() AND backend_type = 'client backend'
            AND pid <> PG_BACKEND_PID() AND AGE(backend_xmin) > AGE(CAST($1::text AS xid)))
"""
_SUMS: Final = "SELECT COUNT(*), SUM(version), SUM(OCTET_LENGTH(properties)) FROM {}"

# Called with an id up to which persons are copied, the last one to copy, and their number.
OnProgress = Callable[[int, int, int], None]


class CannotPartition(Exception):
    """The text says why, and what to do."""


async def partition_persons(
    url: str,
    on_progress: OnProgress = lambda *_: None,
    portion: int = PORTION,
) -> bool:
    """Divide the persons of a migrated database, which servers go on using meanwhile.

    returns: False if they were divided before
    raises:  CannotPartition, RecordsUnavailable
    """
    async with _connected(url) as connection:
        if await connection.fetchval(IS_DIVIDED):
            return await _clear(connection)
        if not await connection.fetchval(_IS_THERE, NEW):
            await _begin(connection)
        await _copy(connection, on_progress, portion)
        copied_at = await connection.fetchval("SELECT pg_current_xact_id()::xid::text")
        references = [Reference(*row) for row in await connection.fetch(REFERENCES)]
        await _refer(connection, references)
        await connection.execute(f"ANALYZE {NEW}, {NEW_KEYS}")
        await _compare(connection)
        await _until_free(connection, copied_at)
        await _swap(connection, references)
        await _clear(connection)
        return True


async def cancel_partitioning(url: str) -> bool:
    """Delete what has been copied. returns: False if there was nothing. raises: as the other"""
    async with _connected(url) as connection:
        if await connection.fetchval(IS_DIVIDED):
            raise CannotPartition("The persons have partitions already, which cannot be undone.")
        if not await connection.fetchval(_IS_THERE, NEW):
            return False
        statements = ["LOCK TABLE persons IN ACCESS EXCLUSIVE MODE", *stop_following()]
        for row in await connection.fetch(REFERENCES):
            one = Reference(*row)
            if await connection.fetchval(one.is_added) is not None:
                statements.append(f"ALTER TABLE {one.table} DROP CONSTRAINT {one.new_name}")
        await _at_once(connection, [*statements, f"DROP TABLE {NEW}, {NEW_KEYS}, {_PROGRESS}"])
        return True


async def _begin(connection: "Connection") -> None:
    """The lock is asked for last: it waits for transactions that have changed persons."""
    columns = [row[0] for row in await connection.fetch(COLUMNS)]
    progress = (
        f"CREATE TABLE {_PROGRESS} (copied bigint NOT NULL, upto bigint)",
        f"INSERT INTO {_PROGRESS} VALUES (0, NULL)",
    )
    await _at_once(connection, [*create(), *progress, *follow(columns)])


async def _copy(connection: "Connection", on_progress: OnProgress, portion: int) -> None:
    columns = [row[0] for row in await connection.fetch(COLUMNS)]
    chosen = copy(columns, "id > $1 AND id <= $2")
    again = copy(columns, "id = ANY($1::bigint[])")
    after, upto = await connection.fetchrow(_UPTO) or (0, 0)
    count = 0
    while (end := await connection.fetchval(_END, after, upto, portion)) is not None:
        skipped = await connection.fetchval(chosen, after, end)
        while skipped:
            await asyncio.sleep(SKIPPED_S)
            skipped = await connection.fetchval(again, skipped)
        await connection.execute(f"UPDATE {_PROGRESS} SET copied = $1", end)
        after, count = end, count + portion
        on_progress(end, upto, count)


async def _refer(connection: "Connection", references: Iterable[Reference]) -> None:
    """Foreign keys that hold beside those to the undivided table."""
    for one in references:
        is_valid = await connection.fetchval(one.is_added)
        if is_valid is None:
            await _at_once(connection, [one.add])
        if not is_valid:
            await connection.execute(one.validate)


async def _compare(connection: "Connection") -> None:
    """raises: CannotPartition"""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        here = await connection.fetchrow(_SUMS.format("persons"))
        there = await connection.fetchrow(_SUMS.format(NEW))
        keys = await connection.fetchval(f"SELECT COUNT(*) FROM {NEW_KEYS}")
    if here is None or here != there or here[0] != keys:
        raise CannotPartition(
            "The copy differs from the persons, which are as they were. Run `fanion persons "
            "partition --cancel`, then try again."
        )


async def _until_free(connection: "Connection", copied_at: str) -> None:
    """raises: CannotPartition"""
    for _ in range(TRIES):
        if not await connection.fetchval(_HAS_OLD_READER, copied_at):
            return
        await asyncio.sleep(RETRY_S)
    raise _busy()


async def _swap(connection: "Connection", references: Sequence[Reference]) -> None:
    tables = ", ".join(["persons", *dict.fromkeys(one.table for one in references)])
    lock = f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE"
    await _at_once(connection, [lock, *stop_following(), *swap(references)])


async def _clear(connection: "Connection") -> bool:
    """Delete the undivided table. False if that was done before."""
    if not await connection.fetchval(_IS_THERE, OLD):
        return False
    await _at_once(connection, [f"DROP TABLE {OLD}, {_PROGRESS}"])
    return True


async def _at_once(connection: "Connection", statements: Sequence[str]) -> None:
    """One transaction, whose locks nobody waits long for. raises: CannotPartition"""
    for _ in range(TRIES):
        try:
            async with connection.transaction():
                await connection.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
                for statement in statements:
                    await connection.execute(statement)
            return
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError):
            await asyncio.sleep(RETRY_S)
    raise _busy()


def _busy() -> CannotPartition:
    return CannotPartition(
        "A transaction that reads or changes persons has not ended for ten minutes. Nothing is "
        "lost: run the command again, and it goes on from here."
    )


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator["Connection"]:
    """raises: CannotPartition, RecordsUnavailable"""
    settings = {"application_name": "fanion", "statement_timeout": "0", "jit": "off"}
    try:
        plain = url.replace("+asyncpg", "", 1)
        connection: Any = await asyncpg.connect(plain, timeout=CONNECT_S, server_settings=settings)
        try:
            if not await connection.fetchval(_ONE_AT_A_TIME):
                raise CannotPartition("Another process partitions the persons at this moment.")
            yield connection
        finally:
            await connection.close()
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise RecordsUnavailable(reason(error)) from error
