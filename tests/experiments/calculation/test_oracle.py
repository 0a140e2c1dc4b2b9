"""Random experiments over random histories, against a model in plain Python."""

from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.experiments.calculation.question import ExposureQuestion, MetricQuestion, Window
from fanion.experiments.calculation.sums_service import ExperimentCalculator
from fanion.experiments.metrics.exposure import ExposureCriteria
from fanion.experiments.metrics.model import (
    FunnelMetric,
    MeanMetric,
    Metric,
    Percentiles,
    RatioMetric,
    RetentionMetric,
)
from fanion.experiments.metrics.nodes import Node
from fanion.experiments.people.behind import Behind, find_measured
from fanion.insights.actors.service import ActorFinder, ActorsQuery
from fanion.insights.entities import Entity
from fanion.insights.parsing.conditions import parse_filter
from fanion.projects.model import Project
from tests.experiments.calculation.oracle import Oracle, Values, moment
from tests.support.defined_actions import define
from tests.support.examples import examples
from tests.support.histories import (
    NOW,
    PERSONS,
    VISITOR,
    ZONES,
    Analyst,
    History,
    HistoryEvent,
)

START = datetime.fromisoformat("2024-03-24T10:00:00+00:00")
HOURS = 11 * 24
KEY = "color"
OTHERS = ("control", "test", "third", "removed", "holdout-3", False, True, None)
MERGED: tuple[dict[UUID, UUID], ...] = (
    {},
    {PERSONS[1]: PERSONS[0]},
    {PERSONS[2]: PERSONS[0], PERSONS[1]: PERSONS[0]},
    {VISITOR: PERSONS[0]},
)
TEST_ACCOUNTS = [{"key": "email", "operator": "is_not", "value": "me@own.example", "type": "event"}]
NAMES = st.sampled_from(("a", "b"))
EVENTS = st.sampled_from(("a", "b", "a", "b", None))
ENTITIES = st.builds(Entity, EVENTS)
MATHS = st.sampled_from(("total", "sum", "avg", "min", "max", "unique_session", "dau"))


@st.composite
def happenings(draw: st.DrawFn) -> HistoryEvent:
    who = draw(st.integers(1, len(PERSONS) + 1))
    is_call = draw(st.booleans())
    name = draw(st.sampled_from(("$feature_flag_called",) * 3 + ("$experiment_exposure", "a")))
    properties: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "n": st.sampled_from((1, 2.5, -3, "4", "many", None, 30)),
                "$session_id": st.sampled_from(("s1", "s2", "")),
                "$group_0": st.sampled_from(("acme", "corp", "")),
                "email": st.sampled_from(("me@own.example", "you@example.com")),
            },
        )
    )
    if is_call:
        usual = ("control", "test")[who % 2]
        answer = draw(st.sampled_from((*(usual,) * 12, *OTHERS)))
        flag = draw(st.sampled_from((KEY, KEY, KEY, "other")))
        properties |= {
            "$feature_flag": flag, "$feature_flag_response": answer, f"$feature/{KEY}": answer
        }  # fmt: skip
    at = START + timedelta(hours=draw(st.integers(-30, HOURS)))
    at += timedelta(minutes=draw(st.sampled_from((0, 0, 10, 30))))
    return HistoryEvent(
        draw(st.uuids(version=4)),
        name if is_call else draw(NAMES),
        f"d{who}",
        (*PERSONS, VISITOR)[who - 1],
        min(at, NOW),
        properties,
    )


@st.composite
def experiments(draw: st.DrawFn) -> History:
    happened = draw(st.lists(happenings(), min_size=14, max_size=26))
    again = draw(st.lists(st.sampled_from(happened), max_size=3))
    return History(
        draw(st.sampled_from(ZONES)), [*happened, *again], {}, draw(st.sampled_from(MERGED))
    )


def windows() -> st.SearchStrategy[Window]:
    criteria = st.builds(
        ExposureCriteria,
        entity=st.sampled_from((None, None, Entity("a"))),
        multiple_variants=st.sampled_from(("exclude", "first_seen")),
    )
    return st.builds(
        Window,
        flag_key=st.just(KEY),
        variants=st.just(("control", "test", "third")),
        started_at=st.just(START),
        phase_at=st.sampled_from((START, START, START, START + timedelta(days=1))),
        ended_at=st.sampled_from((None, None, START + timedelta(days=6))),
        group_type_index=st.sampled_from((None, None, None, 0)),
        criteria=criteria,
        accounts=st.sampled_from((None, parse_filter(TEST_ACCOUNTS, "filters"))),
    )


def nodes() -> st.SearchStrategy[Node]:
    plain = st.builds(lambda event, math: Node(Entity(event), math, "n"), EVENTS, MATHS).map(
        lambda node: (
            node if node.math in ("sum", "avg", "min", "max") else Node(node.entity, node.math)
        )
    )
    groups = st.builds(
        lambda event: Node(Entity(event), "unique_group", group_type_index=0), EVENTS
    )
    return plain | groups


def percentiles() -> st.SearchStrategy[Percentiles]:
    bound = st.sampled_from((None, 0.0, 0.25, 0.5))
    upper = st.sampled_from((None, 0.6, 0.9, 1.0))
    return st.just(Percentiles()) | st.builds(Percentiles, bound, upper, st.booleans())


WINDOWS_S = st.sampled_from((None, None, 3600, 86_400, 3 * 86_400))


