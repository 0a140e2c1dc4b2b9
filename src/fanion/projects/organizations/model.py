"""Members of an organization, the access that all of them have, and who may change members.

Administrators manage members below them, and owners manage everyone. No member changes their own
level.

Source: flags.md, section 16.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from fanion.errors import PermissionDenied
from fanion.projects.model import LEVELS, Level, UserSummary

LevelNumber = Annotated[Literal[0, 1, 8, 15], Meta(description=LEVELS)]
FEATURE_FLAGS = "feature flags"  # the only resource with access levels


class AccessLevel(IntEnum):
    """Access to flags that a role has, or that an organization gives all its members."""

    VIEW = 21
    EDIT = 37


class ResourceAccess(Struct, frozen=True, kw_only=True):
    """The access that an organization gives all its members, as it is stored and returned."""

    id: int
    resource: str
    access_level: int
    organization: UUID
    created_at: datetime
    updated_at: datetime
    created_by: UserSummary | None


class OrganizationMember(Struct, frozen=True, kw_only=True):
    user: UserSummary
    level: Annotated[int, Meta(description=LEVELS)]
    joined_at: datetime
    is_2fa_enabled: Annotated[bool, Meta(description="Whether the member has a second factor.")]


@dataclass(frozen=True, slots=True)
class Manager:
    """A member who changes other members, with the current level."""

    user_id: int
    level: int


def require_manager(level: int) -> None:
    """Raise PermissionDenied unless members with this level may manage others."""
    if level < Level.ADMIN:
        raise PermissionDenied("Your organization access level is insufficient.")


def require_may_give(manager: Manager, level: int) -> None:
    """Raise PermissionDenied unless the manager may give this level to a member or in an invite."""
    require_manager(manager.level)
    if level > manager.level:
        raise PermissionDenied("You can only give levels that are not higher than your own.")


def require_may_manage(manager: Manager, level: int) -> None:
    """Raise PermissionDenied unless the manager may change or remove a member.

    Args:
        level: The level of that member.
    """
    require_manager(manager.level)
    if manager.level < Level.OWNER and level >= manager.level:
        raise PermissionDenied("You can only manage members whose level is lower than yours.")


def require_may_change_level(manager: Manager, user_id: int, level: int, new_level: int) -> None:
    """Raise PermissionDenied unless the manager may give a member the level `new_level`.

    Args:
        user_id: The member.
        level: The current level of the member.
    """
    require_manager(manager.level)
    if user_id == manager.user_id:
        raise PermissionDenied("You can't change your own access level.")
    require_may_manage(manager, level)
    require_may_give(manager, new_level)


def require_may_remove(manager: Manager, user_id: int, level: int) -> None:
    """Raise PermissionDenied unless the manager may remove the member. Every member may leave."""
    if user_id != manager.user_id:
        require_may_manage(manager, level)
