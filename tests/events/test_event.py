"""The last days of a project, in its time zone."""

from datetime import UTC, date, datetime, timedelta

import pytest

from fanion.events.event import last_days

CASES = {
    "UTC": ("2024-03-01T12:00", "UTC", "2024-02-01", "2024-02-01T00:00", "2024-03-02T00:00"),
    "already tomorrow": (
        "2024-03-01T12:00",
        "Pacific/Auckland",
        "2024-02-02",
        "2024-02-01T11:00",
        "2024-03-02T11:00",
    ),
    "still yesterday": (
        "2024-03-01T04:00",
        "America/New_York",
        "2024-01-31",
        "2024-01-31T05:00",
        "2024-03-01T05:00",
    ),
    "over a change of the clock": (
        "2024-04-10T12:00",
        "Europe/Berlin",
        "2024-03-12",
        "2024-03-11T23:00",
        "2024-04-10T22:00",
    ),
    "a day that begins at 1 o'clock": (
        "2018-11-04T12:00",
        "America/Sao_Paulo",
        "2018-10-06",
        "2018-10-06T03:00",
        "2018-11-05T02:00",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_days_begin_at_the_zones_midnight(name: str) -> None:
    now, zone, first, start, end = CASES[name]

    days = last_days(datetime.fromisoformat(now).replace(tzinfo=UTC), zone)

    assert days.first == date.fromisoformat(first)
    assert days.start == datetime.fromisoformat(start).replace(tzinfo=UTC)
    assert days.end == datetime.fromisoformat(end).replace(tzinfo=UTC)


def test_every_day_is_counted() -> None:
    days = last_days(datetime(2024, 3, 1, 12, tzinfo=UTC), "UTC", 3)

    counted = days.counted({date(2024, 2, 29): 7})

    first = date(2024, 2, 28)
    assert counted == [(first, 0), (first + timedelta(days=1), 7), (first + timedelta(days=2), 0)]
