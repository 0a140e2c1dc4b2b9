"""The date range of an insight, and its intervals.

Days, weeks and months begin in the project's time zone, whatever their length; an hour that is
repeated when clocks go back appears twice.

source: cohorts.md section 23; insights.md sections 2c, 2d and 4d
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta

from fanion.errors import Invalid
from fanion.properties.cohort_sql import MICROSECOND
from fanion.properties.values import parse_date
from fanion.rest.unknown_fields import no_choice

Interval = Literal["hour", "day", "week", "month"]
INTERVALS: tuple[Interval, ...] = get_args(Interval)

# 27 years of days, 13 months of hours.
INTERVALS_MAX = 10_000
FROM_DEFAULT = "-7d"

_RELATIVE = re.compile(r"(?:-?([0-9]{1,4}))?([hdwmqy])(Start|End)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")
_MONTHS = {"m": 1, "q": 3, "y": 12}
_DAYS = {"d": 1, "w": 7}
# The event store holds nothing older.
_FIRST = date(1900, 1, 2)
_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class DateRange:
    """[start, end), in UTC."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Intervals:
    """starts: in UTC, ascending, the first at or before the span's start

    days and labels: the names of each interval in results
    """

    starts: tuple[datetime, ...]
    days: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """`-30d`, `dStart`, `-1mEnd`, a date, a time, or `all` from the first event; None: not given.

    moment: an absolute time; without a time zone it is in that of the project
    """

    text: str | None = None
    count: int = 0
    unit: str = ""
    position: str = ""
    day: date | None = None
    moment: datetime | None = None

    @property
    def is_all(self) -> bool:
        return self.text == "all"

    @property
    def is_distance(self) -> bool:
        """Relative to now, not to the start or end of a unit."""
        return bool(self.unit) and not self.position


def parse_bound(value: object, attr: str) -> Bound:
    """value: null and blank count as left out. raises: Invalid"""
    if value is None or value == "":
        return Bound()
    if not isinstance(value, str):
        raise Invalid(f"Invalid date: {value}", attr=attr)
    text = value.strip()
    if text == "all" and attr == "date_from":
        return Bound(text)
    found = _RELATIVE.fullmatch(text)
    if found is not None and (found[1] or found[3]):
        return Bound(text, int(found[1] or 0), found[2], found[3] or "")
    moment = _absolute(text)
    if moment is None or not 1900 < moment.year < 2299:
        raise Invalid(f"Invalid date: {value}", attr=attr)
    if _DATE.fullmatch(text):
        return Bound(text, day=moment.date())
    return Bound(text, moment=moment)


def parse_interval(raw: object) -> Interval:
    """raises: Invalid"""
    for interval in INTERVALS:
        if raw == interval or (raw in (None, "") and interval == "day"):
            return interval
    raise no_choice(raw, INTERVALS, "interval")


