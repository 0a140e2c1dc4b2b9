"""Roles of an organization: who is in one, and what it may do with feature flags.

source: flags.md section 16
"""

from datetime import datetime
from enum import IntEnum
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from fanion.projects.model import UserSummary

FEATURE_FLAGS = "feature flags"  # the one kind of thing that access can be set for


class AccessLevel(IntEnum):
    """What a role, or an organization for everybody, allows. source: flags.md section 16"""

    VIEW = 21
    EDIT = 37


class RoleMember(Struct, frozen=True, kw_only=True):
    id: UUID
    role_id: UUID
    user: UserSummary
    joined_at: datetime
    updated_at: datetime


class RoleFlag(Struct, frozen=True, kw_only=True):
    id: int
    key: str


class Role(Struct, frozen=True, kw_only=True):
    """As it is stored and as it is shown."""

    id: UUID
    name: str
    feature_flags_access_level: Annotated[
        int, Meta(description="21: only view unless a flag is given to the role; 37: edit all.")
    ]
    created_at: datetime
    created_by: UserSummary | None
    members: list[RoleMember]
    associated_flags: Annotated[
        list[RoleFlag], Meta(description="The flags that were given to the role.")
    ]


class ResourceAccess(Struct, frozen=True, kw_only=True):
    """What an organization allows everybody; as it is stored and as it is shown."""

    id: int
    resource: str
    access_level: int
    organization: UUID
    created_at: datetime
    updated_at: datetime
    created_by: UserSummary | None


def folded(name: str) -> str:
    """Two names that fold to the same text count as one."""
    return name.strip().casefold()
