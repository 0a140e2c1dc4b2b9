"""Times in properties, and the time spans that conditions on them select.

Times are microseconds since 1970. A property is a time if it is a date in a usual notation, a
number, or a text of digits: Unix seconds, or milliseconds from 10^11.

Source: flags.md, "Decided"; cohorts.md section 5.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, Final

from fanion.properties.values import Ago, parse_date, parse_relative

# From this size on a number is milliseconds.
MILLISECONDS_MIN: Final = 1e11
# Numbers beyond these are not times: the year exceeds 9999, or they are written with an exponent.
UNIX_MAX: Final = 2.5e14
_UNIX_MIN: Final = 1e-6
# No date and no number up to UNIX_MAX is longer, except for blanks around it.
_TEXT_MAX: Final = 200
# Every third character, from the eighth, of the usual form 2024-05-15T10:00:00Z.
USUAL: Final = "-T::Z"
UNIX: Final = r"^-?[0-9]+(?:\.[0-9]+)?$"

_YEAR: Final = r"((?:19|2[0-2])[0-9]{2})"  # years that every event store can hold
_MONTH: Final = r"(0?[1-9]|1[0-2])"
_DAY: Final = r"(0?[1-9]|[12][0-9]|3[01])"
_NAMES: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED: Final = rf"(?:(?:mon|tue|wed|thu|fri|sat|sun), )?{_DAY} ({'|'.join(_NAMES)}) {_YEAR}"
_ZONE: Final = r"(?: ?(z|utc|gmt|[-+](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?))?"
_TIME: Final = (
    r"(?:[t ]([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{1,9}))?)?" + _ZONE + ")?"
)
# Python and RE2 read this pattern alike. In numeric dates the day is first, unless the year is.
DATE: Final = (
    rf"(?i)^(?:{_YEAR}-{_MONTH}-{_DAY}|{_YEAR}/{_MONTH}/{_DAY}|{_DAY}-{_MONTH}-{_YEAR}"
    rf"|{_DAY}/{_MONTH}/{_YEAR}|{_DAY}\.{_MONTH}\.{_YEAR}|{_NAMED}){_TIME}$"
)

_UNIX = re.compile(UNIX)
_DATE = re.compile(DATE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DAY_MICROS, _SECOND_MICROS = 86_400_000_000, 1_000_000
# The times that every event store can hold, as in the pattern of a date.
_FIRST, _LAST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2299, 12, 31, 23, 59, 59, 999999, UTC)
_ALWAYS = 2**62  # beyond every time

Window = tuple[int, int]


def micros_of(value: Any) -> int | None:
    """Return the time in a property; None if it is not a time."""
    kind = type(value)
    if kind is int or kind is float:
        return _of_unix(value)
    if kind is not str:
        return None
    return _of_text(value.strip(" ")) if len(value) <= _TEXT_MAX else None


@lru_cache(maxsize=4096)
def _of_text(text: str) -> int | None:
    """Return the time in a text; cached, because the values of a property repeat."""
    if _UNIX.fullmatch(text):
        return _of_unix(float(text))
    match = _DATE.fullmatch(text)
    return None if match is None else _of_date(match.groups())


def _of_unix(number: float) -> int | None:
    if not -UNIX_MAX < number < UNIX_MAX or 0 < abs(number) < _UNIX_MIN:
        return None
    is_seconds = -MILLISECONDS_MIN < number < MILLISECONDS_MIN
    return int(float(number) * (1e6 if is_seconds else 1e3))


def _of_date(parts: tuple[str | None, ...]) -> int | None:
    """Return the time of text that matches DATE; None for a day that the month does not have."""
    (first, middle, last), is_year_first = _date_parts(parts)
    hour, minute, second, fraction, zone = parts[-5:]
    year, day = (first, last) if is_year_first else (last, first)
    month = int(middle) if middle.isdigit() else _NAMES.index(middle.lower()) + 1
    try:
        midnight = datetime(int(year), month, int(day), tzinfo=_zone(zone))
    except ValueError:
        return None
    clock = (int(hour or 0) * 60 + int(minute or 0)) * 60 + int(second or 0)
    micros = int((fraction or "").ljust(6, "0")[:6])
    return _in_micros(midnight) + clock * _SECOND_MICROS + micros


def _date_parts(parts: tuple[str | None, ...]) -> tuple[tuple[str, str, str], bool]:
    for start in range(0, 18, 3):
        first, second, third = parts[start : start + 3]
        if first is not None and second is not None and third is not None:
            return (first, second, third), start < 6
    raise AssertionError("one alternative of DATE matches")


def _zone(text: str | None) -> timezone:
    if text is None or text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    span = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return timezone(-span if text[0] == "-" else span)


def date_window(operator: str, value: Any) -> Window | Ago | None:
    """Return the times that a condition on a date selects, from the first and before the second.

    Returns:
        The length of time for a relative date, for which `window_before` returns the window; None
        if the value is not a date.
    """
    if not isinstance(value, str):
        return None
    ago = parse_relative(value)
    if ago is not None:
        return ago
    micros = None if value.strip(" ").isdigit() else micros_of(value)
    if micros is None:
        date = parse_date(value)
        if date is None:
            return None
        micros = _in_micros(date)
    return _window(operator, micros, is_day=":" not in value)


def window_before(operator: str, ago: Ago, now: datetime) -> Window:
    """Return the times that a condition on a relative date selects now."""
    return _window(operator, _in_micros(ago.before(now)), is_day=False)


def instants(window: Window) -> tuple[datetime, datetime] | None:
    """Return the first and last time of a window; None if no property can hold a time in it."""
    low, high = window
    first, last = _in_micros(_FIRST), _in_micros(_LAST)
    if low > last or high <= first:
        return None
    return _EPOCH + max(low, first) * _MICROSECOND, _EPOCH + min(high - 1, last) * _MICROSECOND


def _in_micros(date: datetime) -> int:
    return (date - _EPOCH) // _MICROSECOND


def _window(operator: str, micros: int, *, is_day: bool) -> Window:
    """Return the window of an instant, or of a whole day for a date without a time."""
    if operator == "is_date_before":
        return -_ALWAYS, micros
    if operator == "is_date_after":
        return micros + (_DAY_MICROS if is_day else 1), _ALWAYS
    start = micros if is_day else micros - micros % _SECOND_MICROS
    return start, start + (_DAY_MICROS if is_day else _SECOND_MICROS)
