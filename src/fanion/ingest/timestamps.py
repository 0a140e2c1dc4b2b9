"""The time of an event, from its timestamp, the client's clock and the time of arrival."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from dateutil.parser import isoparse
from msgspec import Struct

from fanion.ingest.time_texts import parse_time_text

FUTURE_MAX = timedelta(hours=23)
# The event store's times begin here, and its partitions are months.
OLDEST = datetime(1900, 1, 1, tzinfo=UTC)

# Numbers with fewer digits are seconds: 11 digits reach the year 5138, 12 are milliseconds since
# 1973.
_SECONDS_DIGITS_MAX = 11
_DATE_DIGITS = 8  # 20240301 is a day
# Numbers from here on are milliseconds, in any notation, for the reason given for the digits.
_MILLISECONDS_MIN = 10**_SECONDS_DIGITS_MAX
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_SHOWN_CHARS = 100
# The length kept of an unreadable time of sending, which is stored with each item of its request.
SENT_AT_CHARS_MAX = 32
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TimeFault(StrEnum):
    """A reason why a time that was sent has no effect."""

    UNREADABLE = "unreadable"
    AHEAD = "ahead"  # too far in the future
    SENT_AT_UNREADABLE = "sent_at_unreadable"  # that of the request, so no clock was corrected


class IgnoredTime(Struct, frozen=True, array_like=True):
    """A time that was sent and has no effect.

    Attributes:
        given: The beginning of its text.
    """

    fault: TimeFault
    given: str


def event_time(
    item: Mapping[str, Any],
    properties: Mapping[str, Any],
    received_at: datetime,
    sent_at: datetime | None,
) -> datetime:
    """Return the time to store for an item, aware, in UTC.

    If the item's own time is unreadable or too far ahead, this is the time of arrival.

    Source: capture.md section 2, row by row.
    """
    try:
        moment = _claimed_time(item, properties, received_at, sent_at)
    except (ValueError, OverflowError):
        return received_at
    if moment - received_at > FUTURE_MAX:
        return received_at
    return moment if moment > OLDEST else OLDEST


def ignored_times(
    item: Mapping[str, Any],
    properties: Mapping[str, Any],
    received_at: datetime,
    sent_at: datetime | None,
) -> tuple[IgnoredTime, ...]:
    """Return why `event_time` is the time of arrival; () if the item has no time of its own."""
    given = item.get("timestamp") or item.get("offset")
    if not given:
        return ()
    text = (given if isinstance(given, str) else repr(given))[:_SHOWN_CHARS]
    try:
        moment = _claimed_time(item, properties, received_at, sent_at)
    except (ValueError, OverflowError):
        return (IgnoredTime(TimeFault.UNREADABLE, text),)
    is_ahead = moment - received_at > FUTURE_MAX
    return (IgnoredTime(TimeFault.AHEAD if is_ahead else TimeFault.UNREADABLE, text),)


def ignored_sent_at(given: object) -> IgnoredTime:
    """Return the fault of a request's unreadable time of sending.

    Args:
        given: The text that capture kept with the item, or whatever a client sent in its place.
    """
    text = (given if isinstance(given, str) else repr(given))[:SENT_AT_CHARS_MAX]
    return IgnoredTime(TimeFault.SENT_AT_UNREADABLE, text)


def _claimed_time(
    item: Mapping[str, Any],
    properties: Mapping[str, Any],
    received_at: datetime,
    sent_at: datetime | None,
) -> datetime:
    stamp = item.get("timestamp")
    offset = _number(item["offset"]) if "offset" in item else None
    if stamp:
        if sent_at is None or properties.get("$ignore_sent_at") is True:
            return parse_timestamp(stamp)
        if offset is None:
            return received_at + (parse_timestamp(stamp) - sent_at)
    return received_at if offset is None else received_at - timedelta(milliseconds=offset)


def parse_timestamp(value: object) -> datetime:
    """Parse a timestamp: ISO 8601, a text that `parse_time_text` accepts, or a Unix time.

    ISO 8601 may have 'T' or a space, and week or ordinal dates. A number, as text or not, is a time
    in Unix seconds if it has fewer than 12 digits before the point, else in milliseconds.

    Returns:
        An aware time in UTC. Text without a zone is taken as UTC.

    Raises:
        ValueError: No time can be read.
        OverflowError: No time can be read.
    """
    if isinstance(value, str):
        if value[:4].isdigit() and value[4:5] == "-":  # the usual form of a date
            return _parse_text(value)
        text = value.strip()
        if not _NUMBER.fullmatch(text) or len(text) <= _DATE_DIGITS:
            return _parse_text(value)
        number: float | None = float(text)
    else:
        number = _number(value)
    if number is None:
        raise ValueError("a time must be text or a number")
    is_seconds = abs(number) < _MILLISECONDS_MIN
    return _EPOCH + (timedelta(seconds=number) if is_seconds else timedelta(milliseconds=number))


class SentAt(Struct, frozen=True):
    """The time at which a request was sent, by its client's clock.

    Attributes:
        moment: Aware, in UTC; None if the client did not send a readable time.
        unreadable: The beginning of what it sent instead; "" if it sent nothing.
    """

    moment: datetime | None = None
    unreadable: str = ""


NOT_SAID = SentAt()


def read_sent_at(*given: object) -> SentAt:
    """Return the first of these values that is a time; null, false, 0 and "" are skipped."""
    unreadable = ""
    for value in given:
        if isinstance(value, list | dict):  # the content of those in a large body is not known
            unreadable = unreadable or ("[…]" if isinstance(value, list) else "{…}")
        elif value:
            try:
                return SentAt(parse_sent_at(value))
            except (ValueError, OverflowError):
                text = value if isinstance(value, str) else repr(value)
                unreadable = unreadable or text[:SENT_AT_CHARS_MAX]
    return SentAt(None, unreadable) if unreadable else NOT_SAID


def parse_sent_at(value: object) -> datetime:
    """Parse the client's time of sending.

    It is a text as in `parse_timestamp` or a number (as text or not) of Unix milliseconds; of
    seconds if it is written in 11 characters or fewer.

    Raises:
        ValueError: No time can be read.
        OverflowError: No time can be read.

    Source: capture.md 1.2.
    """
    text = value if isinstance(value, str) else repr(value)
    if not _NUMBER.fullmatch(text):
        return _parse_text(text)
    number = float(text)
    seconds = number if len(text) <= _SECONDS_DIGITS_MAX else number / 1000
    return _EPOCH + timedelta(seconds=seconds)


def _parse_text(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            # It knows ordinal dates, and months and years on their own.
            moment = isoparse(text.strip())
        except ValueError:
            return parse_time_text(text)
    if moment.tzinfo is UTC:
        return moment
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _number(value: object) -> float | None:
    return value if type(value) is int or type(value) is float else None
