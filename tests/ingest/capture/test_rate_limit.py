"""Token buckets: how much a project may send, and when it may send again."""

import pytest

from fanion.ingest.capture.rate_limit import ProjectRateLimits
from fanion.projects.model import IngestionSettings

ITEMS = IngestionSettings(items_per_second=10, burst_seconds=5)
BYTES = IngestionSettings(bytes_per_second=1000, burst_seconds=2)
BOTH = IngestionSettings(items_per_second=10, bytes_per_second=1000, burst_seconds=1)
SLOW = IngestionSettings(items_per_second=0.1, burst_seconds=1)


@pytest.mark.parametrize(
    ("settings", "requests"),
    [
        # (second, items, bytes) → seconds to wait; 0 if the request is accepted
        (ITEMS, [((0, 50, 0), 0), ((0, 1, 0), 1), ((0.05, 1, 0), 1), ((0.1, 1, 0), 0)]),
        (ITEMS, [((0, 1, 0), 0), ((0, 49, 0), 0), ((0, 1, 0), 1)]),
        # A request larger than the bucket is accepted whole, and worked off.
        (ITEMS, [((0, 1050, 0), 0), ((50, 1, 0), 51), ((100.1, 1, 0), 0), ((100.1, 1, 0), 1)]),
        # A long pause fills the bucket and no more.
        (ITEMS, [((0, 50, 0), 0), ((1e6, 50, 0), 0), ((1e6, 1, 0), 1)]),
        # A refused request takes nothing.
        (ITEMS, [((0, 51, 0), 0), ((0.1, 40, 0), 1), ((0.2, 1, 0), 0)]),
        (BYTES, [((0, 1, 2000), 0), ((0, 1, 1), 1), ((1, 10_000, 999), 0)]),
        (BOTH, [((0, 1, 5000), 0), ((1, 1, 1), 4)]),
        (BOTH, [((0, 50, 1), 0), ((1, 1, 1), 4)]),
        (SLOW, [((0, 1, 0), 0), ((5, 1, 0), 5), ((10, 1, 0), 0)]),
        # A clock that was set back costs nothing and gives nothing.
        (ITEMS, [((100, 50, 0), 0), ((50, 1, 0), 1), ((50.1, 1, 0), 0)]),
    ],
)
def test_a_project_gets_its_rate_and_its_burst(
    settings: IngestionSettings, requests: list[tuple[tuple[float, int, int], int]]
) -> None:
    limits = ProjectRateLimits()

    answered = [limits.wait_s(1, settings, items, size, now) for (now, items, size), _ in requests]

    assert answered == [wait_s for _, wait_s in requests]


def test_a_flood_of_one_project_is_nothing_to_another() -> None:
    limits = ProjectRateLimits()

    flood = [limits.wait_s(1, ITEMS, 10, 0, now / 100) for now in range(1000)]
    others = [limits.wait_s(2, ITEMS, 1, 0, now) for now in range(10)]

    assert sum(wait_s == 0 for wait_s in flood) == 5 + 10  # the burst, then the rate
    assert others == [0] * 10


def test_a_changed_rate_counts_at_once() -> None:
    limits = ProjectRateLimits()
    limits.wait_s(1, ITEMS, 1000, 0, 0)

    faster = IngestionSettings(items_per_second=1_000_000)

    assert limits.wait_s(1, ITEMS, 1, 0, 1) > 1
    assert limits.wait_s(1, faster, 1, 0, 1.1) == 0


def test_a_limit_that_was_lifted_and_set_again_starts_afresh() -> None:
    limits = ProjectRateLimits()
    limits.wait_s(1, ITEMS, 1000, 0, 0)
    limits.wait_s(1, BYTES, 1, 1, 0)

    assert limits.wait_s(1, ITEMS, 1, 0, 0) == 0


def test_memory_is_bounded() -> None:
    limits = ProjectRateLimits(projects_max=2)
    for project_id in (1, 2, 3):
        limits.wait_s(project_id, ITEMS, 1000, 0, 0)

    assert limits.wait_s(1, ITEMS, 1, 0, 0) == 0  # forgotten, so full again
    assert limits.wait_s(3, ITEMS, 1, 0, 0) > 0


def test_nothing_is_limited_by_default() -> None:
    assert not IngestionSettings().is_limited
    assert ITEMS.is_limited
    assert BYTES.is_limited
