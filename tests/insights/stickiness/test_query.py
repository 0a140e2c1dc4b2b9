"""Parsing of questions of stickiness."""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.insights.parsing.fields import Fields
from fanion.insights.stickiness.query import (
    Criteria,
    StickinessQuery,
    StickinessSeries,
    read_stickiness,
)

A = {"id": "a", "type": "events"}


def read(**filters: Any) -> StickinessQuery:
    return read_stickiness(Fields({"insight": "STICKINESS", "events": [A], **filters}))


def test_all_options_are_read() -> None:
    query = read(
        interval="week",
        compare="true",
        computed_as="cumulative",
        stickiness_criteria={"operator": "lte", "value": 3},
    )

    assert (query.interval, query.compare, query.cumulative) == ("week", True, True)
    assert query.criteria == Criteria("lte", 3)


def test_a_trend_that_is_shown_as_stickiness_is_one() -> None:
    fields = Fields({"insight": "TRENDS", "shown_as": "Stickiness", "events": [A]})

    assert read_stickiness(fields).series == read().series


def test_math_that_counts_no_groups_is_passed_over() -> None:
    result = read(
        events=[
            A | {"math": "sum", "math_property": "n"},
            A | {"math": "unique_group", "math_group_type_index": 2},
        ]
    )

    assert [series.group_type_index for series in result.series] == [None, 2]
    assert isinstance(result.series[0], StickinessSeries)


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"compare_to": "2024-01-01"}, "compare_to", "Must be a distance such as -1w."),
    (
        {"stickiness_criteria": {"operator": "gt", "value": 2}},
        "stickiness_criteria__operator",
        '"gt" is not a valid choice. Did you mean "gte"?',
    ),
    (
        {"stickiness_criteria": {"operator": "gte", "value": 0}},
        "stickiness_criteria__value",
        "Ensure this value is between 1 and 1000000.",
    ),
    (
        {"stickiness_criteria": {"operator": "gte", "value": 1, "unit": "h"}},
        "stickiness_criteria__unit",
        "Criteria with unit are not supported. Leave it out.",
    ),
    ({"stickiness_criteria": 3}, "stickiness_criteria", "Must be a JSON object."),
    (
        {"computed_as": "sum"},
        "computed_as",
        '"sum" is not a valid choice. Allowed are: cumulative, non_cumulative.',
    ),
    (
        {"interval_count": 2},
        "interval_count",
        "Stickiness questions with interval_count are not supported. Leave it out.",
    ),
    (
        {"breakdown": "plan"},
        "breakdown",
        "Stickiness questions with breakdown are not supported. Leave it out.",
    ),
    (
        {"formula": "A"},
        "formula",
        "Stickiness questions with formula are not supported. Leave it out.",
    ),
    ({"events": [A | {"math": "often"}]}, "events__0__math", ""),
    (
        {"events": [A | {"math": "unique_group"}]},
        "events__0__math_group_type_index",
        "Set the type of the groups that are counted.",
    ),
    ({"display": "ActionsLineGraphCumulative"}, "display", ""),
    ({"interval": "decade"}, "interval", ""),
]


@pytest.mark.parametrize(("filters", "attr", "detail"), REFUSED)
def test_what_cannot_be_calculated_is_refused_by_name(
    filters: dict[str, Any], attr: str, detail: str
) -> None:
    with pytest.raises(Invalid) as caught:
        read(**filters)

    assert caught.value.attr == attr
    if detail:
        assert caught.value.detail == detail
