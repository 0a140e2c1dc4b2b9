"""What runs beside the server for as long as it serves."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog

FOLLOW_AGAIN_S = 5.0

Follower = Callable[[], Awaitable[None]]


@asynccontextmanager
async def beside(*followers: Follower) -> AsyncGenerator[None]:
    """Run them until the end of the block."""
    tasks = [asyncio.create_task(kept_going(follow)) for follow in followers]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def kept_going(follow: Follower, again_s: float = FOLLOW_AGAIN_S) -> None:
    """It ends with the server: an error that nobody foresaw is told, and it is begun again
    after a while."""
    while True:
        try:
            await follow()
            return
        except Exception as error:
            name = getattr(follow, "__qualname__", repr(follow))
            structlog.get_logger().error("follower_failed", follower=name, exc_info=error)
        await asyncio.sleep(again_s)
