"""What is told of changes of things that belong to organizations and projects.

Nothing here knows of the activity, which stands above: whoever changes something is given a
function that is told of it in the transaction of the change.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Connection

from fanion.projects.model import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationChange:
    """Of a thing that is not of one project.

    name:    what people call it, after the change
    before:  its fields in the order in which they are told; None for a new thing
    after:   the same; None for one that is gone
    user_id: None for what the server or its operator does
    """

    organization_id: UUID
    scope: Literal["Role", "ResourceAccess", "PersonalAPIKey", "OrganizationMembership"]
    item_id: str
    name: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    user_id: int | None
    now: datetime


@dataclass(frozen=True, slots=True)
class SecretKeyChange:
    """before, after: how the key is shown, masked; None when there is none"""

    project_id: int
    before: str | None
    after: str | None
    user_id: int | None
    now: datetime


@dataclass(frozen=True, slots=True)
class RoleRemoval:
    """user_id: by whom; None for the operator"""

    role_id: UUID
    user_id: int | None
    now: datetime


TellOrganization = Callable[[Connection, OrganizationChange], None]
TellSecretKey = Callable[[Connection, SecretKeyChange], None]
# Takes from a role, which is about to be removed, what it was given.
TakeBack = Callable[[Connection, RoleRemoval], None]


def nobody(_: Connection, change: object) -> None:
    """Told of what nobody wants to know."""


def role_changed(
    organization_id: UUID,
    before: Role | None,
    after: Role | None,
    user_id: int | None,
    now: datetime,
) -> OrganizationChange:
    """One of the two there is."""
    named = after or before
    assert named is not None
    return OrganizationChange(
        organization_id=organization_id,
        scope="Role",
        item_id=str(named.id),
        name=named.name,
        before=None if before is None else _told(before),
        after=None if after is None else _told(after),
        user_id=user_id,
        now=now,
    )


def _told(role: Role) -> dict[str, Any]:
    return {
        "name": role.name,
        "feature_flags_access_level": role.feature_flags_access_level,
        "members": [member.user.email for member in role.members],
    }
