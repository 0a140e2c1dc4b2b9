"""Builds what people sign in with: accounts, and the mails that they get."""

import time
from dataclasses import dataclass

from fanion.accounts.mail_client import MailClient
from fanion.accounts.mail_worker import MailWorker
from fanion.accounts.own_account_service import OwnAccounts, no_mail
from fanion.accounts.sign_in_service import SignIn
from fanion.app.services import Services
from fanion.config import read_mailbox
from fanion.runtime.background import BackgroundTask


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountServices:
    """mails:      None where no mail server is set
    background: runs for as long as the server serves
    """

    own_accounts: OwnAccounts
    mails: MailWorker | None
    background: tuple[BackgroundTask, ...]


def build_accounts(public: Services, sign_in: SignIn) -> AccountServices:
    context, records = public.context, public.records
    address, now = context.settings.management_url, context.now
    mails = _build_mails(public)
    own_accounts = OwnAccounts(
        records,
        sign_in,
        public.flags.authentication,
        now,
        address,
        no_mail if mails is None else mails.put,
    )
    background: tuple[BackgroundTask, ...] = (sign_in.failed_logins.run,)
    return AccountServices(
        own_accounts=own_accounts,
        mails=mails,
        background=background if mails is None else (*background, mails.run),
    )


def _build_mails(public: Services) -> MailWorker | None:
    settings, metrics = public.context.settings, public.context.metrics
    if settings.smtp_server is None:
        return None
    sender = read_mailbox(settings.mail_from)
    client = MailClient(settings.smtp_server, sender, public.context.now)

    def count(outcome: str) -> None:
        metrics.mails.labels(outcome).inc()

    return MailWorker(client.send, time.monotonic, count)
