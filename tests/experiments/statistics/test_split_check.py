"""The split check beyond the worked example."""

import pytest

from fanion.experiments.statistics.split_check import check_split

HALVES = {"control": 50.0, "test": 50.0}


def test_nothing_is_said_below_a_hundred() -> None:
    assert check_split({"control": 99, "test": 0}, HALVES).p_value is None
    assert check_split({"control": 100, "test": 0}, HALVES).is_mismatch


def test_percentages_are_scaled() -> None:
    check = check_split({"control": 100, "test": 300}, {"control": 10, "test": 30})

    assert (check.statistic, check.p_value) == (0, 1)
    assert check.expected == {"control": 100, "test": 300}


def test_arms_without_a_share_are_left_out() -> None:
    check = check_split({"control": 60, "test": 60, "old": 50}, {**HALVES, "old": 0})

    assert set(check.expected) == {"control", "test"}
    assert check.p_value == 1


@pytest.mark.parametrize(
    ("counts", "percentages"),
    [({}, HALVES), ({"control": 500}, {"control": 100.0}), ({"control": 500}, {})],
)
def test_nothing_is_checked_without_two_arms_and_a_unit(
    counts: dict[str, int], percentages: dict[str, float]
) -> None:
    check = check_split(counts, percentages)

    assert (check.statistic, check.p_value, check.is_mismatch) == (None, None, False)


def test_a_small_mismatch_of_millions_is_small() -> None:
    small = check_split({"control": 5_020_000, "test": 4_980_000}, HALVES)
    large = check_split({"control": 50_600, "test": 49_400}, HALVES)

    assert small.is_mismatch and small.is_small
    assert large.is_mismatch and not large.is_small
