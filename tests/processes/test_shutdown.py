"""SIGTERM begins a drain if there is one; what comes after it stops the server."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from fanion.processes.shutdown import Shutdown

WAIT_S, LONG_S = 60.0, 600.0


@contextmanager
def handled(drain_s: float) -> Iterator[Shutdown]:
    """Yield the shutdown of this process, whose signals are its own again afterwards."""
    loop, shutdown = asyncio.get_running_loop(), Shutdown(drain_s)
    numbers = signal.SIGTERM, signal.SIGINT
    before = [signal.getsignal(number) for number in numbers]
    shutdown.handle_signals()
    try:
        yield shutdown
    finally:
        for number, handler in zip(numbers, before, strict=True):
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


async def begin(event: asyncio.Event, number: int) -> None:
    os.kill(os.getpid(), number)
    async with asyncio.timeout(WAIT_S):
        await event.wait()


async def test_without_a_drain_each_signal_stops_at_once() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with handled(0) as shutdown:
            await begin(shutdown.stop, number)

            assert not shutdown.draining.is_set()


async def test_a_drain_ends_by_itself() -> None:
    with handled(0.01) as shutdown:
        await begin(shutdown.draining, signal.SIGTERM)

        async with asyncio.timeout(WAIT_S):
            await shutdown.stop.wait()


async def test_a_second_signal_ends_the_drain() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with handled(LONG_S) as shutdown:
            await begin(shutdown.draining, signal.SIGTERM)
            assert not shutdown.stop.is_set()

            await begin(shutdown.stop, number)


async def test_a_keyboard_interrupt_does_not_drain() -> None:
    with handled(LONG_S) as shutdown:
        await begin(shutdown.stop, signal.SIGINT)

        assert not shutdown.draining.is_set()
