"""How often an event happened on each of the last days, as the project's people count days."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

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
