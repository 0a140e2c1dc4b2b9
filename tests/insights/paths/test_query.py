"""Parsing of questions of paths."""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.path_cleaning import Cleaning, project_cleaning
from fanion.insights.paths.query import PathsQuery, read_paths


def read(**filters: Any) -> PathsQuery:
    return read_paths(Fields({"insight": "PATHS", **filters}))


def test_a_question_without_options_is_of_all_events_and_five_steps() -> None:
    query = read()

    assert (query.event_types, query.step_limit, query.edge_limit) == ((), 5, 50)


def test_all_options_are_read() -> None:
    query = read(
        include_event_types=["$pageview", "custom_event"],
        include_custom_events=["$mine"],
        exclude_events=["x"],
        start_point="/",
        end_point="https://x.io/docs/",
        path_groupings=["/product/*"],
        path_replacements="true",
        local_path_cleaning_filters=[{"regex": r"/(\d+)", "alias": r"/<\1>", "order": 0}],
        step_limit="3",
        edge_limit=20,
        min_edge_weight=2,
        max_edge_weight=9,
    )

    assert query.event_types == ("$pageview", "custom_event")
    assert (query.events, query.excluded, query.groupings) == (("$mine",), ("x",), ("/product/*",))
    assert (query.start, query.end) == ("/", "https://x.io/docs")
    assert query.replacements
    assert query.cleaning == (Cleaning(r"/(\d+)", r"/<\1>"),)
    assert (query.step_limit, query.edge_limit) == (3, 20)
    assert (query.weight_min, query.weight_max) == (2, 9)


def cleaned(**text: Any) -> dict[str, Any]:
    return {"local_path_cleaning_filters": [text]}


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    (
        {"include_event_types": ["hogql"]},
        "include_event_types",
        "Paths with event types of hogql are not supported.",
    ),
    (
        {"include_event_types": ["$autocapture"]},
        "include_event_types",
        "Use event types out of: $pageview, $screen, custom_event.",
    ),
    ({"include_event_types": "$pageview"}, "include_event_types", "Must be a list of strings."),
    (
        {"paths_hogql_expression": "event"},
        "paths_hogql_expression",
        "Paths with paths_hogql_expression are not supported. Leave it out.",
    ),
    (
        {"path_type": "$pageview"},
        "path_type",
        "Paths with path_type are not supported. Leave it out.",
    ),
    ({"step_limit": 21}, "step_limit", "Ensure this value is between 1 and 20."),
    ({"edge_limit": 1001}, "edge_limit", "Ensure this value is between 1 and 1000."),
    ({"min_edge_weight": "few"}, "min_edge_weight", "A valid integer is required."),
    (
        {"start_point": "x" * 2001},
        "start_point",
        "Ensure this field has no more than 2000 characters.",
    ),
    (
        {"exclude_events": ["x" * 2001]},
        "exclude_events",
        "Ensure that each has no more than 2000 characters.",
    ),
    (
        {"path_groupings": ["x"] * 101},
        "path_groupings",
        "Ensure this list has at most 100 elements.",
    ),
    (cleaned(alias="x"), "local_path_cleaning_filters__0__regex", "This field is required."),
    (
        cleaned(regex="(", alias="x"),
        "local_path_cleaning_filters__0__regex",
        "Not a valid regular expression (RE2).",
    ),
    (
        cleaned(regex=r"(a)\1"),
        "local_path_cleaning_filters__0__regex",
        "Not a valid regular expression (RE2).",
    ),
    (
        cleaned(regex="(a{1000}){1000}"),
        "local_path_cleaning_filters__0__regex",
        "Not a valid regular expression (RE2).",
    ),
    (
        cleaned(regex="x" * 401),
        "local_path_cleaning_filters__0__regex",
        "Ensure this field has no more than 400 characters.",
    ),
    (
        cleaned(regex="(a)", alias=r"\2"),
        "local_path_cleaning_filters__0__alias",
        "The regular expression has 1 groups. Write a backslash as two.",
    ),
    (
        cleaned(regex="a", alias="b\\"),
        "local_path_cleaning_filters__0__alias",
        "The regular expression has 0 groups. Write a backslash as two.",
    ),
    (
        cleaned(regex="a", alias="b", flags="i"),
        "local_path_cleaning_filters__0__flags",
        "Path cleaning filters with flags are not supported. Leave it out.",
    ),
    (
        {"local_path_cleaning_filters": [{"regex": "a"}] * 51},
        "local_path_cleaning_filters",
        "Ensure this list has at most 50 elements.",
    ),
    ({"events": [{"id": "a"}]}, "events", "Paths with events are not supported. Leave it out."),
    ({"breakdown": "plan"}, "breakdown", "Paths with breakdown are not supported. Leave it out."),
]


@pytest.mark.parametrize(("filters", "attr", "detail"), REFUSED)
def test_what_cannot_be_calculated_is_refused_by_name(
    filters: dict[str, Any], attr: str, detail: str
) -> None:
    with pytest.raises(Invalid) as caught:
        read(**filters)

    assert (caught.value.attr, caught.value.detail) == (attr, detail)


def test_cleaning_of_the_project_that_cannot_be_used_is_an_error() -> None:
    with pytest.raises(Invalid) as caught:
        project_cleaning([{"regex": "(a)", "alias": r"\7"}])

    assert caught.value.attr == "path_replacements"
