"""The only place that reads the clock; everything else is passed this function."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    return datetime.now(UTC)
