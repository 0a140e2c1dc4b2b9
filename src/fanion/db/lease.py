"""The leases on rows of the records store, by which one of several servers does a piece of work.

A server that dies holds a lease no longer than until it expires.
"""

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


async def one_at_a_time(connection: AsyncConnection, name: str) -> None:
    """Let transactions that call this with the same name run one after the other, on PostgreSQL.

    Use it to count rows before one is added. SQLite has one writer anyway.
    """
    await connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(name))))
