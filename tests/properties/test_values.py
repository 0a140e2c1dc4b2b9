"""Dates in conditions and properties."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanion.properties.values import Ago, parse_date, parse_date_value, parse_relative

NOW = datetime(2022, 3, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "before_now"),
    [
        ("6h", "2022-03-31T06:00"),
        ("-6h", "2022-03-31T06:00"),
        ("2d", "2022-03-29T12:00"),
        ("1w", "2022-03-24T12:00"),
        ("1m", "2022-02-28T12:00"),
        ("-13m", "2021-02-28T12:00"),
        ("1y", "2021-03-31T12:00"),
        ("0d", "2022-03-31T12:00"),
        ("0009d", "2022-03-22T12:00"),
        ("9999y", "0001-01-01T00:00"),
    ],
)
def test_a_relative_date_counts_back_from_now(text: str, before_now: str) -> None:
    ago = parse_relative(text)

    assert ago is not None
    assert ago.before(NOW) == datetime.fromisoformat(before_now).replace(tzinfo=UTC)


def test_a_year_before_a_leap_day_is_the_end_of_february() -> None:
    ago = parse_relative("1y")

    assert ago is not None
    assert ago.before(datetime(2024, 2, 29, tzinfo=UTC)) == datetime(2023, 2, 28, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "h", "-", "1", "1x", "1s", "1H", "1.5d", "--1d", "+1d", "1d\n", "10000d", "٣d"]
)
def test_anything_else_is_not_relative(text: str) -> None:
    assert parse_relative(text) is None


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2022-05-01", "2022-05-01T00:00:00+00:00"),
        ("2022-05-01T10:00:00", "2022-05-01T10:00:00+00:00"),
        ("2022-05-01T10:00:00Z", "2022-05-01T10:00:00+00:00"),
        ("2022-04-05 12:34:12 +01:00", "2022-04-05T12:34:12+01:00"),
        ("2022-05-01T10:00:00.123456789Z", "2022-05-01T10:00:00.123456+00:00"),
        ("20220501", "2022-05-01T00:00:00+00:00"),
        ("2021/04/01 19:00:00", "2021-04-01T19:00:00+00:00"),
        ("May 2022", "2022-05-01T00:00:00+00:00"),
        ("Tue, 05 Apr 2022 12:00:00 GMT", "2022-04-05T12:00:00+00:00"),
        ("Tue, 05 Apr 2022 12:00:00 EST", "2022-04-05T12:00:00-05:00"),
        ("Feb 29 2024", "2024-02-29T00:00:00+00:00"),
    ],
)
def test_an_absolute_date_is_read_in_any_usual_notation(text: str, date: str) -> None:
    assert parse_date(text) == datetime.fromisoformat(date)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "monday",
        "10:30",
        "12",
        "1650000000",
        "2022-3443",
        "6hed",
        "31 Feb 2022",
        "2022-01-01 10:00 CET",
        "2022-04-05T12:34:12+25:00",
        "2022-05-01" + " " * 100,
    ],
)
def test_what_names_no_certain_day_is_not_a_date(text: str) -> None:
    assert parse_date(text) is None


@given(st.text(max_size=80) | st.from_regex(r"[0-9]{1,14}[-/: TZ+0-9a-z]{0,20}"))
def test_any_text_is_a_date_or_is_not(text: str) -> None:
    date = parse_date(text)

    assert date is None or date.tzinfo is not None


@given(st.integers(0, 9_999), st.sampled_from("hdwmy"), st.datetimes(timezones=st.just(UTC)))
def test_a_relative_date_never_lies_after_now(count: int, unit: str, now: datetime) -> None:
    ago = parse_relative(f"{count}{unit}")

    assert ago is not None
    assert ago.before(now) <= now


def test_a_condition_compares_with_a_relative_or_an_absolute_date() -> None:
    assert isinstance(parse_date_value("-7d"), Ago)
    assert parse_date_value("2022-05-01") == datetime(2022, 5, 1, tzinfo=UTC)
    assert parse_date_value(20220501) is None
    assert parse_date_value(None) is None
