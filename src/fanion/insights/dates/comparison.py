"""The range that a question compares its own with.

Source: insights.md, section 4d.
"""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta

from fanion.insights.dates.bounds import DAYS_OF, MONTHS_OF, Bound
from fanion.insights.dates.intervals import (
    FINE,
    HOUR,
    MONTHS_IN,
    STEPS,
    DateRange,
    Interval,
    Intervals,
)


def intervals_back(
    since: Bound, until: Bound, buckets: Intervals, interval: Interval, zone: ZoneInfo
) -> int:
    """Return by how many intervals the previous range of a comparison is earlier.

    A range relative to now moves by its own offset, so that today is compared with the same
    weekday. Any other range moves by its length.

    Source: insights.md, section 4d.
    """
    number, steps = len(buckets.starts), 60 if interval == "minute" else 1
    first, last = (buckets.starts[n].astimezone(zone).date() for n in (0, -1))
    if interval == "day":  # counts days that the zone skipped too
        number = (last - first).days + 1
    if until.text is not None or not (since.text is None or since.is_distance):
        return number
    if interval in FINE and since.unit == "h":
        return since.count * steps or number
    if interval in FINE:
        return 24 * steps * (last - first).days or number
    return number - 1 or number


def previous_range(span: DateRange, number: int, interval: Interval, zone: ZoneInfo) -> DateRange:
    """Return the same range, `number` intervals earlier."""
    if interval in FINE:
        step = STEPS[interval]
        return DateRange(span.start - number * step, span.end - number * step)
    back = relativedelta(
        days=number if interval == "day" else 0,
        weeks=number if interval == "week" else 0,
        months=number * MONTHS_IN.get(interval, 0),
    )
    return DateRange(*(_moved(moment, back, zone) for moment in (span.start, span.end)))


def earlier_range(span: DateRange, by: Bound, zone: ZoneInfo) -> DateRange:
    """Return the same range, earlier by a distance such as `-1m`.

    Source: insights.md, section 4d, `compare_to`.
    """
    if by.unit == "h":
        return DateRange(span.start - by.count * HOUR, span.end - by.count * HOUR)
    if by.unit in MONTHS_OF:
        back = relativedelta(months=by.count * MONTHS_OF[by.unit])
    else:
        back = relativedelta(days=by.count * DAYS_OF[by.unit])
    return DateRange(*(_moved(moment, back, zone) for moment in (span.start, span.end)))


def _moved(moment: datetime, back: relativedelta, zone: ZoneInfo) -> datetime:
    """Move an instant back in local time."""
    return (
        (moment.astimezone(zone).replace(tzinfo=None) - back).replace(tzinfo=zone).astimezone(UTC)
    )
