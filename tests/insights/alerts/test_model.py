"""The conditions under which an alert fires."""

from typing import Any

import pytest

from fanion.insights.alerts.checks import (
    check_alert,
    choices_of,
    follow_breakdown_value,
    limits_of,
)
from fanion.insights.alerts.model import BreakdownValue, Checked, Condition, PlainAlert


def alert(
    condition: Condition, threshold: float, index: int = 0, value: BreakdownValue | None = None
) -> PlainAlert:
    return PlainAlert(
        name="n",
        series_index=index,
        condition=condition,
        threshold=threshold,
        enabled=True,
        breakdown_value=value,
    )


@pytest.mark.parametrize(
    ("condition", "threshold", "data", "is_unfinished", "fires", "value"),
    [
        ("above", 3, [1, 2, 4], True, True, 4),
        ("above", 3, [1, 4, 2], True, True, 4),
        ("above", 4, [1, 4, 2], True, False, 4),
        ("above", 3, [9, 1, 2], True, False, 2),
        ("below", 3, [1, 4, 0], True, False, 4),
        ("below", 3, [9, 2, 8], True, True, 2),
        ("below", 3, [9, 4, 2], False, True, 2),
        ("below", 3, [2], True, True, 2),
        ("changes_by", 3, [5, 8, 0], True, True, 8),
        ("changes_by", 3, [8, 5, 0], True, True, 5),
        ("changes_by", 3.5, [8, 5, 0], True, False, 5),
        ("changes_by", 3, [0, 5, 8], False, True, 8),
        ("changes_by_percent", 50, [10, 15, 0], True, True, 15),
        ("changes_by_percent", 51, [10, 15, 0], True, False, 15),
        ("changes_by_percent", 50, [-10, -4, 0], True, True, -4),
        ("changes_by_percent", 1000, [0, 1, 0], True, True, 1),
        ("changes_by_percent", 0, [0, 0, 0], True, False, 0),
    ],
)
def test_a_condition_is_compared_with_the_last_interval_that_is_over(
    condition: Condition,
    threshold: float,
    data: list[float],
    is_unfinished: bool,
    fires: bool,
    value: float,
) -> None:
    results = [{"data": data}]

    result, series = check_alert(alert(condition, threshold), results, is_unfinished=is_unfinished)

    assert result == Checked("firing" if fires else "not_firing", value)
    assert series is not None
    assert series.points == data


def test_a_total_is_one_number() -> None:
    results = [{"aggregated_value": 1, "data": []}, {"aggregated_value": 7, "data": []}]

    result, series = check_alert(alert("above", 5, 1), results, is_unfinished=True)

    assert result == Checked("firing", 7)
    assert series is not None
    assert (series.days, series.points) == (None, [7])


@pytest.mark.parametrize(
    ("results", "index", "error"),
    [
        (None, 0, "The insight has no series of numbers."),
        ({"bins": []}, 0, "The insight has no series of numbers."),
        ([{"steps": 1}], 0, "The insight has no series of numbers."),
        ([{"data": []}], 0, "The insight has no series of numbers."),
        ([{"data": [1]}], 1, "The result has 1 series."),
        ([], 0, "The result has 0 series."),
        (
            [{"aggregated_value": 4}],
            0,
            "There is no interval before the last one to compare with.",
        ),
    ],
)
def test_what_has_no_such_number_is_an_error(results: Any, index: int, error: str) -> None:
    result, _ = check_alert(alert("changes_by", 1, index), results, is_unfinished=True)

    assert result == Checked("errored", error=error)


def entry(value: BreakdownValue, *data: float) -> dict[str, Any]:
    return {"breakdown_value": value, "data": list(data)}


# Two series, each with its largest value first.
BROKEN_DOWN = [entry("a", 9, 9), entry("b", 2, 2), entry("b", 8, 8), entry("a", 1, 1)]


