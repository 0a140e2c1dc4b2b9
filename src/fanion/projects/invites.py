"""Invites to an organization: a link for one use, for one e-mail address."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from fanion.errors import Invalid
from fanion.projects.model import Level, Organization, UserSummary

INVITE_LASTS = timedelta(days=7)
INVITES_MAX = 1_000  # of one organization, expired ones included
INVITES_AT_ONCE_MAX = 20  # as PostHog has it
INVITE_ROLES_MAX = 50
MESSAGE_CHARS_MAX = 2_000
SIGNUP_PATH = "/api/signup/"  # of links, before the token


@dataclass(frozen=True, slots=True)
class NewInvite:
    """target_email: normalised by `read_email`
    first_name: may be empty
    message:    of the one who invites, for the mail
    at:         goes before the names of fields in errors, as `3__` in a list of invites
    """

    target_email: str
    level: Level
    first_name: str = ""
    message: str = ""
    roles: tuple[UUID, ...] = ()
    at: str = ""


@dataclass(frozen=True, slots=True)
class Invite:
    """As stored. emailing_attempt_made: whether it was handed over to be mailed"""

    id: UUID
    target_email: str
    first_name: str
    level: int
    message: str
    emailing_attempt_made: bool
    created_at: datetime
    expires_at: datetime
    created_by: UserSummary
    roles: tuple[UUID, ...]

    def has_expired(self, now: datetime) -> bool:
        return self.expires_at <= now


@dataclass(frozen=True, slots=True)
class OpenInvite:
    """One that can be accepted, as the person with its link sees it."""

    invite: Invite
    organization: Organization


class InvalidInvite(Invalid):
    """The same for one that never was, is deleted or used, or whose author may not invite any
    more."""

    default_code = "invalid_invite"
    default_detail = "This invite is not valid. Ask for a new one."


def expired_invite() -> Invalid:
    return Invalid("This invite has expired. Ask for a new one.", code="expired")


def other_recipient(invited: str) -> Invalid:
    return Invalid(
        f"This invite is for another e-mail address: {masked_email(invited)}.",
        code="invalid_recipient",
    )


def account_exists() -> Invalid:
    """Only for who has the link."""
    return Invalid("You have an account already. Sign in to accept the invite.", code="sign_in")


def masked_email(email: str) -> str:
    """Enough to recognise the own address."""
    name, _, domain = email.rpartition("@")
    return f"{name[:1]}…{name[-1:] if len(name) > 2 else ''}@{domain}"
