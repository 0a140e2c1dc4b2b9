"""Accepting invites: with a new account, or with the account that is signed in."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from fanion.accounts.sign_in.service import SignIn
from fanion.accounts.users_store import Account
from fanion.errors import Invalid
from fanion.projects.auth.failed_attempts_cache import FailedAttempts
from fanion.projects.auth.keys import KEY_CHARS_MAX
from fanion.projects.auth.model import Principal
from fanion.projects.invites.model import InvalidInvite, OpenInvite
from fanion.projects.members.invite_acceptance_service import InviteAcceptance, NewAccount
from fanion.server.forwarded import Caller


@dataclass(frozen=True, slots=True)
class Signup:
    """The acceptance of invites.

    Attributes:
        failures: Counts the failures of clients that guess links.
        rights_changed: Called with the id of a user who has joined an organization.
    """

    invites: InviteAcceptance
    sign_in: SignIn
    failures: FailedAttempts
    now: Callable[[], datetime]
    rights_changed: Callable[[int], None]

    async def find(self, token: str, caller: Caller) -> OpenInvite:
        """Return the invite of a link, which stays usable.

        Args:
            caller: The client whose guesses are counted.

        Raises:
            Invalid: The link or the invite is not valid.
            Throttled: The client has guessed too often.
        """
        key = token[:KEY_CHARS_MAX]
        self.failures.require_room(key, caller, "link")
        try:
            return await self.invites.find(token, self.now())
        except InvalidInvite:
            self.failures.unknown(key, caller, was_read=True, kind="link")
            raise

    async def create_account(
        self, token: str, first_name: str, password: str, caller: Caller
    ) -> Account:
        """Accept an invite with a new account.

        Raises:
            Invalid: The link, the name or the password is not valid, or passwords are switched off.
            Throttled: The client has guessed too often.
            Unavailable: Too many passwords are being checked.
        """
        open_invite = await self.find(token, caller)
        if not self.sign_in.options.password:
            raise Invalid("Sign in with your organization's provider first.", code="sign_in")
        await self.invites.require_no_account(open_invite.invite.target_email)
        hashed = await self.sign_in.passwords.hash_new(password, open_invite.invite.target_email)
        account = NewAccount(first_name, hashed)
        user_id = await self.invites.accept_as_new(token, account, self.now())
        self.rights_changed(user_id)
        return Account(user_id, open_invite.invite.target_email, hashed)

    async def join(self, token: str, principal: Principal, caller: Caller) -> None:
        """Accept an invite with the account that is signed in.

        Raises:
            Invalid: The link is not valid, or the invite is for another user.
            Throttled: The client has guessed too often.
            FreshSignInRequired: The user has to sign in again first.
        """
        await self.find(token, caller)
        principal.require_fresh_sign_in(self.now())
        await self.invites.accept_as(token, principal.user.id, self.now())
        self.rights_changed(principal.user.id)
