"""Reads of the event store: each waits for its turn, and ends when it is cancelled."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from math import inf
from typing import Any, Final, TypeVar
from uuid import uuid4

from fanion.events.event import EventRejected, EventStoreUnavailable
from fanion.events.storage.client import Lanes, Rows, cancel_statement, mark_statement, read_rows
from fanion.events.storage.compiled_query import QuestionLimits
from fanion.events.storage.writes import Writes
from fanion.events.turns.asker_service import current_asker
from fanion.events.turns.gate_service import Gate, GateLimits
from fanion.events.turns.turns_service import LaneName, Turns, lane_of_turn

# How many statements of jobs, such as erasing and mirroring, run at once.
JOB_LANES: Final = 2
# Reads of single events run beside larger reads, and never wait for them.
ROWS: Final = GateLimits(at_once=2, at_once_of_project=2, at_once_of_user=1)
# Reads for which no client waits have one place of their own: interactive reads never wait behind
# them, and they get at most the engine's share of one question.
BEHIND: Final = GateLimits(at_once=1, at_once_of_project=1, wait_s=inf)
# Exports take turns page by page in one place of their own, so that no question waits for them.
EXPORTS: Final = GateLimits(at_once=1, at_once_of_project=1)
# A statement that is not running yet cannot be ended, so ending it is tried again.
CANCEL_AGAIN_S: Final = 1.0

_T = TypeVar("_T")


class Reads:
    """The reads of users, and of jobs of the server, in threads of their own.

    Args:
        probes: The lanes in which statements are ended.
        limits: The limits of reads of users at once.
        question: The limits of one statement that reads for a user.
        writes: Where statements of jobs count as writes.

    Attributes:
        people: The turns of reads for which users wait.
        rows: The turns of reads of single events.
        behind: The turns of reads for which nobody waits.
        exports: The turns of pages of exports.
    """

    def __init__(
        self, probes: Lanes, limits: GateLimits, question: QuestionLimits, writes: Writes
    ) -> None:
        self.people = Turns("people", Gate(limits))
        self.rows = Turns("rows", Gate(ROWS))
        self.behind = Turns("behind", Gate(BEHIND))
        self.exports = Turns("exports", Gate(EXPORTS))
        names: tuple[LaneName, ...] = ("people", "rows", "behind", "exports")
        self.lanes = {name: Lanes(name) for name in names}
        self.lanes["jobs"] = Lanes("jobs", writes)
        self.question = question
        self._probes = probes

    @property
    def sizes(self) -> Sequence[tuple[Lanes, int]]:
        """Return the lanes with their sizes."""
        lanes = self.lanes
        return (
            (lanes["people"], self.people.gate.limits.at_once),
            (lanes["rows"], ROWS.at_once),
            (lanes["behind"], BEHIND.at_once),
            (lanes["exports"], EXPORTS.at_once),
            (lanes["jobs"], JOB_LANES),
        )

    @property
    def sql_lanes(self) -> int:
        """Return how many statements with SQL of people run at once."""
        return self.people.gate.limits.at_once + BEHIND.at_once

    @asynccontextmanager
    async def turn(self, project_id: int) -> AsyncGenerator[None]:
        """Hold a turn of the user for whom the request reads. Jobs of the server need none.

        Raises:
            Unavailable: Too many reads wait, or this one has waited for too long.
            RecordsUnavailable: The records store failed.
            ClientLeft: The client has disconnected.
        """
        if current_asker() is None or lane_of_turn() != "jobs":
            yield
            return
        async with self.people.turn(project_id):
            yield

    async def run(
        self,
        read: Callable[..., _T],
        statement: str,
        *arguments: Any,
        lanes: Lanes | None = None,
    ) -> _T:
        """Run a statement. If cancelled, it is ended in the store.

        Args:
            lanes: Those of the turn by default.
        """
        async with self.turn(0):  # a read of a request that has no turn yet gets one here
            token = uuid4().hex
            if lanes is None:
                lanes = self.lanes[lane_of_turn()]
            running = asyncio.ensure_future(
                lanes.run(read, mark_statement(statement, token), *arguments)
            )
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                await self._end(token, running)
                raise

    async def _end(self, token: str, running: "asyncio.Future[Any]") -> None:
        """End a statement, and return when it has ended.

        A statement that has not begun yet cannot be ended in the store.
        """
        while not running.done():
            with suppress(EventStoreUnavailable, EventRejected):
                await self._probes.run(cancel_statement, token)
            await asyncio.wait([running], timeout=CANCEL_AGAIN_S)
        if not running.cancelled():
            running.exception()  # retrieved, because nobody waits for it

    async def fetch(self, statement: str, parameters: Mapping[str, Any]) -> Rows:
        """Run a statement within the limits of one that reads for a user."""
        return await self.run(read_rows, statement, parameters, self.question.settings)
