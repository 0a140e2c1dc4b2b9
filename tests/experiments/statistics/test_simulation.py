"""Simulated experiments that somebody looks at every day: how often answers are wrong.

Each line of a table was simulated when the methods were chosen; here a seed repeats it, with few
runs in `make test`, which find a method that is wrong, and with many in `make test-all`, which tell
its rate.

Source: experiments.md, sections 4a and 5d.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from fanion.experiments.statistics.comparison import Method, compare
from fanion.experiments.statistics.guardrails import check_harm, harm_of
from fanion.experiments.statistics.samples import BinarySample, MeanSample, Sample

DAYS = 30
SEED = 20_260_901
Numbers = NDArray[np.float64]
# Returns the summed values and squares of each day and run, for so many units a day.
Draw = Callable[[np.random.Generator, int, tuple[int, int]], tuple[Numbers, Numbers]]


def conversions(rate: float) -> Draw:
    def draw(
        chance: np.random.Generator, units: int, shape: tuple[int, int]
    ) -> tuple[Numbers, Numbers]:
        sums = chance.binomial(units, rate, shape).astype(float)
        return sums, sums

    return draw


def revenue(
    chance: np.random.Generator, units: int, shape: tuple[int, int]
) -> tuple[Numbers, Numbers]:
    """Draw lognormal amounts of which most are 0."""
    buys = chance.random((*shape, units)) < 0.1
    amounts = np.where(buys, chance.lognormal(3.0, 1.5, (*shape, units)), 0.0)
    return amounts.sum(-1), (amounts**2).sum(-1)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: who comes, and the false alarms of each method, in percent."""

    units: int
    draw: Draw
    sequential: float
    fixed: float | None = None
    is_binary: bool = True

    def samples(self, sums: Numbers, squares: Numbers, day: int) -> list[Sample]:
        number = self.units * (day + 1)
        if self.is_binary:
            return [BinarySample(number, float(each)) for each in sums[:, day]]
        return [
            MeanSample(number, float(each), float(square))
            for each, square in zip(sums[:, day], squares[:, day], strict=True)
        ]

    def alarms(self, method: Method, runs: int) -> float:
        """Return the share of runs without any difference in which a look finds one."""
        chance = np.random.default_rng(SEED)
        draws = [self.draw(chance, self.units, (runs, DAYS)) for _ in range(2)]
        arms = [(sums.cumsum(1), squares.cumsum(1)) for sums, squares in draws]
        wrong = np.zeros(runs, bool)
        for day in range(DAYS):
            controls, tests = (self.samples(sums, squares, day) for sums, squares in arms)
            pairs = zip(controls, tests, strict=True)
            wrong |= [compare(control, test, method).is_significant for control, test in pairs]
        return float(wrong.mean())


LINES = {
    "50 a day, 5 %": Line(50, conversions(0.05), 0.8, 25),
    "1000 a day, 5 %": Line(1000, conversions(0.05), 1.5, 28),
    "200 a day, 1 %": Line(200, conversions(0.01), 1.1, 23),
    "revenue, 100 a day": Line(100, revenue, 0.3, is_binary=False),
}


def within_error(percent: float, runs: int) -> float:
    """Return the share above which a rate is not one of `percent` by chance (four errors)."""
    share = percent / 100
    return share + 4 * sqrt(share * (1 - share) / runs)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_daily_looks_rarely_find_what_is_not_there(line: Line) -> None:
    runs = 100

    assert line.alarms(Method(), runs) <= within_error(line.sequential, runs)


def test_a_fixed_test_finds_it_often_when_looked_at_daily() -> None:
    assert LINES["1000 a day, 5 %"].alarms(Method("fixed"), 100) > 0.15


@pytest.mark.long("simulates thousands of experiments")
@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_the_rates_of_false_alarms(line: Line) -> None:
    runs = 2000

    rate = line.alarms(Method(), runs)

    assert rate <= within_error(line.sequential, runs)
    assert rate <= 0.05


