"""Builders of what users sign in with: accounts, links, mails and the identity provider."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fanion.accounts.attempts_store import AttemptStore
from fanion.accounts.failed_logins_worker import FailedLogins
from fanion.accounts.links_store import LinkStore
from fanion.accounts.mail.worker import MailWorker
from fanion.accounts.model import SignInOptions
from fanion.accounts.oidc.api import OidcLogin
from fanion.accounts.oidc.identities_store import IdentityStore
from fanion.accounts.oidc.model import OidcSettings
from fanion.accounts.oidc.states_store import StateStore
from fanion.accounts.own_account.service import OwnAccounts, no_mail
from fanion.accounts.password_links.reset_worker import PasswordResets
from fanion.accounts.password_links.service import PasswordLinks
from fanion.accounts.passwords.hashing_service import PasswordHashing
from fanion.accounts.sessions.service import SessionService
from fanion.accounts.sessions.store import SessionStore
from fanion.accounts.sign_in.service import SignIn
from fanion.accounts.users_store import AccountStore
from fanion.app.parts.mail import build_mail_sender
from fanion.app.services import AppContext, Services
from fanion.config import PREFIX, Settings, SettingsError
from fanion.db.engine import Records
from fanion.runtime.background import BackgroundTask
from fanion.runtime.change_bus import Topic
from fanion.webhooks.client import Resolver


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountServices:
    """The services that sign users in and manage their own accounts.

    Attributes:
        mails: None without a mail server.
    """

    sign_in: SignIn
    own_accounts: OwnAccounts
    password_links: PasswordLinks
    password_resets: PasswordResets
    mails: MailWorker | None

    @property
    def loops(self) -> Mapping[str, BackgroundTask]:
        loops: dict[str, BackgroundTask] = {
            "sessions": self.sign_in.sessions.run,
            "password_resets": self.password_resets.run,
            "failed_logins": self.sign_in.failed_logins.run,
        }
        return loops if self.mails is None else {**loops, "mails": self.mails.run}


def build_accounts(public: Services) -> AccountServices:
    context, records = public.context, public.records
    sign_in = _build_sign_in(public)
    address, now = context.settings.mail_url, context.now
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
    return AccountServices(
        sign_in=sign_in,
        own_accounts=own_accounts,
        password_links=PasswordLinks(own_accounts),
        password_resets=resets,
        mails=mails,
    )


def _build_sign_in(public: Services) -> SignIn:
    """Build the sign-in of the management API. Web workers never look at a session."""
    records, flags, clock = public.records, public.flags, time.monotonic
    failures, failed = flags.authentication.failures, public.context.metrics.key_failures
    settings = public.context.settings
    sessions = SessionService(SessionStore(records), public.context.now, clock, failures, flags.bus)
    flags.bus.subscribe(Topic.SESSIONS, sessions.forget)
    return SignIn(
        AccountStore(records),
        LinkStore(records),
        sessions,
        PasswordHashing(),
        AttemptStore(records, public.context.now, clock),
        FailedLogins(records, public.context.now),
        SignInOptions(
            mail=bool(settings.smtp_url),
            password=settings.password_sign_in == "on",
            providers=("oidc",) if settings.oidc_issuer else (),
            capture_url=settings.capture_url,
        ),
        count=lambda kind, reason: failed.labels(kind, reason).inc(),
    )


def _build_mails(public: Services) -> MailWorker | None:
    sender = build_mail_sender(public.context)
    return None if sender is None else MailWorker(sender.send, time.monotonic, sender.count)


def build_oidc_login(
    context: AppContext, records: Records, sign_in: SignIn, claimed: Callable[[int], None]
) -> OidcLogin:
    """Build the sign-in by OpenID Connect, or one that is off if no provider is set.

    Args:
        claimed: Called as `IdentityStore` describes.

    Raises:
        SettingsError: The client secret cannot be read.
    """
    clock = time.monotonic
    settings = oidc_settings(context.settings)
    if settings is None:
        return OidcLogin(None, sign_in, clock)
    # The libraries that verify tokens take 10 MB and a tenth of a second to load, so a server
    # without a provider does not import them.
    from fanion.accounts.oidc.provider_client import Provider
    from fanion.accounts.oidc.sign_in_service import OidcSignIn

    oidc = OidcSignIn(
        settings,
        Provider(settings, Resolver(), clock),
        StateStore(records),
        IdentityStore(records, settings, claimed),
        context.now,
    )
    return OidcLogin(oidc, sign_in, clock)


def oidc_settings(settings: Settings) -> OidcSettings | None:
    """Return the settings of the identity provider, or None if none is set.

    Raises:
        SettingsError: The client secret cannot be read.
    """
    if not settings.oidc_issuer:
        return None
    return OidcSettings(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        client_secret=read_secret(
            "OIDC_CLIENT_SECRET_FILE",
            settings.oidc_client_secret,
            settings.oidc_client_secret_file,
        ),
        scopes=settings.oidc_scopes,
        domains=settings.oidc_trusted_domains,
        groups_claim=settings.oidc_groups_claim,
        groups=settings.oidc_group_access,
        creates_accounts=settings.oidc_create_accounts,
    )


SECRET_BYTES_MAX = 4_096


def read_secret(name: str, value: str, path: str) -> str:
    """Return the setting's value, or the file's text without white space around it.

    Args:
        name: The setting with the path, for the error.

    Raises:
        SettingsError: The file cannot be used. The text repeats nothing of the file.
    """
    if not path:
        return value
    try:
        with Path(path).open("rb") as file:
            raw = file.read(SECRET_BYTES_MAX + 1)
        secret = raw.decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise SettingsError(f"{PREFIX}{name}: {path} cannot be read: {reason}") from None
    if not secret or len(raw) > SECRET_BYTES_MAX:
        raise SettingsError(f"{PREFIX}{name}: {path} must hold 1 to {SECRET_BYTES_MAX} bytes")
    return secret
