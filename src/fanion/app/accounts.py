"""Builds what people sign in with: accounts, links, and the mails that carry them."""

import time
from dataclasses import dataclass

from fanion.accounts.mail.client import MailClient
from fanion.accounts.mail.worker import MailWorker
from fanion.accounts.own_account.service import OwnAccounts, no_mail
from fanion.accounts.passwords.links_service import PasswordLinks
from fanion.accounts.passwords.reset_worker import PasswordResets
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
    password_links: PasswordLinks
    password_resets: PasswordResets
    mails: MailWorker | None
    background: tuple[BackgroundTask, ...]


def build_accounts(public: Services, sign_in: SignIn) -> AccountServices:
    context, records = public.context, public.records
    address, now = context.settings.management_url, context.now
    mails = _build_mails(public)
    put_mail = None if mails is None else mails.put
    own_accounts = OwnAccounts(
        records,
        sign_in,
        public.flags.authentication,
        now,
        address,
        put_mail or no_mail,
        context.settings.oidc_trusted_domains,
    )
    resets = PasswordResets(records, put_mail, address, now)
    background: tuple[BackgroundTask, ...] = (resets.run, sign_in.failed_logins.run)
    return AccountServices(
        own_accounts=own_accounts,
        password_links=PasswordLinks(own_accounts),
        password_resets=resets,
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
