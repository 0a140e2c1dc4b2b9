"""The network between processes and stores: delays, failures, lost answers, and a trace of all."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from tests.simulation.loop import MAIN, PROCESS, VirtualLoop

T = TypeVar("T")
TRACED = 4_000


@dataclass(slots=True)
class Network:
    """The network of a simulation.

    Attributes:
        is_calm: Whether faults are over.
        is_closed: Whether the simulation is over; no call is answered any more.
        late_s: How long an insert may still land after its process was told, or has died.
    """

    loop: VirtualLoop
    random: Random
    late_s: float = 0.5
    is_calm: bool = False
    is_closed: bool = False
    trace: deque[str] = field(default_factory=lambda: deque(maxlen=TRACED))

    def note(self, what: str) -> None:
        process = PROCESS.get(None)
        name = "-" if process is None else process.name
        self.trace.append(f"{self.loop.time() - 1_000:9.4f} {name:<4} {what}")

    def delay(self) -> float:
        """Return the delay of one way."""
        if self.is_calm or self.random.random() < 0.9:
            return self.random.uniform(0.0002, 0.01)
        return self.random.uniform(0.01, 0.4) if self.random.random() < 0.95 else 2.0

    def chance(self, probability: float) -> bool:
        return not self.is_calm and self.random.random() < probability

    async def wait(self, seconds: float) -> None:
        if self.is_closed:
            raise asyncio.CancelledError
        await asyncio.sleep(seconds)

    def later(self, seconds: float, effect: Callable[[], object]) -> None:
        """Let an effect happen at a store, whatever happens to the process that requested it."""
        self.loop.call_later(seconds, effect, context=MAIN)


@dataclass(slots=True)
class Link:
    """The link from one process to one store. It fails until `cut_until`."""

    network: Network
    failure: Callable[[str], Exception]
    fails: float = 0.01
    cut_until: float = 0.0

    @property
    def _is_cut(self) -> bool:
        return not self.network.is_calm and self.network.loop.time() < self.cut_until

    async def request(self) -> None:
        """Reach the store, or raise the failure before the store was reached."""
        network = self.network
        if network.is_closed:
            raise asyncio.CancelledError
        await asyncio.sleep(network.delay())
        if self._is_cut or network.chance(self.fails):
            await asyncio.sleep(network.random.uniform(0.0, 1.0))
            raise self.failure("unreachable")

    async def answer(self) -> None:
        """Return from the store, or raise the failure after the store has done its work."""
        network = self.network
        if network.is_closed:
            raise asyncio.CancelledError
        await asyncio.sleep(network.delay())
        if self._is_cut or network.chance(self.fails):
            raise self.failure("the answer was lost")

    async def call(self, effect: Callable[..., T], *args: Any) -> T:
        await self.request()
        result = effect(*args)
        await self.answer()
        return result
