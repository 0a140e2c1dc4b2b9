"""Parsing of a trend's filters, its intervals, and its result."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest

from fanion.errors import Invalid
from fanion.insights.date_range import (
    INTERVALS_MAX,
    Bound,
    DateRange,
    Interval,
    RangeClock,
    cut,
    distance,
    parse_bound,
    previous,
    resolve,
)
from fanion.insights.series import SERIES_MAX
from fanion.insights.series_sql import NONE, OTHER, SeriesQuery, trend_statement
from fanion.insights.trends.query import parse_trends
from fanion.insights.trends.store import SeriesCounts, trend_result
from fanion.properties.cohort_sql import OPERATORS, micros
from fanion.properties.filters import ConditionGroup, Property

NOW = datetime(2024, 5, 15, 13, 45, 30, tzinfo=UTC)  # a Wednesday
BERLIN, UTC_ZONE = ZoneInfo("Europe/Berlin"), ZoneInfo("UTC")
PAGEVIEWS = {"events": [{"id": "$pageview"}]}


def span_of(
    since: str | None, until: str | None, interval: Interval = "day", zone: ZoneInfo = UTC_ZONE
) -> DateRange:
    clock = RangeClock(NOW, zone, datetime(2024, 5, 1, 23, 30, tzinfo=UTC))
    bounds = parse_bound(since, "date_from"), parse_bound(until, "date_to")
    return resolve(*bounds, interval, clock)


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
    asked = {"date_from": since, "date_to": until, "explicit_date": "true", "interval": "week"}

    span = parse_trends(asked).span(RangeClock(NOW, UTC_ZONE))

    assert (f"{span.start:%Y-%m-%d %H:%M}", f"{span.end:%Y-%m-%d %H:%M}") == (start, end)


def test_by_hour_a_time_is_not_rounded() -> None:
    span = span_of("2024-01-02T10:20:00", "2024-01-02T12:30:00", "hour")

    assert f"{span.start:%H:%M} {span.end:%H:%M:%S}" == "10:20 12:30:01"


WIDENED = [
    ("week", "ActionsLineGraph", "2026-01-04"),
    ("month", "ActionsLineGraph", "2026-01-01"),
    ("day", "ActionsLineGraph", "2026-01-10"),
    ("week", "BoldNumber", "2026-01-10"),
]


@pytest.mark.parametrize(("interval", "display", "start"), WIDENED)
def test_the_first_week_or_month_is_counted_from_its_start(
    interval: str, display: str, start: str
) -> None:
    asked = {"date_from": "2026-01-10", "interval": interval, "display": display}
    clock = RangeClock(datetime(2026, 1, 20, tzinfo=UTC), BERLIN)

    span = parse_trends(asked).span(clock)
    exact = parse_trends({**asked, "explicit_date": True}).span(clock)

    assert f"{span.start.astimezone(BERLIN):%Y-%m-%d %H:%M}" == f"{start} 00:00"
    assert f"{exact.start.astimezone(BERLIN):%Y-%m-%d %H:%M}" == "2026-01-10 00:00"


COMPARED: list[tuple[str | None, str | None, Interval, str, str]] = [
    ("2024-01-15", "2024-01-19", "day", "2024-01-10 00:00", "2024-01-15 00:00"),
    ("-7d", None, "day", "2024-01-10 00:00", "2024-01-18 00:00"),
    (None, None, "day", "2024-01-10 00:00", "2024-01-18 00:00"),
    ("-7d", None, "hour", "2024-01-10 00:00", "2024-01-17 14:00"),
    ("-24h", None, "hour", "2024-01-22 13:00", "2024-01-23 14:00"),
    ("-7d", "-1d", "day", "2024-01-10 00:00", "2024-01-17 00:00"),
    ("-0d", None, "day", "2024-01-23 00:00", "2024-01-24 00:00"),
    ("mStart", None, "day", "2023-12-08 00:00", "2024-01-01 00:00"),
    ("-14d", None, "week", "2023-12-24 00:00", "2024-01-11 00:00"),
    ("-1y", None, "month", "2022-01-01 00:00", "2023-01-25 00:00"),
]


@pytest.mark.parametrize(("since", "until", "interval", "start", "end"), COMPARED)
def test_a_relative_range_is_compared_with_the_same_weekdays_and_dates_by_length(
    since: str | None, until: str | None, interval: Interval, start: str, end: str
) -> None:
    query = parse_trends({"date_from": since, "date_to": until, "interval": interval})
    span = query.span(RangeClock(datetime(2024, 1, 24, 13, 30, tzinfo=UTC), UTC_ZONE))
    buckets = cut(span, interval, UTC_ZONE)

    number = distance(query.since, query.until, buckets, interval, UTC_ZONE)
    before = previous(span, number, interval, UTC_ZONE)

    assert (f"{before.start:%Y-%m-%d %H:%M}", f"{before.end:%Y-%m-%d %H:%M}") == (start, end)
    assert len(cut(before, interval, UTC_ZONE).starts) == len(buckets.starts)


@pytest.mark.parametrize("text", ["yesterday", "-d", "7", "-7x", "2024-13-01", "0001-01-01", 7, []])
def test_an_invalid_date_is_refused(text: Any) -> None:
    with pytest.raises(Invalid) as refused:
        parse_bound(text, "date_from")

    assert (refused.value.attr, refused.value.detail) == ("date_from", f"Invalid date: {text}")


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        span_of("-1d", "-7d")

    assert refused.value.attr == "date_from"


def test_a_range_from_thirty_days_ago_has_thirty_one_days() -> None:
    buckets = cut(span_of("-30d", None), "day", UTC_ZONE)

    assert (len(buckets.days), buckets.days[0], buckets.days[-1]) == (
        31,
        "2024-04-15",
        "2024-05-15",
    )
    assert buckets.labels[16] == "1-May-2024"


def test_days_begin_at_the_midnight_of_the_zone() -> None:
    buckets = cut(span_of("2024-03-30", "2024-04-01", zone=BERLIN), "day", BERLIN)

    hours = [start.strftime("%d %H") for start in buckets.starts]
    assert hours == ["29 23", "30 23", "31 22"]
    assert buckets.days == ("2024-03-30", "2024-03-31", "2024-04-01")


@pytest.mark.parametrize(
    ("day", "zone", "hours", "repeated"),
    [
        ("2024-03-31", "Europe/Berlin", 23, 0),
        ("2024-10-27", "Europe/Berlin", 25, 1),
        ("2024-10-26", "Europe/Berlin", 24, 0),
        ("2018-11-04", "America/Sao_Paulo", 23, 0),  # has no midnight
        ("2024-05-15", "Asia/Kathmandu", 24, 0),
        ("2024-04-07", "Australia/Lord_Howe", 24, 0),  # half an hour is repeated
        ("2024-10-06", "Australia/Lord_Howe", 23, 0),  # half an hour is left out
    ],
)
def test_a_day_has_the_hours_of_its_zone(day: str, zone: str, hours: int, repeated: int) -> None:
    here = ZoneInfo(zone)
    span = span_of(day, day, "hour", here)

    buckets = cut(span, "hour", here)

    assert len(buckets.days) == hours
    assert len(buckets.days) - len(set(buckets.days)) == repeated
    assert buckets.starts[0] == span.start
    assert list(buckets.starts) == sorted(buckets.starts)
    assert all(one.startswith(day) and one.endswith(":00:00") for one in buckets.days)


def test_hours_are_named_with_their_day() -> None:
    buckets = cut(span_of("-2h", None, "hour"), "hour", UTC_ZONE)

    assert buckets.days == ("2024-05-15 11:00:00", "2024-05-15 12:00:00", "2024-05-15 13:00:00")
    assert buckets.labels[0] == "15-May-2024 11:00"


@pytest.mark.parametrize(
    ("interval", "days"),
    [
        ("week", ("2024-04-14", "2024-04-21", "2024-04-28", "2024-05-05", "2024-05-12")),
        ("month", ("2024-04-01", "2024-05-01")),
    ],
)
def test_weeks_and_months_are_complete(interval: Interval, days: tuple[str, ...]) -> None:
    assert cut(span_of("-30d", None), interval, UTC_ZONE).days == days


@pytest.mark.parametrize("interval", ["hour", "day", "week", "month"])
@pytest.mark.parametrize("since", ["-7d", "-1m", "2024-03-25", "2023-11-20"])
def test_the_previous_range_has_as_many_intervals(since: str, interval: Interval) -> None:
    span = span_of(since, None, interval, BERLIN)
    buckets = cut(span, interval, BERLIN)

    number = distance(parse_bound(since, "date_from"), Bound(), buckets, interval, BERLIN)
    before = previous(span, number, interval, BERLIN)

    assert before.start < span.start
    assert len(cut(before, interval, BERLIN).starts) == len(buckets.starts)


def test_too_many_intervals_are_refused() -> None:
    with pytest.raises(Invalid) as refused:
        cut(span_of("-5y", None, "hour"), "hour", UTC_ZONE)

    assert refused.value.detail == f"There are more than {INTERVALS_MAX} intervals."


WRONG_OPTIONS: dict[str, tuple[Any, ...]] = {
    "smoothing_intervals": (2, "7", True, [1]),
    "breakdown_limit": (5, "30", 0),
    "breakdown_hide_other_aggregation": (True, "true"),
    "breakdown_histogram_bin_count": (4, "4", 1),
    "breakdown_normalize_url": (True, "1", {}),
    "breakdowns": ([{"property": "a", "type": "event"}],),
    "formulas": (["A+B"],),
    "formulaNodes": ([{"formula": "A"}],),
    "compare_to": ("-1w",),
    "aggregation_group_type_index": (0, "0"),
    "shown_as": ("Stickiness", "Lifecycle"),
}
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "another insight": ({"insight": "FUNNELS"}, "insight", "Only trends can be calculated."),
    "actions": ({"actions": [{}]}, "actions", "Trends with actions are not supported."),
    "a formula": ({"formula": "A/B"}, "formula", "Trends with formula are not supported."),
    "an interval": (
        {"interval": "minute"},
        "interval",
        '"minute" is not a valid choice. Did you mean "month"?',
    ),
    "events": ({"events": {}}, "events", "events must be a list."),
    "an event": ({"events": ["a"]}, "events", "An event must be an object."),
    "an id": ({"events": [{"id": 1}]}, "events", "The id of an event must be a string."),
    "an action": ({"events": [{"id": "1", "type": "actions"}]}, "events",
                  'The type of a series must be "events".'),
    "math": ({"events": [{"math": "p99"}]}, "events", "Trends with math p99 are not supported."),
    "too many": (
        {"events": [{}] * (SERIES_MAX + 1)}, "events", f"There are more than {SERIES_MAX} events."
    ),
    "a breakdown": ({"breakdown": ["a"]}, "breakdown", "breakdown must name one property."),
    "its type": (
        {"breakdown": "a", "breakdown_type": "hogql"},
        "breakdown_type",
        "Breakdowns of type hogql are not supported.",
    ),
    "a running sum": (
        {"display": "ActionsLineGraphCumulative"},
        "display",
        "Trends with display ActionsLineGraphCumulative are not supported.",
    ),
    **{
        f"{name} {value!r}": (
            {name: value}, name, f"Trends with {name} are not supported. Leave it out."
        )
        for name, values in WRONG_OPTIONS.items()
        for value in values
    },
    "compare": ({"compare": "yes"}, "compare", "Must be a valid boolean."),
    "an explicit date": ({"explicit_date": []}, "explicit_date", "Must be a valid boolean."),
    "an unknown operator": (
        {"properties": [{"key": "a", "value": 1, "operator": "less"}]},
        "properties",
        f'"less" is not a known operator. Use one of: {", ".join(sorted(OPERATORS))}.',
    ),
    "an unknown operator of a cohort": (
        {"properties": {"type": "OR", "values": [
            {"key": "id", "value": 1, "type": "cohort", "operator": "is_not"}]}},
        "properties",
        '"is_not" is not a known operator. Use one of: exact, in, not_in.',
    ),
    "an unknown operator of an event": (
        {"events": [{"properties": [{"key": "a", "type": "person", "operator": ""}]}]},
        "events",
        f'"" is not a known operator. Use one of: {", ".join(sorted(OPERATORS))}.',
    ),
    "a filter": (
        {"properties": [3]},
        "properties",
        "The filters cannot be read: a property must be an object.",
    ),
    "a group's filter": (
        {"properties": [{"key": "a", "type": "group", "group_type_index": 0}]},
        "properties",
        "Filters of type group are not supported.",
    ),
    "a filter on behaviour": (
        {"properties": [{"key": "a", "type": "behavioral"}]},
        "properties",
        "Filters can only be on events, persons and cohorts.",
    ),
    "too many filters": (
        {"properties": [{"key": "a"}] * 201}, "properties", "There are more than 200 filters."
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_trends_are_refused(name: str) -> None:
    filters, attr, detail = REFUSED[name]

    with pytest.raises(Invalid) as refused:
        parse_trends(filters)

    assert (refused.value.attr, refused.value.detail) == (attr, detail)


def test_options_with_off_values_are_accepted() -> None:
    off = {
        "smoothing_intervals": 1,
        "breakdown_limit": "25",
        "breakdown_hide_other_aggregation": False,
        "breakdown_histogram_bin_count": None,
        "breakdown_normalize_url": "false",
        "breakdowns": [],
        "formulas": None,
        "aggregation_group_type_index": None,
        "shown_as": "Volume",
        "compare": "",
        "explicit_date": 0,
    }

    assert parse_trends({**PAGEVIEWS, **off}).compare is False


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_every_operator_of_the_engine_is_accepted(operator: str) -> None:
    leaf = {"key": "a", "value": "1", "operator": operator}

    assert parse_trends({"properties": [leaf]}).properties is not None


@pytest.mark.parametrize(
    "properties",
    [
        None,
        [],
        {},
        {"type": "AND", "values": []},
        {"type": "AND", "values": [{"type": "OR", "values": []}]},
    ],
)
def test_empty_filters_match_every_event(properties: Any) -> None:
    assert parse_trends({**PAGEVIEWS, "properties": properties}).properties is None


def test_an_empty_group_next_to_another_is_ignored() -> None:
    leaf = {"key": "$feature_flag", "type": "event", "value": "beta"}
    raw = {
        "type": "AND",
        "values": [{"type": "AND", "values": []}, {"type": "AND", "values": [leaf]}],
    }

    query = parse_trends({"properties": raw})

    assert query.properties == ConditionGroup(
        "AND", (ConditionGroup("AND", (Property("$feature_flag", "beta", type="event"),)),)
    )


def test_values_are_always_bound_in_statements() -> None:
    nasty = "x'; DROP TABLE events --"
    leaves = [{"key": nasty, "type": kind, "value": nasty} for kind in ("event", "person")]
    query = parse_trends(
        {
            "events": [{"id": nasty}],
            "properties": leaves,
            "breakdown": nasty,
            "breakdown_type": "person",
        }
    )
    span = span_of("-7d", None)
    starts, [series] = cut(span, "day", UTC_ZONE).starts, query.series
    asked = SeriesQuery(1, query.properties, query.breakdown, series, span, starts, NOW, uuid4())

    statement = trend_statement(asked, [nasty, OTHER])

    assert "DROP" not in statement.text
    assert nasty in statement.parameters.values()


def result_of(filters: dict[str, Any], rows: list[tuple[int, str, int]]) -> list[dict[str, Any]]:
    query = parse_trends(filters)
    buckets = cut(span_of("2024-04-01", "2024-04-03"), "day", UTC_ZONE)
    at = [micros(start) for start in buckets.starts]
    placed = [(at[place], value, number) for place, value, number in rows]
    return trend_result(
        query, [SeriesCounts(one, order, placed, buckets) for order, one in enumerate(query.series)]
    )


FLAG_CALLED = {
    "events": [{"id": "$feature_flag_called", "name": "$feature_flag_called", "type": "events"}]
}


def test_a_series_has_the_fields_that_clients_read() -> None:
    result = result_of({**FLAG_CALLED, "breakdown": "x"}, [(1, "control", 1), (2, "control", 2)])

    assert result == [
        {
            "action": {
                "id": "$feature_flag_called",
                "type": "events",
                "order": 0,
                "name": "$feature_flag_called",
                "custom_name": None,
                "math": None,
                "math_property": None,
                "math_group_type_index": None,
                "properties": {},
            },
            "label": "control",
            "breakdown_value": "control",
            "count": 3.0,
            "data": [0.0, 1.0, 2.0],
            "days": ["2024-04-01", "2024-04-02", "2024-04-03"],
            "labels": ["1-Apr-2024", "2-Apr-2024", "3-Apr-2024"],
            "persons_urls": [],
            "filter": {},
        }
    ]


def test_the_largest_value_comes_first_and_ties_are_sorted_by_label() -> None:
    rows = [(0, "b", 2), (0, "a", 1), (1, "a", 1), (0, NONE, 1), (0, OTHER, 9)]

    result = result_of({**FLAG_CALLED, "breakdown": "x"}, rows)

    assert [(one["breakdown_value"], one["label"]) for one in result] == [
        (OTHER, "Other (i.e. all remaining values)"),
        ("a", "a"),
        ("b", "b"),
        (NONE, "None (i.e. no value)"),
    ]


def test_without_events_a_plain_series_is_zeros_and_a_breakdown_is_empty() -> None:
    assert [one["data"] for one in result_of(FLAG_CALLED, [])] == [[0.0, 0.0, 0.0]]
    assert result_of({**FLAG_CALLED, "breakdown": "x"}, []) == []


@pytest.mark.parametrize("display", ["ActionsTable", "ActionsPie", "BoldNumber", "WorldMap"])
def test_a_total_has_one_number_and_no_days(display: str) -> None:
    [entry] = result_of({**FLAG_CALLED, "display": display}, [(0, "", 5)])

    assert entry["aggregated_value"] == 5.0
    assert (entry["data"], entry["days"], entry["labels"], entry["count"]) == ([], [], [], 0.0)
    assert "persons" in entry
    assert "persons_urls" not in entry


def test_labels_of_several_series_name_their_event() -> None:
    filters = {"events": [{"id": "a", "custom_name": "First"}, {"id": "b"}], "breakdown": "x"}

    labels = [one["label"] for one in result_of(filters, [(0, "v", 1)])]

    assert labels == ["First - v", "b - v"]
