"""The intervals of a time range, from minutes to years.

Days and longer intervals begin at midnight in the project's time zone, whatever their length. An
hour that repeats when clocks go back appears twice; a day that a zone skipped does not appear.

Source: cohorts.md, section 23; insights.md, sections 2c and 2d.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, Literal, get_args
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta

from fanion.errors import Invalid

Interval = Literal["minute", "hour", "day", "week", "month", "quarter", "year"]
INTERVALS: tuple[Interval, ...] = get_args(Interval)

# Intervals shorter than a day. Their ranges are rounded to them, not to days.
FINE: Final = ("minute", "hour")
# Enough for 27 years of days, 13 months of hours, or 6 days of minutes.
INTERVALS_MAX = 10_000

_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
HOUR = timedelta(hours=1)
# The number of months in each interval of months.
MONTHS_IN: Final[Mapping[Interval, int]] = {"month": 1, "quarter": 3, "year": 12}
STEPS: Mapping[Interval, timedelta] = {"minute": timedelta(minutes=1), "hour": HOUR}


@dataclass(frozen=True, slots=True)
class DateRange:
    """A half-open range of time, [start, end), in UTC."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Intervals:
    """The intervals that a range is cut into.

    Attributes:
        starts: In UTC, ascending; the first is at or before the start of the range.
        days: The name of each interval in results, such as `2024-03-05`.
        labels: The label of each interval in results, such as `5-Mar-2024`.
        end: The end of the last interval, which may lie after the end of the range.
    """

    starts: tuple[datetime, ...]
    days: tuple[str, ...]
    labels: tuple[str, ...]
    end: datetime | None = None

    def unfinished(self, end: datetime) -> int:
        """Return the number of intervals that end after the given time."""
        ends = (*self.starts[1:], *([self.end] if self.end else []))
        return sum(interval_end > end for interval_end in ends)


def widen_to_interval(
    span: DateRange, interval: Interval, zone: ZoneInfo, week_start_day: int = 0
) -> DateRange:
    """Extend a range back to the start of its first interval of a day or longer."""
    if interval in FINE:
        return span
    return DateRange(next(_starts(span, interval, zone, week_start_day)), span.end)


def cut_into_intervals(
    span: DateRange, interval: Interval, zone: ZoneInfo, week_start_day: int = 0
) -> Intervals:
    """Cut a range into intervals.

    Raises:
        Invalid: There are more than INTERVALS_MAX intervals.
    """
    starts: list[datetime] = []
    for start in _starts(span, interval, zone, week_start_day):
        if len(starts) == INTERVALS_MAX:
            raise Invalid(f"There are more than {INTERVALS_MAX} intervals.", attr="interval")
        starts.append(start)
    local = [start.astimezone(zone) for start in starts]
    is_fine = interval in FINE
    return Intervals(
        tuple(starts),
        tuple(
            f"{moment:%Y-%m-%d %H:%M}:00" if is_fine else f"{moment:%Y-%m-%d}" for moment in local
        ),
        tuple(
            f"{_label(moment)} {moment:%H:%M}" if is_fine else _label(moment) for moment in local
        ),
        _interval_end(starts[-1], interval, zone),
    )


def _interval_end(start: datetime, interval: Interval, zone: ZoneInfo) -> datetime:
    if interval in FINE:
        return _ceil(start + STEPS[interval], zone, interval)
    return midnight(_next_day(start.astimezone(zone).date(), interval), zone)


def midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)


def _starts(
    span: DateRange, interval: Interval, zone: ZoneInfo, week_start_day: int
) -> Iterator[datetime]:
    if interval in FINE:
        start = round_down(span.start, zone, interval)
        while start < span.end:
            yield start
            start = _ceil(start + STEPS[interval], zone, interval)
        return
    day = _first_day(span.start.astimezone(zone).date(), interval, week_start_day)
    start = midnight(day, zone)
    while start < span.end:
        day = _next_day(day, interval)
        end = midnight(day, zone)
        # A zone that moves across the date line skips a day, which then begins and ends at once.
        if start < end:
            yield start
        start = end


def _first_day(day: date, interval: Interval, week_start_day: int) -> date:
    if interval == "week":
        return start_of_week(day, week_start_day)
    months = MONTHS_IN.get(interval)
    return day if months is None else first_of_months(day, months)


def first_of_months(day: date, months: int) -> date:
    """Return the first day of the month, quarter or year that has so many months."""
    return day.replace(day=1, month=day.month - (day.month - 1) % months)


def _next_day(day: date, interval: Interval) -> date:
    if interval in MONTHS_IN:
        return day + relativedelta(months=MONTHS_IN[interval])
    return day + timedelta(days=7 if interval == "week" else 1)


def start_of_week(day: date, week_start_day: int) -> date:
    return day - timedelta(days=(day.weekday() + 1 - week_start_day) % 7)


def round_down(moment: datetime, zone: ZoneInfo, interval: Interval) -> datetime:
    if interval == "hour":
        return start_of_hour(moment, zone)
    return moment.astimezone(UTC).replace(second=0, microsecond=0)


def start_of_hour(moment: datetime, zone: ZoneInfo) -> datetime:
    local = moment.astimezone(zone)
    return moment.astimezone(UTC) - timedelta(
        minutes=local.minute, seconds=local.second, microseconds=local.microsecond
    )


def _ceil(moment: datetime, zone: ZoneInfo, interval: Interval) -> datetime:
    """Round up to the start of an interval: some zones change their clocks by half an hour."""
    floor = round_down(moment, zone, interval)
    return floor if floor == moment else floor + STEPS[interval]


def day_after(day: date) -> date:
    return day + timedelta(days=1)


def _label(moment: datetime) -> str:
    return f"{moment.day}-{_MONTH_NAMES[moment.month - 1]}-{moment.year}"
