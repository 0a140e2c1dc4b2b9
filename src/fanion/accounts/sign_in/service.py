"""Signing in with e-mail address and password, and confirming a password later."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import structlog

from fanion.accounts.attempts_store import AttemptStore
from fanion.accounts.failed_logins_worker import FailedLogins
from fanion.accounts.links_store import LinkStore
from fanion.accounts.model import DEFAULT_OPTIONS, SignInOptions
from fanion.accounts.passwords.hashing_service import PasswordHashing
from fanion.accounts.second_factor.store import CheckedCode, SecondFactorStore
from fanion.accounts.sessions.service import SessionService
from fanion.accounts.users_store import Account, AccountStore
from fanion.db.engine import RecordsUnavailable
from fanion.errors import Invalid, PermissionDenied, Throttled, Unavailable
from fanion.projects.auth.failed_attempts_cache import Reason, uncounted
from fanion.server.forwarded import Client


class InvalidCredentials(Invalid):
    """The error of a wrong password, an unknown account, and an account that may not sign in."""

    default_code = "invalid_credentials"
    default_detail = "Invalid email or password."


class InvalidCode(Invalid):
    default_code = "two_factor_invalid"
    default_detail = "Invalid authentication code."

    def __init__(self) -> None:
        super().__init__(attr="token")


class PasswordsOff(PermissionDenied):
    default_code = "password_sign_in_off"
    default_detail = "Sign-in with a password is switched off. Use your identity provider."


@dataclass(frozen=True, slots=True)
class SignIn:
    """The services of a sign-in. A process has only one, so that its hashes are limited together.

    Attributes:
        count: Called for each attempt that is refused.
    """

    accounts: AccountStore
    links: LinkStore
    sessions: SessionService
    passwords: PasswordHashing
    attempts: AttemptStore
    failed_logins: FailedLogins
    options: SignInOptions = DEFAULT_OPTIONS
    count: Callable[[Literal["password"], Reason], None] = uncounted

    @property
    def factors(self) -> SecondFactorStore:
        return SecondFactorStore(self.accounts.records)

    def asks_password_of(self, account: Account) -> bool:
        """Return whether the owner of the account can prove who they are with a password."""
        return self.options.password and bool(account.password_hash)

    async def check_password(
        self, email: str, password: str, address: str, claimed: str = ""
    ) -> Account:
        """Return the account with this address, if the password is correct.

        The check takes as long for an unknown account as for a known one.

        Args:
            email: The e-mail address as it was sent.
            address: The client's address; "" if it is unknown.
            claimed: The address that an untrusted peer forwards for its client; "" for none.

        Raises:
            InvalidCredentials: The account is unknown, may not sign in, or has another password.
            PasswordsOff: Sign-in with passwords is switched off.
            Throttled: The account or the client has to wait.
            Unavailable: Too many passwords are being checked.
            RecordsUnavailable: The records store does not answer.
        """
        if not self.options.password:
            raise PasswordsOff
        named = email.strip().lower()
        try:
            attempt = await self.attempts.begin(named, address, claimed)
        except Throttled:
            self._refused("throttled", address)
            raise
        try:
            account = await self.accounts.by_email(named)
            stored = account.password_hash if account is not None else None
            matches = await self.passwords.verify(stored, password)
        except (RecordsUnavailable, Unavailable):
            with suppress(RecordsUnavailable):
                await self.attempts.withdraw(attempt)
            raise
        if account is None or not matches:
            self._refused("unknown", address, None if account is None else account.user_id)
            if account is not None:
                self.failed_logins.count_failure(account.user_id, address)
            raise InvalidCredentials
        await self.attempts.succeeded(attempt)
        return account

    async def check_code(self, user_id: int, code: str, client: Client, now: datetime) -> None:
        """Check a second-factor code of a user who is signed in, and use it up.

        Raises:
            InvalidCode: The code is wrong.
            Throttled: The user or the client has to wait.
            RecordsUnavailable: The records store does not answer.
        """
        attempt = await self.attempts.begin(f"code {user_id}", client.address, client.claimed)
        checked = await self.factors.check(user_id, code, now, client.address)
        self.require_valid(user_id, checked, client.address)
        await self.attempts.succeeded(attempt)

    def require_valid(self, user_id: int, checked: CheckedCode, address: str) -> None:
        """Raise Throttled or InvalidCode unless the checked code is valid."""
        if checked.wait_s:
            raise Throttled(checked.wait_s)
        if not checked.is_valid:
            self.failed_logins.count_failure(user_id, address)
            raise InvalidCode

    def _refused(self, reason: Reason, address: str, user: int | None = None) -> None:
        """Count and log a refusal without the e-mail address: people type passwords there too."""
        self.count("password", reason)
        structlog.get_logger().warning("sign_in_refused", reason=reason, client=address, user=user)
