"""The bounds of a range as clients write them.

Source: insights.md, section 2c.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final
from zoneinfo import ZoneInfo

from fanion.errors import Invalid
from fanion.insights.dates.intervals import midnight
from fanion.properties.values import parse_date

FROM_DEFAULT = "-7d"
# The number of months, or of days, in each unit.
MONTHS_OF: Final = {"m": 1, "q": 3, "y": 12}
DAYS_OF: Final = {"d": 1, "w": 7}

_RELATIVE = re.compile(r"(?:-?([0-9]{1,4}))?([hdwmqy])(Start|End)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a range: `-30d`, `dStart`, `-1mEnd`, a date, a time, or `all` (the first event).

    Attributes:
        text: As the client wrote it; None when it was left out.
        moment: An absolute time; without a time zone it is in the project's zone.
        stands: Whether the time is kept as it is, not rounded to its day.
    """

    text: str | None = None
    count: int = 0
    unit: str = ""
    position: str = ""
    day: date | None = None
    moment: datetime | None = None
    stands: bool = False

    @property
    def is_all(self) -> bool:
        return self.text == "all"

    def instant(self, zone: ZoneInfo) -> datetime:
        """Return the instant of an absolute time, or the beginning of a date."""
        assert self.day is not None or self.moment is not None
        if self.moment is not None:
            return instant_of(self.moment, zone)
        assert self.day is not None
        return midnight(self.day, zone)

    @property
    def is_distance(self) -> bool:
        """Return whether it is relative to now, not to the start or end of a unit."""
        return bool(self.unit) and not self.position


LEFT_OUT = Bound()


def parse_bound(value: object, attr: str) -> Bound:
    """Parse a bound; null and blank text count as left out.

    Raises:
        Invalid: The text is not a bound.
    """
    if value is None or value == "":
        return LEFT_OUT
    if not isinstance(value, str):
        raise Invalid(f"Invalid date: {value}", attr=attr)
    text = value.strip()
    if text == "all" and attr.endswith(("date_from", "dateFrom")):
        return Bound(text)
    match = _RELATIVE.fullmatch(text)
    if match is not None and (match[1] or match[3]):
        return Bound(text, int(match[1] or 0), match[2], match[3] or "")
    moment = _absolute(text)
    if moment is None or not 1900 < moment.year < 2299:
        raise Invalid(f"Invalid date: {value}", attr=attr)
    if _DATE.fullmatch(text):
        return Bound(text, day=moment.date())
    return Bound(text, moment=moment)


def _absolute(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return parse_date(text)


def instant_of(moment: datetime, zone: ZoneInfo) -> datetime:
    here = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
    return here.astimezone(UTC)
