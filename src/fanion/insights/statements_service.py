"""Asks the event store the statements of questions: a few at once, within limits, and no longer
than a client waits for the answer."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID, uuid4

from fanion.errors import Invalid
from fanion.events.event import EventRejected, EventStoreUnavailable, StatementFailed
from fanion.events.storage.client import Rows
from fanion.events.storage.compiled_query import Found, QuestionLimits
from fanion.events.storage.store import SECONDS_MAX
from fanion.insights.gate_service import GateLimits, QuestionGate
from fanion.insights.places_store import SharedPlaces
from fanion.insights.sql.compiler import Statement

# Codes of the engine for what takes too much time, and too much memory or rows.
_TIME: Final = frozenset({159, 160})
_SIZE: Final = frozenset({158, 173, 241, 307, 396})
# A statement that is not running yet cannot be ended.
CANCEL_AGAIN_S: Final = 1.0
# What no client waits for has one place of its own: people never wait in the queue for it, and it
# has at most the share of one question of the engine.
BEHIND: Final = GateLimits(at_once=1, at_once_of_project=1)

_BEHIND: Final = ("behind", BEHIND)

_T = TypeVar("_T")


class QuestionStore(Protocol):
    """As much of `EventStore` as is asked here."""

    async def question(
        self, statement: str, parameters: Mapping[str, Any], token: str, limits: QuestionLimits, /
    ) -> Rows: ...

    async def ask(
        self, statement: str, parameters: Mapping[str, Any], seconds_max: int, /, *, token: str
    ) -> Found: ...

    async def cancel_values(self, token: str, /) -> None: ...


@dataclass(slots=True)
class Statements:
    """Of a server. A statement that is cancelled is ended in the store too, and keeps its turn
    until then.

    places:  that all servers share; None where there is one server
    threads: how many a statement may use now; 0 for as many as the store gives any
    raises (every call): Unavailable, EventStoreUnavailable, Invalid
    """

    events: QuestionStore
    limits: QuestionLimits = field(default_factory=QuestionLimits)
    gate: QuestionGate = field(default_factory=lambda: QuestionGate(GateLimits()))
    threads: Callable[[], int] = int
    places: SharedPlaces | None = None
    _cancelling: set[asyncio.Task[None]] = field(default_factory=set)

    def behind(self) -> "Statements":
        """For work that no client waits for, all of which must share what this returns."""
        places = None if self.places is None else SharedPlaces(self.places.records, *_BEHIND)
        gate = QuestionGate(BEHIND)
        return replace(self, gate=gate, threads=int, places=places, _cancelling=set())

    def within(self, seconds: int) -> "Statements":
        """In the same queue, with another limit of time."""
        return replace(self, limits=replace(self.limits, seconds=seconds))

    async def rows(self, project_id: int, statement: Statement) -> list[tuple[Any, ...]]:
        try:
            columns = await self._in_turn(
                project_id,
                lambda token: self.events.question(
                    statement.text,
                    statement.parameters,
                    token,
                    replace(self.limits, threads=self.threads()),
                ),
            )
        except EventRejected:
            detail = "A filter compares a property with a value of another type."
            raise Invalid(detail) from None
        except StatementFailed as error:
            raise self._too_large(error) from None
        return list(zip(*columns, strict=True))

    async def members(
        self,
        project_id: int,
        text: str,
        parameters: Mapping[str, Any],
        seconds_max: int = SECONDS_MAX,
    ) -> Found:
        """The answer to a statement of a cohort, with the limits of calculations.

        raises: as `EventStore.ask`, and Unavailable
        """
        return await self._in_turn(
            project_id,
            lambda token: self.events.ask(text, parameters, seconds_max, token=token),
        )

    async def _in_turn(self, project_id: int, ask: Callable[[str], Coroutine[Any, Any, _T]]) -> _T:
        """ask: with a token, by which the store can end it"""
        await self.gate.enter(project_id)
        place = await self._take_place(project_id)
        token = uuid4().hex
        asked = asyncio.ensure_future(ask(token))
        asked.add_done_callback(lambda done: self._ended(project_id, place, done))
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            self._cancel(token, asked)
            raise

    async def _take_place(self, project_id: int) -> UUID | None:
        """Of those that servers share. It is this question's turn on this server."""
        if self.places is None:
            return None
        try:
            return await self.places.take(project_id)
        except BaseException:
            self.gate.leave(project_id)
            raise

    def _ended(self, project_id: int, place: UUID | None, done: "asyncio.Future[_T]") -> None:
        self.gate.leave(project_id)
        if self.places is not None and place is not None:
            self.places.leave(place)
        if not done.cancelled():
            done.exception()  # known to the caller, unless it has been cancelled

    def _cancel(self, token: str, asked: "asyncio.Future[_T]") -> None:
        cancelling = asyncio.ensure_future(self._end(token, asked))
        self._cancelling.add(cancelling)
        cancelling.add_done_callback(self._cancelling.discard)

    async def _end(self, token: str, asked: "asyncio.Future[_T]") -> None:
        while not asked.done():
            with suppress(EventStoreUnavailable, EventRejected):
                await self.events.cancel_values(token)
            await asyncio.wait([asked], timeout=CANCEL_AGAIN_S)

    def _too_large(self, error: StatementFailed) -> Exception:
        limits = self.limits
        if error.code in _TIME:
            reached = f"takes longer than {limits.seconds} seconds"
        elif error.code in _SIZE:
            reached = f"takes more than {limits.memory_bytes // 10**6} MB of memory"
        else:
            return error
        detail = f"The question {reached}. Use a shorter date range, or fewer events and values."
        return Invalid(detail, code="too_large", attr="date_from")
