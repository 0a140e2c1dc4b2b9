"""The clock of this server compared with those of the stores.

Events get the time of the server that accepts them. The leases by which servers take turns get the
time of PostgreSQL.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

import structlog
from sqlalchemy import func, select

from fanion.db.engine import Records
from fanion.errors import StartRefused

# Clocks set by NTP differ by milliseconds, and a slow answer explains at most half of the time it
# took, which is subtracted. Beyond this difference two servers disagree about the order of what one
# person does on both, and about what was accepted before a deletion.
DIFFERENCE_S_MAX: Final = 5.0
# A clock set to the wrong time zone is off by at least this. Its events fall into the wrong hour of
# every insight, and cannot be told from right ones afterwards.
REFUSED_S: Final = 3600.0

_NOW = select(func.clock_timestamp())

Clock = Callable[[], datetime]


async def ahead_s(now: Clock, ask: Callable[[], Awaitable[datetime]]) -> float:
    """Return by how many seconds this server's clock is ahead of the other one.

    Returns:
        The smallest difference that the duration of the answer allows; negative if this clock is
        behind.
    """
    before = now()
    other_time = await ask()
    after = now()
    slowness_s = (after - before).total_seconds() / 2
    difference_s = (before - other_time).total_seconds() + slowness_s
    return max(0.0, difference_s - slowness_s) + min(0.0, difference_s + slowness_s)


async def ahead_of_records_s(records: Records, now: Clock) -> float:
    """Return by how many seconds this server's clock is ahead of the records store's.

    Returns:
        0 on SQLite, which has no clock of its own.

    Raises:
        RecordsUnavailable: The store does not answer.
    """
    if records.dialect == "sqlite":
        return 0.0

    async def ask() -> datetime:
        [row] = await records.fetch(_NOW)
        store_time: datetime = row[0]
        return store_time

    return await ahead_s(now, ask)


async def check_records_clock(records: Records, now: Clock) -> None:
    """Warn if this server's clock differs from the records store's by more than `DIFFERENCE_S_MAX`.

    Raises:
        StartRefused: The difference exceeds `REFUSED_S`.
        RecordsUnavailable: The store does not answer.
    """
    found_s = await ahead_of_records_s(records, now)
    if abs(found_s) > REFUSED_S:
        raise StartRefused(
            f"{difference_text(found_s, 'PostgreSQL')} (FANION_DATABASE_URL), which is more than "
            f"{REFUSED_S:,.0f} s: events would get wrong times. Set both clocks, for example with "
            "an NTP client."
        )
    warn_of_clock("records", found_s)


def warn_of_clock(store: str, found_s: float) -> None:
    if abs(found_s) > DIFFERENCE_S_MAX:
        structlog.get_logger().warning(
            "clock_differs", store=store, ahead_s=round(found_s, 3), limit_s=DIFFERENCE_S_MAX
        )


def difference_text(found_s: float, other: str) -> str:
    where = "ahead of" if found_s > 0 else "behind"
    return f"the clock of this server is {abs(found_s):,.1f} s {where} that of {other}"
