"""The offsets of time zones in a range."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from fanion.insights.dates.intervals import DateRange
from fanion.insights.dates.offsets import offsets_in

CHANGES: list[tuple[str, str, str, list[tuple[str, float]]]] = [
    ("UTC", "2024-01-01T00:00", "2025-01-01T00:00", [("2024-01-01T00:00", 0)]),
    (
        "Europe/Berlin",
        "2024-01-01T00:00",
        "2024-12-01T00:00",
        [("2024-01-01T00:00", 1), ("2024-03-31T01:00", 2), ("2024-10-27T01:00", 1)],
    ),
    (
        "Australia/Lord_Howe",
        "2024-04-01T00:30",
        "2024-04-30T00:00",
        [("2024-04-01T00:30", 11), ("2024-04-06T15:00", 10.5)],
    ),
    (
        "Europe/Berlin",
        "2024-03-31T00:59",
        "2024-03-31T01:00",
        [("2024-03-31T00:59", 1), ("2024-03-31T01:00", 2)],
    ),
]


@pytest.mark.parametrize(("zone", "start", "end", "expected"), CHANGES)
def test_an_offset_begins_where_the_clocks_change(
    zone: str, start: str, end: str, expected: list[tuple[str, float]]
) -> None:
    bounds = [datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (start, end)]

    offsets = offsets_in(DateRange(*bounds), ZoneInfo(zone))

    pairs = zip(offsets.starts, offsets.offsets, strict=True)
    assert [(f"{at:%Y-%m-%dT%H:%M}", offset / timedelta(hours=1)) for at, offset in pairs] == (
        expected
    )
