"""The time windows of conditions on events.

Source: cohorts.md section 6.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta

from fanion.properties.values import parse_date

Unit = Literal["minute", "hour", "day", "week", "month", "year"]
UNITS: tuple[Unit, ...] = get_args(Unit)

# The event store holds nothing older.
EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
_HISTORY = timedelta(days=400 * 365)

_FIXED = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    # Used only to compare two windows; a window counted back from now follows the calendar.
    "month": timedelta(days=30),
    "year": timedelta(days=365),
}
_MONTHS = {"month": 1, "year": 12}
_RELATIVE = re.compile(r"(?:-?([0-9]{1,6}))?([hdwmqy])(Start)?")
_LETTERS: dict[str, tuple[Unit, int]] = {
    "h": ("hour", 1),
    "d": ("day", 1),
    "w": ("week", 1),
    "m": ("month", 1),
    "q": ("week", 13),
    "y": ("year", 1),
}


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A length of time in units of a clock or of the calendar.

    Attributes:
        count: The number of units, at least 1.
    """

    count: int
    unit: Unit

    @property
    def length(self) -> timedelta:
        """The length, with months of 30 and years of 365 days; at most 400 years."""
        try:
            return min(self.count * _FIXED[self.unit], _HISTORY)
        except OverflowError:
            return _HISTORY

    @property
    def is_calendar(self) -> bool:
        return self.unit in _MONTHS

    def before(self, now: datetime, times: int = 1) -> datetime:
        """Return the start of `times` windows in a row that end now, not before EARLIEST.

        Args:
            now: An aware time in UTC.
        """
        try:
            if self.unit in _MONTHS:
                months = self.count * times * _MONTHS[self.unit]
                return max(now - relativedelta(months=months), EARLIEST)
            return max(now - self.count * times * _FIXED[self.unit], EARLIEST)
        except (OverflowError, ValueError):
            return EARLIEST


@dataclass(frozen=True, slots=True)
class StartBound:
    """An explicit lower bound: a date, or a relative time such as `-7d`, `-1mStart` or `dStart`.

    Attributes:
        date: Without a time zone it is in the project's.
        snap: The unit to whose start the bound is rounded down.
    """

    text: str
    date: datetime | None = None
    span: TimeWindow | None = None
    snap: str | None = None

    def moment(self, now: datetime, zone: ZoneInfo) -> datetime:
        """Return the time of the bound, not before EARLIEST.

        Args:
            now: An aware time in UTC.
            zone: The time zone of the project.
        """
        if self.date is not None:
            date = self.date if self.date.tzinfo else self.date.replace(tzinfo=zone)
            return max(date.astimezone(UTC), EARLIEST)
        back = now if self.span is None else self.span.before(now)
        return _start_of(self.snap, back.astimezone(zone)).astimezone(UTC) if self.snap else back


def parse_start_bound(text: object) -> StartBound:
    """Parse the `explicit_datetime` of a condition.

    Raises:
        ValueError: The value is neither a date nor a relative time.

    Source: cohorts.md section 6, `explicit_datetime`.
    """
    if not isinstance(text, str):
        raise ValueError("explicit_datetime must be text")
    match = _RELATIVE.fullmatch(text.strip())
    if match is None:
        return StartBound(text, date=_date(text.strip()))
    count, letter, snapped = match.groups()
    if count is None and not snapped:
        raise ValueError(f"explicit_datetime cannot be read: {text!r}")
    unit, times = _LETTERS[letter]
    span = TimeWindow(int(count) * times, unit) if count and int(count) else None
    return StartBound(text, span=span, snap=letter if snapped else None)


def _date(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        date = parse_date(text)
        if date is None:
            raise ValueError(f"explicit_datetime cannot be read: {text!r}") from None
        return date


def _start_of(letter: str, moment: datetime) -> datetime:
    start = moment.replace(minute=0, second=0, microsecond=0)
    if letter == "h":
        return start
    start = start.replace(hour=0)
    if letter == "w":
        return start - timedelta(days=start.weekday())
    if letter == "m":
        return start.replace(day=1)
    if letter == "q":
        return start.replace(day=1, month=start.month - (start.month - 1) % 3)
    return start.replace(day=1, month=1) if letter == "y" else start
