"""Flags that nobody needs any more, and why."""

from datetime import datetime, timedelta
from enum import StrEnum

from fanion.flags.engine.definition import grouped_filters
from fanion.flags.storage.list_query import answers_one_thing
from fanion.flags.storage.rows import StoredFlag

STALE_DAYS = 30
STALE_DAYS_MAX = 90  # evaluations are remembered no longer


class StaleReason(StrEnum):
    """FULLY_ROLLED_OUT: the same answer for everybody; it decides nothing"""

    FULLY_ROLLED_OUT = "fully_rolled_out"
    NOT_EVALUATED = "not_evaluated"


def stale_reason(
    flag: StoredFlag, last_evaluated: datetime | None, now: datetime, days: int
) -> StaleReason | None:
    """None for a flag that is needed, switched off, or younger than `days`."""
    before = now - timedelta(days=days)
    row = flag.definition
    if not row.active or row.deleted or flag.created_at > before:
        return None
    if answers_one_thing(grouped_filters(row)):
        return StaleReason.FULLY_ROLLED_OUT
    if last_evaluated is None or last_evaluated < before:
        return StaleReason.NOT_EVALUATED
    return None
