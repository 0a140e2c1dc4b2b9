"""Results of metrics from the sums of their variants."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import UNSET

from fanion.experiments.metrics.model import FunnelMetric, MeanMetric, Metric, RatioMetric
from fanion.experiments.metrics.nodes import Node
from fanion.experiments.results.evaluation import TOO_LARGE, evaluate, rules_of
from fanion.experiments.results.experiment import MeasuredExperiment, MeasuredMetric, Role
from fanion.experiments.results.schemas import MetricBody
from fanion.experiments.results.wire import metric_answer
from fanion.experiments.statistics.comparison import Method
from fanion.insights.entities import Entity
from tests.experiments.results.test_verdicts import PURCHASE, experiment, sums

REVENUE = MeanMetric(source=Node(Entity("buy"), "sum", "n"))
LARGE = sums({"control": (10_000, 1000), "test": (10_000, 1150)})


def result(
    metric: Metric,
    given: dict[str, dict[str, Any]],
    role: Role = "primary",
    measured: MeasuredExperiment | None = None,
) -> MetricBody:
    own = measured or experiment((role, metric))
    return evaluate(MeasuredMetric(role, metric, "u"), metric, given, rules_of(own, role, 0))


def six(*values: float | None) -> object:
    return pytest.approx(values, abs=6e-7)


def test_the_answer_of_the_reference() -> None:
    body = result(PURCHASE, LARGE)

    [test] = body.variants
    assert body.baseline is not None
    assert (body.baseline.key, body.baseline.number_of_samples, body.baseline.sum) == (
        "control",
        10_000,
        1000,
    )
    assert body.baseline.mean == 0.1
    assert (test.difference.estimate, test.difference.low, test.difference.high) == six(
        0.015, 0.001306, 0.028694
    )
    assert (test.lift.estimate, test.lift.low, test.lift.high) == six(0.15, 0.012266, 0.308156)
    assert (test.z, test.p_value) == six(3.425274, 0.019395)
    assert (test.significant, test.outcome, test.validation_failures) == (True, "better", [])
    assert test.step_counts == [0] and body.problems == []


def test_alpha_is_shared_by_primary_metrics_and_variants() -> None:
    split = {"control": 34.0, "test": 33.0, "third": 33.0}
    two = experiment(("primary", PURCHASE), ("primary", PURCHASE), split=split)

    primary, secondary = (rules_of(two, role, 0).method.alpha for role in ("primary", "secondary"))

    assert (primary, secondary) == (0.0125, 0.05)
    assert rules_of(two, "guardrail", 0).harm_alpha == 0.05


@pytest.mark.parametrize(("goal", "outcome"), [("increase", "better"), ("decrease", "worse")])
def test_the_goal_says_which_way_is_better(goal: Any, outcome: str) -> None:
    assert result(replace(PURCHASE, goal=goal), LARGE).variants[0].outcome == outcome


def test_a_variant_without_units_is_shown_as_empty() -> None:
    body = result(PURCHASE, {"control": LARGE["control"]})

    [test] = body.variants
    assert (test.number_of_samples, test.mean, test.outcome) == (0, None, None)
    assert test.validation_failures == ["not-enough-exposures", "not-enough-metric-data"]


def test_a_control_of_nothing_leaves_the_difference() -> None:
    given = {
        "control": {"number": 1000, "sum": 0, "sum_squares": 0},
        "test": {"number": 1000, "sum": 500, "sum_squares": 900},
    }

    body = result(REVENUE, given)

    assert body.baseline is not None
    assert body.baseline.validation_failures == ["baseline-mean-is-zero"]
    assert body.variants[0].lift.estimate is None
    assert body.variants[0].outcome == "better"


def test_equal_values_have_no_variance() -> None:
    same = {"number": 1000, "sum": 3000, "sum_squares": 9000}

    assert result(REVENUE, {"control": same, "test": same}).problems == ["no_variance"]


def test_what_was_cut_is_said() -> None:
    own = {"number": 1000, "sum": 30, "sum_squares": 90, "truncated": 1, "high": 0.0}

    assert result(REVENUE, {"control": own, "test": own}).problems == ["truncated", "cap_is_zero"]


def test_numbers_that_are_too_large_are_an_error_alone() -> None:
    given = {"control": {"number": 10, "sum": None, "sum_squares": None}}

    body = result(REVENUE, given)

    assert (body.error, body.baseline, body.variants) == (TOO_LARGE, None, [])


def test_a_ratio_of_nothing_is_not_compared() -> None:
    metric = RatioMetric(numerator=Node(Entity("a")), denominator=Node(Entity("b")))
    own = {"number": 1000, "sum": 30, "sum_squares": 90}
    given = {"control": own, "test": {**own, "denominator_sum": 10, "denominator_sum_squares": 10}}

    body = result(metric, given)

    assert body.baseline is not None
    assert "not-enough-metric-data" in body.baseline.validation_failures
    assert body.variants[0].outcome is None


def test_both_the_adjusted_and_the_raw_numbers_are_answered() -> None:
    own = {"number": 1000, "sum": 800, "sum_squares": 2400}
    before = {"before_sum": 1300, "before_sum_squares": 3700, "product_sum": 2500}
    test = {**own, "sum": 900, "sum_squares": 2600}

    body = result(REVENUE, {"control": {**own, **before}, "test": {**test, **before}})

    [variant] = body.variants
    assert variant.unadjusted is not UNSET
    assert variant.unadjusted.difference.estimate == pytest.approx(0.1)
    assert variant.difference.estimate == pytest.approx(0.1)
    width = (variant.difference.high or 0) - (variant.difference.low or 0)
    raw = variant.unadjusted.difference
    assert width < (raw.high or 0) - (raw.low or 0)


def test_shares_of_starters_that_differ_are_a_problem() -> None:
    from fanion.experiments.metrics.model import RetentionMetric

    metric = RetentionMetric(
        start=Node(Entity("a")), completion=Node(Entity("b")), retention_start=1, retention_end=7
    )
    given = {
        "control": {"number": 3000, "sum": 300, "exposed": 10_000},
        "test": {"number": 4000, "sum": 400, "exposed": 10_000},
    }

    body = result(metric, given)

    assert body.problems == ["starters_differ"]
    assert body.variants[0].exposed == 10_000


@pytest.mark.parametrize(
    ("tolerance", "test", "outcome"),
    [(0.0, 300, "harmed"), (0.0, 101, "not_harmed_so_far"), (5.0, 101, "safe")],
)
def test_a_guardrail_has_its_own_outcome(tolerance: float, test: int, outcome: str) -> None:
    errors = MeanMetric(source=Node(Entity("error"), "dau"), goal="decrease", tolerance=tolerance)
    given = sums({"control": (10_000, 100), "test": (10_000, test)})

    [variant] = result(errors, given, "guardrail").variants

    assert variant.outcome == outcome
    assert variant.harm is not UNSET and variant.harm.estimate is not None


def test_a_guardrail_below_the_gates_says_nothing() -> None:
    given = sums({"control": (40, 10), "test": (40, 30)})

    [variant] = result(PURCHASE, given, "guardrail").variants

    assert variant.outcome is None
    assert variant.harm is not UNSET and variant.harm.p_value is None


@pytest.mark.parametrize(
    ("method", "names"),
    [
        (Method(), {"p_value": 0.019395, "confidence_interval": [0.012266, 0.308156]}),
        (Method("fixed"), {"p_value": 0.001414, "confidence_interval": [0.057897, 0.242103]}),
        (
            Method("bayesian"),
            {"chance_to_win": 0.999294, "credible_interval": [0.057903, 0.242097]},
        ),
    ],
    ids=["sequential", "fixed", "bayesian"],
)
def test_the_answer_in_posthogs_shape(method: Method, names: dict[str, Any]) -> None:
    measured = experiment(("primary", PURCHASE), method=method)
    body = result(PURCHASE, LARGE, measured=measured)

    answer = metric_answer(body, measured.stats, {"kind": "ExperimentMetric"})

    [variant] = answer["variant_results"]
    assert answer["kind"] == "ExperimentQuery"
    assert answer["baseline"] == {
        "key": "control",
        "number_of_samples": 10_000,
        "sum": 1000,
        "sum_squares": 1000,
        "step_counts": [0],
        "validation_failures": [],
    }
    assert variant["method"] == ("bayesian" if method.name == "bayesian" else "frequentist")
    assert variant["significant"]
    for name, value in names.items():
        assert variant[name] == pytest.approx(value, abs=6e-7)


def test_an_interval_without_bounds_is_null_on_the_wire() -> None:
    given = sums({"control": (200, 6), "test": (200, 14)})
    measured = experiment(("primary", PURCHASE))

    answer = metric_answer(result(PURCHASE, given, measured=measured), measured.stats, {})

    assert answer["variant_results"][0]["confidence_interval"] is None


def test_a_funnel_counts_its_steps() -> None:
    metric = FunnelMetric(series=(Node(Entity("a")), Node(Entity("b"))))
    own = {"number": 100, "sum": 20, "sum_squares": 20, "step_0": 50, "step_1": 20}

    body = result(metric, {"control": own, "test": own})

    assert body.baseline is not None and body.baseline.step_counts == [50, 20]
