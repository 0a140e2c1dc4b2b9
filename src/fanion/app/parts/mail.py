"""Builder of what sends mail."""

from dataclasses import dataclass

from fanion.accounts.mail.client import MailClient
from fanion.accounts.mail.message import Mail
from fanion.app.services import AppContext
from fanion.config.mail import read_mailbox
from fanion.observability.metrics import Metrics


@dataclass(frozen=True, slots=True)
class MailSender:
    """The client of the mail server, and the metric of its mails."""

    client: MailClient
    metrics: Metrics

    async def send(self, mail: Mail) -> None:
        """Send one mail, or raise MailNotSent."""
        await self.client.send(mail)

    def count(self, outcome: str) -> None:
        """Count a mail that was `sent`, `failed` or `dropped`."""
        self.metrics.mails.labels(outcome).inc()


def build_mail_sender(context: AppContext) -> MailSender | None:
    """Build what sends mail, or return None if no mail server is set."""
    settings = context.settings
    if settings.smtp_server is None:
        return None
    client = MailClient(settings.smtp_server, read_mailbox(settings.mail_from), context.now)
    return MailSender(client, context.metrics)
