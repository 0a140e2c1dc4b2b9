"""Delays after wrong codes grow to a limit, and never lock an account."""

from datetime import timedelta

import pytest

from fanion.accounts.second_factor.codes import DELAY_MAX_S, FREE_FAILURES, delay_s, wait_s
from tests.support.management import NOW


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(0, 0), (4, 0), (5, 2), (6, 4), (7, 8), (13, 512), (14, 900), (15, 900), (10**9, 900)],
)
def test_delays_double_to_a_limit(failures: int, seconds: float) -> None:
    assert delay_s(failures) == seconds


@pytest.mark.parametrize(
    ("passed_s", "wait"), [(0, 2), (0.5, 2), (1.5, 1), (2, 0), (99, 0), (-3600, 2)]
)
def test_time_that_has_passed_counts(passed_s: float, wait: int) -> None:
    assert wait_s(FREE_FAILURES, NOW, NOW + timedelta(seconds=passed_s)) == wait


def test_without_a_failure_there_is_no_delay() -> None:
    assert wait_s(0, None, NOW) == 0
    assert wait_s(10**6, NOW, NOW + timedelta(seconds=DELAY_MAX_S)) == 0
