"""Times as the event store holds them: microseconds since 1970, of the years 1900 to 2299."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
MICROS_MIN = (datetime(1900, 1, 1, tzinfo=UTC) - EPOCH) // _MICROSECOND
MICROS_MAX = (datetime(2299, 12, 31, 23, 59, 59, tzinfo=UTC) - EPOCH) // _MICROSECOND


def micros(time: datetime) -> int:
    """Moved into those years."""
    return _moved((time - EPOCH) // _MICROSECOND)


def all_micros(times: Iterable[datetime]) -> list[int]:
    """The same of many, in half of the time."""
    exact = [(time - EPOCH) // _MICROSECOND for time in times]
    if exact and (min(exact) < MICROS_MIN or max(exact) > MICROS_MAX):
        return list(map(_moved, exact))
    return exact


def _moved(exact: int) -> int:
    return max(MICROS_MIN, min(MICROS_MAX, exact))


DAYS = 30


@dataclass(frozen=True, slots=True)
class Days:
    """The days that end with today, in a time zone. start and end: UTC, [start, end)"""

    zone: str
    first: date
    number: int
    start: datetime
    end: datetime

    def counted(self, counts: Mapping[date, int]) -> list[tuple[date, int]]:
        """Every day with its count, the oldest first; those without events too."""
        days = (self.first + timedelta(days=place) for place in range(self.number))
        return [(day, counts.get(day, 0)) for day in days]


def last_days(now: datetime, zone: str, number: int = DAYS) -> Days:
    """now: aware; zone: IANA name. A day begins at the zone's midnight, however long it is."""
    here = ZoneInfo(zone)
    today = now.astimezone(here).date()
    first = today - timedelta(days=number - 1)
    return Days(zone, first, number, _midnight(first, here), _midnight(_next(today), here))


def _next(day: date) -> date:
    return day + timedelta(days=1)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)
