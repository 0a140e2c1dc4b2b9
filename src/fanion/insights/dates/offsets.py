"""The offsets of a time zone from UTC, which change with summer time.

Source: insights.md, section 2d.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from fanion.insights.dates.intervals import DateRange

# Before this, offsets have odd seconds and no store has events.
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(2200, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Offsets:
    """The offsets of a zone in a range.

    Attributes:
        starts: From when on each offset holds, in UTC, ascending.
    """

    starts: tuple[datetime, ...]
    offsets: tuple[timedelta, ...]


def offsets_in(span: DateRange, zone: ZoneInfo) -> Offsets:
    """Return the offsets of a zone in a range, of at most the years 1970 to 2199."""
    at, end = (
        min(max(moment.replace(microsecond=0), _FIRST), _LAST) for moment in (span.start, span.end)
    )
    end += _SECOND
    starts, offsets = [at], [_offset(at, zone)]
    while at < end:
        following = min(at + _DAY, end)
        if _offset(following, zone) != offsets[-1]:
            starts.append(_change(at, following, zone))
            offsets.append(_offset(following, zone))
        at = following
    return Offsets(tuple(starts), tuple(offsets))


def _change(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """Return the first second, after `before`, that has the offset of `after`."""
    seconds = (after - before) // _SECOND
    low, high = 0, seconds + 1
    while high - low > 1:
        middle = (low + high) // 2
        is_changed = _offset(before + middle * _SECOND, zone) != _offset(before, zone)
        low, high = (low, middle) if is_changed else (middle, high)
    return before + high * _SECOND


def _offset(moment: datetime, zone: ZoneInfo) -> timedelta:
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None  # a zone has one at every moment
    return offset
