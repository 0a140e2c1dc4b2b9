"""The worked examples of trends.

Source: insights.md, section 4.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.histories import Analyst, History, history_event

NOW = datetime(2024, 3, 4, 18, 0, tzinfo=UTC)
ANN, BOB = 1, 2
VIEWS = History(
    happened=[
        history_event("viewed", ANN, "2024-03-01 10:00"),
        history_event("viewed", ANN, "2024-03-01 11:00"),
        history_event("viewed", ANN, "2024-03-03 10:00"),
        history_event("viewed", BOB, "2024-03-03 10:00"),
        history_event("viewed", BOB, "2024-03-04 10:00"),
    ]
)
ASKED = {"date_from": "2024-03-01", "date_to": "2024-03-04"}


def series(math: str = "total", **more: Any) -> dict[str, Any]:
    return {"id": "viewed", "math": math, **more}


async def entry(analyst: Analyst, history: History = VIEWS, **filters: Any) -> Any:
    [result] = await analyst.answer(history, NOW, **{**ASKED, **filters})
    return result


MATHS = {
    "total": [2, 0, 2, 1],
    "dau": [1, 0, 2, 1],
    "weekly_active": [1, 1, 2, 2],
    "monthly_active": [1, 1, 2, 2],
    "first_time_for_user": [1, 0, 1, 0],
    "first_matching_event_for_user": [1, 0, 1, 0],
    "avg_count_per_actor": [2, 0, 1, 1],
    "p25_count_per_actor": [2, 0, 1, 1],
}


@pytest.mark.parametrize("math", MATHS)
async def test_the_maths_of_the_example(analyst: Analyst, math: str) -> None:
    result = await entry(analyst, events=[series(math)])

    assert result["data"] == MATHS[math]
    assert result["count"] == sum(MATHS[math])
    assert result["action"]["math"] == math


PAID = History(
    happened=[
        history_event("paid", ANN, "2024-03-01 10:00", price=100),
        history_event("paid", ANN, "2024-03-01 11:00", price=300),
        history_event("paid", BOB, "2024-03-01 12:00", price=200),
        history_event("paid", BOB, "2024-03-02 10:00", price="1000"),
        history_event("paid", BOB, "2024-03-02 11:00", price="free"),
    ]
)
OF_PRICES = {
    "sum": [600, 1000],
    "p25": [150, 1000],
    "avg_sum_per_actor": [300, 1000],
    "max_sum_per_actor": [400, 1000],
    "p25_sum_per_actor": [250, 1000],
}


@pytest.mark.parametrize("multiplier", [None, 0.01])
@pytest.mark.parametrize("math", OF_PRICES)
async def test_the_maths_of_a_property(
    analyst: Analyst, math: str, multiplier: float | None
) -> None:
    price = {"math_property": "price", "math_multiplier": multiplier}
    asked = {"id": "paid", "math": math, **price}

    result = await entry(analyst, PAID, events=[asked], date_to="2024-03-02")

    factor = 1 if multiplier is None else multiplier
    assert result["data"] == pytest.approx([number * factor for number in OF_PRICES[math]])


@pytest.mark.parametrize(
    ("math", "numbers"),
    [("total", [1, 1]), ("dau", [1, 1]), ("weekly_active", [1, 2]), ("monthly_active", [1, 2])],
)
async def test_no_event_counts_twice_around_a_day_that_the_zone_skipped(
    analyst: Analyst, math: str, numbers: list[int]
) -> None:
    history = History(
        zone="Pacific/Apia",
        happened=[
            history_event("viewed", ANN, "2011-12-30 09:59"),
            history_event("viewed", BOB, "2011-12-30 10:00"),
        ],
    )
    question = {"date_from": "2011-12-29", "date_to": "2011-12-31"}

    result = await entry(analyst, history, events=[series(math)], **question)

    assert result["days"] == ["2011-12-29", "2011-12-31"]
    assert result["data"] == numbers
    assert result["count"] == sum(numbers)


async def test_running_sums_of_the_example(analyst: Analyst) -> None:
    display = "ActionsLineGraphCumulative"
    events = await entry(analyst, events=[series()], display=display)
    persons = await entry(analyst, events=[series("dau")], display=display)

    assert (events["data"], events["count"]) == ([2, 2, 4, 5], 5)
    assert (persons["data"], persons["count"]) == ([1, 1, 2, 2], 2)


@pytest.mark.parametrize(
    "display", ["ActionsTable", "ActionsPie", "ActionsBarValue", "BoldNumber", "WorldMap"]
)
async def test_a_total_is_counted_over_the_range(analyst: Analyst, display: str) -> None:
    result = await entry(analyst, events=[series("dau")], display=display)

    assert result["aggregated_value"] == 2
    assert (result["data"], result["days"], result["labels"], result["count"]) == ([], [], [], 0)


async def test_the_formula_of_the_example(analyst: Analyst) -> None:
    result = await entry(analyst, events=[series(), series("dau")], formula="A/B")

    assert (result["data"], result["count"]) == ([2, 0, 1, 1], 4)
    assert (result["label"], result["action"]) == ("Formula (A/B)", None)


async def test_the_smoothed_points_of_the_example(analyst: Analyst) -> None:
    result = await entry(analyst, events=[series()], smoothing_intervals=2)

    assert result["data"] == [2, 1, 1, 1]


async def test_the_histogram_of_the_example(analyst: Analyst) -> None:
    history = History(
        happened=[
            history_event("paid", number, "2024-03-02 10:00", price=price)
            for number, price in enumerate((10, 20, 30, 40), 1)
        ]
    )

    result = await analyst.answer(
        history,
        NOW,
        **ASKED,
        events=[{"id": "paid"}],
        breakdown="price",
        breakdown_histogram_bin_count=4,
    )

    bins = ["[10,17.5]", "[17.5,25]", "[25,32.5]", "[32.5,40.01]"]
    assert [(series["label"], series["breakdown_value"], series["count"]) for series in result] == [
        (text, text, 1) for text in bins
    ]


async def test_the_first_week_is_counted_from_its_start(analyst: Analyst) -> None:
    history = History(
        happened=[
            history_event("x", ANN, "2026-01-09 10:00"),
            history_event("x", ANN, "2026-01-10 10:00"),
        ]
    )
    question: dict[str, Any] = {
        "date_from": "2026-01-10",
        "interval": "week",
        "events": [{"id": "x"}],
    }
    now = datetime(2026, 1, 20, tzinfo=UTC)

    [whole] = await analyst.answer(history, now, **question)
    [exact] = await analyst.answer(history, now, **question, explicit_date=True)

    assert (whole["days"][0], whole["data"][0]) == ("2026-01-04", 2)
    assert (exact["days"][0], exact["data"][0]) == ("2026-01-04", 1)


@pytest.mark.parametrize(
    ("since", "until", "days"),
    [
        ("2024-01-15", "2024-01-19", [f"2024-01-{day}" for day in range(10, 15)]),
        ("-7d", None, [f"2024-01-{day}" for day in range(10, 18)]),
    ],
)
async def test_the_range_to_compare_with(
    analyst: Analyst, since: str, until: str | None, days: list[str]
) -> None:
    now = datetime(2024, 1, 24, 12, tzinfo=UTC)
    question = {"date_from": since, "date_to": until, "events": [series(), series("dau")]}

    result = await analyst.answer(VIEWS, now, **question, compare=True)

    assert [(series["compare_label"], series["action"]["order"]) for series in result] == [
        ("current", 0),
        ("current", 1),
        ("previous", 0),
        ("previous", 1),
    ]
    assert result[2]["days"] == days


async def test_without_any_event_there_are_zeros_or_nothing(analyst: Analyst) -> None:
    [zeros] = await analyst.answer(History(), NOW, **ASKED, events=[series()])
    nothing = await analyst.answer(History(), NOW, **ASKED, events=[series()], breakdown="plan")

    assert (zeros["data"], zeros["count"]) == ([0, 0, 0, 0], 0)
    assert nothing == []
