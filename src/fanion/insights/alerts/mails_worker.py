"""The worker that sends the mails about alerts."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog

from fanion.accounts.mail.client import MailNotSent
from fanion.accounts.mail.message import Mail
from fanion.db.due_work import DueRow, LeasedWorker
from fanion.insights.alerts.mails_store import AlertMailStore
from fanion.projects.model import Project

# After that time a mail is given up: the news is old.
TRIED_FOR: Final = timedelta(hours=24)


class AlertMailWorker(LeasedWorker[Project]):
    """A loop that sends each mail until the mail server accepts it, or for TRIED_FOR.

    A mail is sent twice if the server dies between sending and deleting it.

    Args:
        send: Sends one mail, or raises MailNotSent.
        count: Called with `sent`, `failed` or `dropped` for each mail.
    """

    waits, all_wait, id_name = "alert_mail_waits", "alert_mails_wait", "mail"
    expected = (MailNotSent,)

    def __init__(
        self,
        store: AlertMailStore,
        send: Callable[[Mail], Awaitable[None]],
        project_of: Callable[[int], Awaitable[Project | None]],
        now: Callable[[], datetime],
        count: Callable[[str], None],
    ) -> None:
        super().__init__(store.mails, project_of, now)
        self._store = store
        self._send = send
        self._count = count

    async def _due_items(self, now: datetime) -> Sequence[DueRow]:
        return await self._store.due_mails(now)

    async def _process(self, row: DueRow, project: Project) -> None:
        outcome = await self._outcome(row)
        await self._store.finish_mail(row)
        self._count(outcome)

    async def _outcome(self, row: DueRow) -> str:
        """Send a mail and return how it ended; raise MailNotSent to try it again."""
        mail, log = await self._store.read_mail(row.id), structlog.get_logger()
        if mail is None:
            return "dropped"
        try:
            await self._send(mail)
        except MailNotSent as failure:
            if not failure.is_final and self._now() < row.marker + TRIED_FOR:
                raise
            log.warning("mail_not_sent", kind=mail.kind, reason=str(failure))
            return "failed"
        log.info("mail_sent", kind=mail.kind)
        return "sent"
