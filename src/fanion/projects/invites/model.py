"""Invites to an organization: one-time links for one e-mail address."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from fanion.errors import Invalid
from fanion.projects.model import LEVELS, Level, Organization, UserSummary

INVITE_LASTS = timedelta(days=7)
INVITES_MAX = 1_000  # per organization, expired ones included
INVITES_AT_ONCE_MAX = 20  # as in PostHog
INVITE_ROLES_MAX = 50
MESSAGE_CHARS_MAX = 2_000
SIGNUP_PATH = "/api/signup/"  # the path of links, before the token


@dataclass(frozen=True, slots=True)
class NewInvite:
    """An invite that is to be created.

    Attributes:
        target_email: Normalised by `read_email`.
        first_name: May be empty.
        message: Text of the inviting user, for the mail.
        send_email: Whether to mail the link, if the server sends mails.
        at: Prefix of field names in errors, for example `3__` in a list of invites.
    """

    target_email: str
    level: Level
    first_name: str = ""
    message: str = ""
    roles: tuple[UUID, ...] = ()
    send_email: bool = True
    at: str = ""


class Invite(Struct, frozen=True, kw_only=True):
    """An invite, as it is stored and returned.

    Attributes:
        emailing_attempt_made: Whether the invite was handed over to be mailed.
    """

    id: UUID
    target_email: str
    first_name: str
    level: Annotated[int, Meta(description=LEVELS)]
    message: str
    roles: list[UUID]
    emailing_attempt_made: bool
    created_by: UserSummary
    created_at: datetime
    expires_at: datetime

    def has_expired(self, now: datetime) -> bool:
        return self.expires_at <= now


@dataclass(frozen=True, slots=True)
class OpenInvite:
    """An invite that can be accepted, as the person with its link sees it."""

    invite: Invite
    organization: Organization


class InvalidInvite(Invalid):
    """The error of an invite that is unknown, deleted or used, or whose author lost the right."""

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
    """Build the error of an address that has an account. Only the holder of the link gets it."""
    return Invalid("You already have an account. Sign in to accept the invite.", code="sign_in")


def masked_email(email: str) -> str:
    """Return enough of an address to recognise one's own."""
    name, _, domain = email.rpartition("@")
    return f"{name[:1]}…{name[-1:] if len(name) > 2 else ''}@{domain}"