def _absolute(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return parse_date(text)


@dataclass(frozen=True, slots=True)
class RangeClock:
    """What relative dates are resolved against. now: aware; first: time of the oldest event"""

    now: datetime
    zone: ZoneInfo
    first: datetime | None = None

    @property
    def here(self) -> datetime:
        return self.now.astimezone(self.zone)


def resolve(
    since: Bound, until: Bound, interval: Interval, clock: RangeClock, *, is_explicit: bool = False
) -> DateRange:
    """Rounded to whole days, or to whole hours where a bound or the interval is of hours.

    is_explicit: times and relative dates are not rounded; a date is still a whole day
    raises:      Invalid for an empty range
    """
    if since.text is None:
        since = parse_bound(FROM_DEFAULT, "date_from")
    start = _exact(since, clock) if is_explicit else None
    end = _exact(until, clock) if is_explicit else None
    start, end = start or _start(since, interval, clock), end or _end(until, interval, clock)
    if end <= start:
        raise Invalid("date_from must be before date_to.", attr="date_from")
    return DateRange(start, end)


def widened(span: DateRange, interval: Interval, zone: ZoneInfo) -> DateRange:
    """Extended to the start of its first week or month, so that the first interval is complete."""
    if interval not in ("week", "month"):
        return span
    return DateRange(next(_starts(span, interval, zone)), span.end)


def _exact(bound: Bound, clock: RangeClock) -> datetime | None:
    """The instant of a time or a relative date, now without a bound; None for all others."""
    if bound.text is None:
        return clock.now
    if bound.moment is not None:
        return _instant(bound.moment, clock.zone)
    if not bound.is_distance:
        return None
    if bound.unit == "h":
        return clock.now - bound.count * _HOUR
    moment = datetime.combine(_counted_back(bound, clock), clock.here.time(), clock.zone)
    return moment.astimezone(UTC)


def _start(bound: Bound, interval: Interval, clock: RangeClock) -> datetime:
    if bound.is_all:
        first = clock.first or clock.now
        return midnight(first.astimezone(clock.zone).date(), clock.zone)
    if bound.day is not None:
        return midnight(bound.day, clock.zone)
    if bound.moment is not None:
        exact = _instant(bound.moment, clock.zone)
        return exact if interval == "hour" else midnight(_day(exact, clock), clock.zone)
    if bound.unit == "h":
        return _hour(bound, clock)
    return midnight(_snapped(_counted_back(bound, clock), bound), clock.zone)


def _end(bound: Bound, interval: Interval, clock: RangeClock) -> datetime:
    """A date ends with the day; by hour a time ends with its second."""
    if bound.text is None:
        if interval == "hour":
            return _floor_hour(clock.now, clock.zone) + _HOUR
        return midnight(_next(clock.here.date()), clock.zone)
    if bound.day is not None:
        return midnight(_next(bound.day), clock.zone)
    if bound.moment is not None:
        exact = _instant(bound.moment, clock.zone)
        if interval != "hour":
            return midnight(_next(_day(exact, clock)), clock.zone)
        return exact + (MICROSECOND if exact.microsecond else timedelta(seconds=1))
    if bound.unit == "h":
        return _hour(bound, clock) + (timedelta() if bound.position else _HOUR)
    day = _snapped(_counted_back(bound, clock), bound)
    if bound.position == "End":
        return midnight(day, clock.zone)
    return midnight(_next(day), clock.zone)


def _day(moment: datetime, clock: RangeClock) -> date:
    return moment.astimezone(clock.zone).date()


def _hour(bound: Bound, clock: RangeClock) -> datetime:
    start = _floor_hour(clock.now - bound.count * _HOUR, clock.zone)
    return start + _HOUR if bound.position == "End" else start


def _counted_back(bound: Bound, clock: RangeClock) -> date:
    today = clock.here.date()
    try:
        if bound.unit in _MONTHS:
            return today - relativedelta(months=bound.count * _MONTHS[bound.unit])
        return max(today - timedelta(days=bound.count * _DAYS[bound.unit]), _FIRST)
    except (OverflowError, ValueError):
        return _FIRST


def _snapped(day: date, bound: Bound) -> date:
    """The first day of the unit; with `End` the first day after it."""
    if not bound.position:
        return day
    start = {
        "d": day,
        "w": _week(day),
        "m": day.replace(day=1),
        "q": day.replace(day=1, month=day.month - (day.month - 1) % 3),
        "y": day.replace(day=1, month=1),
    }[bound.unit]
    if bound.position == "Start":
        return start
    if bound.unit in _MONTHS:
        return start + relativedelta(months=_MONTHS[bound.unit])
    return start + timedelta(days=_DAYS[bound.unit])


def cut(span: DateRange, interval: Interval, zone: ZoneInfo) -> Intervals:
    """raises: Invalid for more than INTERVALS_MAX intervals"""
    starts: list[datetime] = []
    for start in _starts(span, interval, zone):
        if len(starts) == INTERVALS_MAX:
            raise Invalid(f"There are more than {INTERVALS_MAX} intervals.", attr="interval")
        starts.append(start)
    local = [start.astimezone(zone) for start in starts]
    by_hour = interval == "hour"
    return Intervals(
        tuple(starts),
        tuple(f"{one:%Y-%m-%d %H}:00:00" if by_hour else f"{one:%Y-%m-%d}" for one in local),
        tuple(f"{_label(one)} {one:%H}:00" if by_hour else _label(one) for one in local),
    )


def distance(
    since: Bound, until: Bound, buckets: Intervals, interval: Interval, zone: ZoneInfo
) -> int:
    """By how many intervals the previous range of a comparison is earlier.

    A range relative to now moves by its own offset, so that today is compared with the same
    weekday; any other range by its length.

    source: insights.md section 4d
    """
    number = len(buckets.starts)
    if until.text is not None or not (since.text is None or since.is_distance):
        return number
    if interval == "hour" and since.unit != "h":
        first, last = (buckets.starts[n].astimezone(zone).date() for n in (0, -1))
        return 24 * (last - first).days or number
    return number - 1 or number


def previous(span: DateRange, number: int, interval: Interval, zone: ZoneInfo) -> DateRange:
    """The same range, `number` intervals earlier, to compare with."""
    if interval == "hour":
        return DateRange(span.start - number * _HOUR, span.end - number * _HOUR)
    back = {
        "day": relativedelta(days=number),
        "week": relativedelta(weeks=number),
        "month": relativedelta(months=number),
    }[interval]
    return DateRange(*(_moved(moment, back, zone) for moment in (span.start, span.end)))


def midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)


def _moved(moment: datetime, back: relativedelta, zone: ZoneInfo) -> datetime:
    """In local time."""
    return (
        (moment.astimezone(zone).replace(tzinfo=None) - back).replace(tzinfo=zone).astimezone(UTC)
    )


def _starts(span: DateRange, interval: Interval, zone: ZoneInfo) -> Iterator[datetime]:
    if interval == "hour":
        start = _floor_hour(span.start, zone)
        while start < span.end:
            yield start
            start = _ceil_hour(start + _HOUR, zone)
        return
    day = _first_day(span.start.astimezone(zone).date(), interval)
    while (start := midnight(day, zone)) < span.end:
        yield start
        day = _next_day(day, interval)


def _first_day(day: date, interval: Interval) -> date:
    if interval == "week":
        return _week(day)
    return day.replace(day=1) if interval == "month" else day


def _next_day(day: date, interval: Interval) -> date:
    if interval == "month":
        return day + relativedelta(months=1)
    return day + timedelta(days=7 if interval == "week" else 1)


def _week(day: date) -> date:
    """Weeks begin on Sunday, as they do in PostHog unless a project says otherwise."""
    return day - timedelta(days=(day.weekday() + 1) % 7)


def _floor_hour(moment: datetime, zone: ZoneInfo) -> datetime:
    local = moment.astimezone(zone)
    return moment.astimezone(UTC) - timedelta(
        minutes=local.minute, seconds=local.second, microseconds=local.microsecond
    )


def _ceil_hour(moment: datetime, zone: ZoneInfo) -> datetime:
    """Some zones change their clocks by half an hour."""
    floor = _floor_hour(moment, zone)
    return floor if floor == moment else floor + _HOUR


def _instant(moment: datetime, zone: ZoneInfo) -> datetime:
    here = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
    return here.astimezone(UTC)


def _next(day: date) -> date:
    return day + timedelta(days=1)


def _label(moment: datetime) -> str:
    return f"{moment.day}-{_MONTH_NAMES[moment.month - 1]}-{moment.year}"
