"""Parsing of questions of retention, and their rows."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fanion.errors import Invalid
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.kinds.service import read_sent_query
from fanion.insights.parsing.fields import Fields
from fanion.insights.retention.query import RetentionQuery, read_retention

NOW = datetime(2024, 4, 3, 13, 45, 30, tzinfo=UTC)


def read(**filters: Any) -> RetentionQuery:
    return read_retention(Fields({"insight": "RETENTION", **filters}))


def test_a_question_without_options_is_of_page_views_in_eleven_days() -> None:
    query = read()

    assert [entity.event for entity in query.entities] == ["$pageview", "$pageview"]
    assert (query.type, query.period, query.total_intervals) == ("retention_recurring", "day", 11)
    assert (query.cumulative, query.occurrences, query.breakdowns) == (False, 1, None)


def test_an_entity_of_any_event_is_not_the_default() -> None:
    query = read(target_entity={"id": None, "type": "events"}, returning_entity={})

    assert (query.target.event, query.returning.event) == (None, "$pageview")


ROWS: list[tuple[str, str | None, int, str, list[str]]] = [
    ("Day", None, 2, "UTC", ["2024-04-02T00:00", "2024-04-03T00:00", "2024-04-04T00:00"]),
    ("Day", "2024-03-01", 1, "UTC", ["2024-03-01T00:00", "2024-03-02T00:00"]),
    ("Day", "2024-03-01T10:00:00", 1, "UTC", ["2024-03-01T00:00", "2024-03-02T00:00"]),
    ("Day", "-1d", 1, "UTC", ["2024-04-02T00:00", "2024-04-03T00:00"]),
    (
        "Day",
        "2024-04-01",
        2,
        "Europe/Berlin",
        ["2024-03-30T23:00", "2024-03-31T22:00", "2024-04-01T22:00"],
    ),
    ("Hour", None, 2, "UTC", ["2024-04-03T12:00", "2024-04-03T13:00", "2024-04-03T14:00"]),
    ("Hour", "2024-03-01T10:20:00", 1, "UTC", ["2024-03-01T10:00", "2024-03-01T11:00"]),
    ("Hour", "2024-03-01T10:20:00", 1, "Asia/Kathmandu", ["2024-03-01T04:15", "2024-03-01T05:15"]),
    ("Week", None, 2, "UTC", ["2024-03-24T00:00", "2024-03-31T00:00", "2024-04-07T00:00"]),
    (
        "Month",
        None,
        3,
        "UTC",
        ["2024-02-01T00:00", "2024-03-01T00:00", "2024-04-01T00:00", "2024-05-01T00:00"],
    ),
]


@pytest.mark.parametrize(("period", "until", "number", "zone", "expected"), ROWS)
def test_rows_are_whole_intervals_up_to_that_of_date_to(
    period: str, until: str | None, number: int, zone: str, expected: list[str]
) -> None:
    query = read(period=period, date_to=until, total_intervals=number)

    span, rows = query.rows(RangeClock(NOW, ZoneInfo(zone)))

    assert [f"{moment:%Y-%m-%dT%H:%M}" for moment in (*rows.starts, span.end)] == expected


@pytest.mark.parametrize("stands", [True, False])
def test_a_time_is_in_the_interval_that_begins_with_it(stands: bool) -> None:
    query = read(date_to="2024-03-03T00:00:00", total_intervals=1, times_stand=stands)

    span, _ = query.rows(RangeClock(NOW, ZoneInfo("Europe/Berlin")))

    assert f"{span.start:%Y-%m-%dT%H:%M}" == "2024-03-02T23:00"


VALUE = {"aggregation_type": "sum", "aggregation_property": "n"}
REFUSED: list[tuple[dict[str, Any], str, str]] = [
    (
        {"retention_type": "retention_first_ever_occurrence"},
        "retention_type",
        "Retention with retention_first_ever_occurrence is not supported.",
    ),
    (
        {"retention_type": "often"},
        "retention_type",
        '"often" is not a valid choice. Allowed are: retention_first_time, retention_recurring.',
    ),
    (
        {"retention_custom_brackets": [1, 2.5]},
        "retention_custom_brackets",
        "Must be a list of whole numbers.",
    ),
    (
        {"retention_custom_brackets": [True]},
        "retention_custom_brackets",
        "Must be a list of whole numbers.",
    ),
    (
        {"retention_custom_brackets": "1, 3"},
        "retention_custom_brackets",
        "Must be a list of whole numbers.",
    ),
    (
        {"retention_custom_brackets": [1, 0]},
        "retention_custom_brackets",
        "Ensure that each is between 1 and 63.",
    ),
    (
        {"retention_custom_brackets": [1] * 64},
        "retention_custom_brackets",
        "Ensure this list has at most 63 elements.",
    ),
    (
        {"retention_custom_brackets": [60, 4]},
        "retention_custom_brackets",
        "Brackets have at most 63 intervals in all.",
    ),
    ({"period": "day"}, "period", '"day" is not a valid choice. Did you mean "Day"?'),
    ({"total_intervals": 0}, "total_intervals", "Ensure this value is between 1 and 64."),
    ({"total_intervals": "many"}, "total_intervals", "A valid integer is required."),
    (
        {"minimum_occurrences": 0},
        "minimum_occurrences",
        "Ensure this value is between 1 and 1000000.",
    ),
    (
        {"target_entity": {"id": "a", "type": "actions"}},
        "target_entity__id",
        "The id of an action must be a number above 0.",
    ),
    (
        {"target_entity": {"id": "a", "math": "sum"}},
        "target_entity__math",
        "Events of retention with math sum are not supported. Leave it out.",
    ),
    (
        {"returning_entity": {"id": "a", "math_property": "n"}},
        "returning_entity__math_property",
        "Events of retention with math_property are not supported. Leave it out.",
    ),
    ({"returning_entity": "a"}, "returning_entity", "Must be a JSON object."),
    (
        {"events": [{"id": "a"}]},
        "events",
        "Retention questions with events are not supported. Leave it out.",
    ),
    (
        {"compare": True},
        "compare",
        "Retention questions with compare are not supported. Leave it out.",
    ),
    ({"date_to": "soon"}, "date_to", "Invalid date: soon"),
    (
        {"breakdown": "n", "breakdown_histogram_bin_count": 3},
        "breakdown",
        "Retention with histograms is not supported.",
    ),
    (
        {"breakdown": "n", "breakdown_type": "person", "aggregation_group_type_index": 0},
        "breakdown",
        "Groups cannot be broken down by their persons. Use a property of type group.",
    ),
    (
        {"time_window_mode": "48_hour_windows"},
        "time_window_mode",
        '"48_hour_windows" is not a valid choice. Did you mean "24_hour_windows"?',
    ),
    (
        {"aggregation_type": "median", "aggregation_property": "n"},
        "aggregation_type",
        '"median" is not a valid choice. Allowed are: avg, count, sum.',
    ),
    ({"aggregation_type": "sum"}, "aggregation_property", "This field is required."),
    (
        {"aggregation_property": "n"},
        "aggregation_property",
        "Set aggregation_type to sum or avg, or leave this out.",
    ),
    (
        VALUE | {"aggregation_property_type": "person"},
        "aggregation_property_type",
        "Retention of a property of persons is not supported.",
    ),
    (
        VALUE | {"cumulative": True},
        "cumulative",
        "Retention of a value (sum) has no such option. Leave it out.",
    ),
    (
        VALUE | {"minimum_occurrences": 2},
        "minimum_occurrences",
        "Retention of a value (sum) has no such option. Leave it out.",
    ),
]


@pytest.mark.parametrize(("filters", "attr", "detail"), REFUSED)
def test_what_cannot_be_calculated_is_refused_by_name(
    filters: dict[str, Any], attr: str, detail: str
) -> None:
    with pytest.raises(Invalid) as caught:
        read(**filters)

    assert (caught.value.attr, caught.value.detail) == (attr, detail)


def test_brackets_and_windows_are_read_by_both_names() -> None:
    asked = {"timeWindowMode": "24_hour_windows", "retentionCustomBrackets": [1, 3.0]}
    newer = read_sent_query({"kind": "RetentionQuery", "retentionFilter": asked})
    older = read(time_window_mode="24_hour_windows", retention_custom_brackets=[1, 3])

    assert isinstance(newer, RetentionQuery)
    assert (newer.has_windows, newer.sizes) == (older.has_windows, older.sizes) == (True, (1, 3))


def test_options_of_other_kinds_and_of_drawing_are_passed_over() -> None:
    query = read(stickiness_days=3, funnel_viz_type="steps", show_mean=True, display="ActionsTable")

    assert query == read()


SINCE: list[tuple[str, str, str | None, list[str]]] = [
    ("Day", "2024-04-02", None, ["2024-04-02", "2024-04-03", "2024-04-04"]),
    ("Day", "-1d", None, ["2024-04-02", "2024-04-03", "2024-04-04"]),
    ("Day", "2024-03-01", "2024-03-02", ["2024-03-01", "2024-03-02", "2024-03-03"]),
    ("Week", "2024-03-27", None, ["2024-03-24", "2024-03-31", "2024-04-07"]),
    ("Month", "2024-03-31", "2024-04-01", ["2024-03-01", "2024-04-01", "2024-05-01"]),
    ("Month", "all", None, ["2024-03-01", "2024-04-01", "2024-05-01"]),
]


@pytest.mark.parametrize(("period", "since", "until", "expected"), SINCE)
def test_rows_begin_with_the_interval_of_date_from(
    period: str, since: str, until: str | None, expected: list[str]
) -> None:
    """The rows are the same by `filters` and by `query`."""
    clock = RangeClock(NOW, ZoneInfo("UTC"), first=datetime(2024, 3, 9, tzinfo=UTC))
    sent = {
        "kind": "RetentionQuery",
        "retentionFilter": {"period": period},
        "dateRange": {"date_from": since, "date_to": until},
    }
    newer = read_sent_query(sent)
    assert isinstance(newer, RetentionQuery)
    for query in (read(period=period, date_from=since, date_to=until), newer):
        span, rows = query.rows(clock)

        assert [f"{moment:%Y-%m-%d}" for moment in (*rows.starts, span.end)] == expected


BEYOND: list[tuple[dict[str, Any], str]] = [
    (
        {"date_from": "-90d"},
        "Retention has at most 64 intervals. Use a later date_from or a longer period.",
    ),
    (
        {"date_from": "2024-04-02", "date_to": "2024-03-02"},
        "date_from must be before date_to.",
    ),
]


@pytest.mark.parametrize(("filters", "detail"), BEYOND)
def test_a_range_that_has_no_rows_or_too_many_is_refused(
    filters: dict[str, Any], detail: str
) -> None:
    with pytest.raises(Invalid) as caught:
        read(**filters).rows(RangeClock(NOW, ZoneInfo("UTC")))

    assert (caught.value.attr, caught.value.detail) == ("date_from", detail)
