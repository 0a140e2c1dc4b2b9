"""Client of the process that counts what a change of a flag does.

The process is started on demand, and ended when it has been idle for a while.
"""

import asyncio
from collections.abc import Hashable
from dataclasses import dataclass

import structlog

from fanion.errors import AppError, Throttled, Unavailable
from fanion.flags.preview.change import (
    Abandon,
    Answer,
    Compute,
    Computed,
    Failed,
    Question,
    Result,
    Start,
)
from fanion.processes.channel import Channel
from fanion.processes.child import Child

RETRY_S = 5


@dataclass(frozen=True, slots=True)
class ChangeLimits:
    """Limits of change previews.

    Attributes:
        seconds_max: How long a request waits, for its turn and for the answer.
        asked_max: Number of waiting requests, including the one that is computed.
        idle_s: Idle time after which the process is ended.
        abandon_s_max: How long the process may take to abandon a question; a page takes it 20 ms.
    """

    seconds_max: float = 20.0
    asked_max: int = 8
    idle_s: float = 30.0
    abandon_s_max: float = 3.0


_LIMITS = ChangeLimits()
_ENDED = "The process that evaluates the change has ended. Please retry."


class Superseded(AppError):
    """A request that was replaced by the user's next one about the same flag."""

    status, type, default_code = 409, "invalid_request", "superseded"
    default_detail = "A newer request for the same flag has replaced this one."


class ProcessEnded(Exception):
    """The process ended before it answered a question."""


class ChangeProcess:
    """One child process, which is asked at most one question at a time."""

    def __init__(self, records_url: str, limits: ChangeLimits) -> None:
        self._records_url = records_url
        self._limits = limits
        self._child = Child("fanion.flags.preview.change_main")
        self._channel: Channel[Answer] | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        return self._child.pid

    @property
    def is_busy(self) -> bool:
        """Return whether the process has a question, abandoned or not."""
        return self._answer is not None

    async def ask_question(self, question: Question) -> Answer:
        """Ask a question, after waiting for the end of an abandoned one.

        Raises:
            ProcessEnded: The process ended before it answered.
            OSError: The process cannot be started.
        """
        while self._answer is not None:
            await asyncio.wait([self._answer])
        channel = await self._open()
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_retrieve)
        self._answer = answer
        self._set_timer(None)
        channel.send(Compute(question))
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            if not answer.done():
                channel.send(Abandon())
                self._set_timer(self._limits.abandon_s_max)
            raise

    async def close(self) -> None:
        """Kill the process; it holds no state of its own."""
        self._set_timer(None)
        self._disconnect()
        await self._child.kill()

    async def _open(self) -> Channel[Answer]:
        if self._channel is None:
            await self._child.end()
            line = await self._child.start_when_due()
            self._channel = Channel(line, Answer, self._receive, self._disconnect)
            self._channel.send(Start(self._records_url))
        return self._channel

    def _receive(self, message: Answer, _: int | None) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.set_result(message)
        self._set_timer(self._limits.idle_s)

    def _disconnect(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.set_exception(ProcessEnded())

    def _set_timer(self, seconds: float | None) -> None:
        """Set the time after which the process is ended, and killed if it does not answer."""
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = None if seconds is None else loop.call_later(seconds, self._expire)

    def _expire(self) -> None:
        if self._answer is not None:
            self._child.send_kill()
        self._disconnect()


class ChangePreviews:
    """Previews of changes, computed one at a time; further questions wait for their turn."""

    def __init__(self, records_url: str, limits: ChangeLimits = _LIMITS) -> None:
        self.process = ChangeProcess(records_url, limits)
        self._limits = limits
        self._asked: dict[Hashable, asyncio.Task[Answer]] = {}
        self._turn = asyncio.Lock()

    async def compute_change(self, asker: Hashable, question: Question) -> Result:
        """Compute the answer to a question; if cancelled, the question is abandoned.

        The asker's former question, if any, is abandoned.

        Raises:
            Superseded: The same asker has asked again.
            Throttled: Too many questions wait.
            Unavailable: The question could not be answered, or not in time.
        """
        former = self._asked.pop(asker, None)
        if former is not None:
            former.cancel()
        if len(self._asked) >= self._limits.asked_max:
            raise Throttled(RETRY_S)
        work = self._asked[asker] = asyncio.create_task(self._in_turn(question))
        work.add_done_callback(_retrieve)
        try:
            done, _ = await asyncio.wait([work], timeout=self._limits.seconds_max)
        finally:
            work.cancel()
            if self._asked.get(asker) is work:
                del self._asked[asker]
        if not done:
            seconds = self._limits.seconds_max
            raise Unavailable(
                f"The change could not be evaluated within {seconds:g} seconds.",
                code="preview_timeout",
            )
        if work.cancelled():
            raise Superseded
        return _result(work)

    async def close(self) -> None:
        for work in self._asked.values():
            work.cancel()
        await self.process.close()

    async def _in_turn(self, question: Question) -> Answer:
        async with self._turn:
            return await self.process.ask_question(question)


def _retrieve(done: "asyncio.Future[Answer]") -> None:
    """Retrieve the error, because the asker may be gone."""
    if not done.cancelled():
        done.exception()


def _result(work: "asyncio.Task[Answer]") -> Result:
    try:
        answer = work.result()
    except (ProcessEnded, OSError) as error:
        _log(type(error).__name__, str(error))
        raise Unavailable(_ENDED, code="preview_failed", retry_after_s=1) from None
    match answer:
        case Computed():
            return answer.result
        case Failed(kind="store"):
            raise Unavailable
        case Failed():
            _log(answer.kind, answer.reason)
            raise Unavailable("The change could not be evaluated.", code="preview_failed")


def _log(kind: str, reason: str) -> None:
    structlog.get_logger().error("flag_change_not_evaluated", kind=kind, reason=reason)
