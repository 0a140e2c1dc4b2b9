"""Funnels that are compared with the range before: examples, and against the plain model."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.errors import Invalid
from tests.insights.funnels.oracle import Oracle, Value
from tests.insights.funnels.test_oracle import (
    DENSE,
    Filters,
    are_same,
    questions_with_options,
    rows_of,
)
from tests.support.asked_actors import actors
from tests.support.examples import examples
from tests.support.histories import Analyst, History, history_event

# The range of three days to NOW, 3 April, and the one before it.
NOW_DAY, BEFORE = "2024-04-02T", "2024-03-31T"
HISTORY = History(
    happened=[
        history_event("a", 1, f"{NOW_DAY}10:00"),
        history_event("b", 1, f"{NOW_DAY}10:10"),
        history_event("a", 2, f"{NOW_DAY}10:00"),
        history_event("a", 1, f"{BEFORE}10:00"),
        history_event("a", 2, f"{BEFORE}10:00"),
        history_event("a", 3, f"{BEFORE}10:00"),
        history_event("b", 3, f"{BEFORE}10:30"),
    ]
)
STEPS = [{"id": "a"}, {"id": "b"}]
ASKED: Filters = {
    "insight": "FUNNELS",
    "events": STEPS,
    "date_from": "2024-04-02",
    "date_to": "2024-04-03",
    "compare": True,
    "funnel_window_interval": 1,
    "funnel_window_interval_unit": "hour",
}


async def test_steps_of_the_previous_range_follow_those_of_the_question(analyst: Analyst) -> None:
    project = await analyst.store(HISTORY)

    steps = await analyst.ask(project, **ASKED)
    places: list[Filters] = [{}, {"compare_label": "current"}, {"compare_label": "previous"}]
    people = [
        [who for who, _ in await actors(analyst, project, **{**ASKED, **place}, funnel_step=2)]
        for place in places
    ]

    assert [(step["compare_label"], step["count"]) for step in steps] == [
        ("current", 2),
        ("current", 1),
        ("previous", 3),
        ("previous", 1),
    ]
    assert [step["average_conversion_time"] for step in steps] == [None, 600, None, 1800]
    assert "compare_label=previous" in steps[3]["dropped_people_url"]
    assert "compare_label" not in steps[1]["dropped_people_url"]
    assert people[0] == people[1] != people[2]
    assert [len(found) for found in people] == [1, 1, 1]


async def test_times_of_both_ranges_have_the_same_bins(analyst: Analyst) -> None:
    """600 and 1800 seconds: two bins of 600 seconds each."""
    times = await analyst.answer(HISTORY, **ASKED, funnel_viz_type="time_to_convert")

    assert times == [
        {
            "bins": [[600, 1], [1200, 0], [1800, 0]],
            "average_conversion_time": 600,
            "median_conversion_time": 600,
            "compare_label": "current",
        },
        {
            "bins": [[600, 0], [1200, 0], [1800, 1]],
            "average_conversion_time": 1800,
            "median_conversion_time": 1800,
            "compare_label": "previous",
        },
    ]


async def test_conversions_of_both_ranges_are_lines(analyst: Analyst) -> None:
    lines = await analyst.answer(HISTORY, **ASKED, funnel_viz_type="trends")

    assert [(line["compare_label"], line["days"], line["data"]) for line in lines] == [
        ("current", ["2024-04-02", "2024-04-03"], [50.0, 0.0]),
        ("previous", ["2024-03-31", "2024-04-01"], [33.33, 0.0]),
    ]


async def test_a_question_without_comparison_has_no_previous_people(analyst: Analyst) -> None:
    project = await analyst.store(HISTORY)
    question = {**ASKED, "compare": False}

    with pytest.raises(Invalid) as refused:
        await actors(analyst, project, **question, funnel_step=1, compare_label="previous")

    assert refused.value.attr == "compare_label"


def _spread(history: History) -> History:
    """Move about half of the events a week back, each with all its copies."""
    happened = [
        replace(event, at=event.at - timedelta(days=7 * (event.uuid.int % 2)))
        for event in history.happened
    ]
    return replace(history, happened=happened)


COMPARISONS: st.SearchStrategy[Filters] = st.sampled_from(
    ({"compare": True}, {"compare_to": "-1w"}, {"compare": True, "compare_to": "-6d"})
)
BREAKDOWNS: st.SearchStrategy[Filters] = st.sampled_from(
    ({}, {"breakdown": "plan"}, {"breakdown": "plan", "breakdown_limit": 1})
)


def _ranges(question: Filters) -> tuple[Filters, Filters]:
    """Return the question without its comparison, and that of the range it compares with."""
    until = int((question["date_to"] or "-0d")[1:-1])
    back = int({"-1w": "7", "-6d": "6"}.get(question.get("compare_to", ""), 0))
    back = back or (7 if question["date_to"] is None else 8 - until)
    own = {name: one for name, one in question.items() if not name.startswith("compare")}
    return own, {**own, "date_from": f"-{7 + back}d", "date_to": f"-{until + back}d"}


def _oracles(history: History, question: Filters, *, by_times: bool = False) -> list[Oracle]:
    """Return the plain model of both ranges, which show the same values.

    Args:
        by_times: Whether the largest values are those with the most who converted.
    """
    both = [Oracle(history, asked) for asked in _ranges(question)]
    if "breakdown" not in question:
        return both
    limit = question.get("breakdown_limit", 25)
    rows = [oracle.largest_values(by_times=by_times) for oracle in both]
    values = list(dict.fromkeys(value for own in rows for value in own[:limit]))
    if len(values) <= limit and all(len(own) <= limit for own in rows):
        return both
    shown = frozenset[Value](values[:limit])
    return [replace(oracle, shown=shown) for oracle in both]


@settings(max_examples=examples(16))
@given(DENSE.map(_spread), questions_with_options(), COMPARISONS, BREAKDOWNS)
async def test_both_ranges_are_counted_and_open_their_people(
    analyst: Analyst, history: History, question: Filters, compared: Filters, breakdown: Filters
) -> None:
    question = question | compared | breakdown
    project = await analyst.store(history)

    answer = await analyst.ask(project, **question)

    size = len(question["events"])
    groups = answer if breakdown else [answer[:size], answer[size:]]
    nobody = [(0, None, None)] * size
    for label, oracle in zip(("current", "previous"), _oracles(history, question), strict=True):
        own = [steps for steps in groups if steps[0]["compare_label"] == label]
        expected = oracle.step_rows()
        result = {tuple(s[0].get("breakdown_value", [""])): rows_of(s) for s in own}
        assert {value: rows for value, rows in result.items() if rows != nobody} == {
            value: rows for value, rows in expected.items() if rows != nobody
        }
        for steps in own:
            value = steps[0].get("breakdown_value")
            place = {"compare_label": label, "funnel_step_breakdown": value}
            found = await actors(analyst, project, **{**question, **place}, funnel_step=size)
            assert len(found) == steps[-1]["count"]
            people = [best for _, v, best in oracle.people() if are_same(v, value)]
            assert len(found) == sum(oracle.did(best, size) for best in people)


@settings(max_examples=examples(10))
@given(DENSE.map(_spread), questions_with_options(), COMPARISONS, BREAKDOWNS, st.booleans())
async def test_times_and_conversions_of_both_ranges(
    analyst: Analyst,
    history: History,
    question: Filters,
    compared: Filters,
    breakdown: Filters,
    as_trend: bool,
) -> None:
    question |= compared | breakdown
    question |= {"funnel_viz_type": "trends" if as_trend else "time_to_convert"}
    if len(Oracle(history, question).steps) == 1:
        return

    answer = await analyst.answer(history, **question)

    oracles = _oracles(history, question, by_times=not as_trend)
    for label, oracle in zip(("current", "previous"), oracles, strict=True):
        own = [entry for entry in answer if entry["compare_label"] == label]
        by_value = {tuple(entry.get("breakdown_value", [""])): entry for entry in own}
        if as_trend:
            rates = {
                value: {d: r for d, r in zip(line["days"], line["data"], strict=True) if r}
                for value, line in by_value.items()
            }
            assert {value: days for value, days in rates.items() if days} == {
                value: found
                for value, days in oracle.trend_rows().items()
                if (found := {day: rate for day, rate in days.items() if rate})
            }
            continue
        shared = [sample for one in oracles for _, sample in one.samples()]
        drawn = {
            value: (entry["bins"], pytest.approx(entry["average_conversion_time"]))
            for value, entry in by_value.items()
            if any(number for _, number in entry["bins"])
        }
        assert drawn == {
            value: (times["bins"], times["average_conversion_time"])
            for value, times in oracle.times_by_value(shared).items()
        }
