"""Waits for effects of another process, which cannot signal them."""

import asyncio
import time
from collections.abc import Awaitable, Callable

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


async def until_soon(holds: Callable[[], Awaitable[bool]], problem: str) -> None:
    """The same, of what takes part in this loop. raises: AssertionError"""
    give_up = time.monotonic() + SOON_S
    while not await holds():
        assert time.monotonic() < give_up, problem
        await asyncio.sleep(LOOK_S)
