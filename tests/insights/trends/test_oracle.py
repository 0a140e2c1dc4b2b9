"""Trends of random histories, against a model in plain Python."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.insights.trends.oracle import Trend, key_of
from tests.support.examples import examples
from tests.support.histories import Analyst, History, histories

MATHS: list[dict[str, Any]] = [
    {"math": "total"},
    {"math": "dau"},
    {"math": "weekly_active"},
    {"math": "monthly_active"},
    {"math": "unique_session"},
    {"math": "unique_group", "math_group_type_index": 0},
    {"math": "first_time_for_user"},
    {"math": "first_matching_event_for_user"},
    {"math": "sum", "math_property": "n"},
    {"math": "p75", "math_property": "n"},
    {"math": "p25", "math_property": "n", "math_multiplier": -0.5},
    {"math": "avg_sum_per_actor", "math_property": "n"},
    {"math": "p90_sum_per_actor", "math_property": "n", "math_multiplier": 100},
    {"math": "avg", "math_property": "$session_duration"},
    {"math": "median", "math_property": "$session_duration"},
    {"math": "avg_count_per_actor"},
    {"math": "p90_count_per_actor"},
]
BREAKDOWNS = (
    {"type": "event", "property": "plan"},
    {"type": "person", "property": "plan"},
    {"type": "event", "property": "$current_url", "normalize_url": True},
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "interval": st.sampled_from(("hour", "day", "week", "month", "quarter", "year")),
        "display": st.sampled_from(("ActionsLineGraphCumulative", "BoldNumber", "ActionsBar")),
        "breakdowns": st.lists(st.sampled_from(BREAKDOWNS), max_size=2, unique_by=str),
        "breakdown_limit": st.integers(1, 3),
        "breakdown_hide_other_aggregation": st.booleans(),
        "smoothing_intervals": st.integers(1, 3),
        "aggregation_group_type_index": st.just(0),
        "properties": st.just([{"key": "plan", "value": "pro", "type": "event"}]),
    },
)


def numbers(answer: Any) -> dict[str, list[float]]:
    return {
        key_of(series.get("breakdown_value", "")): [series["aggregated_value"]]
        if "aggregated_value" in series
        else series["data"]
        for series in answer
    }


def same(result: Mapping[str, list[float]], expected: Mapping[str, list[float]]) -> bool:
    """Return whether the numbers agree."""
    assert set(result) == set(expected)
    return all(result[value] == pytest.approx(expected[value]) for value in expected)


def renamed(expected: Mapping[str, list[float]], parts: int) -> dict[str, list[float]]:
    other = "$$_posthog_breakdown_other_$$"
    return {
        key_of([other] * parts) if value == other and parts > 1 else value: row
        for value, row in expected.items()
    }


@pytest.mark.parametrize("math", MATHS, ids=lambda one: f"{one['math']} {one.get('math_property')}")
@settings(max_examples=examples(8))
@given(history=histories(), options=OPTIONS, narrow=st.booleans())
async def test_every_math_counts_as_the_model_does(
    analyst: Analyst,
    math: Mapping[str, Any],
    history: History,
    options: dict[str, Any],
    narrow: bool,
) -> None:
    own = [{"key": "$session_id", "value": "s1", "type": "event"}] if narrow else []
    question = {**options, "events": [{"id": "a", **math, "properties": own}]}

    result = await analyst.answer(history, **question, date_from="-7d")

    [expected] = Trend(history, **question).answer()
    assert same(numbers(result), renamed(expected, len(options.get("breakdowns", ()))))
    sizes = [series.get("aggregated_value", series["count"]) for series in result]
    assert sizes == sorted(sizes, reverse=True)


@settings(max_examples=examples(15))
@given(history=histories(), options=OPTIONS)
async def test_a_formula_calculates_as_the_model_does(
    analyst: Analyst, history: History, options: dict[str, Any]
) -> None:
    question = {
        **{name: value for name, value in options.items() if not name.startswith("breakdown_")},
        "events": [{"id": "a"}, {"id": "b", "math": "dau"}],
        "formula": "A / (B + 1) - 2",
    }

    result = await analyst.answer(history, **question, date_from="-7d")

    [expected] = Trend(history, **question).answer()
    assert same(numbers(result), expected)


@settings(max_examples=examples(15))
@given(history=histories(), options=OPTIONS)
async def test_the_previous_range_has_the_numbers_of_that_range(
    analyst: Analyst, history: History, options: dict[str, Any]
) -> None:
    project = await analyst.store(history)
    question = {**options, "interval": "day", "events": [{"id": "a", "math": "dau"}]}
    now, before = ("2024-03-30", "2024-04-03"), ("2024-03-25", "2024-03-29")

    both = await analyst.ask(project, **question, date_from=now[0], date_to=now[1], compare=True)
    current = await analyst.ask(project, **question, date_from=now[0], date_to=now[1])
    previous = await analyst.ask(project, **question, date_from=before[0], date_to=before[1])

    assert numbers(series for series in both if series["compare_label"] == "current") == numbers(
        current
    )
    assert numbers(series for series in both if series["compare_label"] == "previous") == numbers(
        previous
    )
