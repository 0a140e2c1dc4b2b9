"""An event loop with virtual time, in which several processes run, are paused and die.

A process is a context variable. All later steps of its tasks pass through `VirtualLoop.call_soon`
and `call_at`, which hold them back while the process is paused, and for ever once it is dead.
"""

import asyncio
import contextvars
import selectors
from collections.abc import Callable
from random import Random
from typing import Any

# A calculation in a thread takes at most this long.
THREAD_S = 0.02
MAIN = contextvars.Context()


class Stuck(Exception):
    """The error when nothing will ever happen any more."""


class Process:
    """A simulated process.

    Attributes:
        is_running: False while it is paused, and after its death.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_running = True
        self.is_dead = False
        self._parked: list[Callable[[], None]] = []

    def pause(self) -> None:
        self.is_running = False

    def resume(self) -> None:
        if not self.is_dead:
            self._continue()

    def die(self) -> None:
        self.is_running, self.is_dead = False, True

    def revive(self) -> None:
        """Let a dead process run at the end of a simulation, so that its tasks can be cancelled."""
        self._continue()

    def park(self, step: Callable[[], None]) -> None:
        self._parked.append(step)

    def _continue(self) -> None:
        self.is_running = True
        parked, self._parked = self._parked, []
        for step in parked:
            step()


PROCESS: contextvars.ContextVar[Process] = contextvars.ContextVar("PROCESS")


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that never waits: time leaps to the next timer."""

    def __init__(self, random: Random) -> None:
        self._at = 1_000.0
        self._random = random
        super().__init__(_Leap(self))

    def time(self) -> float:
        return self._at

    def leap(self, seconds: float) -> None:
        self._at += seconds

    def call_soon(  # type: ignore[override]
        self,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        context = contextvars.copy_context() if context is None else context
        process = context.get(PROCESS)
        if process is None:
            return super().call_soon(callback, *args, context=context)
        step = _Step(self, process, callback, args, context)
        step.handle = super().call_soon(step.run, context=context)
        return step.handle

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        context = contextvars.copy_context() if context is None else context
        process = context.get(PROCESS)
        if process is None:
            return super().call_at(when, callback, *args, context=context)
        step = _Step(self, process, callback, args, context)
        handle = super().call_at(when, step.run, context=context)
        step.handle = handle
        return handle

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        """Run a function like a thread does: to its end even if its caller no longer waits."""
        future = self.create_future()

        def work() -> None:
            try:
                result = func(*args)
            except BaseException as error:
                if not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result(result)

        self.call_later(self._random.uniform(0.0, THREAD_S), work)
        return future


class _Step:
    """The next step of a process."""

    __slots__ = ("_args", "_callback", "_context", "_loop", "_process", "handle")

    def __init__(
        self,
        loop: VirtualLoop,
        process: Process,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: contextvars.Context,
    ) -> None:
        self._loop, self._process, self._context = loop, process, context
        self._callback, self._args = callback, args
        self.handle: asyncio.Handle | None = None

    def run(self) -> None:
        if self._process.is_running:
            self._callback(*self._args)
        else:
            self._process.park(self._again)

    def _again(self) -> None:
        if self.handle is None or not self.handle.cancelled():
            self._loop.call_soon(self._callback, *self._args, context=self._context)


class _Leap(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Stuck
        if timeout > 0:
            self._loop.leap(timeout)
        return []
