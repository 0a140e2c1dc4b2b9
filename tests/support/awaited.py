"""Waits for the effects of another process, which cannot signal them."""

import asyncio
import time
from collections.abc import Awaitable, Callable

SOON_S = 120.0  # a server takes 20 s to start on a busy machine
LOOK_S = 0.005


def until(
    holds: Callable[[], object], problem: str, seconds: float = SOON_S, look_s: float = LOOK_S
) -> None:
    """Wait until `holds` returns true.

    Args:
        problem: The message if it does not hold in time.
        look_s: Seconds between two checks.

    Raises:
        AssertionError: It does not hold in time.
    """
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up, problem
        time.sleep(look_s)


def has_caught_up(metrics: str) -> bool:
    """Return whether everything that a server has accepted is ingested.

    Events are visible a moment earlier than the persons and groups that they change. Queries of
    events see those a moment after their commit: 10 s after a crash, with PostgreSQL 30 s.

    Args:
        metrics: The answer of its /metrics.
    """
    nothing_waits = "\nfanion_log_lag_envelopes 0.0\n", "\nfanion_changes_to_mirror 0.0\n"
    return all(line in metrics for line in nothing_waits)


async def until_soon(holds: Callable[[], Awaitable[bool]], problem: str) -> None:
    """Wait until `holds` returns true, for effects in the same event loop.

    Raises:
        AssertionError: It does not hold in time.
    """
    give_up = time.monotonic() + SOON_S
    while not await holds():
        assert time.monotonic() < give_up, problem
        await asyncio.sleep(LOOK_S)
