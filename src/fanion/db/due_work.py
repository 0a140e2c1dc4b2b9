"""Rows of the records store whose work falls due, and the loop of the workers that do it.

Several servers run the same loops. A row is claimed by a lease, so that one of them does its work;
a server that dies holds it no longer than the lease lasts. `docs/decisions/0023-due-work.md` says
which other leases there are, and why they differ.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Generic, Never, Protocol, TypeVar

import structlog
from sqlalchemy import Column, ColumnElement, Connection, Table, select, update

from fanion.db.drivers import RecordsUnavailable
from fanion.db.engine import Records
from fanion.db.lease import LeaseLost, is_free
from fanion.db.unwritten import UnwrittenPolls
from fanion.runtime.background import run_loop

# Time between two polls for due items, each of which uses an index.
POLL_S = 1.0
# How far a poll looks ahead. While an SQLite store does not change, the next poll that reads it is
# when the first of these items falls due.
AHEAD = timedelta(seconds=30)
# The most polls skipped in a row; high enough that AHEAD expires first.
LEFT_OUT_MAX = 31
# Rows per poll; a poll that found work is followed by the next one at once.
DUE_MAX = 100
# The delay after a failure, doubled with each further one.
PUT_OFF_FIRST, PUT_OFF_MAX = timedelta(seconds=30), timedelta(minutes=5)


@dataclass(slots=True)
class DueRow:
    """A row whose work is due, as this worker has last read or written it.

    Attributes:
        id: The primary key.
        marker: The value of the column that changes whenever the work is done or begins again.
    """

    id: int
    project_id: int
    marker: datetime
    lease_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class DueRows:
    """The rows of a table, each of which is due some time after its last work.

    Every write compares the row with what this worker knows of it. A worker whose lease another one
    has taken changes nothing, nor does one whose row was changed by a user.

    Attributes:
        table: It has the columns `project_id` and `lease_until`.
        marker: The time of the last work, or when it is due, by `every`.
        lease: How long a claim lasts.
        every: The time from the marker until the work is due.
    """

    records: Records
    table: Table
    marker: Column[Any]
    lease: timedelta
    every: timedelta = timedelta()

    async def due_rows(
        self, now: datetime, *conditions: ColumnElement[bool], ahead: timedelta = timedelta()
    ) -> Sequence[DueRow]:
        """Return rows that are due and free, the longest overdue first, at most DUE_MAX.

        Args:
            ahead: Also return those that fall due within this time, and after all free rows those
                whose leases expire within it.
        """
        lease_until = self.table.c.lease_until
        columns = (self._key, self.table.c.project_id, self.marker, lease_until)
        statement = (
            select(*columns)
            .where(self.marker <= now + ahead - self.every, is_free(lease_until, now + ahead))
            .where(*conditions)
            .order_by(is_free(lease_until, now).desc(), self.marker, self._key)
            .limit(DUE_MAX)
        )
        rows: Sequence[Any] = await self.records.fetch(statement)
        return [DueRow(*row) for row in rows]

    async def claim(self, row: DueRow, now: datetime) -> bool:
        """Claim a row, or return False if it was changed or claimed by another worker."""
        return await self._hold(row, now + self.lease)

    async def renew(self, row: DueRow, now: datetime) -> None:
        """Extend the lease of a claimed row.

        Raises:
            LeaseLost: The row was changed or claimed by another worker.
        """
        if not await self._hold(row, now + self.lease):
            raise LeaseLost

    async def release(self, row: DueRow) -> None:
        """Let another worker do the work of a claimed row at once, unless the lease was lost."""
        await self._hold(row, None)

    async def put_off(self, row: DueRow, now: datetime) -> None:
        """Let a claimed row whose work failed be due later, unless the lease was lost.

        The delay is PUT_OFF_FIRST and the time for which the work has been overdue, which doubles
        it with each failure, but at most PUT_OFF_MAX.
        """
        overdue = now - row.marker - self.every
        await self._hold(row, now + min(PUT_OFF_FIRST + overdue, PUT_OFF_MAX))

    def finish(self, connection: Connection, /, row: DueRow, **values: Any) -> bool:
        """Write the outcome of the work and release the row, in the caller's transaction.

        Args:
            values: The columns, the marker included.

        Returns:
            False if the row was changed or claimed by another worker; nothing is written then.
        """
        done = update(self.table).where(self.is_unchanged(row))
        return connection.execute(done.values(lease_until=None, **values)).rowcount == 1

    def is_unchanged(self, row: DueRow) -> ColumnElement[bool]:
        """Return the condition that the row is as this worker knows it."""
        same = (self._key == row.id) & (self.marker == row.marker)
        return same & (self.table.c.lease_until == row.lease_until)

    async def _hold(self, row: DueRow, until: datetime | None) -> bool:
        statement = update(self.table).where(self.is_unchanged(row)).values(lease_until=until)
        async with self.records.write() as connection:
            if (await connection.execute(statement)).rowcount != 1:
                return False
        row.lease_until = until
        return True

    @property
    def _key(self) -> Column[Any]:
        [key] = self.table.primary_key
        return key


class DueItem(Protocol):
    """An item that a worker processes when it is due."""

    @property
    def id(self) -> int: ...


T = TypeVar("T", bound=DueItem)
P = TypeVar("P")


class DueWorker(ABC, Generic[T]):
    """A loop that processes what is due. An item that fails does not stop the others.

    Attributes:
        waits: The name under which the log has an item that failed.
        all_wait: The name under which it has that the due items cannot be read.
        id_name: What the id of an item is called in the log.
        expected: Errors that are logged in one line; others have a traceback.

    Args:
        records: The store of the items.
    """

    waits: ClassVar[str]
    all_wait: ClassVar[str]
    id_name: ClassVar[str]
    expected: ClassVar[tuple[type[Exception], ...]] = ()

    def __init__(self, records: Records, now: Callable[[], datetime]) -> None:
        self._now = now
        self._unwritten = UnwrittenPolls(records.write_mark, LEFT_OUT_MAX)
        self._next_due: datetime | None = None

    async def run(self) -> Never:
        """Process what is due until cancelled, including what fell due while no server ran."""
        await run_loop(self.poll, POLL_S, self.all_wait, (RecordsUnavailable,))

    async def poll(self) -> bool | None:
        """Process what is due, as `work_once` does, unless nothing can be due."""
        is_due = self._next_due is None or self._now() >= self._next_due
        return await self._unwritten.poll(self._poll_items, has_work=is_due)

    async def _poll_items(self) -> bool:
        """Do what `work_once` does; a worker with several tasks only begins it."""
        return await self.work_once()

    async def work_once(self) -> bool:
        """Process every due item once.

        Returns:
            Whether any item was processed or put off, so that more may be due.

        Raises:
            RecordsUnavailable: The list of due items cannot be read.
        """
        now, done = self._now(), 0
        items = await self._due_items(now)
        for item in items:
            if self._due_at(item) > now:
                continue
            try:
                done += await self._execute(item)
            except Exception as error:
                self._log_failure(item, error)
        self._next_due = min(map(self._due_at, items), default=now + AHEAD)
        return done > 0

    @abstractmethod
    async def _due_items(self, now: datetime) -> Sequence[T]:
        """Return what is due or falls due within AHEAD, the longest overdue first."""

    @abstractmethod
    def _due_at(self, item: T) -> datetime:
        """Wait until an item that no other worker has claimed falls due."""

    @abstractmethod
    async def _execute(self, item: T) -> bool:
        """Process one item and return whether there was anything left to do."""

    def _log_failure(self, item: T, error: Exception) -> None:
        known = isinstance(error, (RecordsUnavailable, LeaseLost, *self.expected))
        structlog.get_logger().warning(
            self.waits,
            reason=str(error),
            exc_info=None if known else error,
            **{self.id_name: item.id},
        )


class LeasedWorker(DueWorker[DueRow], Generic[P]):
    """A loop that claims each row before its work, and puts off a row whose work fails.

    Args:
        project_of: Returns a project by its id; rows without a project are left alone.
    """

    def __init__(
        self,
        rows: DueRows,
        project_of: Callable[[int], Awaitable[P | None]],
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(rows.records, now)
        self._rows = rows
        self._project_of = project_of

    def _due_at(self, item: DueRow) -> datetime:
        due_at = item.marker + self._rows.every
        return due_at if item.lease_until is None else max(due_at, item.lease_until)

    async def _execute(self, item: DueRow) -> bool:
        project = await self._project_of(item.project_id)
        if project is None or not await self._rows.claim(item, self._now()):
            return False
        try:
            await self._process(item, project)
        except Exception as error:
            self._log_failure(item, error)
            await self._rows.put_off(item, self._now())
        except asyncio.CancelledError:
            with suppress(RecordsUnavailable):  # an outage must not keep the server from stopping
                await asyncio.shield(self._rows.release(item))
            raise
        return True

    @abstractmethod
    async def _process(self, row: DueRow, project: P) -> None:
        """Do the work of a claimed row and finish it."""
