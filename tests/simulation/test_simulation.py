"""Several servers store each event once, with persons as the log says and no orphan.

The product's own code runs in virtual time, over stores in memory, with delays, lost answers,
pauses and deaths at every await. A failing test is repeated by its number, and prints what
happened. The steps within a transaction are not simulated: each transaction is one instant.
"""

import os

import numpy as np
import pytest

from fanion.ingest.pipeline import bloom_filter
from tests.simulation.checker import Violation
from tests.simulation.world import Simulation

SEEDS = int(os.environ.get("FANION_TEST_SIMULATION_SEEDS", "30"))
# As many as `make test` runs.
QUICK = 5
FILTER_BITS = 16


@pytest.fixture(autouse=True)
def small_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shrink the filters: most of the time would be spent on clearing those of full size."""
    monkeypatch.setattr(bloom_filter, "_BITS", FILTER_BITS)
    monkeypatch.setattr(bloom_filter, "_MASK", np.uint64((1 << FILTER_BITS) - 1))


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=() if seed < QUICK else pytest.mark.long("more of the same"))
        for seed in range(SEEDS)
    ],
)
def test_what_was_accepted_is_there_once_and_in_order(seed: int) -> None:
    simulation = Simulation(seed)
    try:
        simulation.run()
    except Violation:
        print("\n".join(simulation.network.trace))
        raise


def test_a_seed_decides_everything() -> None:
    traces = []
    for _ in range(2):
        simulation = Simulation(7)
        simulation.run()
        traces.append([line.partition(" ms=")[0] for line in simulation.network.trace])

    assert traces[0] == traces[1]
