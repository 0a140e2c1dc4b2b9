"""Dates in conditions: relative ones such as `-7d`, and absolute ones in any usual notation."""

import calendar
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

from dateutil import parser

# No usual notation is longer; the generous parser is not linear in the length of its text.
DATE_TEXT_MAX = 64
# What a flag's condition may count back, so that `99999999y` is not a date.
RELATIVE_COUNT_MAX = 9_999

_RELATIVE = re.compile(r"-?([0-9]+)([a-z])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_MONTHS = {"m": 1, "y": 12}
_EARLIEST = datetime.min.replace(tzinfo=UTC)

# A text that names no year would take it from these, so that two answers give it away.
_BLANKS = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2004, 1, 1, tzinfo=UTC))
# RFC 822; everything else must be written as an offset.
_ZONE_HOURS = dict.fromkeys(("UTC", "UT", "GMT", "Z"), 0) | {
    "EST": -5,
    "EDT": -4,
    "CST": -6,
    "CDT": -5,
    "MST": -7,
    "MDT": -6,
    "PST": -8,
    "PDT": -7,
}


class Ago:
    """A length of time before now: hours, days and weeks, or calendar months and years."""

    __slots__ = ("_months", "_span")

    def __init__(self, count: int, unit: str) -> None:
        self._span = count * _UNITS[unit] if unit in _UNITS else None
        self._months = count * _MONTHS.get(unit, 0)

    def before(self, now: datetime) -> datetime:
        """now: aware. The end of a shorter month stands for days that it lacks."""
        try:
            if self._span is not None:
                return now - self._span
            year, month = divmod(now.year * 12 + now.month - 1 - self._months, 12)
            last_day = calendar.monthrange(year, month + 1)[1]
            return now.replace(year=year, month=month + 1, day=min(now.day, last_day))
        except (ValueError, OverflowError):  # before the year 1
            return _EARLIEST


def parse_date_value(value: object) -> Ago | datetime | None:
    """What a condition on a date compares with; None for anything that is not one.

    source: flags.md section 5, "Dates": a relative date is tried first
    """
    if not isinstance(value, str):
        return None
    return parse_relative(value) or parse_date(value)


def parse_relative(text: str) -> Ago | None:
    """`6h`, `-7d`, `2w`, `1m`, `1y`: with or without the sign, always before now.

    returns: None for anything else, counts from 10 000 on included
    source:  flags.md section 5, "Dates"
    """
    match = _RELATIVE.fullmatch(text)
    if match is None or match[2] not in "hdwmy":
        return None
    digits = match[1].lstrip("0")
    if len(digits) > len(str(RELATIVE_COUNT_MAX)):
        return None
    return Ago(int(digits or "0"), match[2])


def parse_date(text: str) -> datetime | None:
    """An absolute date or date-time; UTC without an offset, midnight without a time.

    returns: aware; None when the text cannot be read or names no year
    """
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return _parse_generously(text) if len(text) <= DATE_TEXT_MAX else None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


@lru_cache(maxsize=4096)
def _parse_generously(text: str) -> datetime | None:
    """50 µs and more a text, hence the memory: values of one property repeat."""
    if text.strip().isdigit() and len(text.strip()) not in (4, 8, 14):
        return None  # a Unix time or an id, not a date
    try:
        first, second = (parser.parse(text, default=day, tzinfos=_zone) for day in _BLANKS)
        return first if first == second else None
    except (ValueError, ArithmeticError, TypeError, IndexError, AttributeError):
        return None


def _zone(name: str | None, offset_s: int | None) -> tzinfo:
    """Overrides the parser's own choice, which would ask the machine for its local zone."""
    if offset_s is not None:
        return timezone(timedelta(seconds=offset_s))
    if name is None:
        return UTC
    if name in _ZONE_HOURS:
        return timezone(timedelta(hours=_ZONE_HOURS[name]))
    raise ValueError(f"unknown time zone {name}")
