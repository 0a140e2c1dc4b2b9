"""Request and response bodies of the invite endpoints."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from msgspec import Meta, Struct

from fanion.errors import Invalid
from fanion.projects.invites.model import (
    INVITE_ROLES_MAX,
    INVITES_AT_ONCE_MAX,
    MESSAGE_CHARS_MAX,
    Invite,
    NewInvite,
)
from fanion.projects.model import EMAIL_CHARS_MAX, FIRST_NAME_CHARS_MAX, Level, read_email
from fanion.projects.organizations.model import LevelNumber
from fanion.rest.posthog_fields import MAINTAINED_OF_INVITE, UNSUPPORTED_OF_INVITE
from fanion.rest.validation import read_struct, shared_fields


class InviteRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_INVITE
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_INVITE

    target_email: Annotated[str, Meta(min_length=1, max_length=EMAIL_CHARS_MAX)]
    first_name: Annotated[str, Meta(max_length=FIRST_NAME_CHARS_MAX)] = ""
    level: LevelNumber = 1
    message: (
        Annotated[str, Meta(max_length=MESSAGE_CHARS_MAX, description="Quoted in the mail.")] | None
    ) = None
    roles: Annotated[
        list[UUID], Meta(max_length=INVITE_ROLES_MAX, description="Roles that the person gets.")
    ] = []
    send_email: Annotated[
        bool, Meta(description="Whether to mail the link, if the server sends mail.")
    ] = True


class InviteBody(Invite, frozen=True, kw_only=True):
    is_expired: bool
    updated_at: datetime
    link: Annotated[
        str | None,
        Meta(description="Works once. Only in the response to the creation."),
    ]


def invite_body(invite: Invite, now: datetime, link: str | None = None) -> InviteBody:
    return InviteBody(
        **shared_fields(invite, Invite),
        is_expired=invite.has_expired(now),
        updated_at=invite.created_at,
        link=link,
    )


def read_list(values: object, *, form: bool) -> list[InviteRequest]:
    """Parse a list of invites.

    Raises:
        Invalid: Its `attr` begins with the position in the list.
    """
    if form or not isinstance(values, list):
        kind = "form" if form else type(values).__name__
        raise Invalid(f'Expected a list of items but got type "{kind}".', code="not_a_list")
    if len(values) > INVITES_AT_ONCE_MAX:
        raise Invalid(
            f"A maximum of {INVITES_AT_ONCE_MAX} invites can be sent in a single request.",
            code="max_length",
        )
    return [_read_invite(value, position) for position, value in enumerate(values)]


def _read_invite(value: object, position: int) -> InviteRequest:
    try:
        return read_struct(InviteRequest, value)
    except Invalid as problem:
        attr = f"{position}__{problem.attr}" if problem.attr else str(position)
        raise Invalid(problem.detail, code=problem.code, attr=attr) from None


def new_invites(requests: Sequence[InviteRequest], *, is_list: bool) -> list[NewInvite]:
    """Return the invites that are requested.

    Raises:
        Invalid: An invite is not valid, or two have the same address. In a list its `attr` begins
            with the position.
    """
    new = [
        _new_invite(sent, f"{position}__" if is_list else "")
        for position, sent in enumerate(requests)
    ]
    known = set()
    for invite in new:
        if invite.target_email in known:
            raise Invalid(
                "This e-mail address is in the list twice.",
                code="unique",
                attr=f"{invite.at}target_email",
            )
        known.add(invite.target_email)
    return new


def _new_invite(sent: InviteRequest, at: str) -> NewInvite:
    try:
        email = read_email(sent.target_email)
    except ValueError:
        raise Invalid("Enter a valid email address.", attr=f"{at}target_email") from None
    if len(sent.roles) > INVITE_ROLES_MAX:
        raise Invalid(
            f"Ensure this field has no more than {INVITE_ROLES_MAX} elements.",
            code="max_length",
            attr=f"{at}roles",
        )
    return NewInvite(
        target_email=email,
        level=Level(sent.level),
        first_name=sent.first_name,
        message=sent.message or "",
        roles=tuple(sent.roles),
        send_email=sent.send_email,
        at=at,
    )
