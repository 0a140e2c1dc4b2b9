"""Leases on rows of the records store: of several servers one does a piece of work, and one that
dies holds it no longer than until the lease expires."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection


@dataclass(frozen=True, slots=True)
class Lease:
    """The columns of a table that hold it.

    until:  when it expires; null in a row that is free
    holder: names the server; None where a former holder notices by another column that the lease
            was lost, such as one that each completion of the work changes
    """

    until: Column[Any]
    holder: Column[Any] | None = None

    def is_free(self, now: datetime) -> ColumnElement[bool]:
        """Whether a server may take it."""
        return or_(self.until.is_(None), self.until <= now)

    def is_held_by(self, holder: str) -> ColumnElement[bool]:
        """Also after it has expired, until another server takes it: nothing was lost yet."""
        assert self.holder is not None
        return self.holder == holder

    def taken(self, until: datetime, holder: str | None = None) -> Mapping[str, Any]:
        """Values of a row whose lease is taken, or renewed."""
        values: dict[str, Any] = {self.until.name: until}
        if self.holder is not None and holder is not None:
            values[self.holder.name] = holder
        return values

    def released(self) -> Mapping[str, None]:
        """Values of a row that is free at once."""
        columns = (self.until,) if self.holder is None else (self.until, self.holder)
        return {column.name: None for column in columns}


async def one_at_a_time(connection: AsyncConnection, name: str) -> None:
    """On PostgreSQL: of the transactions that have called this with the same name, the others wait
    until this one has ended. For what counts rows before it adds one."""
    await connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(name))))
