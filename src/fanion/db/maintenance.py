"""The pauses that a command asks of all servers on the same records.

A paused server answers capture and flags and nothing else: it ingests nothing, and runs no loop
that changes the stores. The command can then copy stores that belong together.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from sqlalchemy import Connection, delete, select

from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.schema.servers import maintenance

MOVE: Final = "move"

_column = maintenance.c


class State(StrEnum):
    PAUSED = "paused"  # until `held_until`
    MOVED = "moved"  # for good: other stores hold everything now
    ARRIVING = "arriving"  # being filled by a move: no server may start


@dataclass(frozen=True, slots=True)
class Maintenance:
    """The wish of one command.

    Attributes:
        name: The command.
        held_until: When a pause ends by itself; None for what does not end by itself.
        note: Where everything was moved, or from which installation it arrives.
    """

    name: str
    state: State
    held_until: datetime | None = None
    note: str = ""


def pause_at(rows: Iterable[Maintenance], now: datetime) -> Maintenance | None:
    """Return why servers are paused at a time, or None if they are not."""
    paused = [
        row
        for row in rows
        if row.state is State.MOVED
        or (row.state is State.PAUSED and row.held_until is not None and row.held_until > now)
    ]
    return min(paused, key=lambda row: row.state is not State.MOVED, default=None)


async def read_maintenance(records: Records) -> list[Maintenance]:
    """Read everything that commands have asked for.

    Raises:
        RecordsUnavailable: The records store failed.
    """
    rows = await records.fetch(select(maintenance).order_by(_column.name))
    return [Maintenance(row.name, State(row.state), row.held_until, row.note) for row in rows]


def set_maintenance(connection: Connection, wanted: Maintenance) -> None:
    """Ask for something, in place of what the command has asked for before."""
    values = {"state": wanted.state, "held_until": wanted.held_until, "note": wanted.note}
    statement = upsert(connection.dialect, maintenance).values(name=wanted.name, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=values))


def end_maintenance(connection: Connection, name: str) -> None:
    connection.execute(delete(maintenance).where(_column.name == name))
