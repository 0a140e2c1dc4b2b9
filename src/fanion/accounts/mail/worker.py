"""Background worker that sends queued mail from memory.

Mail is lost when the process ends; users can request it again.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Never

import structlog

from fanion.accounts.mail.client import MailNotSent
from fanion.accounts.mail.message import Mail, is_sendable
from fanion.runtime.background import Backoff, run_loop

MAILS_WAITING_MAX = 1_000  # about 2 MB
# After that time the link in a mail may have expired.
WAITING_S_MAX = 3600.0
POLL_S = 5.0
RETRY_FIRST_S, RETRY_MAX_S = 5.0, 300.0

Send = Callable[[Mail], Awaitable[None]]
Count = Callable[[str], None]


def _uncounted(outcome: str) -> None:
    pass


@dataclass(slots=True)
class _Waiting:
    """A queued mail, with the state of its attempts.

    Attributes:
        due: The clock's time of the next attempt.
        until: The clock's time after which no attempt is made.
    """

    mail: Mail
    due: float
    until: float
    backoff: Backoff


class MailWorker:
    """A queue of mails and the task that sends them.

    Args:
        send: Sends one mail, or raises MailNotSent.
        clock: Monotonic clock, in seconds.
        count: Called with `sent`, `failed` or `dropped` for each mail.
    """

    def __init__(self, send: Send, clock: Callable[[], float], count: Count = _uncounted) -> None:
        self._send = send
        self._clock = clock
        self._count = count
        self._waiting: deque[_Waiting] = deque()
        self._added = asyncio.Event()
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, mail: Mail) -> bool:
        """Queue a mail. Return False, and drop it, if the queue is full."""
        if len(self._waiting) >= MAILS_WAITING_MAX:
            self._finish_mail(mail, "dropped", "too many mails wait")
            return False
        now, backoff = self._clock(), Backoff(RETRY_FIRST_S, RETRY_MAX_S)
        self._waiting.append(_Waiting(mail, now, now + WAITING_S_MAX, backoff))
        self._added.set()
        return True

    def send(self, kind: str, to: str, subject: str, text: str) -> bool:
        """Queue a mail, for packages below this one, which cannot import `Mail`.

        Args:
            kind: Names the mail in the log, for example `password_reset`.
            subject: One line.

        Returns:
            False if the queue is full, or no mail can be sent to the address.
        """
        return is_sendable(to) and self.put(Mail(kind, to, subject, text))

    async def run(self) -> Never:
        await run_loop(self.send_due, POLL_S, "mails_wait", (), wake=self._added)

    async def send_due(self) -> None:
        """Send the mails that are due, until one fails: then the mail server is given a rest."""
        now = self._clock()
        for _ in range(len(self._waiting)):
            waiting = self._waiting.popleft()
            if waiting.due > now:
                self._waiting.append(waiting)
            elif not await self._attempt(waiting):
                return

    async def _attempt(self, waiting: _Waiting) -> bool:
        """Return whether the mail server works. A mail that may be sent later is queued again."""
        try:
            await self._send(waiting.mail)
        except MailNotSent as failure:
            if failure.is_final:
                self._finish_mail(waiting.mail, "failed", str(failure))
                return True
            self._retry(waiting, str(failure))
            return False
        self._finish_mail(waiting.mail, "sent")
        return True

    def _retry(self, waiting: _Waiting, reason: str) -> None:
        waiting.due = self._clock() + waiting.backoff.next_s()
        if waiting.due > waiting.until:
            self._finish_mail(waiting.mail, "failed", reason)
            return
        self._log.warning("mail_delayed", kind=waiting.mail.kind, reason=reason)
        self._waiting.append(waiting)

    def _finish_mail(self, mail: Mail, outcome: str, reason: str = "") -> None:
        self._count(outcome)
        if reason:
            self._log.warning("mail_not_sent", kind=mail.kind, reason=reason)
        else:
            self._log.info("mail_sent", kind=mail.kind)