def metrics() -> st.SearchStrategy[Metric]:
    means: st.SearchStrategy[Metric] = st.builds(
        MeanMetric, source=nodes(), percentiles=percentiles(), window_s=WINDOWS_S
    )
    thresholds = st.builds(
        MeanMetric,
        source=st.sampled_from(
            (Node(Entity("a")), Node(Entity(None)), Node(Entity("b"), "sum", "n"))
        ),
        threshold=st.sampled_from((1.0, 2.0)),
        window_s=WINDOWS_S,
    )
    funnels = st.builds(
        FunnelMetric,
        series=st.lists(st.builds(Node, ENTITIES), min_size=1, max_size=3).map(tuple),
        is_ordered=st.booleans(),
        window_s=WINDOWS_S,
    )
    ratios = st.builds(
        RatioMetric,
        numerator=nodes(),
        denominator=nodes(),
        numerator_percentiles=percentiles(),
        denominator_percentiles=percentiles(),
        window_s=WINDOWS_S,
    )
    retentions = st.builds(
        RetentionMetric,
        start=st.builds(Node, ENTITIES),
        completion=st.builds(Node, ENTITIES),
        retention_start=st.integers(0, 2),
        retention_end=st.integers(2, 4),
        unit=st.sampled_from(("day", "hour", "minute", "day")),
        is_of_last_start=st.booleans(),
        window_s=WINDOWS_S,
    )
    return means | thresholds | funnels | ratios | retentions


def is_test_account(window: Window) -> Any:
    if window.accounts is None:
        return lambda event: False
    return lambda event: event.properties.get("email") == "me@own.example"


async def answer(analyst: Analyst, project: Project, question: Any) -> Any:
    calculated = await ExperimentCalculator(analyst.analysis).answer(project, question, NOW)
    return calculated["results"]


# It takes seconds: each example is stored and asked about.
@settings(max_examples=examples(45))
@given(experiments(), windows())
async def test_exposures_are_those_of_the_model(
    analyst: Analyst, history: History, window: Window
) -> None:
    project = await analyst.store(history)

    found = await answer(analyst, project, ExposureQuestion(window))

    expected = Oracle(history, window, NOW, is_test_account(window)).exposures()
    assert {key: sum(days) for key, days in found["by_day"].items()} == expected["units"]
    names = ("multiple", "holdout", "earlier", "without_variant")
    assert {name: found[name] for name in names} == {name: expected[name] for name in names}
    assert moment(found["first_at"]) == expected["first_at"]
    assert moment(found["last_at"]) == expected["last_at"]


# It takes seconds: each example is stored and asked about.
@settings(max_examples=examples(75))
@given(
    experiments(),
    windows(),
    metrics(),
    st.sampled_from((None, None, 1, 14)),
    st.booleans(),
)
async def test_sums_are_those_of_the_model(
    analyst: Analyst,
    history: History,
    window: Window,
    metric: Metric,
    lookback_days: int | None,
    only_matured: bool,
) -> None:
    question = MetricQuestion(window, metric, lookback_days, only_matured)
    project = await analyst.store(history)

    found = await answer(analyst, project, question)

    oracle = Oracle(history, window, NOW, is_test_account(window))
    expected = Values(oracle, question).sums()
    kept = {
        arm: {name: sums[name] for name in expected.get(arm, sums)} for arm, sums in found.items()
    }
    assert kept == {
        arm: {name: pytest.approx(value) for name, value in sums.items()}
        for arm, sums in expected.items()
    }


def with_a_as(entity: Entity, part: Any) -> Any:
    """Return a part of a question in which another entity stands for the event `a`."""
    if isinstance(part, Entity):
        return entity if part.event == "a" else part
    if isinstance(part, tuple):
        return tuple(with_a_as(entity, each) for each in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    own = {each.name: getattr(part, each.name) for each in fields(part)}
    return replace(part, **{name: with_a_as(entity, value) for name, value in own.items()})


# It takes seconds: each example is stored, and asked about three times.
@settings(max_examples=examples(20))
@given(experiments(), windows(), metrics())
async def test_an_action_counts_as_the_events_that_it_names(
    analyst: Analyst, history: History, window: Window, metric: Metric
) -> None:
    project = await analyst.store(history)
    conditions = [{"key": "n", "operator": "is_set", "value": "is_set", "type": "event"}]
    action = await define(analyst, project, {"event": "a", "properties": conditions})
    question = MetricQuestion(window, metric)
    entities = (
        Entity("a", properties=parse_filter(conditions, "properties")),
        Entity(action=action["id"]),
        Entity(nodes=(Entity(action=action["id"]), Entity("never"))),
    )

    found = [await answer(analyst, project, with_a_as(entity, question)) for entity in entities]

    assert found[0] == found[1] == found[2]


# It takes seconds: each example is stored, and asked about for each arm.
@settings(max_examples=examples(15))
@given(experiments(), windows(), metrics(), st.booleans())
async def test_the_units_behind_sums_are_as_many_and_have_their_values(
    analyst: Analyst, history: History, window: Window, metric: Metric, only_matured: bool
) -> None:
    question = MetricQuestion(window, metric, None, only_matured)
    project = await analyst.store(history)

    found = await answer(analyst, project, question)

    for arm, sums in found.items():
        behind = Behind(variant=arm, metric="any")
        query = ActorsQuery(question, behind, window.group_type_index, find_measured)
        page = await ActorFinder(analyst.analysis).find_page(project, query, NOW, 100)
        values = [value for _, value in page.actors]
        assert len({who for who, _ in page.actors}) == len(values) == sums["number"]
        assert sum(values) == pytest.approx(sums["sum"] or 0)
