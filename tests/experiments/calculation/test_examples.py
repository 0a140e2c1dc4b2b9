"""Worked examples of exposures and values, and what goes wrong in real projects."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from fanion.experiments.calculation.question import ExposureQuestion, MetricQuestion, Window
from fanion.experiments.calculation.sums_service import ExperimentCalculator
from fanion.experiments.metrics.exposure import ExposureCriteria
from fanion.experiments.metrics.model import FunnelMetric, MeanMetric, Metric, Percentiles
from fanion.experiments.metrics.nodes import Node
from fanion.insights.entities import Entity
from fanion.insights.parsing.conditions import parse_filter
from fanion.projects.model import Project
from tests.support.histories import NOW, PERSONS, Analyst, History, HistoryEvent

START = datetime(2024, 3, 24, 10, tzinfo=UTC)
KEY = "color"
DAY = 86_400
A, B, C, D, E, F, G = (UUID(int=number) for number in range(11, 18))
REVENUE = MeanMetric(source=Node(Entity("buy"), "sum", "n"))
EXTERNAL = parse_filter(
    [{"key": "email", "operator": "is_not", "value": "me@own.example", "type": "event"}], "filters"
)


def experiment(**fields: Any) -> Window:
    times = {"started_at": START, "phase_at": START}
    return Window(flag_key=KEY, variants=("control", "test"), **(times | fields))


def happened(who: UUID, event: str, minutes: float, **properties: Any) -> HistoryEvent:
    at = START + timedelta(minutes=minutes)
    return HistoryEvent(uuid4(), event, f"d{who.int}", who, at, properties)


def call(who: UUID, answer: Any, minutes: float = 0, group: str | None = None) -> HistoryEvent:
    own: dict[str, Any] = {"$feature_flag": KEY, "$feature_flag_response": answer}
    if group is not None:
        own["$group_0"] = group
    return happened(who, "$feature_flag_called", minutes, **own)


def buy(who: UUID, minutes: float, amount: float) -> HistoryEvent:
    return happened(who, "buy", minutes, n=amount)


async def ask(
    analyst: Analyst, project: Project, question: Any, now: datetime = NOW
) -> dict[str, Any]:
    answer = await ExperimentCalculator(analyst.analysis).answer(project, question, now)
    results: dict[str, Any] = answer["results"]
    return results


async def sums(
    analyst: Analyst, happened: Sequence[HistoryEvent], metric: Metric = REVENUE, **fields: Any
) -> dict[str, Any]:
    project = await analyst.store(History(happened=happened))
    return await ask(analyst, project, MetricQuestion(experiment(**fields), metric))


async def units(
    analyst: Analyst, history: History, **fields: Any
) -> tuple[dict[str, int], dict[str, Any]]:
    project = await analyst.store(history)
    found = await ask(analyst, project, ExposureQuestion(experiment(**fields)))
    return {key: sum(days) for key, days in found["by_day"].items()}, found


EXAMPLE_18 = [
    *(call(A, "control", 10), buy(A, 5, 50), buy(A, 20, 20), buy(A, 8 * 1440, 99)),
    call(B, "control"),
    *(call(C, "control"), buy(C, 30, 10), buy(C, 40, 15)),
    *(call(D, "test"), buy(D, 1, 30)),
    *(call(E, "test"), call(E, "test", 6 * 1440), buy(E, 9 * 1440, 40)),
    *(call(F, "test"), call(F, "control", 100), buy(F, 200, 70)),
    *(call(G, False), buy(G, 3, 5)),
]


@pytest.mark.parametrize(
    ("window_s", "control", "test"),
    [(7 * DAY, (45, 1025), (30, 900)), (None, (144, 14_786), (70, 2500))],
)
async def test_example_18(
    analyst: Analyst, window_s: int | None, control: tuple[int, int], test: tuple[int, int]
) -> None:
    found = await sums(analyst, EXAMPLE_18, replace(REVENUE, window_s=window_s))

    assert {key: (arm["number"], arm["sum"], arm["sum_squares"]) for key, arm in found.items()} == {
        "control": (3, *control),
        "test": (2, *test),
    }


@pytest.mark.parametrize(("window_s", "converted"), [(7 * DAY, (2, 1)), (None, (2, 2))])
async def test_example_18_as_conversions_and_events(
    analyst: Analyst, window_s: int | None, converted: tuple[int, int]
) -> None:
    funnel = await sums(
        analyst, EXAMPLE_18, FunnelMetric(series=(Node(Entity("buy")),), window_s=window_s)
    )
    events = await sums(
        analyst, EXAMPLE_18, MeanMetric(source=Node(Entity("buy")), window_s=7 * DAY)
    )

    assert (funnel["control"]["sum"], funnel["test"]["sum"]) == converted
    assert (events["control"]["sum"], events["test"]["sum"]) == (3, 1)


async def test_example_18_as_exposures(analyst: Analyst) -> None:
    counts, found = await units(analyst, History(happened=EXAMPLE_18))

    assert counts == {"control": 3, "test": 2}
    assert (found["multiple"], found["without_variant"], found["holdout"]) == (1, 1, 0)
    assert (found["first_at"], found["last_at"]) == ("2024-03-24T10:00:00Z", "2024-03-24T10:10:00Z")
    assert found["days"][0] == "2024-03-24" and found["by_day"]["control"][0] == 3


async def test_example_16_caps_by_both_arms(analyst: Analyst) -> None:
    control, test = [0] * 5 + [1, 2, 3, 4, 100], [0] * 5 + [1, 2, 3, 5, 6]
    happened = []
    for start, key, amounts in ((100, "control", control), (200, "test", test)):
        for number, amount in enumerate(amounts, start):
            who = UUID(int=number)
            happened += [call(who, key), *([buy(who, 1, amount)] if amount else [])]

    capped = await sums(analyst, happened, replace(REVENUE, percentiles=Percentiles(upper=0.9)))
    last = await sums(analyst, happened, replace(REVENUE, percentiles=Percentiles(upper=0.95)))
    zero = await sums(analyst, happened, replace(REVENUE, percentiles=Percentiles(upper=0.2)))

    assert (capped["control"]["sum"], capped["control"]["sum_squares"]) == (16, 66)
    assert (capped["test"]["sum"], capped["test"]["sum_squares"]) == (17, 75)
    assert (capped["test"]["high"], last["test"]["high"]) == (6, 100)
    assert (zero["control"]["high"], zero["control"]["sum"]) == (0, 110)


async def test_merged_persons_count_once(analyst: Analyst) -> None:
    happened = [call(A, "control"), call(B, "control", 5), buy(B, 10, 7)]

    counts, _ = await units(analyst, History(happened=happened, merged={B: A}))

    assert counts == {"control": 1, "test": 0}


async def test_a_merge_across_arms_leaves_the_person_out(analyst: Analyst) -> None:
    history = History(happened=[call(A, "control"), call(B, "test", 5)], merged={B: A})
    criteria = ExposureCriteria(multiple_variants="first_seen")

    counts, found = await units(analyst, history)
    first, _ = await units(analyst, history, criteria=criteria)

    assert (counts, found["multiple"]) == ({"control": 0, "test": 0}, 1)
    assert first == {"control": 1, "test": 0}


async def test_of_equal_times_the_smaller_uuid_is_first(analyst: Analyst) -> None:
    one = replace(call(A, "test"), uuid=UUID(int=2**127))
    other = replace(call(A, "control"), uuid=UUID(int=2**127 + 1))
    criteria = ExposureCriteria(multiple_variants="first_seen")

    counts, _ = await units(analyst, History(happened=[other, one]), criteria=criteria)

    assert counts == {"control": 0, "test": 1}


async def test_both_bounds_of_the_window_count(analyst: Analyst) -> None:
    happened = [call(A, "control"), buy(A, 0, 1), buy(A, 60, 2), buy(A, 60.001, 4)]

    found = await sums(analyst, happened, replace(REVENUE, window_s=3600))

    assert found["control"]["sum"] == 3


async def test_events_after_the_end_count_while_the_window_runs(analyst: Analyst) -> None:
    happened = [call(A, "control", 50), buy(A, 55, 1), buy(A, 100, 2), call(B, "test", 61)]
    ended = START + timedelta(hours=1)

    within = await sums(analyst, happened, replace(REVENUE, window_s=3600), ended_at=ended)
    without = await sums(analyst, happened, ended_at=ended)

    assert (within["control"]["sum"], without["control"]["sum"]) == (3, 1)
    assert "test" not in within


async def test_a_late_event_counts_where_it_happened(analyst: Analyst) -> None:
    history = History(happened=[call(A, "control")])
    project = await analyst.store_anew(history)
    question = MetricQuestion(experiment(), REVENUE)
    before = await ask(analyst, project, question)

    await analyst.add_events(project.id, [buy(A, 10, 5)])

    assert before["control"]["sum"] == 0
    assert (await ask(analyst, project, question))["control"]["sum"] == 5


async def test_units_of_an_earlier_phase_are_left_out(analyst: Analyst) -> None:
    happened = [call(A, "control", 10), call(A, "control", 100), call(B, "control", 100)]
    phase_at = START + timedelta(hours=1)

    counts, found = await units(analyst, History(happened=happened), phase_at=phase_at)
    first, _ = await units(analyst, History(happened=happened), ended_at=phase_at)

    assert (counts, found["earlier"]) == ({"control": 1, "test": 0}, 1)
    assert first == {"control": 1, "test": 0}


async def test_groups_without_a_key_are_no_unit(analyst: Analyst) -> None:
    happened = [
        call(A, "control", group="acme"),
        call(B, "control", group="acme"),
        call(C, "test", group=""),
        call(D, "test"),
    ]

    counts, _ = await units(analyst, History(happened=happened), group_type_index=0)

    assert counts == {"control": 1, "test": 0}


async def test_a_holdout_is_in_no_arm(analyst: Analyst) -> None:
    happened = [call(A, "holdout-3"), call(B, "holdout-3"), call(B, "test", 5)]

    counts, found = await units(analyst, History(happened=happened))

    assert (counts, found["holdout"]) == ({"control": 0, "test": 1}, 1)


async def test_a_custom_event_has_the_variant_as_a_property(analyst: Analyst) -> None:
    own: dict[str, Any] = {f"$feature/{KEY}": "test"}
    happens = [
        happened(A, "seen", 0, **own, plan="pro"),
        happened(B, "seen", 0, **own, plan="free"),
        happened(C, "seen", 0, plan="pro"),
        call(D, "test"),
    ]
    conditions = parse_filter([{"key": "plan", "value": "pro", "type": "event"}], "filters")
    criteria = ExposureCriteria(entity=Entity("seen"), conditions=conditions)

    counts, found = await units(analyst, History(happened=happens), criteria=criteria)

    assert (counts, found["without_variant"]) == ({"control": 0, "test": 1}, 1)


async def test_a_copy_with_another_key_counts_once(analyst: Analyst) -> None:
    bought = buy(A, 10, 5)
    copy = replace(bought, at=bought.at + timedelta(days=2))
    project = await analyst.store_anew(History(happened=[call(A, "control"), bought, copy]))
    if project.id % 2 == 0:  # a project whose copies are known to share their key
        project = await analyst.store_anew(History(happened=[call(A, "control"), bought, copy]))

    found = await ask(analyst, project, MetricQuestion(experiment(), REVENUE))

    assert found["control"]["sum"] == 5


async def test_the_copy_of_the_default_event_exposes_once(analyst: Analyst) -> None:
    copied = replace(call(A, "test"), event="$experiment_exposure")

    counts, found = await units(analyst, History(happened=[call(A, "test"), copied]))

    assert (counts, found["multiple"]) == ({"control": 0, "test": 1}, 0)


async def test_nothing_happened(analyst: Analyst) -> None:
    counts, found = await units(analyst, History())

    assert counts == {"control": 0, "test": 0}
    assert (found["first_at"], found["last_at"]) == (None, None)
    assert await sums(analyst, []) == {}


async def test_conditions_of_nodes_and_of_persons(analyst: Analyst) -> None:
    pro, free = PERSONS[0], PERSONS[1]
    history = History(
        happened=[
            *(call(who, "control", minute) for minute, who in enumerate((pro, free, PERSONS[2]))),
            happened(pro, "a", 5, email="you@example.com"),
            happened(pro, "a", 6, email="me@own.example"),
            happened(free, "a", 5, email="you@example.com"),
        ],
        persons={pro: {"plan": "pro"}, free: {"plan": "free"}},
    )
    project = await analyst.store(history)
    of_persons = parse_filter([{"key": "plan", "value": "pro", "type": "person"}], "filters")
    metric = MeanMetric(source=Node(Entity("a", properties=EXTERNAL)))
    everybody = MetricQuestion(experiment(), metric)
    pros = replace(everybody, window=replace(everybody.window, accounts=of_persons))

    assert (await ask(analyst, project, everybody))["control"]["sum"] == 2
    assert await ask(analyst, project, pros) == {
        "control": {"number": 1, "truncated": 0, "sum": 1, "sum_squares": 1}
    }