@pytest.mark.parametrize(
    ("index", "value", "place"), [(0, "a", 0), (1, "b", 0), (2, "b", 1), (3, "a", 1)]
)
def test_an_alert_follows_the_value_that_stands_at_its_place(
    index: int, value: str, place: int
) -> None:
    result = follow_breakdown_value(alert("above", 1, index), BROKEN_DOWN)

    assert (result.breakdown_value, result.series_index) == (value, place)
    assert follow_breakdown_value(result, BROKEN_DOWN[::-1]) == result


@pytest.mark.parametrize("results", [[], [{"data": [1]}], {"bins": []}, None])
def test_without_a_breakdown_there_is_nothing_to_follow(results: Any) -> None:
    given = alert("above", 1)

    assert follow_breakdown_value(given, results) == given


@pytest.mark.parametrize(
    ("value", "index", "expected"),
    [
        ("b", 0, 2),
        ("b", 1, 8),
        ("a", 1, 1),
        (["a"], 0, 9),
        ("none", 0, 0),
    ],
)
def test_the_number_is_that_of_the_value(value: BreakdownValue, index: int, expected: int) -> None:
    result, _ = check_alert(alert("below", 0, index, value), BROKEN_DOWN, is_unfinished=False)

    assert result == Checked("not_firing", expected)


@pytest.mark.parametrize(
    ("results", "shows_all", "error"),
    [
        (BROKEN_DOWN, False, "The insight does not show the value x of its breakdown."),
        (
            [*BROKEN_DOWN, entry("$$_posthog_breakdown_other_$$", 3)],
            True,
            "The insight does not show the value x of its breakdown.",
        ),
        ([{"data": [1]}], True, "The insight has no breakdown."),
    ],
)
def test_a_value_whose_number_is_not_known_is_an_error(
    results: Any, shows_all: bool, error: str
) -> None:
    given = alert("above", 1, 0, "x")

    result, _ = check_alert(given, results, is_unfinished=False, shows_all_values=shows_all)

    assert result == Checked("errored", error=error)


def test_a_value_without_events_has_a_zero_for_each_interval() -> None:
    results = [{"breakdown_value": "a", "days": ["2024-03-01", "2024-03-02"], "data": [1, 2]}]

    result, series = check_alert(alert("below", 1, 0, "x"), results, is_unfinished=True)

    assert result == Checked("firing", 0)
    assert series is not None
    assert (series.days, series.points) == (["2024-03-01", "2024-03-02"], [0, 0])


@pytest.mark.parametrize(
    ("condition", "threshold", "over", "limits"),
    [
        ("above", 3, [1, 2], [3]),
        ("below", 3, [], [3]),
        ("changes_by", 3, [10, 20, 0], [17, 23]),
        ("changes_by", 0, [10, 20], [10]),
        ("changes_by_percent", 50, [10, 20], [5, 15]),
        ("changes_by_percent", 50, [-10, 20], [-15, -5]),
        ("changes_by", 3, [10], []),
        ("changes_by_percent", 1e308, [1e9, 1], []),
    ],
)
def test_the_limits_are_the_numbers_from_which_on_an_alert_fires(
    condition: Condition, threshold: float, over: list[float], limits: list[float]
) -> None:
    assert limits_of(alert(condition, threshold), over) == limits


def test_an_alert_can_watch_each_entry_of_a_result() -> None:
    results = [
        {"label": "a", "compare_label": "current", "breakdown_value": ["x", "y"], "data": [1]},
        {"label": "a", "compare_label": "previous", "breakdown_value": ["x", "y"], "data": [2]},
        {"label": "a", "compare_label": "current", "breakdown_value": "z", "data": [3]},
    ]

    choices = choices_of(results)

    watched = [
        check_alert(
            alert("above", 0, choice.series_index, choice.breakdown_value),
            results,
            is_unfinished=False,
        )[0].value
        for choice in choices
    ]
    assert watched == [1, 2, 3]
    assert [choice.is_previous for choice in choices] == [False, True, False]
    assert choices_of({"bins": []}) == []
