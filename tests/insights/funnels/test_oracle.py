"""Funnels of random histories, against a model in plain Python."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fanion.errors import Invalid
from fanion.insights.funnels.query import read_funnels
from fanion.insights.parsing.fields import Fields
from fanion.projects.model import Project
from tests.insights.funnels.oracle import Oracle
from tests.support.asked_actors import actors
from tests.support.examples import examples
from tests.support.histories import (
    NOW,
    PERSONS,
    VISITOR,
    Analyst,
    History,
    HistoryEvent,
    histories,
)

NAMES = ("a", "b", "c")
PRO = [{"key": "plan", "value": "pro"}]
TOP = NOW.replace(minute=0, second=0)

Filters = dict[str, Any]


def _dense(history: History) -> History:
    """Move events to a few times, so that steps follow one another and often coincide."""
    happened = [_earlier(event) for event in history.happened]
    return replace(history, happened=happened)


def _earlier(event: HistoryEvent) -> HistoryEvent:
    minutes = int((TOP - event.at) / timedelta(minutes=1))
    return replace(event, at=TOP - timedelta(minutes=10 * (minutes % 11), days=minutes % 3 // 2))


DENSE = histories(events_max=24).map(_dense)


def _entity(name: st.SearchStrategy[str | None]) -> st.SearchStrategy[Filters]:
    return st.fixed_dictionaries({"id": name}, optional={"properties": st.just(PRO)})


@st.composite
def _steps(draw: st.DrawFn) -> Filters:
    names = st.sampled_from((*NAMES, *NAMES, *NAMES, None))
    return {"events": draw(st.lists(_entity(names), min_size=1, max_size=4))}


WINDOWS: st.SearchStrategy[Filters] = st.sampled_from(
    (
        {},
        {"funnel_window_interval": 20, "funnel_window_interval_unit": "minute"},
        {"funnel_window_interval": 1, "funnel_window_interval_unit": "hour"},
        {"funnel_window_interval": 1, "funnel_window_interval_unit": "month"},
        {"funnel_window_days": 1, "funnel_window_interval": 1},
    )
)


@st.composite
def questions(draw: st.DrawFn) -> Filters:
    order = draw(st.sampled_from(("ordered", "ordered", "strict", "unordered")))
    question = draw(_steps()) | draw(WINDOWS) | {"funnel_order_type": order}
    last = len(question["events"]) - 1
    if last and draw(st.booleans()):
        question["exclusions"] = draw(_exclusions(question["events"], order))
    until = draw(st.sampled_from((None, None, "-1d", "-2d")))
    return {"insight": "FUNNELS", "date_from": "-7d", "date_to": until, **question}


@st.composite
def _exclusions(draw: st.DrawFn, steps: list[Filters], order: str) -> list[Filters]:
    """Draw exclusions by `x`, which is no step, and by a step with a further condition."""
    last = len(steps) - 1
    result: list[Filters] = []
    for name in draw(st.sampled_from((("x",), ("x", "b"), ("c",)))):
        first = 0 if order == "unordered" else draw(st.integers(0, last - 1))
        end = last if order == "unordered" else draw(st.integers(first + 1, last))
        result.append({"id": name, "funnel_from_step": first, "funnel_to_step": end})
        if name != "x":
            result[-1]["properties"] = [*PRO, {"key": "n", "value": "1"}]
    return result


BREAKDOWNS: st.SearchStrategy[Filters] = st.sampled_from(
    (
        {"breakdown": "plan"},
        {"breakdown": ["plan", "n"]},
        {"breakdown": "plan", "breakdown_type": "person"},
        {"breakdown": "plan", "breakdown_limit": 1},
        {"breakdown": "plan", "breakdown_limit": 2},
        {"breakdown": "sp ace"},
    )
)
ATTRIBUTIONS: st.SearchStrategy[Filters] = st.sampled_from(
    (
        {},
        {"breakdown_attribution_type": "last_touch"},
        {"breakdown_attribution_type": "all_events"},
        {"breakdown_attribution_type": "step", "breakdown_attribution_value": 0},
        {"breakdown_attribution_type": "step", "breakdown_attribution_value": 1},
    )
)


FIRST_TIMES = ("first_time_for_user", "first_time_for_user_with_filters")


@st.composite
def questions_with_options(draw: st.DrawFn) -> Filters:
    """Draw a question with optional steps, or with steps that only the first time counts for."""
    question = draw(questions())
    question = {name: value for name, value in question.items() if name != "exclusions"}
    steps = [dict(step) for step in question["events"]]
    for step in steps:
        if draw(st.integers(0, 2)) == 0:
            step["math"] = draw(st.sampled_from(FIRST_TIMES))
    if question["funnel_order_type"] == "ordered":
        for number in range(1, len(steps)):
            steps[number] |= {"optionalInFunnel": draw(st.booleans())}
    assume(_is_read({**question, "events": steps}))
    required = [n for n, step in enumerate(steps) if not step.get("optionalInFunnel")]
    question["events"] = steps
    if len(required) > 1 and draw(st.booleans()):
        order = question["funnel_order_type"]
        ends = (required[0], required[1 if order != "unordered" else -1])
        names = ("funnel_from_step", "funnel_to_step")
        question["exclusions"] = [{"id": "x", **dict(zip(names, ends, strict=True))}]
    assume(_is_read(question))
    return question


def _is_read(question: Filters) -> bool:
    """Return whether the question is not refused, as optional steps that are never done are."""
    try:
        read_funnels(Fields(question))
    except Invalid:
        return False
    return True


def rows_of(steps: list[Filters]) -> list[tuple[Any, ...]]:
    return [
        (
            step["count"],
            pytest.approx(step["average_conversion_time"]),
            pytest.approx(step["median_conversion_time"]),
        )
        for step in steps
    ]


@settings(max_examples=examples(10))
@given(DENSE, questions())
async def test_values_of_an_expression_are_counted_as_groups_are(
    analyst: Analyst, history: History, question: Filters
) -> None:
    by_key: Filters = {"funnel_aggregate_by_hogql": "properties.$group_0"}
    answer = await analyst.answer(history, **question, **by_key)
    of_groups = await analyst.answer(history, **question, aggregation_group_type_index=0)

    assert rows_of(answer) == rows_of(of_groups)


@settings(max_examples=examples(25))
@given(DENSE, questions())
async def test_steps_and_times(analyst: Analyst, history: History, question: Filters) -> None:
    answer = await analyst.answer(history, **question)

    assert Oracle(history, question).step_rows() == {("",): rows_of(answer)}


@settings(max_examples=examples(30))
@given(DENSE, questions_with_options(), st.one_of(st.just({}), BREAKDOWNS), ATTRIBUTIONS)
async def test_optional_steps_and_first_times(
    analyst: Analyst, history: History, question: Filters, breakdown: Filters, attribution: Filters
) -> None:
    if question["events"][-1].get("optionalInFunnel") or len(question["events"]) == 1:
        attribution = {}
    if not _is_read(question | attribution):
        attribution = {}
    question = question | breakdown | (attribution if breakdown else {})
    project = await analyst.store(history)

    answer = await analyst.ask(project, **question)

    oracle = Oracle(history, question).limited()
    result = {
        tuple(steps[0].get("breakdown_value", [""])): rows_of(steps)
        for steps in (answer if breakdown else [answer])
    }
    assert oracle.step_rows() == result
    people = list(oracle.people())
    for steps in answer if breakdown else [answer]:
        value = steps[0].get("breakdown_value")
        for number, step in enumerate(steps, 1):
            own = {
                who for who, v, best in people if are_same(v, value) and oracle.did(best, number)
            }
            reached = await _people(analyst, project, question, value, funnel_step=number)
            assert reached == own
            assert len(reached) == step["count"]
            if number > 1:
                before = oracle.required_before(number - 1)
                missing = {
                    who
                    for who, v, best in people
                    if are_same(v, value) and best[0].level >= before and who not in own
                }
                dropped = await _people(analyst, project, question, value, funnel_step=-number)
                assert dropped == missing


@settings(max_examples=examples(10))
@given(DENSE, questions_with_options(), st.booleans())
async def test_only_required_steps_are_measured(
    analyst: Analyst, history: History, question: Filters, as_trend: bool
) -> None:
    oracle = Oracle(history, question)
    if len(oracle.steps) == 1:
        return
    required = [step for step in question["events"] if not step.get("optionalInFunnel")]
    exclusions = [dict(one) for one in oracle.exclusions]
    question |= {"funnel_viz_type": "trends" if as_trend else "time_to_convert"}

    answer = await analyst.answer(history, **question)

    alone = await analyst.answer(
        history, **{**question, "events": required} | {"exclusions": exclusions}
    )
    assert answer == alone


@settings(max_examples=examples(10))
@given(DENSE, questions())
async def test_a_stricter_order_of_steps_never_counts_more(
    analyst: Analyst, history: History, question: Filters
) -> None:
    project = await analyst.store(history)
    question = {name: value for name, value in question.items() if name != "exclusions"}

    strict, ordered, unordered = [
        [
            step["count"]
            for step in await analyst.ask(project, **question | {"funnel_order_type": order})
        ]
        for order in ("strict", "ordered", "unordered")
    ]

    for less, more in ((strict, ordered), (ordered, unordered)):
        assert all(few <= many for few, many in zip(less, more, strict=True))


@settings(max_examples=examples(8))
@given(histories(events_max=30), questions())
async def test_only_the_range_counts(analyst: Analyst, history: History, question: Filters) -> None:
    answer = await analyst.answer(history, **question)

    assert Oracle(history, question).step_rows() == {("",): rows_of(answer)}


@settings(max_examples=examples(25))
@given(DENSE, questions(), BREAKDOWNS, ATTRIBUTIONS)
async def test_breakdowns(
    analyst: Analyst, history: History, question: Filters, breakdown: Filters, attribution: Filters
) -> None:
    if len(question["events"]) == 1 and attribution.get("breakdown_attribution_value"):
        attribution = {}
    question = question | breakdown | attribution

    answer = await analyst.answer(history, **question)

    result = {tuple(steps[0]["breakdown_value"]): rows_of(steps) for steps in answer}
    assert Oracle(history, question).limited().step_rows() == result
    assert [steps[0]["count"] for steps in answer] == sorted(
        (steps[0]["count"] for steps in answer), reverse=True
    )


@settings(max_examples=examples(12))
@given(DENSE, questions(), st.sampled_from(("day", "week")), st.booleans(), ATTRIBUTIONS)
async def test_trends(
    analyst: Analyst,
    history: History,
    question: Filters,
    interval: str,
    by_plan: bool,
    attribution: Filters,
) -> None:
    question = question | {"funnel_viz_type": "trends", "interval": interval}
    if by_plan and not (
        len(question["events"]) == 1 and attribution.get("breakdown_attribution_value")
    ):
        question |= attribution | {"breakdown": "plan", "breakdown_limit": 2}

    answer = await analyst.answer(history, **question)

    expected = Oracle(history, question).limited().trend_rows()
    assert {tuple(line.get("breakdown_value", [""])) for line in answer} == (
        set(expected) if "breakdown" in question else {("",)}
    )
    for line in answer:
        rates = expected.get(tuple(line.get("breakdown_value", [""])), {})
        assert line["data"] == [rates.get(day, 0) for day in line["days"]]
        assert set(rates) <= set(line["days"])
        assert line["count"] == len(line["data"])


@settings(max_examples=examples(12))
@given(DENSE, questions(), st.sampled_from((None, 1, 3, 200)))
async def test_times_to_convert(
    analyst: Analyst, history: History, question: Filters, bins: int | None
) -> None:
    if len(question["events"]) == 1:
        return
    question = question | {"funnel_viz_type": "time_to_convert", "bin_count": bins}

    answer = await analyst.answer(history, **question)

    expected = Oracle(history, question).times()
    assert answer["bins"] == expected["bins"]
    average = expected["average_conversion_time"]
    assert answer["average_conversion_time"] == (average and pytest.approx(average))


@settings(max_examples=examples(6))
@given(DENSE, questions())
async def test_groups(analyst: Analyst, history: History, question: Filters) -> None:
    question = question | {"aggregation_group_type_index": 0}

    answer = await analyst.answer(history, **question)

    assert Oracle(history, question).step_rows() == {("",): rows_of(answer)}


@settings(max_examples=examples(7))
@given(DENSE, questions(), st.one_of(st.just({}), BREAKDOWNS), ATTRIBUTIONS)
async def test_the_people_of_a_step_are_those_it_counts(
    analyst: Analyst, history: History, question: Filters, breakdown: Filters, attribution: Filters
) -> None:
    if len(question["events"]) == 1 and attribution.get("breakdown_attribution_value"):
        attribution = {}
    question = question | breakdown | attribution
    project = await analyst.store(history)
    answer = await analyst.ask(project, **question)

    people = list(Oracle(history, question).limited().people())
    for steps in answer if breakdown else [answer]:
        value = steps[0].get("breakdown_value")
        for number, step in enumerate(steps, 1):
            own = {who for who, v, best in people if are_same(v, value) and best[0].level >= number}
            converted = await _people(analyst, project, question, value, funnel_step=number)
            assert converted == own
            assert len(converted) == step["count"]
            if number > 1:
                dropped = await _people(analyst, project, question, value, funnel_step=-number)
                assert len(dropped) == steps[number - 2]["count"] - step["count"]
    every = await _people(
        analyst, project, question, None, funnel_custom_steps=[1, len(question["events"])]
    )
    assert every == {
        who for who, _, best in people if best[0].level in (1, len(question["events"]))
    }


def are_same(value: Any, wanted: Any) -> bool:
    return wanted is None or value == tuple(wanted)


async def _people(
    analyst: Analyst, project: Project, question: Filters, value: Any, **place: Any
) -> set[Any]:
    result = await actors(analyst, project, **question, funnel_step_breakdown=value, **place)
    assert len({who for who, _ in result}) == len(result)
    known = (*PERSONS, VISITOR)
    return {"d0" if isinstance(who, UUID) and who not in known else who for who, _ in result}


@settings(max_examples=examples(6))
@given(DENSE, questions(), st.booleans())
async def test_the_people_of_a_trend_are_those_of_its_rate(
    analyst: Analyst, history: History, question: Filters, by_plan: bool
) -> None:
    question = question | {"funnel_viz_type": "trends"} | ({"breakdown": "plan"} if by_plan else {})
    project = await analyst.store(history)
    lines = await analyst.ask(project, **question)

    entrances = list(Oracle(history, question).entrances())
    last = len(question["events"]) - 1
    for line in lines:
        value = line.get("breakdown_value")
        for day, rate in list(zip(line["days"], line["data"], strict=True))[-2:]:
            place = {"entrance_period_start": f"{day} 00:00:00"}
            result = [
                await _people(analyst, project, question, value, drop_off=dropped, **place)
                for dropped in (False, True)
            ]
            here = [
                (who, entrance)
                for who, at, v, entrance in entrances
                if at == day and are_same(v, value)
            ]
            assert result == [
                {who for who, entrance in here if entrance.level > last},
                {who for who, entrance in here if entrance.level <= last},
            ]
            reached, dropped_off = map(len, result)
            assert rate == round(100 * reached / max(reached + dropped_off, 1), 2)
