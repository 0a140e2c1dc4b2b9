"""The one place that asks what time it is; everybody else is given this function."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    return datetime.now(UTC)
