"""The changes that all servers make, followed in the table `change_feed`.

Each change is one row, so polling costs one row, however many projects there are. Triggers write
the rows, so that changes made by older programs and by hand are in it too. Numbers are in the
order of commits. See migration 0018.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, Never

from sqlalchemy import Row, bindparam, func, select

from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.tables import change_feed
from fanion.db.unwritten import UnwrittenPolls
from fanion.runtime.background import run_loop

# A change by another server is loaded within this time plus the time of the read.
FOLLOW_S = 0.5
# Polls in a row that are left out while nobody writes an SQLite store; the next one reads it, so
# that a store that fails is noticed within ten seconds.
LEFT_OUT_MAX = 19


class FeedTopic(StrEnum):
    """The topics that this version follows. Rows of other topics come from newer programs."""

    PROJECT = "project"
    FLAGS = "flags"


# Reads the items with these ids again if they are cached; None stands for all cached items.
Load = Callable[[Collection[int] | None], Awaitable[None]]

_feed = change_feed.c
_NEWEST = select(func.coalesce(func.max(_feed.number), 0))
# The row that was read last comes first: if it is missing, later rows may have been deleted too.
_SINCE = (
    select(_feed.number, _feed.topic, _feed.item_id)
    .where(_feed.number >= bindparam("seen"))
    .order_by(_feed.number)
)


class ChangeFeed:
    """The part of a process that tells its caches what has changed.

    On start, after a failure and after a gap in the feed, everything cached is read again.
    """

    def __init__(self, records: Records, loads: Mapping[FeedTopic, Load]) -> None:
        """Follow the feed for these caches.

        Args:
            loads: Called with each poll, even if there are no ids.
        """
        self._records = records
        self._loads = loads
        self._told: Callable[[], None] = _tell_nobody
        self._seen: int | None = None
        self._unwritten = UnwrittenPolls(records.write_mark, LEFT_OUT_MAX)

    def tell(self, told: Callable[[], None]) -> None:
        """Notify a process that follows this one of changes, from now on.

        Args:
            told: Called when there are new rows, or when everything is read again.
        """
        self._told = told

    async def run(self, every_s: float = FOLLOW_S, wake: asyncio.Event | None = None) -> Never:
        """Load changes until cancelled.

        Args:
            every_s: The time between two polls.
            wake: Begins the next poll when it is set.
        """
        await run_loop(
            self.follow,
            every_s,
            "changes_not_read",
            (RecordsUnavailable,),
            initial_delay_s=every_s,
            wake=wake,
            retry_s=FOLLOW_S,
        )

    async def follow(self) -> None:
        """Load what has changed since the last call.

        Raises:
            RecordsUnavailable: The store does not answer; the next call loads the changes.
        """
        changed = await self._since_seen()
        if changed is None or changed[1]:
            self._told()
        if changed is None:
            newest = await self._newest()
            for load in self._loads.values():
                await load(None)
        else:
            newest, rows = changed
            for topic, load in self._loads.items():
                await load({row.item_id for row in rows if row.topic == topic})
        self._seen = newest

    async def _since_seen(self) -> tuple[int, Sequence[Row[Any]]] | None:
        """Return the newest number, and the rows after the last one that was read.

        Returns:
            None if rows may be missing. After a failure another PostgreSQL server may answer.
        """
        if self._unwritten.may_leave_out() and self._seen is not None:
            return self._seen, ()
        seen, self._seen = self._seen, None
        if seen is None:
            return None
        rows = await self._records.fetch(_SINCE, {"seen": seen})
        if seen and (not rows or rows[0].number != seen):
            return None
        self._seen = seen
        return (rows[-1].number, rows[1:] if seen else rows) if rows else (0, rows)

    async def _newest(self) -> int:
        [(newest,)] = await self._records.fetch(_NEWEST)
        return int(newest)


def _tell_nobody() -> None:
    """Do nothing: no process follows this one."""
