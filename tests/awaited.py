"""Waiting for what a process of its own does, and cannot tell."""

import time
from collections.abc import Callable

SOON_S = 60.0
LOOK_S = 0.005


def until(
    holds: Callable[[], object], problem: str, seconds: float = SOON_S, look_s: float = LOOK_S
) -> None:
    """raises: AssertionError with the problem when it does not hold in time"""
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up, problem
        time.sleep(look_s)
