"""Times as the event store holds them: microseconds since 1970, of the years 1900 to 2299."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
MICROS_MIN = (datetime(1900, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
MICROS_MAX = (datetime(2299, 12, 31, 23, 59, 59, tzinfo=UTC) - _EPOCH) // _MICROSECOND


def micros(time: datetime) -> int:
    """Moved into those years."""
    return _moved((time - _EPOCH) // _MICROSECOND)


def all_micros(times: Iterable[datetime]) -> list[int]:
    """The same of many, in half of the time."""
    exact = [(time - _EPOCH) // _MICROSECOND for time in times]
    if exact and (min(exact) < MICROS_MIN or max(exact) > MICROS_MAX):
        return list(map(_moved, exact))
    return exact


def _moved(exact: int) -> int:
    return max(MICROS_MIN, min(MICROS_MAX, exact))
