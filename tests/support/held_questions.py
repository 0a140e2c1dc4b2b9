"""Questions that wait in the event store for as long as a test needs."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.application import Home
from tests.support.awaited import SOON_S


class Held:
    """Questions that reach the event store wait there until they are ended or let go.

    answered: so many are answered before
    """

    def __init__(self, real: Any, answered: int) -> None:
        self.asked = asyncio.Semaphore(0)
        self.ended: list[str] = []
        self.go = asyncio.Event()
        self._real = real
        self._answered = answered

    async def question(self, text: str, parameters: Any, token: str, limits: Any) -> Any:
        if self._answered:
            self._answered -= 1
            return await self._real.question(text, parameters, token, limits)
        self.asked.release()
        await self.go.wait()
        return []

    async def cancel_values(self, token: str) -> None:
        self.ended.append(token)
        self.go.set()


@contextmanager
def held(home: Home, answered: int = 0) -> Iterator[Held]:
    """In place of the real store, of which the moment of an end cannot be told."""
    statements = home.site.running.questions.statements
    real = statements._events
    found = Held(real, answered)
    statements._events = found  # type: ignore[assignment]
    try:
        yield found
    finally:
        found.go.set()
        statements._events = real


async def asked(found: Held) -> None:
    """Returns when a question waits in the store."""
    async with asyncio.timeout(SOON_S):
        await found.asked.acquire()
