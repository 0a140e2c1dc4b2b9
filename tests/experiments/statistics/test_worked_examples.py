"""The worked examples of the reference for comparisons, guardrails, splits and plans.

Those that need events, 16 and 18, are tested where values of units are calculated.

Source: experiments.md, section 3, "Worked examples".
"""

from dataclasses import dataclass
from math import ceil

import pytest

from fanion.experiments.statistics.comparison import (
    Comparison,
    Method,
    compare,
    compare_formulas,
    failures_of,
)
from fanion.experiments.statistics.distributions import normal_quantile
from fanion.experiments.statistics.fixed import welch_degrees
from fanion.experiments.statistics.guardrails import check_harm, harm_of, in_strata
from fanion.experiments.statistics.planning import detection_multiplier, units_together
from fanion.experiments.statistics.samples import (
    BeforeAndAfter,
    BinarySample,
    MeanSample,
    RatioSample,
    Sample,
    adjusted,
)
from fanion.experiments.statistics.sequential import OneSidedTest, SequentialTest
from fanion.experiments.statistics.split_check import check_split

DIGITS = 6
ALWAYS, FIXED, BAYESIAN = Method(), Method("fixed"), Method("bayesian")


def binary(successes: int, number: int) -> BinarySample:
    return BinarySample(number, successes)


def of(values: list[float]) -> MeanSample:
    return MeanSample(len(values), sum(values), sum(value**2 for value in values))


def close(digits: int, *values: float | None) -> object:
    """Return an object that equals numbers which are rounded to so many digits."""
    return pytest.approx(values, abs=0.6 * 10**-digits)


CONVERSIONS = binary(100, 1000), binary(110, 1000)
SIGN_UPS = binary(87, 1529), binary(62, 1471)
LARGE = binary(1000, 10_000), binary(1150, 10_000)
REVENUE = MeanSample(2507, 1196.87, 37377.9767), MeanSample(2461, 1922.7, 94698.29)
BASKETS = (
    RatioSample(1966, 94605.79858780127, 10463129.505392816, 936, 936, 94605.79858780127),
    RatioSample(2034, 99673.9364269569, 11298745.182728939, 947, 947, 99673.9364269569),
)


@dataclass(frozen=True, slots=True)
class Case:
    """The arms of an example, and the answer of the always-valid test."""

    arms: tuple[Sample, Sample]
    difference: tuple[float, float, float] | None
    z: float
    q: float | None
    p: float
    lift: tuple[float, float | None, float | None] | None
    method: Method = ALWAYS


