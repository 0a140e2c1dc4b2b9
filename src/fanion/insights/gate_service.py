"""Which questions are asked of the event store at once, and in which order the others wait."""

import asyncio
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from typing import Final

from fanion.errors import Unavailable

# Of a queue that is full: some of it has been answered by then.
RETRY_AFTER_S: Final = 5


@dataclass(frozen=True, slots=True)
class GateLimits:
    """waiting: those that wait, of all projects; one project has half of these places at most"""

    at_once: int = 2
    at_once_of_project: int = 2
    waiting: int = 100


class QuestionGate:
    """Projects take turns, and the questions of one project come in order: a project that asks for
    much does not hold up the others."""

    def __init__(self, limits: GateLimits) -> None:
        self._limits = limits
        self._running: Counter[int] = Counter()
        # The project whose turn was the longest ago first.
        self._waiting: OrderedDict[int, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def running(self) -> int:
        return self._running.total()

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def enter(self, project_id: int) -> None:
        """Returns when the question may be asked; then `leave` must follow.

        raises: Unavailable when too many wait
        """
        self._require_place(project_id)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(project_id, deque()).append(turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._forget(project_id, turn)
            else:  # it was its turn at the same moment
                self.leave(project_id)
            raise

    def leave(self, project_id: int) -> None:
        self._running[project_id] -= 1
        if not self._running[project_id]:
            del self._running[project_id]
        self._admit()

    def _require_place(self, project_id: int) -> None:
        limits, own = self._limits, len(self._waiting.get(project_id, ()))
        if self._may_run(project_id):
            return
        if self.waiting >= limits.waiting or own >= max(1, limits.waiting // 2):
            detail = "Too many questions are being answered. Please retry."
            raise Unavailable(detail, retry_after_s=RETRY_AFTER_S)

    def _may_run(self, project_id: int) -> bool:
        limits = self._limits
        is_free = self.running < limits.at_once
        return is_free and self._running[project_id] < limits.at_once_of_project

    def _admit(self) -> None:
        while (project_id := self._next()) is not None:
            turn = self._waiting[project_id].popleft()
            if self._waiting[project_id]:
                self._waiting.move_to_end(project_id)
            else:
                del self._waiting[project_id]
            if not turn.done():
                self._running[project_id] += 1
                turn.set_result(None)

    def _next(self) -> int | None:
        return next((one for one in self._waiting if self._may_run(one)), None)

    def _forget(self, project_id: int, turn: "asyncio.Future[None]") -> None:
        waiting = self._waiting.get(project_id)
        if waiting is not None and turn in waiting:
            waiting.remove(turn)
            if not waiting:
                del self._waiting[project_id]
