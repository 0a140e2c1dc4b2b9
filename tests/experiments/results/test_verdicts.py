"""Verdicts: each with its sentence, and which comes first.

Source: experiments.md, section 6, "Verdicts".
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fanion.experiments.metrics.exposure import ExposureCriteria
from fanion.experiments.metrics.model import FunnelMetric, MeanMetric, Metric, RetentionMetric
from fanion.experiments.metrics.nodes import Node
from fanion.experiments.metrics.stats_config import StatsConfig
from fanion.experiments.results.evaluation import evaluate, rules_of
from fanion.experiments.results.experiment import (
    MeasuredExperiment,
    MeasuredMetric,
    Phase,
    Plan,
    Role,
)
from fanion.experiments.results.exposures import exposures_body
from fanion.experiments.results.progress import planned_body
from fanion.experiments.results.schemas import MetricBody, VerdictBody
from fanion.experiments.results.verdicts import Evidence, verdict_of
from fanion.experiments.statistics.comparison import Method
from fanion.insights.entities import Entity

START = datetime(2026, 9, 1, tzinfo=UTC)
PURCHASE: Metric = FunnelMetric(series=(Node(Entity("purchase")),))
ERRORS: Metric = MeanMetric(source=Node(Entity("error"), "dau"), goal="decrease", name="Errors")
HALVES = {"control": 50.0, "test": 50.0}
PLAN = Plan(units=114_228, effect=10)


def experiment(
    *metrics: tuple[Role, Metric],
    split: dict[str, float] = HALVES,
    method: Method | None = None,
    **fields: Any,
) -> MeasuredExperiment:
    return MeasuredExperiment(
        id=7,
        status="running",
        flag_key="color",
        variants=tuple(split),
        started_at=START,
        ended_at=None,
        phases=(Phase(START, split),),
        criteria=ExposureCriteria(),
        stats=StatsConfig() if method is None else StatsConfig(method),
        metrics=tuple(MeasuredMetric(role, metric, name=metric.name) for role, metric in metrics),
        **({"plan": PLAN} | fields),
    )


Counts = dict[str, tuple[int, int]]


def sums(counts: Counts) -> dict[str, dict[str, Any]]:
    return {
        key: {"number": number, "sum": done, "sum_squares": done, "exposed": number}
        for key, (number, done) in counts.items()
    }


def exposures(counts: dict[str, int], **others: int) -> dict[str, Any]:
    none = {"multiple": 0, "holdout": 0, "earlier": 0, "without_variant": 0}
    by_day = {key: [number] for key, number in counts.items()}
    times = {"first_at": None, "last_at": None}
    return {"days": ["2026-09-01"], "by_day": by_day, **times, **none, **others}


def verdict(
    measured: MeasuredExperiment,
    *results: Counts,
    days: float = 14,
    counts: dict[str, int] | None = None,
    **others: int,
) -> VerdictBody:
    if counts is None:
        counts = {key: number for key, (number, _) in results[0].items()}
    body = exposures_body(measured, exposures(counts, **others), 0)
    metrics = [
        _evaluated(measured, each, result)
        for each, result in zip(measured.metrics, results, strict=True)
    ]
    compared = measured.compared(0)
    return verdict_of(
        Evidence(
            exposures=body,
            metrics=metrics,
            planned=planned_body(measured.plan, body, len(compared) + 1, days, has_ended=False),
            days=days,
            baseline=measured.baseline,
            is_protected=measured.stats.method.is_protected,
            effect=measured.plan.effect,
            are_groups=measured.group_type_index is not None,
            split=dict(measured.percentages(0)),
        )
    )


def _evaluated(measured: MeasuredExperiment, each: MeasuredMetric, counts: Counts) -> MetricBody:
    assert each.metric is not None
    return evaluate(each, each.metric, sums(counts), rules_of(measured, each.role, 0))


def arms(control: tuple[int, int], test: tuple[int, int]) -> Counts:
    return {"control": control, "test": test}


LARGE = arms((10_000, 1000), (10_000, 1150))
LOSING = arms((5000, 250), (5000, 180))
EARLY = arms((1000, 100), (1000, 110))
ONE = experiment(("primary", PURCHASE))


@pytest.mark.parametrize(
    ("given", "code", "variant", "sentence", "reasons"),
    [
        (
            verdict(ONE, LARGE),
            "ship",
            "test",
            "Ship test: between 1.2 % and 30.8 % more conversions than control. "
            "This holds however often you looked.",
            [],
        ),
        (
            verdict(ONE, LOSING),
            "stop",
            "test",
            "Stop: test loses between 3.7 % and 47.0 % of conversions.",
            ["primary_worse"],
        ),
        (
            verdict(ONE, EARLY, days=1),
            "wait",
            None,
            "Not decided: between −27.6 % and +68.8 %. About 57 days left.",
            [],
        ),
        (
            verdict(ONE, LARGE, days=6.9),
            "wait",
            "test",
            "Not decided: test has between 1.2 % and 30.8 % more conversions than control. "
            "A whole week is needed. About 33 days left.",
            ["less_than_a_week"],
        ),
        (
            verdict(ONE, arms((40, 10), (41, 12))),
            "collecting",
            None,
            "Too early: each variant needs 50 people and 5 conversions.",
            ["not-enough-exposures"],
        ),
        (
            verdict(ONE, arms((1000, 4), (1000, 3))),
            "collecting",
            None,
            "Too early: each variant needs 50 people and 5 conversions.",
            ["not-enough-metric-data"],
        ),
        (
            verdict(ONE, arms((57_114, 5711), (57_114, 5720))),
            "keep",
            "control",
            "Keep control: after 57,114 people each, a change of 10 % or more would very likely "
            "have shown.",
            [],
        ),
        (
            verdict(ONE, arms((5000, 500), (5500, 500))),
            "broken",
            None,
            "Do not use these numbers: control has 5,000 people, test 5,500, half each was set.",
            ["split_mismatch"],
        ),
        (
            verdict(replace(ONE, has_forced_variants=True), arms((5000, 500), (5500, 500))),
            "broken",
            None,
            "Do not use these numbers: control has 5,000 people, test 5,500, half each was set.",
            ["split_mismatch", "forced_variants"],
        ),
        (
            verdict(ONE, LARGE, multiple=3000),
            "broken",
            None,
            "Do not use these numbers: 13.0 % of the people saw several variants.",
            ["multiple_variants"],
        ),
        (
            verdict(ONE, {}, counts={}, without_variant=31),
            "no_exposures",
            None,
            "Nobody has been counted. The flag was called 31 times without a variant.",
            ["no_variant"],
        ),
        (
            verdict(ONE, {}, counts={}),
            "no_exposures",
            None,
            "Nobody has been counted.",
            ["flag_not_called"],
        ),
        (
            verdict(experiment(), counts={"control": 900, "test": 901}),
            "wait",
            None,
            "Not decided: there is no primary metric.",
            ["no_primary_metric"],
        ),
        (
            verdict(
                experiment(("primary", PURCHASE), ("guardrail", ERRORS)),
                LARGE,
                arms((10_000, 100), (10_000, 300)),
            ),
            "stop",
            "test",
            "Stop: test harms “Errors”, which is a guardrail.",
            ["guardrail_harmed"],
        ),
        (
            verdict(experiment(("primary", ERRORS)), arms((10_000, 1050), (10_000, 1000))),
            "wait",
            None,
            "Not decided: between −16.5 % and +8.6 %. About 66 days left.",
            [],
        ),
        (
            verdict(experiment(("primary", ERRORS)), arms((10_000, 1500), (10_000, 1000))),
            "ship",
            "test",
            "Ship test: between 24.9 % and 41.0 % fewer “Errors” than control. "
            "This holds however often you looked.",
            [],
        ),
        (
            verdict(experiment(("primary", ERRORS)), arms((10_000, 1000), (10_000, 1500))),
            "stop",
            "test",
            "Stop: test has between 33.2 % and 69.4 % more “Errors” than control.",
            ["primary_worse"],
        ),
        (
            verdict(experiment(("secondary", PURCHASE), ("primary", PURCHASE)), LOSING, EARLY),
            "wait",
            None,
            "Not decided: between −27.6 % and +68.8 %. About 146 days left.",
            [],
        ),
    ],
)
def test_a_verdict(
    given: VerdictBody, code: str, variant: str | None, sentence: str, reasons: list[str]
) -> None:
    assert (given.code, given.variant, given.sentence, given.reasons) == (
        code,
        variant,
        sentence,
        reasons,
    )


@pytest.mark.parametrize("name", ["fixed", "bayesian"])
def test_a_method_that_holds_once_waits_for_the_plan(name: Any) -> None:
    once = experiment(("primary", PURCHASE), method=Method(name))
    reached = replace(once, plan=Plan(units=20_000, effect=10))

    early, late = verdict(once, LARGE), verdict(reached, LARGE)

    assert (early.code, early.reasons) == ("wait", ["method_holds_once"])
    assert late.code == "ship"
    assert "however often" not in late.sentence
    assert verdict(once, LOSING).code == "wait"


def test_no_plan_never_keeps() -> None:
    unplanned = replace(ONE, plan=Plan())

    found = verdict(unplanned, arms((500_000, 50_000), (500_000, 50_010)))

    assert found.code == "wait"
    assert found.sentence.startswith("Not decided: between −")
    assert "left" not in found.sentence


def test_planned_days_count_where_no_units_are_planned() -> None:
    by_days = replace(ONE, plan=Plan(days=14))

    assert verdict(by_days, EARLY, days=10).sentence.endswith("About 4 days left.")
    assert verdict(by_days, EARLY, days=13.5).sentence.endswith("About 1 day left.")
    assert verdict(by_days, EARLY, days=14).sentence == (
        "Keep control: after as long as planned, a change of what was planned would very likely "
        "have shown."
    )


def test_a_small_mismatch_of_many_is_a_warning() -> None:
    counts = arms((5_020_000, 502_000), (4_980_000, 498_000))

    body = exposures_body(ONE, exposures({key: n for key, (n, _) in counts.items()}), 0)

    assert body.warnings == ["small_split_mismatch"]
    assert verdict(ONE, counts).code != "broken"


@pytest.mark.parametrize(
    ("split", "multiple", "warnings"),
    [
        (HALVES, 100, []),
        (HALVES, 150, ["multiple_variants"]),
        ({"control": 90.0, "test": 10.0}, 20, ["multiple_variants"]),
    ],
)
def test_units_with_several_variants_are_a_warning(
    split: dict[str, float], multiple: int, warnings: list[str]
) -> None:
    measured = experiment(("primary", PURCHASE), split=split)
    counts = {key: int(share * 100) for key, share in split.items()}

    body = exposures_body(measured, exposures(counts, multiple=multiple), 0)

    assert body.warnings == warnings


def test_an_uneven_split_is_told_in_percent() -> None:
    split = {"control": 40.0, "test": 40.0, "third": 20.0}
    three = experiment(("primary", PURCHASE), split=split)

    found = verdict(three, {"control": (1000, 90), "test": (1005, 99), "third": (400, 40)})

    assert found.sentence == (
        "Do not use these numbers: control has 1,000 people, test 1,005, third 400, "
        "40 %, 40 %, 20 % were set."
    )


def test_groups_are_not_called_people() -> None:
    groups = replace(ONE, group_type_index=0)

    assert "50 groups" in verdict(groups, arms((40, 10), (41, 12))).sentence


def test_a_mean_needs_no_conversions() -> None:
    revenue = experiment(("primary", MeanMetric(source=Node(Entity("buy"), "sum", "n"))))

    found = verdict(revenue, arms((40, 10), (41, 12)))

    assert found.sentence == "Too early: each variant needs 50 people."


def test_a_lift_without_bounds_is_told_as_a_difference() -> None:
    found = verdict(ONE, arms((200, 6), (200, 14)))

    assert found.sentence.startswith("Not decided: between −0.04867 and +0.1287.")


def test_people_who_come_back() -> None:
    metric = RetentionMetric(
        start=Node(Entity("a")), completion=Node(Entity("b")), retention_start=1, retention_end=7
    )

    assert verdict(experiment(("primary", metric)), LARGE).sentence.startswith(
        "Ship test: between 1.2 % and 30.8 % more people who come back than control."
    )


def test_of_several_better_variants_the_best_is_shipped() -> None:
    split = {"control": 34.0, "test": 33.0, "third": 33.0}
    three = experiment(("primary", PURCHASE), split=split)

    found = verdict(three, {"control": (10_200, 1020), "test": (9900, 1250), "third": (9900, 1350)})

    assert (found.code, found.variant) == ("ship", "third")


def test_a_draft_is_not_started() -> None:
    body = exposures_body(ONE, exposures({}), 0)
    planned = planned_body(Plan(), body, 2, 0, has_ended=False)
    draft = Evidence(
        exposures=body,
        metrics=(),
        planned=planned,
        days=0,
        baseline="control",
        split={},
        has_started=False,
    )

    assert verdict_of(draft).sentence == "Not started."


def test_days_that_are_left_follow_from_those_that_came() -> None:
    body = exposures_body(ONE, exposures({"control": 10_000, "test": 10_000}), 0)

    running = planned_body(PLAN, body, 2, 2, has_ended=False)
    ended = planned_body(PLAN, body, 2, 2, has_ended=True)

    assert (running.per_variant, running.reached, running.days_left) == (57_114, 0.1751, 10)
    assert ended.days_left is None
    assert timedelta(days=running.days_left or 0) > timedelta(days=9)
