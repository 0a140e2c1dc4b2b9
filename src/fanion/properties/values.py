"""How values of properties and of conditions read: as text, number, date or regular expression.

A date in a condition is relative, such as `-7d`, or absolute in any usual notation.
"""

import calendar
import importlib
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from dateutil import parser

# What reads as a number where both ends of a range do, in Python as in the event store.
NUMBER: Final = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_NUMBER = re.compile(NUMBER)

# Stands for "the property does not exist", which is not the same as null.
MISSING: Final = object()

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


def text_of(value: Any) -> str:
    """The value as conditions see it.

    Strings as they are; numbers in plain decimal, without an exponent; `True`, `False` and
    `None` with a capital; lists and objects as compact JSON.
    source: flags.md section 5
    """
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def number_of(value: Any) -> float | None:
    """What Python reads as a number, as every SDK of the Python family does; None when nothing.

    Text may have blanks around it and an exponent; true counts as 1, false as 0.
    """
    if not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def spaceless_number(value: Any) -> float | None:
    """As the calculation of cohorts reads what it compares with: blanks in a text do not count,
    booleans are no numbers, and infinity is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(str(value).replace(" ", ""))
    except (ValueError, OverflowError):
        return None
    return number if number - number == 0 else None


def finite(text: str) -> float | None:
    """A number without blanks around it; infinity is none."""
    number = float(text) if _NUMBER.fullmatch(text) else None
    return number if number is not None and abs(number) != float("inf") else None


def range_of(value: Any) -> tuple[float, float] | None:
    """The ends of a range, both of them in it: two numbers, the lesser first; None for anything
    else."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        return None
    low, high = (finite(text_of(end)) for end in value)
    return None if low is None or high is None or low > high else (low, high)


def _float_text(value: float) -> str:
    text = repr(value)
    return format(Decimal(text), "f") if "e" in text else text


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


_re2: Any = importlib.import_module("re2._re2")
_UNANCHORED = _re2.RE2.Anchor.UNANCHORED
_NOWHERE = (-1, -1)


def search(pattern: str) -> Callable[[str], bool] | None:
    """Compile into "is it found anywhere in the text"; None when RE2 cannot read the pattern.

    Case counts, `.` is any character but a line break, `$` is the end of the text.
    """
    regex = _compiled(pattern, never_capture=True)
    if not regex.ok():
        return None
    match = regex.Match

    def found(text: str) -> bool:
        encoded = text.encode(errors="replace")  # JSON can carry half a surrogate pair
        return bool(match(_UNANCHORED, encoded, 0, len(encoded))[0] != _NOWHERE)

    return found


def groups_of(pattern: str) -> int | None:
    """How many groups a match has; None when RE2 cannot read the pattern."""
    regex = _compiled(pattern, never_capture=False)
    return int(regex.NumberOfCapturingGroups()) if regex.ok() else None


def _compiled(pattern: str, *, never_capture: bool) -> Any:
    options = _re2.RE2.Options()
    options.log_errors = False
    options.never_capture = never_capture
    return _re2.RE2(pattern.encode(errors="replace"), options)
