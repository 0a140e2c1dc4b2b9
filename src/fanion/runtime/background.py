"""The background tasks of a server, and the one loop they all use."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from time import perf_counter
from typing import Final, Never, Protocol

import structlog

from fanion.runtime.failure_log import FailureLog

# The time between attempts after an unexpected error, which is a defect; doubled with each in a
# row.
FAILURE_BACKOFF_FIRST_S, FAILURE_BACKOFF_MAX_S = 5.0, 60.0

_DOUBLINGS_MAX = 60  # more overflow a float in the end

# Loops wait for moments that they have in common, so that an idle process wakes up once for several
# of them: those that wait for a second or more for full seconds of the loop's clock.
STEPS_S: Final = (1.0, 0.5, 0.2)

BackgroundTask = Callable[[], Awaitable[None]]
Wait = Callable[[asyncio.Event, float], Awaitable[None]]


class JobObserver(Protocol):
    """Is told about each run of a background job."""

    def succeeded(self, seconds: float) -> None: ...
    def failed(self, seconds: float) -> None: ...


_observer: ContextVar[JobObserver | None] = ContextVar("job_observer", default=None)


async def run_observed(task: BackgroundTask, observer: JobObserver) -> None:
    """Run a task, and report each round of its loops to an observer."""
    _observer.set(observer)
    await task()


def backoff_s(failures: int, first_s: float, max_s: float) -> float:
    """Return the delay after some failures in a row, doubled with each, up to a maximum.

    Args:
        failures: From 1.
    """
    return min(first_s * 2.0 ** min(failures - 1, _DOUBLINGS_MAX), max_s)


@dataclass(slots=True)
class Backoff:
    """The delays between attempts, in seconds, doubled up to a maximum."""

    first_s: float
    max_s: float
    _failures: int = 0

    def next_s(self) -> float:
        self._failures += 1
        return backoff_s(self._failures, self.first_s, self.max_s)

    def reset(self) -> None:
        self._failures = 0


async def wait_for_event(event: asyncio.Event, timeout_s: float) -> None:
    """Wait until the event is set, but at most `timeout_s` seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()


async def wait_in_step(event: asyncio.Event, timeout_s: float) -> None:
    """Wait until the event is set, but at most to the common moment that is next to the timeout."""
    await wait_for_event(event, seconds_in_step(timeout_s))


def seconds_in_step(delay_s: float) -> float:
    """Return the seconds from now to the common moment closest to a delay."""
    now = asyncio.get_running_loop().time()
    return common_moment(now, delay_s) - now


def common_moment(now: float, delay_s: float) -> float:
    """Return when to go on after a delay, at most half a step earlier or later; see `STEPS_S`.

    Args:
        now: Seconds of a clock that only moves forward.
    """
    for step_s in STEPS_S:
        if delay_s >= step_s:
            return round((now + delay_s) / step_s) * step_s
    return now + delay_s


@asynccontextmanager
async def background_tasks(*tasks: BackgroundTask) -> AsyncGenerator[None]:
    """Run tasks until the end of the block, then cancel and await them."""
    running = [asyncio.create_task(_run_logged(task)) for task in tasks]
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
    wait: Wait = wait_in_step,
    retry_s: float | None = None,
    failures: FailureLog | None = None,
) -> Never:
    """Run `work` again and again until cancelled. No error ends the loop.

    Args:
        work: Returns True if there is more to do at once, without waiting.
        failure_event: The name under which expected errors are logged as warnings: the first one
            at once, and how many there were when they have ended.
        expected: The errors of stores that do not answer; work is then retried after the interval.
            Other errors are logged with their traceback, counted alike, and retried with backoff.
        retry_s: Replaces the interval after expected errors.
        failures: Shared with loops that fail together.
        wake: Begins the next round when it is set.
        wait: Waits for an event, but at most some seconds; tests pass their own.
    """
    wake = asyncio.Event() if wake is None else wake
    backoff = Backoff(FAILURE_BACKOFF_FIRST_S, FAILURE_BACKOFF_MAX_S)
    failures = FailureLog(failure_event) if failures is None else failures
    defects: dict[str, FailureLog] = {}  # only the latest defect, by its text
    observer = _observer.get() or _Unobserved()
    if initial_delay_s:
        await wait(wake, initial_delay_s)
    while True:
        wake.clear()
        delay_s, started = interval_s, perf_counter()
        try:
            has_more = await work()
            observer.succeeded(perf_counter() - started)
            backoff.reset()
            failures.succeeded()
            _end_defects(defects)
            if has_more:
                continue
        except expected as error:
            observer.failed(perf_counter() - started)
            failures.failed(str(error))
            delay_s = interval_s if retry_s is None else retry_s
        except Exception as error:
            observer.failed(perf_counter() - started)
            _log_defect(defects, work, error)
            delay_s = backoff.next_s()
        await wait(wake, delay_s)


class _Unobserved:
    def succeeded(self, seconds: float) -> None: ...
    def failed(self, seconds: float) -> None: ...


async def _run_logged(task: BackgroundTask) -> None:
    try:
        await task()
    except Exception as error:
        structlog.get_logger().error("background_task_failed", task=_name_of(task), exc_info=error)


def _log_defect(
    defects: dict[str, FailureLog], work: Callable[..., object], error: Exception
) -> None:
    if str(error) not in defects:
        defects.clear()
        defects[str(error)] = FailureLog("background_task_failed", level="error")
    defects[str(error)].failed(str(error), task=_name_of(work), exc_info=error)


def _end_defects(defects: dict[str, FailureLog]) -> None:
    for failures in defects.values():
        failures.succeeded()


def _name_of(task: Callable[..., object]) -> str:
    return getattr(task, "__qualname__", repr(task))
