"""Background tasks of a server: how they are started and ended, and the one loop they all use."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Never

import structlog

# Between attempts after an unexpected error, which is a defect: doubled with each in a row.
FAILURE_BACKOFF_FIRST_S, FAILURE_BACKOFF_MAX_S = 5.0, 60.0

BackgroundTask = Callable[[], Awaitable[None]]
Wait = Callable[[asyncio.Event, float], Awaitable[None]]


@dataclass(slots=True)
class Backoff:
    """Delays in seconds that double up to a maximum."""

    first_s: float
    max_s: float
    _failures: int = 0

    def next_s(self) -> float:
        delay_s = min(self.first_s * 2.0**self._failures, self.max_s)
        if delay_s < self.max_s:
            self._failures += 1
        return delay_s

    def reset(self) -> None:
        self._failures = 0


async def wait_for_event(event: asyncio.Event, timeout_s: float) -> None:
    """Until the event is set, `timeout_s` at most."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()


@asynccontextmanager
async def background_tasks(*tasks: BackgroundTask) -> AsyncGenerator[None]:
    """Run them until the end of the block, where they are cancelled and awaited."""
    running = [asyncio.create_task(_logged(task)) for task in tasks]
    try:
        yield
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def run_loop(
    work: Callable[[], Awaitable[bool | None]],
    interval_s: float,
    failure_event: str,
    expected: tuple[type[Exception], ...],
    *,
    initial_delay_s: float = 0.0,
    wake: asyncio.Event | None = None,
    wait: Wait = wait_for_event,
) -> Never:
    """Run `work` again and again, until cancelled. No error ends the loop.

    work:          returns True when there is more to do at once, without waiting
    failure_event: the name under which expected errors are logged, as warnings
    expected:      of stores that do not answer: work is retried after the interval; other errors
                   are logged with their traceback, and retried with backoff
    wake:          begins the next round when it is set
    wait:          for an event, some seconds at most; tests pass their own
    """
    wake = asyncio.Event() if wake is None else wake
    backoff = Backoff(FAILURE_BACKOFF_FIRST_S, FAILURE_BACKOFF_MAX_S)
    if initial_delay_s:
        await wait(wake, initial_delay_s)
    while True:
        wake.clear()
        delay_s = interval_s
        try:
            has_more = await work()
            backoff.reset()
            if has_more:
                continue
        except expected as error:
            structlog.get_logger().warning(failure_event, reason=str(error))
        except Exception as error:
            _log_failure(work, error)
            delay_s = backoff.next_s()
        await wait(wake, delay_s)


async def _logged(task: BackgroundTask) -> None:
    try:
        await task()
    except Exception as error:
        _log_failure(task, error)


def _log_failure(task: Callable[..., object], error: Exception) -> None:
    name = getattr(task, "__qualname__", repr(task))
    structlog.get_logger().error("background_task_failed", task=name, exc_info=error)
