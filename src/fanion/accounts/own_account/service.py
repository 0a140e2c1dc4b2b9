"""The caller's own account: name, e-mail address, current project and password."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from fanion.accounts.mail.message import (
    Mail,
    email_changed_mail,
    is_sendable,
    password_changed_mail,
)
from fanion.accounts.own_account.store import AccountChange, CredentialHashes, change_account
from fanion.accounts.sign_in.service import InvalidCredentials, SignIn
from fanion.accounts.users_store import Account
from fanion.db.engine import Records
from fanion.errors import Invalid, PermissionDenied
from fanion.projects.auth.authentication_service import Authentication
from fanion.projects.auth.model import Principal
from fanion.server.forwarded import Client

PutMail = Callable[[Mail], bool]


def no_mail(mail: Mail) -> bool:
    """Drop a mail, because no mail server is set."""
    return False


@dataclass(frozen=True, slots=True)
class Proof:
    """The proof that the caller owns the account. Values that were not sent are None.

    Attributes:
        token: A code of the second factor, or a recovery code.
    """

    current_password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class OwnAccounts:
    """Changes of accounts by their owners.

    Attributes:
        address: The address of this server, for its users.
        put_mail: Queues a mail.
        managed_domains: The domains of addresses by which an identity provider finds accounts.
    """

    records: Records
    sign_in: SignIn
    authentication: Authentication
    now: Callable[[], datetime]
    address: str = ""
    put_mail: PutMail = no_mail
    managed_domains: frozenset[str] = frozenset()

    def require_free_address(self, email: str) -> None:
        """Raise Invalid if the address belongs to the users of the identity provider.

        A user who gave their own account the address of a colleague would otherwise get that
        colleague's sign-in, with the rights that the provider's groups give.
        """
        domain = email.rpartition("@")[2]
        if domain in self.managed_domains:
            raise Invalid(
                f"Addresses at {domain} belong to the users of the identity provider.",
                code="email_managed",
                attr="email",
            )

    async def prove(self, principal: Principal, proof: Proof, client: Client) -> None:
        """Check that the caller may change the address or the password of the account.

        A session or a key may be in the wrong hands, and must not take the account from its owner.
        A session must be fresh, and either needs the current password. A session of an account
        without a password needs a code of the second factor, if there is one.

        Raises:
            FreshSignInRequired: The session is not fresh.
            PermissionDenied: The key is restricted, or the account has no password.
            Invalid: The password or the code is missing or wrong.
            Throttled: The client has to wait.
        """
        principal.require_fresh_sign_in(self.now())
        by_key = principal.session_id is None
        if by_key and not principal.is_unrestricted:
            raise PermissionDenied("This action does not support Personal API Key access")
        account = await self.sign_in.accounts.by_id(principal.user.id)
        if account is not None and self.sign_in.asks_password_of(account):
            await self._require_password(account, proof.current_password, client)
        elif by_key:
            raise PermissionDenied("This account has no password yet. Sign in to change it.")
        elif await self.sign_in.factors.is_enabled(principal.user.id):
            code = _required(proof.token, "token")
            await self.sign_in.check_code(principal.user.id, code, client, self.now())

    async def change_own_account(self, principal: Principal, change: AccountChange) -> None:
        """Write the change, end what it ends, and notify the owner by mail.

        Raises:
            Invalid: Another user has the e-mail address (code `unique`).
        """
        hashes = await change_account(self.records, change)
        self.forget_account(change.user_id, hashes)
        self.notify_owner(principal.user.email, change)

    def forget_account(self, user_id: int, hashes: CredentialHashes) -> None:
        """Forget the cached account: here at once, and on other servers within seconds."""
        self.authentication.forget_keys(hashes.keys)
        self.sign_in.sessions.forget_sessions(user_id, hashes.sessions)

    def notify_owner(self, email: str, change: AccountChange) -> None:
        """Notify the owner by mail, who thus notices what another person did.

        Args:
            email: The address before the change.
        """
        if change.email is not None and is_sendable(email):
            self.put_mail(email_changed_mail(email, self.address))
        to = change.email or email
        if change.password_hash is not None and is_sendable(to):
            self.put_mail(password_changed_mail(to, self.address))

    async def _require_password(
        self, account: Account, current_password: str | None, client: Client
    ) -> None:
        given = _required(current_password, "current_password")
        try:
            await self.sign_in.check_password(account.email, given, client.address, client.claimed)
        except InvalidCredentials:
            raise Invalid(
                "Your current password is incorrect.",
                code="incorrect_password",
                attr="current_password",
            ) from None


def _required(value: str | None, name: str) -> str:
    if value is None:
        raise Invalid("This field is required.", code="required", attr=name)
    return value
