"""What runs beside the server."""

import asyncio

from fanion.runtime.background import kept_going


async def test_a_follower_that_fails_is_begun_again() -> None:
    began = 0

    async def follow() -> None:
        nonlocal began
        began += 1
        if began < 3:
            raise ValueError("nobody foresaw this")

    await asyncio.wait_for(kept_going(follow, again_s=0), 5)

    assert began == 3
