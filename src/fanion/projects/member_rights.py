"""Which levels a member may give, and to whom. Administrators manage members below them, owners
manage everyone; no member changes the own level."""

from dataclasses import dataclass

from fanion.errors import PermissionDenied
from fanion.projects.model import Level


@dataclass(frozen=True, slots=True)
class Manager:
    """A member who changes other members, as of now."""

    user_id: int
    level: int


def require_manager(level: int) -> None:
    """raises: PermissionDenied"""
    if level < Level.ADMIN:
        raise PermissionDenied("Your organization access level is insufficient.")


def require_may_give(manager: Manager, level: int) -> None:
    """To a member, or in an invite. raises: PermissionDenied"""
    require_manager(manager.level)
    if level > manager.level:
        raise PermissionDenied("You can only give levels that are not higher than your own.")


def require_may_manage(manager: Manager, level: int) -> None:
    """level: of the member to be changed or removed. raises: PermissionDenied"""
    require_manager(manager.level)
    if manager.level < Level.OWNER and level >= manager.level:
        raise PermissionDenied("You can only manage members whose level is lower than yours.")


def require_may_change_level(manager: Manager, user_id: int, level: int, wanted: int) -> None:
    """user_id, level: of the member who is to have the level `wanted`. raises: PermissionDenied"""
    require_manager(manager.level)
    if user_id == manager.user_id:
        raise PermissionDenied("You can't change your own access level.")
    require_may_manage(manager, level)
    require_may_give(manager, wanted)


def require_may_remove(manager: Manager, user_id: int, level: int) -> None:
    """Every member may leave. raises: PermissionDenied"""
    if user_id != manager.user_id:
        require_may_manage(manager, level)
