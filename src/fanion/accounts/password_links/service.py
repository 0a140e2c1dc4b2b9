"""One-time links that set a password and sign in, for a first start or a forgotten password."""

from dataclasses import dataclass, replace

from sqlalchemy import Connection

from fanion.accounts.links_store import consume_link
from fanion.accounts.model import Purpose
from fanion.accounts.own_account.claim_store import claim_by_mail
from fanion.accounts.own_account.service import OwnAccounts
from fanion.accounts.own_account.store import AccountChange, CredentialHashes, write_change
from fanion.accounts.users_store import Account
from fanion.errors import Invalid
from fanion.projects.auth.keys import KEY_CHARS_MAX
from fanion.server.forwarded import Caller


class InvalidLink(Invalid):
    """The error of a link that is unknown, used, expired, or meant for another purpose."""

    default_code = "invalid_token"
    default_detail = "This link is not valid: it was used before, or has expired."

    def __init__(self) -> None:
        super().__init__(attr="token")


@dataclass(frozen=True, slots=True)
class PasswordLinks:
    own_accounts: OwnAccounts

    async def account(self, token: str, purpose: Purpose, caller: Caller) -> Account:
        """Return the account of a link, which stays usable.

        Args:
            caller: The client whose guesses are counted.

        Raises:
            InvalidLink: The link is not valid.
            Throttled: The client has guessed too often.
        """
        own, failures = self.own_accounts, self.own_accounts.authentication.failures
        failures.require_room(token[:KEY_CHARS_MAX], caller, "link")
        user_id = await own.sign_in.links.find_user(token, purpose, own.now())
        account = None if user_id is None else await own.sign_in.accounts.by_id(user_id)
        if account is None:
            failures.unknown(token[:KEY_CHARS_MAX], caller, was_read=True, kind="link")
            raise InvalidLink
        return account

    async def set_password(
        self, token: str, purpose: Purpose, password: str, caller: Caller, address: str
    ) -> Account:
        """Set a password, use the link up and end every session of the account.

        Returns:
            The account with its new password.

        Raises:
            InvalidLink: The link is not valid.
            Throttled: The client has guessed too often.
            Invalid: The password is too short, too long or too common.
            Unavailable: Too many passwords are being checked.
        """
        own = self.own_accounts
        account = await self.account(token, purpose, caller)
        hashed = await own.sign_in.passwords.hash_new(password, account.email)
        change = AccountChange(
            user_id=account.user_id,
            now=own.now(),
            by_user=account.user_id,
            password_hash=hashed,
            details={"method": "link", "address": address},
        )

        def use(connection: Connection) -> CredentialHashes | None:
            link = consume_link(connection, token, purpose, change.now)
            if link is None:
                return None  # a concurrent request has used it
            changed = write_change(connection, change)
            if link.purpose is Purpose.MAILED_RESET:
                claim_by_mail(connection, link.user_id, change.now)
            return changed

        async with own.records.write() as connection:
            hashes = await connection.run_sync(use)
        if hashes is None:
            raise InvalidLink
        own.forget_account(account.user_id, hashes)
        own.notify_owner(account.email, change)
        return replace(account, password_hash=hashed)
