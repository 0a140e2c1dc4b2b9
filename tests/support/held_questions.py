"""Questions that wait in the event store for as long as a test needs."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fanion.events.storage.compiled_query import QuestionLimits, QuestionResult, StatementResult
from fanion.insights.calculation.statements_service import QuestionStore
from tests.support.application import Tenant
from tests.support.awaited import SOON_S


class HoldingQuestionStore:
    """An event store in which questions wait until they are cancelled or released.

    Attributes:
        answered: The number of questions that are answered before.
    """

    def __init__(self, real: QuestionStore, answered: int) -> None:
        self.asked = asyncio.Semaphore(0)
        self.ended: list[str] = []
        self.go = asyncio.Event()
        self._real = real
        self._answered = answered

    async def ask(
        self, statement: str, parameters: Mapping[str, Any], seconds_max: int, /
    ) -> StatementResult:
        return await self._real.ask(statement, parameters, seconds_max)

    async def question(
        self, text: str, parameters: Mapping[str, Any], limits: QuestionLimits, /
    ) -> QuestionResult:
        if self._answered:
            self._answered -= 1
            return await self._real.question(text, parameters, limits)
        self.asked.release()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.ended.append(text)
            raise
        return QuestionResult([], 0)


@contextmanager
def hold_questions(tenant: Tenant, answered: int = 0) -> Iterator[HoldingQuestionStore]:
    """Replace the real store, whose moment of an end cannot be known, until the block ends."""
    statements = tenant.server.running.questions.statements
    real = statements.events
    store = HoldingQuestionStore(real, answered)
    statements.events = store
    try:
        yield store
    finally:
        store.go.set()
        statements.events = real


async def wait_until_asked(store: HoldingQuestionStore) -> None:
    """Wait until a question waits in the store."""
    async with asyncio.timeout(SOON_S):
        await store.asked.acquire()
