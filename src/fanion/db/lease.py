"""The leases on rows of the records store, by which one of several servers does a piece of work.

A server that dies holds a lease no longer than until it expires.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection


class LeaseLost(Exception):
    """The loss of a lease, which another server has taken, or whose work was changed or is gone."""

    def __str__(self) -> str:
        return "the lease is lost"


def is_free(until: Column[Any], now: datetime) -> ColumnElement[bool]:
    """Return the condition that a server may take a lease, by when the former one expires."""
    return or_(until.is_(None), until <= now)


@dataclass(frozen=True, slots=True)
class Lease:
    """The columns of a table that hold a lease.

    Attributes:
        until: When the lease expires; null in a free row.
        holder: Identifies the server. None if a former holder notices a lost lease by another
            column, such as one that each completion of the work changes.
    """

    until: Column[Any]
    holder: Column[Any] | None = None

    def is_free(self, now: datetime) -> ColumnElement[bool]:
        """Return the condition that a server may take the lease."""
        return is_free(self.until, now)

    def is_held_by(self, holder: str) -> ColumnElement[bool]:
        """Return the condition that `holder` has the lease.

        It is true even after the lease has expired, until another server takes it: nothing was
        lost yet.
        """
        assert self.holder is not None
        return self.holder == holder

    def taken(self, until: datetime, holder: str | None = None) -> Mapping[str, Any]:
        """Return the values of a row whose lease is taken or renewed."""
        values: dict[str, Any] = {self.until.name: until}
        if self.holder is not None and holder is not None:
            values[self.holder.name] = holder
        return values

    def released(self) -> Mapping[str, None]:
        """Return the values of a row that becomes free at once."""
        columns = (self.until,) if self.holder is None else (self.until, self.holder)
        return {column.name: None for column in columns}


async def one_at_a_time(connection: AsyncConnection, name: str) -> None:
    """Let transactions that call this with the same name run one after the other, on PostgreSQL.

    Use it to count rows before one is added. SQLite has one writer anyway.
    """
    await connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(name))))