@pytest.mark.long("simulates thousands of experiments")
@pytest.mark.parametrize("name", [name for name, line in LINES.items() if line.fixed])
def test_the_rates_of_false_alarms_of_a_fixed_test(name: str) -> None:
    line, runs = LINES[name], 1000
    assert line.fixed is not None
    error = 4 * sqrt(line.fixed / 100 * (1 - line.fixed / 100) / runs)

    assert line.alarms(Method("fixed"), runs) == pytest.approx(line.fixed / 100, abs=error + 0.02)


def found_of_planned(runs: int, effect: float) -> tuple[float, float]:
    """Return the share of runs that find the effect by the 14th day, and their mean day.

    The plan is of example 15: 57,114 units in each arm find 10 % of 5 %.
    """
    planned, days, chance = 57_114, 14, np.random.default_rng(SEED)
    daily, method = planned // days, Method(tuning=2 * planned)
    control = chance.binomial(daily, 0.05, (runs, days)).cumsum(1)
    test = chance.binomial(daily, 0.05 * (1 + effect), (runs, days)).cumsum(1)
    first = np.full(runs, days + 1)
    for run in range(runs):
        for day in range(days):
            number = daily * (day + 1)
            known, new = (BinarySample(number, int(arm[run, day])) for arm in (control, test))
            if compare(known, new, method).is_significant:
                first[run] = day + 1
                break
    is_found = first <= days
    return float(is_found.mean()), float(np.minimum(first, days).mean())


def test_a_planned_effect_is_found_and_sooner_than_planned() -> None:
    share, days = found_of_planned(200, 0.1)

    assert share == pytest.approx(0.84, abs=0.11)
    assert days == pytest.approx(8.9, abs=1.3)


@pytest.mark.long("simulates thousands of experiments")
def test_the_power_of_a_plan() -> None:
    share, days = found_of_planned(3000, 0.1)
    _, sooner = found_of_planned(500, 0.2)

    assert share == pytest.approx(0.84, abs=0.03)
    assert days == pytest.approx(8.9, abs=0.3)
    assert sooner == pytest.approx(0.24 * 14, abs=0.4)


def harm_alarms(runs: int, users: int, rates: tuple[float, float]) -> Numbers:
    """Return the hour of each run's first alarm within a week of hourly looks, else infinity."""
    hours, chance = 168, np.random.default_rng(SEED)
    control, test = (chance.binomial(users, rate, (runs, hours)).cumsum(1) for rate in rates)
    first = np.full(runs, np.inf)
    for run in range(runs):
        for hour in range(hours):
            number = users * (hour + 1)
            errors = int(control[run, hour]), int(test[run, hour])
            if sum(errors) < 10 or number < 100:
                continue
            known, new = (BinarySample(number, each) for each in errors)
            if check_harm(harm_of(known, new, "decrease")).outcome == "harmed":
                first[run] = hour + 1
                break
    return first


def test_a_guard_finds_harm_within_hours() -> None:
    doubled = harm_alarms(60, 200, (0.01, 0.02))

    assert np.median(doubled) == pytest.approx(11, abs=5)


@pytest.mark.long("simulates thousands of releases")
@pytest.mark.parametrize(
    ("users", "rate", "hours"), [(200, 0.02, 11), (200, 0.03, 5), (200, 0.015, 31), (20, 0.02, 81)]
)
def test_the_hours_until_a_guard_alarms(users: int, rate: float, hours: int) -> None:
    alarms = harm_alarms(1000, users, (0.01, rate))

    assert np.median(alarms) == pytest.approx(hours, rel=0.2, abs=1)


@pytest.mark.long("simulates thousands of releases")
@pytest.mark.parametrize("users", [20, 200])
def test_the_false_alarms_of_a_guard(users: int) -> None:
    alarms = harm_alarms(1000, users, (0.01, 0.01))

    assert np.isfinite(alarms).mean() <= within_error(2.6, 1000)
