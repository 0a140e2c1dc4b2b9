"""The gate that decides which reads of the event store run at once, and in which order."""

import asyncio
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from typing import Final

from fanion.errors import Unavailable

# Retry-After when the queue is full; part of it has been answered by then.
RETRY_AFTER_S: Final = 5

# A project, and one of its users.
_Key = tuple[int, int]
_Queue = deque["asyncio.Future[None]"]


@dataclass(frozen=True, slots=True)
class GateLimits:
    """The limits of a gate.

    Attributes:
        at_once_of_user: In all projects together. Background work, whose user is 0, has no such
            limit.
        waiting: Queue length over all projects. A project may take at most half of it, and a user
            at most half of the project's part.
        wait_s: How long each read waits.
    """

    at_once: int = 3
    at_once_of_project: int = 2
    at_once_of_user: int = 2
    waiting: int = 1_000
    wait_s: float = 60.0


class Gate:
    """A gate in which projects take turns, and so do users within a project.

    The reads of one user run in order. A user who asks for much does not delay the others.
    """

    def __init__(self, limits: GateLimits) -> None:
        self.limits = limits
        self._running: Counter[_Key] = Counter()
        # The project, and in it the user, whose last turn was longest ago comes first.
        self._waiting: OrderedDict[int, OrderedDict[int, _Queue]] = OrderedDict()

    @property
    def running(self) -> int:
        return self._running.total()

    @property
    def waiting(self) -> int:
        return sum(len(queue) for users in self._waiting.values() for queue in users.values())

    async def enter(self, project_id: int, user_id: int = 0) -> None:
        """Wait until a read may run. `leave` must follow.

        Raises:
            Unavailable: Too many reads wait, or this one has waited for too long.
        """
        key = project_id, user_id
        self._require_place(key)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        users = self._waiting.setdefault(project_id, OrderedDict())
        users.setdefault(user_id, deque()).append(turn)
        self._admit()
        try:
            async with asyncio.timeout(self.limits.wait_s):
                await turn
        except BaseException as error:
            if turn.cancelled():
                self._forget(key, turn)
            else:  # its turn came at the same moment
                self.leave(*key)
            if isinstance(error, TimeoutError):
                raise _too_many() from None
            raise

    def leave(self, project_id: int, user_id: int = 0) -> None:
        key = project_id, user_id
        self._running[key] -= 1
        if not self._running[key]:
            del self._running[key]
        self._admit()

    def _require_place(self, key: _Key) -> None:
        """Raise Unavailable if the read must wait and the queue is full."""
        if self._may_run(key):
            return
        places, users = self.limits.waiting, self._waiting.get(key[0], OrderedDict())
        of_project, of_user = sum(map(len, users.values())), len(users.get(key[1], ()))
        if (
            self.waiting >= places
            or of_project >= max(1, places // 2)
            or of_user >= max(1, places // 4)
        ):
            raise _too_many()

    def _may_run(self, key: _Key) -> bool:
        of_project = of_user = 0
        for (project_id, user_id), running in self._running.items():
            of_project += running * (project_id == key[0])
            of_user += running * (user_id == key[1] != 0)
        limits = self.limits
        return (
            self.running < limits.at_once
            and of_project < limits.at_once_of_project
            and of_user < limits.at_once_of_user
        )

    def _admit(self) -> None:
        while (key := self._next()) is not None:
            turn = self._waiting[key[0]][key[1]].popleft()
            self._move_back(key)
            if not turn.done():
                self._running[key] += 1
                turn.set_result(None)

    def _next(self) -> _Key | None:
        keys = ((project_id, user) for project_id, users in self._waiting.items() for user in users)
        return next(filter(self._may_run, keys), None)

    def _move_back(self, key: _Key) -> None:
        """Put the project and its user, who have had their turn, at the end."""
        project_id, user_id = key
        users = self._waiting[project_id]
        users.move_to_end(user_id)
        self._waiting.move_to_end(project_id)
        self._drop_if_empty(key)

    def _forget(self, key: _Key, turn: "asyncio.Future[None]") -> None:
        queue = self._waiting.get(key[0], OrderedDict()).get(key[1])
        if queue is not None and turn in queue:
            queue.remove(turn)
            self._drop_if_empty(key)

    def _drop_if_empty(self, key: _Key) -> None:
        users = self._waiting[key[0]]
        if not users[key[1]]:
            del users[key[1]]
        if not users:
            del self._waiting[key[0]]


def _too_many() -> Unavailable:
    detail = "Too many questions are being answered. Please retry."
    return Unavailable(detail, retry_after_s=RETRY_AFTER_S)
