"""Times as mail, browsers and servers write them, other than ISO 8601.

Only a text that names its year, month and day beyond doubt is read. `01/02/2024` does not, nor
does a time zone's name that stands for several zones.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone

TEXT_CHARS_MAX = 100  # the longest that browsers write has 70

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_MONTH_NUMBERS = {
    **{name: number for number, name in enumerate(_LONG_MONTHS, 1)},
    **{name: number for number, name in enumerate(_MONTHS, 1)},
    "sept": 9,
}
# RFC 5322 section 4.3
_AMERICAN = {"edt": -4, "est": -5, "cdt": -5, "cst": -6, "mdt": -6, "mst": -7, "pdt": -7, "pst": -8}
_ZONE_HOURS = dict.fromkeys(("z", "utc", "gmt", "ut"), 0) | _AMERICAN

_WEEKDAY = r"(?:(?:mon|tue|tues|wed|wednes|thu|thurs|fri|sat|satur|sun)(?:day)?,?\s+)?"
_MONTH = rf"(?P<month_name>{'|'.join(sorted(_MONTH_NUMBERS, key=len, reverse=True))})\.?"
_DAY = r"(?P<day>\d{1,2})"
_YEAR = r"(?P<year>\d{4})"
_TIME = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"(?:\s*(?P<half>[ap])\.?m\.?)?"
)
_ZONE = (
    rf"(?:(?P<zone>{'|'.join(_ZONE_HOURS)})(?![a-z]))?"
    r"(?:(?P<sign>[+-])(?P<zone_hour>\d{2})(?::?(?P<zone_minute>\d{2}))?)?"
)
# `(Central European Time)` after an offset
_COMMENT = r"(?:\s*\([^()]*\))?"
_CLOCK = rf"(?:(?:,?\s+|t){_TIME})?(?:\s*{_ZONE}){_COMMENT}"
_FORMS = tuple(
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        rf"{_YEAR}(?P<mark>[/-])(?P<month>\d{{1,2}})(?P=mark){_DAY}{_CLOCK}",
        rf"{_WEEKDAY}{_DAY}[\s-]{_MONTH},?[\s-](?P<year>\d{{4}}|\d{{2}}){_CLOCK}",
        rf"{_WEEKDAY}{_MONTH}\s+{_DAY},?\s+{_YEAR}{_CLOCK}",
        rf"{_WEEKDAY}{_MONTH}\s+{_DAY}\s+{_TIME}\s+(?:{_ZONE}\s+)?{_YEAR}",
    )
)


def parse_time_text(text: str) -> datetime:
    """Parse a date with month names, or with slashes and the year in front, and its time.

    Returns:
        An aware time in UTC. Text without a zone is taken as UTC.

    Raises:
        ValueError: The text has none of these forms, or names a day that does not exist.

    Source: RFC 5322 sections 3.3 and 4.3; RFC 9110 section 5.6.7; ECMA-262 section 21.4.4.41.
    """
    text = text.strip()
    if len(text) > TEXT_CHARS_MAX:
        raise ValueError("the text is too long for a time")
    for form in _FORMS:
        if matched := form.fullmatch(text):
            return _moment(matched.groupdict())
    raise ValueError(f"{text!r} is not a time")


def _moment(parts: Mapping[str, str | None]) -> datetime:
    name = parts.get("month_name")
    local = datetime(
        _year(parts["year"] or ""),
        _number(parts.get("month")) if name is None else _MONTH_NUMBERS[name.lower()],
        _number(parts["day"]),
        _hour(_number(parts["hour"]), parts["half"]),
        _number(parts["minute"]),
        59 if parts["second"] == "60" else _number(parts["second"]),  # a leap second
        int((parts["fraction"] or "").ljust(6, "0")[:6]),
        tzinfo=timezone(_offset(parts)),
    )
    return local.astimezone(UTC)


def _year(text: str) -> int:
    """Return the year; two digits stand for 1950 to 2049.

    Source: RFC 5322 section 4.3.
    """
    number = int(text)
    if len(text) > 2:
        return number
    return number + (2000 if number < 50 else 1900)


def _hour(hour: int, half: str | None) -> int:
    if half is None:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError("an hour with am or pm is 1 to 12")
    return hour % 12 + (12 if half.lower() == "p" else 0)


def _offset(parts: Mapping[str, str | None]) -> timedelta:
    """Return the offset from UTC. `GMT+0200` is two hours ahead, as browsers write it."""
    named = timedelta(hours=_ZONE_HOURS[(parts["zone"] or "z").lower()])
    minutes = _number(parts["zone_minute"])
    if minutes > 59:
        raise ValueError("an offset has at most 59 minutes")
    shift = timedelta(hours=_number(parts["zone_hour"]), minutes=minutes)
    return named - shift if parts["sign"] == "-" else named + shift


def _number(digits: str | None) -> int:
    return int(digits or 0)
