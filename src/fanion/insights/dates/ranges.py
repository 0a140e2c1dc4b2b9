"""The time range of a question, resolved to instants.

Source: cohorts.md, section 23; insights.md, sections 2c and 2d.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta

from fanion.errors import Invalid
from fanion.insights.dates.bounds import (
    DAYS_OF,
    FROM_DEFAULT,
    MONTHS_OF,
    Bound,
    instant_of,
    parse_bound,
)
from fanion.insights.dates.intervals import (
    FINE,
    HOUR,
    STEPS,
    DateRange,
    Interval,
    day_after,
    first_of_months,
    midnight,
    round_down,
    start_of_hour,
    start_of_week,
)
from fanion.properties.bindings import MICROSECOND

# The event store holds nothing older.
_FIRST = date(1900, 1, 2)


@dataclass(frozen=True, slots=True)
class RangeClock:
    """The time, zone and calendar against which relative dates are resolved.

    Attributes:
        now: An aware time.
        first: The time of the oldest event.
        week_start_day: 0 for Sunday, 1 for Monday.
    """

    now: datetime
    zone: ZoneInfo
    first: datetime | None = None
    week_start_day: int = 0

    @property
    def here(self) -> datetime:
        return self.now.astimezone(self.zone)


def resolve_range(
    since: Bound, until: Bound, interval: Interval, clock: RangeClock, *, is_explicit: bool = False
) -> DateRange:
    """Resolve the bounds of a question to a range of time.

    The range is rounded to whole days. It is rounded to hours where a bound is in hours; by minute
    or hour, times keep their minutes, and without `until` the range ends with the current interval.

    Args:
        is_explicit: Times and relative dates are not rounded. A date is still a whole day.

    Raises:
        Invalid: The range is empty, or a distance by minute is in months.
    """
    if since.text is None:
        since = parse_bound(FROM_DEFAULT, "date_from")
    if interval == "minute":
        _refuse_months(since)
    start = _exact(since, clock) if is_explicit else None
    end = _exact(until, clock) if is_explicit else None
    start, end = start or _start(since, interval, clock), end or _end(until, interval, clock)
    if end <= start:
        raise Invalid("date_from must be before date_to.", attr="date_from")
    return DateRange(start, end)


def _refuse_months(since: Bound) -> None:
    """Raise Invalid for a distance in months that was meant in minutes."""
    if since.unit == "m" and since.is_distance:
        detail = (
            f'"{since.text}" means {since.count} months, which is too long by minute. '
            "Use hours, such as -1h, or a time."
        )
        raise Invalid(detail, attr="date_from")


def _exact(bound: Bound, clock: RangeClock) -> datetime | None:
    """Return the instant of a time or a relative date, now without a bound, None for all others."""
    if bound.text is None:
        return clock.now
    if bound.moment is not None:
        return instant_of(bound.moment, clock.zone)
    if not bound.is_distance:
        return None
    if bound.unit == "h":
        return clock.now - bound.count * HOUR
    moment = datetime.combine(_counted_back(bound, clock), clock.here.time(), clock.zone)
    return moment.astimezone(UTC)


def _start(bound: Bound, interval: Interval, clock: RangeClock) -> datetime:
    if bound.is_all:
        first = clock.first or clock.now
        return midnight(first.astimezone(clock.zone).date(), clock.zone)
    if bound.day is not None:
        return midnight(bound.day, clock.zone)
    if bound.moment is not None:
        exact = instant_of(bound.moment, clock.zone)
        stands = bound.stands or interval in FINE
        return exact if stands else midnight(_day(exact, clock), clock.zone)
    if bound.unit == "h":
        return _hour(bound, clock)
    return midnight(_snapped(_counted_back(bound, clock), bound, clock), clock.zone)


def _end(bound: Bound, interval: Interval, clock: RangeClock) -> datetime:
    """Return the exclusive end: a date includes its day, a time by minute or hour its second."""
    if bound.text is None:
        if interval in FINE:
            return round_down(clock.now, clock.zone, interval) + STEPS[interval]
        return midnight(day_after(clock.here.date()), clock.zone)
    if bound.day is not None:
        return midnight(day_after(bound.day), clock.zone)
    if bound.moment is not None:
        exact = instant_of(bound.moment, clock.zone)
        if interval not in FINE and not bound.stands:
            return midnight(day_after(_day(exact, clock)), clock.zone)
        return exact + (MICROSECOND if exact.microsecond else timedelta(seconds=1))
    if bound.unit == "h":
        return _hour(bound, clock) + (timedelta() if bound.position else HOUR)
    day = _snapped(_counted_back(bound, clock), bound, clock)
    if bound.position == "End":
        return midnight(day, clock.zone)
    return midnight(day_after(day), clock.zone)


def _day(moment: datetime, clock: RangeClock) -> date:
    return moment.astimezone(clock.zone).date()


def _hour(bound: Bound, clock: RangeClock) -> datetime:
    start = start_of_hour(clock.now - bound.count * HOUR, clock.zone)
    return start + HOUR if bound.position == "End" else start


def _counted_back(bound: Bound, clock: RangeClock) -> date:
    today = clock.here.date()
    try:
        if bound.unit in MONTHS_OF:
            return today - relativedelta(months=bound.count * MONTHS_OF[bound.unit])
        return max(today - timedelta(days=bound.count * DAYS_OF[bound.unit]), _FIRST)
    except (OverflowError, ValueError):
        return _FIRST


def _snapped(day: date, bound: Bound, clock: RangeClock) -> date:
    """Return the first day of the bound's unit; with `End`, the first day after the unit."""
    if not bound.position:
        return day
    start = {
        "d": day,
        "w": start_of_week(day, clock.week_start_day),
        "m": first_of_months(day, 1),
        "q": first_of_months(day, 3),
        "y": first_of_months(day, 12),
    }[bound.unit]
    if bound.position == "Start":
        return start
    if bound.unit in MONTHS_OF:
        return start + relativedelta(months=MONTHS_OF[bound.unit])
    return start + timedelta(days=DAYS_OF[bound.unit])
