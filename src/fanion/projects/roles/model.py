"""Roles of an organization, whose members may edit flags.

Source: flags.md, section 16.
"""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from fanion.projects.model import UserSummary


class RoleMember(Struct, frozen=True, kw_only=True):
    id: UUID
    role_id: UUID
    user: UserSummary
    joined_at: datetime
    updated_at: datetime


class RoleFlag(Struct, frozen=True, kw_only=True):
    id: int
    key: str


class PlainRole(Struct, frozen=True, kw_only=True):
    """The fields of a role that users set: those that are exported and imported."""

    name: str
    feature_flags_access_level: Annotated[
        int, Meta(description="21: view only, and edit flags that the role may edit; 37: edit all.")
    ]


class Role(PlainRole, frozen=True, kw_only=True):
    """A role, as it is stored and returned."""

    id: UUID
    created_at: datetime
    created_by: UserSummary | None
    members: list[RoleMember]
    associated_flags: Annotated[list[RoleFlag], Meta(description="Flags that the role may edit.")]


def folded(name: str) -> str:
    """Return a name for comparison: names that fold to the same text are equal."""
    return name.strip().casefold()
