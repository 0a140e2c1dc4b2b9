"""The time range of a question."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.insights.dates.bounds import parse_bound
from fanion.insights.dates.ranges import RangeClock, resolve_range
from fanion.insights.trends.query import parse_trends
from tests.support.spans import BERLIN, NOW, UTC_ZONE, span_of

RANGES: list[tuple[str | None, str | None, str, str]] = [
    (None, None, "2024-05-08 00:00", "2024-05-16 00:00"),
    ("-30d", None, "2024-04-15 00:00", "2024-05-16 00:00"),
    ("-7d", "-1d", "2024-05-08 00:00", "2024-05-15 00:00"),
    ("-1w", None, "2024-05-08 00:00", "2024-05-16 00:00"),
    ("-1m", None, "2024-04-15 00:00", "2024-05-16 00:00"),
    ("-1q", None, "2024-02-15 00:00", "2024-05-16 00:00"),
    ("-1y", None, "2023-05-15 00:00", "2024-05-16 00:00"),
    ("dStart", None, "2024-05-15 00:00", "2024-05-16 00:00"),
    ("-1dStart", "-1dEnd", "2024-05-14 00:00", "2024-05-15 00:00"),
    ("wStart", None, "2024-05-12 00:00", "2024-05-16 00:00"),
    ("mStart", "mEnd", "2024-05-01 00:00", "2024-06-01 00:00"),
    ("-1mStart", "-1mEnd", "2024-04-01 00:00", "2024-05-01 00:00"),
    ("qStart", None, "2024-04-01 00:00", "2024-05-16 00:00"),
    ("yStart", None, "2024-01-01 00:00", "2024-05-16 00:00"),
    ("-24h", None, "2024-05-14 13:00", "2024-05-16 00:00"),
    ("2024-01-02", "2024-01-03", "2024-01-02 00:00", "2024-01-04 00:00"),
    ("2024-01-02T10:20:00", "2024-01-02 13:59:59", "2024-01-02 00:00", "2024-01-03 00:00"),
    ("2024-01-02T10:20:00+02:00", "2024-01-03", "2024-01-02 00:00", "2024-01-04 00:00"),
    ("all", None, "2024-05-01 00:00", "2024-05-16 00:00"),
]


@pytest.mark.parametrize(("since", "until", "start", "end"), RANGES)
def test_a_range_is_counted_from_today(
    since: str | None, until: str | None, start: str, end: str
) -> None:
    span = span_of(since, until)

    assert (f"{span.start:%Y-%m-%d %H:%M}", f"{span.end:%Y-%m-%d %H:%M}") == (start, end)


EXACT: list[tuple[str | None, str | None, str, str]] = [
    (None, None, "2024-05-08 13:45", "2024-05-15 13:45"),
    ("-24h", "-2h", "2024-05-14 13:45", "2024-05-15 11:45"),
    ("-1m", "-1d", "2024-04-15 13:45", "2024-05-14 13:45"),
    ("-1mStart", "-1mEnd", "2024-04-01 00:00", "2024-05-01 00:00"),
    ("2024-01-02", "2024-01-03", "2024-01-02 00:00", "2024-01-04 00:00"),
    ("2024-01-02T10:20", "2024-01-02T11:30", "2024-01-02 10:20", "2024-01-02 11:30"),
]


@pytest.mark.parametrize(("since", "until", "start", "end"), EXACT)
def test_an_explicit_range_is_not_rounded(
    since: str | None, until: str | None, start: str, end: str
) -> None:
    question = {"date_from": since, "date_to": until, "explicit_date": "true", "interval": "week"}

    span = parse_trends(question).span(RangeClock(NOW, UTC_ZONE))

    assert (f"{span.start:%Y-%m-%d %H:%M}", f"{span.end:%Y-%m-%d %H:%M}") == (start, end)


def test_by_hour_a_time_is_not_rounded() -> None:
    span = span_of("2024-01-02T10:20:00", "2024-01-02T12:30:00", "hour")

    assert f"{span.start:%H:%M} {span.end:%H:%M:%S}" == "10:20 12:30:01"


WIDENED = [
    ("week", "ActionsLineGraph", "2026-01-04"),
    ("month", "ActionsLineGraph", "2026-01-01"),
    ("quarter", "ActionsLineGraph", "2026-01-01"),
    ("year", "ActionsLineGraph", "2026-01-01"),
    ("day", "ActionsLineGraph", "2026-01-10"),
    ("week", "BoldNumber", "2026-01-10"),
]


@pytest.mark.parametrize(("interval", "display", "start"), WIDENED)
def test_the_first_week_or_month_is_counted_from_its_start(
    interval: str, display: str, start: str
) -> None:
    question = {"date_from": "2026-01-10", "interval": interval, "display": display}
    clock = RangeClock(datetime(2026, 1, 20, tzinfo=UTC), BERLIN)

    span = parse_trends(question).span(clock)
    exact = parse_trends({**question, "explicit_date": True}).span(clock)

    assert f"{span.start.astimezone(BERLIN):%Y-%m-%d %H:%M}" == f"{start} 00:00"
    assert f"{exact.start.astimezone(BERLIN):%Y-%m-%d %H:%M}" == "2026-01-10 00:00"


@pytest.mark.parametrize("text", ["yesterday", "-d", "7", "-7x", "2024-13-01", "0001-01-01", 7, []])
def test_an_invalid_date_is_refused(text: Any) -> None:
    with pytest.raises(Invalid) as refused:
        parse_bound(text, "date_from")

    assert (refused.value.attr, refused.value.detail) == ("date_from", f"Invalid date: {text}")


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        span_of("-1d", "-7d")

    assert refused.value.attr == "date_from"


def test_months_are_not_taken_for_minutes() -> None:
    clock = RangeClock(NOW, UTC_ZONE)

    with pytest.raises(Invalid) as caught:
        resolve_range(
            parse_bound("-30m", "date_from"), parse_bound(None, "date_to"), "minute", clock
        )

    detail = (
        '"-30m" means 30 months, which is too long by minute. Use hours, such as -1h, or a time.'
    )
    assert (caught.value.attr, caught.value.detail) == ("date_from", detail)
