"""Values of properties and conditions, read as text, number, date or regular expression.

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

# The notations of a number in a text, in Python as in the event store.
NUMBER: Final = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_NUMBER = re.compile(NUMBER)
EXACT_MAX = 2**53  # a float represents every whole number below this exactly
# The tokens that JSON encoders write differently: texts and numbers.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?')

# Stands for "the property does not exist", which is not the same as null.
MISSING: Final = object()

# No usual notation is longer. The lenient parser is not linear in the length of the text.
DATE_TEXT_MAX = 64
# The limit of a relative date, so that `99999999y` is not a date.
RELATIVE_COUNT_MAX = 9_999

_RELATIVE = re.compile(r"-?([0-9]+)([a-z])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_MONTHS = {"m": 1, "y": 12}
_EARLIEST = datetime.min.replace(tzinfo=UTC)

# A text without a year takes it from these defaults, so that different results reveal it.
_BLANKS = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2004, 1, 1, tzinfo=UTC))
# The zone names of RFC 822; other zones must be written as an offset.
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
        """Return the time this long before an aware time.

        In a shorter month, its last day stands for the days that it does not have.
        """
        try:
            if self._span is not None:
                return now - self._span
            year, month = divmod(now.year * 12 + now.month - 1 - self._months, 12)
            last_day = calendar.monthrange(year, month + 1)[1]
            return now.replace(year=year, month=month + 1, day=min(now.day, last_day))
        except (ValueError, OverflowError):  # before the year 1
            return _EARLIEST


def text_of(value: Any) -> str:
    """Return the value as conditions see it.

    Strings stay as they are, booleans become `true` and `false`, whole numbers have no decimal
    point, lists and objects are compact JSON in stored order.

    Source: flags.md, "Decided".
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return _float_text(value)
    if value is None or isinstance(value, bool | int):
        return str(value).lower() if value is not None else "null"
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _TOKEN.sub(_as_stored, text)


def _as_stored(token: re.Match[str]) -> str:
    """Return a text or number within JSON as the event store writes it."""
    text = token[0]
    if text[0] == '"':
        return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return _float_text(float(text)) if "." in text or "e" in text else text


def _float_text(value: float) -> str:
    """Return the shortest decimal that reads as the same number.

    Very large and very small numbers are written with an exponent.
    """
    text = repr(value)
    if value - value != 0:
        return text
    size = abs(value)
    if size >= 1e21 or 0 < size < 1e-6:
        mantissa, exponent = text.split("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    return format(Decimal(text), "f").removesuffix(".0") if "e" in text else text.removesuffix(".0")


def number_notations(text: str) -> list[str]:
    """Return the stored notations of a number that a text writes: `5` for `5.0`.

    The result is empty for other texts, and for texts that only equal the number mathematically,
    such as `1e2`.
    """
    if not _NUMBER.fullmatch(text):
        return []
    number = float(text)
    if number - number != 0 or format(Decimal(repr(number)), "f") not in (text, f"{text}.0"):
        return []
    return [_float_text(number)]


def number_of(value: Any) -> float | None:
    """Return the number that a value is or that a text writes, ignoring blanks in the text.

    Booleans and infinity are not numbers.
    """
    kind = type(value)
    if kind is float:
        return float(value) if value - value == 0 else None
    if kind is int and -EXACT_MAX < value < EXACT_MAX:
        return float(value)
    if kind is not str and kind is not int:
        return None
    text = str(value).replace(" ", "")
    number = float(text) if _NUMBER.fullmatch(text) else None
    return number if number is not None and number - number == 0 else None


def range_of(value: Any) -> tuple[float, float] | None:
    """Return the ends of a range, which includes both.

    Returns:
        None for anything but two numbers with the lower one first.
    """
    if not isinstance(value, tuple | list) or len(value) != 2:
        return None
    low, high = map(number_of, value)
    return None if low is None or high is None or low > high else (low, high)


def parse_date_value(value: object) -> Ago | datetime | None:
    """Return what a condition on a date compares with; None if the value is not a date.

    A relative date is tried first.

    Source: flags.md section 5, "Dates".
    """
    if not isinstance(value, str):
        return None
    return parse_relative(value) or parse_date(value)


def parse_relative(text: str) -> Ago | None:
    """Parse `6h`, `-7d`, `2w`, `1m` or `1y`: with or without the sign, always before now.

    Returns:
        None for anything else, including counts from 10,000.

    Source: flags.md section 5, "Dates".
    """
    match = _RELATIVE.fullmatch(text)
    if match is None or match[2] not in "hdwmy":
        return None
    digits = match[1].lstrip("0")
    if len(digits) > len(str(RELATIVE_COUNT_MAX)):
        return None
    return Ago(int(digits or "0"), match[2])


def parse_date(text: str) -> datetime | None:
    """Parse an absolute date or date-time; UTC without an offset, midnight without a time.

    Returns:
        An aware time; None if the text cannot be read or names no year.
    """
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return _parse_generously(text) if len(text) <= DATE_TEXT_MAX else None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


@lru_cache(maxsize=4096)
def _parse_generously(text: str) -> datetime | None:
    """Parse a date leniently; cached, because it takes 50 µs or more and values repeat."""
    if text.strip().isdigit() and len(text.strip()) not in (4, 8, 14):
        return None  # a Unix time or an id, not a date
    try:
        first, second = (parser.parse(text, default=day, tzinfos=_zone) for day in _BLANKS)
        return first if first == second else None
    except (ValueError, ArithmeticError, TypeError, IndexError, AttributeError):
        return None


def _zone(name: str | None, offset_s: int | None) -> tzinfo:
    """Return a time zone; without this the parser would use the machine's local zone."""
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


def compile_pattern(pattern: str) -> Callable[[str], bool] | None:
    """Compile a pattern into a test that it occurs in a text; None if RE2 cannot read it.

    Case matters, `.` is any character except a line break, and `$` is the end of the text.
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
    """Return the number of groups of a pattern; None if RE2 cannot read it."""
    regex = _compiled(pattern, never_capture=False)
    return int(regex.NumberOfCapturingGroups()) if regex.ok() else None


def _compiled(pattern: str, *, never_capture: bool) -> Any:
    options = _re2.RE2.Options()
    options.log_errors = False
    options.never_capture = never_capture
    return _re2.RE2(pattern.encode(errors="replace"), options)
