"""The hours or days of a regular export, and what is known of each when it is written."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, get_args

from msgspec import Struct

Every = Literal["hour", "day"]
EVERY: Final[tuple[Every, ...]] = get_args(Every)
MANIFEST: Final = "manifest.json"
# Clocks differ a little: an hour is exported when it has been over for so long.
SETTLED: Final = timedelta(minutes=1)
_LENGTHS: Final = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
_NAMES: Final = {"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d"}


class IntervalFile(Struct, frozen=True, kw_only=True):
    name: str
    rows: int
    bytes: int
    sha256: str


class Manifest(Struct, frozen=True, kw_only=True):
    """The content of an interval, written when all of its files are.

    Attributes:
        end: Exclusive.
    """

    start: datetime
    end: datetime
    format: str
    rows: int
    files: list[IntervalFile]


@dataclass(frozen=True, slots=True)
class Interval:
    """An hour or a day in UTC, with the name of its folder."""

    start: datetime
    end: datetime
    name: str


def interval_of(moment: datetime, every: Every) -> Interval:
    """Return the interval that has this moment."""
    start = moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    start = start.replace(hour=0) if every == "day" else start
    return Interval(start, start + _LENGTHS[every], start.strftime(_NAMES[every]))


def whole_intervals(first: datetime, until: datetime, every: Every) -> Iterator[Interval]:
    """Yield the intervals from that of `first` on that end until a time."""
    interval = interval_of(first, every)
    while interval.end <= until:
        yield interval
        interval = interval_of(interval.end, every)