CASES = {
    "1": Case(
        CONVERSIONS, (0.01, -0.03282, 0.05282), 0.7295, 3.1238, 1, (0.1, -0.276215, 0.688025)
    ),
    "2": Case(SIGN_UPS, None, -1.8653, 3.0608, 0.569961, (-0.259258, -0.572301, 0.221252)),
    "3": Case(
        LARGE, (0.015, 0.001306, 0.028694), 3.4253, 3.1271, 0.019395, (0.15, 0.012266, 0.308156)
    ),
    "3, tuned": Case(LARGE, None, 3.4253, 3.0352, 0.016330, None, Method(tuning=20_000)),
    "4": Case(REVENUE, None, 2.0843, 3.0352, 0.433652, (0.636467, -0.235647, 2.524115)),
    "6": Case(BASKETS, None, 3.0072, 3.0404, 0.054532, (0.041333, -0.000447, 0.085054)),
    "9": Case(
        (binary(450, 9000), binary(70, 1000)),
        None,
        2.3840,
        3.0615,
        0.283501,
        (0.4, -0.109656, 0.966177),
    ),
    "10": Case(
        (binary(250, 5000), binary(180, 5000)),
        (-0.014, -0.026413, -0.001587),
        -3.4528,
        3.0615,
        0.015076,
        (-0.28, -0.469823, -0.036996),
    ),
    "11, test": Case(
        (binary(400, 4000), binary(460, 4000)),
        None,
        2.1663,
        3.2911,
        0.445289,
        (0.15, -0.070489, 0.427942),
        ALWAYS.shared_by(2),
    ),
    "11, test-2": Case(
        (binary(400, 4000), binary(430, 4000)), None, 1.1, 3.2911, 1, None, ALWAYS.shared_by(2)
    ),
    "13": Case(
        (binary(6, 200), binary(14, 200)), None, 1.8431, 4.0859, 0.661126, (1.333333, None, None)
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_always_valid_test(case: Case) -> None:
    result = compare(*case.arms, case.method)

    number = case.arms[0].number + case.arms[1].number
    sequence = SequentialTest(case.method.alpha, case.method.tuning)
    assert result.z == pytest.approx(case.z, abs=6e-5)
    assert sequence.multiplier(number) == pytest.approx(case.q, abs=6e-5)
    assert result.p_value == pytest.approx(case.p, abs=6e-7)
    if case.difference is not None:
        found = result.difference
        assert (found.estimate, found.low, found.high) == close(DIGITS, *case.difference)
    if case.lift is not None:
        estimate, low, high = case.lift
        assert result.lift.estimate == pytest.approx(estimate, abs=6e-7)
        assert result.lift.low == (low and pytest.approx(low, abs=6e-7))
        assert result.lift.high == (high and pytest.approx(high, abs=6e-7))


def bounds(result: Comparison) -> tuple[float | None, float | None]:
    return result.lift.low, result.lift.high


@pytest.mark.parametrize(
    ("arms", "p", "lift"),
    [
        (CONVERSIONS, 0.486896, (-0.182025, 0.382025)),
        (SIGN_UPS, 0.030961, (-0.494753, -0.023762)),
        (LARGE, 0.001414, (0.057897, 0.242103)),
        (REVENUE, 0.084878, (-0.087547, 1.360482)),
        (BASKETS, 0.003283, (0.013786, 0.06888)),
    ],
    ids=["1", "2", "3", "4", "6"],
)
def test_the_fixed_test_gives_the_numbers_of_posthog(
    arms: tuple[Sample, Sample], p: float, lift: tuple[float, float]
) -> None:
    result = compare(*arms, FIXED)

    assert result.p_value == pytest.approx(p, abs=6e-7)
    assert bounds(result) == close(DIGITS, *lift)
    assert result.is_significant == (p < 0.05)


@pytest.mark.parametrize(
    ("arms", "chance", "lift"),
    [
        (CONVERSIONS, 0.756593, (-0.181853, 0.381853)),
        (REVENUE, 0.957599, (-0.087334, 1.360268)),
    ],
    ids=["1", "4"],
)
def test_the_bayesian_method_gives_the_numbers_of_posthog(
    arms: tuple[Sample, Sample], chance: float, lift: tuple[float, float]
) -> None:
    result = compare(*arms, BAYESIAN)

    assert result.chance_to_win == pytest.approx(chance, abs=6e-7)
    assert bounds(result) == close(DIGITS, *lift)
    assert result.p_value is None


def test_example_2_is_a_loss_for_posthog_only() -> None:
    of_difference = compare(*SIGN_UPS, Method("fixed", is_relative=False))

    assert of_difference.p_value == pytest.approx(0.062232, abs=6e-7)
    assert of_difference.difference.estimate == pytest.approx(-0.014752, abs=6e-7)
    assert not of_difference.is_significant


def test_example_5_is_welchs_formula() -> None:
    control, test = of([0, 0, 1, 2, 0, 3, 1, 0, 0, 1]), of([1, 0, 2, 2, 0, 4, 1, 1, 0, 2])

    result = compare_formulas(control, test, Method("fixed", is_relative=False))

    assert (control.mean, test.mean) == (0.8, 1.3)
    assert (result.z, welch_degrees(control, test), result.p_value) == close(
        DIGITS, 0.974355, 17.373647, 0.343253
    )
    assert failures_of(test) == ["not-enough-exposures"]
    assert compare(control, test, FIXED).p_value is None


def test_example_7_is_a_ratio() -> None:
    control = RatioSample(8, 240, 13600, 10, 20, 510)
    test = RatioSample(8, 315, 18925, 10, 20, 595)

    result = compare_formulas(control, test, ALWAYS)

    assert (control.mean, test.mean) == (24, 31.5)
    assert result.difference.estimate == 7.5
    assert result.z == pytest.approx(7.5 / 4.690416, abs=1e-6)


def test_example_8_is_adjusted_by_what_was_before() -> None:
    after = [0, 0, 1, 2, 0, 3, 1, 0, 0, 1], [1, 0, 2, 2, 0, 4, 1, 1, 0, 2]
    before = [1, 0, 2, 3, 0, 4, 1, 0, 1, 1], [2, 0, 2, 1, 1, 4, 0, 1, 0, 2]

    control, test = adjusted([before_and_after(y, x) for y, x in zip(after, before, strict=True)])
    result = compare_formulas(control, test, ALWAYS)
    raw = compare_formulas(of([*after[0]]), of([*after[1]]), ALWAYS)

    assert control.theta == pytest.approx(0.784768, abs=6e-7)
    assert result.difference.estimate == pytest.approx(0.5)
    assert (error_of(raw), error_of(result)) == close(DIGITS, 0.513160, 0.238071)
    assert 1 - (error_of(result) / error_of(raw)) ** 2 == pytest.approx(0.785, abs=5e-4)


def before_and_after(after: list[int], before: list[int]) -> BeforeAndAfter:
    return BeforeAndAfter(
        len(after),
        sum(after),
        sum(y * y for y in after),
        sum(before),
        sum(x * x for x in before),
        sum(x * y for x, y in zip(before, after, strict=True)),
    )


def error_of(result: Comparison) -> float:
    assert result.difference.estimate is not None and result.z is not None
    return result.difference.estimate / result.z


@pytest.mark.parametrize(
    ("control", "test", "q", "z", "p", "lower"),
    [
        (binary(50, 5000), binary(80, 5000), 2.8013, 2.6494, 0.074335, -0.000344),
        (binary(50, 5000), binary(100, 5000), 2.8013, 4.1169, 0.000718, 0.003196),
        (binary(5, 500), binary(20, 500), 3.1524, 3.0523, 0.060229, None),
    ],
)
def test_example_12_is_a_guardrail(
    control: Sample, test: Sample, q: float, z: float, p: float, lower: float | None
) -> None:
    result = check_harm(harm_of(control, test, "decrease"))

    number = control.number + test.number
    assert (OneSidedTest().multiplier(number), result.z) == close(4, q, z)
    assert result.p_value == pytest.approx(p, abs=6e-7)
    if lower is not None:
        assert result.lower == pytest.approx(lower, abs=6e-7)
    assert (result.outcome == "harmed") == (p < 0.05)


@pytest.mark.parametrize(
    ("counts", "percentages", "statistic", "p"),
    [
        ((5000, 5200), (50, 50), 3.9216, 0.04767),
        ((5000, 5300), (50, 50), 8.7379, 0.003117),
        ((9463, 7681), (50, 50), 185.2266, 3.5e-42),
        ((1000, 1005, 400), (40, 40, 20), 17.0634, 0.000197),
    ],
)
def test_example_14_is_the_split(
    counts: tuple[int, ...], percentages: tuple[int, ...], statistic: float, p: float
) -> None:
    names = "abc"[: len(counts)]

    check = check_split(
        dict(zip(names, counts, strict=True)), dict(zip(names, percentages, strict=True))
    )

    assert check.statistic == pytest.approx(statistic, abs=6e-5)
    assert check.p_value == pytest.approx(p, rel=3e-3)
    assert check.is_mismatch == (p < 0.001)


@pytest.mark.parametrize(
    ("mean", "variance", "effect", "always", "once"),
    [
        (0.05, 0.0475, 0.1, 57_114, 29_826),
        (0.1, 0.09, 0.1, 27_054, 14_128),
        (0.02, 0.0196, 0.2, 36_824, 19_230),
        (12, 900, 0.05, 75_150, 39_245),
    ],
)
def test_example_15_is_a_plan(
    mean: float, variance: float, effect: float, always: int, once: int
) -> None:
    one_look = normal_quantile(0.975) + normal_quantile(0.8)
    needed = [
        units_together(mean, variance, effect, multiplier, [0.5, 0.5])
        for multiplier in (detection_multiplier(0.05, 0.8), one_look)
    ]

    assert [ceil(together / 2) for together in needed] == [always, once]


def test_example_17_keeps_the_steps_of_a_ramp_apart() -> None:
    first = harm_of(binary(90, 9000), binary(12, 1000), "decrease")
    second = harm_of(binary(100, 5000), binary(130, 5000), "decrease")

    together = check_harm(in_strata([first, second]))
    pooled = check_harm(harm_of(binary(190, 14_000), binary(142, 6000), "decrease"))

    assert (first.harm, second.harm, together.harm) == close(DIGITS, 0.002, 0.006, 0.004)
    assert together.standard_error == pytest.approx(0.002342, abs=6e-7)
    assert together.z == pytest.approx(1.7079, abs=6e-5)
    assert pooled.z == pytest.approx(4.60, abs=6e-3)
    assert together.p_value == pytest.approx(0.836142, abs=6e-7)
    assert (together.outcome, pooled.outcome) == ("not_harmed_so_far", "harmed")
