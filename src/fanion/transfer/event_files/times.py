"""Times of rows, as files write them."""

from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from fanion.ingest.timestamps import FUTURE_MAX, OLDEST, parse_timestamp
from fanion.transfer.event_files.model import RowRefused

Unit = Literal["s", "ms", "us", "ns"]
_PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN_CHARS = 60


def read_time(value: object, now: datetime, zone: ZoneInfo | None = None) -> datetime:
    """Read a time as capture does; one without a zone is in `zone`, or in UTC.

    Raises:
        RowRefused: It is no time, or one that cannot be stored.
    """
    try:
        if zone is not None and isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=zone)
            return _stored(moment.astimezone(UTC), value, now)
        return _stored(parse_timestamp(value), value, now)
    except (ValueError, OverflowError):
        raise RowRefused(f"{_shown(value)} is not a time") from None


def read_formatted(value: object, now: datetime, form: str, zone: ZoneInfo | None) -> datetime:
    """Read a time in a format of `strptime`.

    Raises:
        RowRefused: It is no such time, or one that cannot be stored.
    """
    try:
        moment = datetime.strptime(str(value).strip(), form)  # noqa: DTZ007
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone or UTC)
        return _stored(moment.astimezone(UTC), value, now)
    except (ValueError, OverflowError):
        raise RowRefused(f"{_shown(value)} is not a time in the format {form!r}") from None


def read_number(value: object, now: datetime, unit: Unit) -> datetime:
    """Read a Unix time in this unit.

    Raises:
        RowRefused: It is no number, or a time that cannot be stored.
    """
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        number = int(value) if isinstance(value, str) and value.isdigit() else value
        if isinstance(number, int):
            microseconds = number * 1_000_000 // _PER_SECOND[unit]
            moment = _EPOCH + timedelta(microseconds=microseconds)
        else:
            moment = _EPOCH + timedelta(seconds=float(number) / _PER_SECOND[unit])
        return _stored(moment, value, now)
    except (ValueError, OverflowError):
        raise RowRefused(f"{_shown(value)} is not a Unix time in {unit}") from None


def in_zone(moment: datetime, zone: ZoneInfo | None) -> datetime:
    """Return the time at which a clock of this zone shows what `moment` is in UTC."""
    return moment if zone is None else moment.replace(tzinfo=zone).astimezone(UTC)


def _stored(moment: datetime, value: object, now: datetime) -> datetime:
    if moment - now > FUTURE_MAX:
        raise RowRefused(f"the time {_shown(value)} is in the future")
    if moment < OLDEST:
        raise RowRefused(f"the time {_shown(value)} is before {OLDEST.year}")
    return moment


def _shown(value: object) -> str:
    return repr(value)[:_SHOWN_CHARS]
