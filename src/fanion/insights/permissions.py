"""Permissions to change dashboards and the insights on them.

source: cohorts.md section 21
"""

from collections.abc import Collection
from dataclasses import dataclass

from fanion.errors import PermissionDenied
from fanion.insights.model import TilePlace

# Restriction levels of dashboards.
EVERYONE_EDITS = 21
COLLABORATORS_EDIT = 37
RESTRICTION_LEVELS = (EVERYONE_EDITS, COLLABORATORS_EDIT)
# Privilege levels of users.
MAY_VIEW = 21
MAY_EDIT = 37


@dataclass(frozen=True, slots=True)
class DashboardAccess:
    """The permissions of one user on the dashboards of one project; every user may view."""

    user_id: int
    is_admin: bool = False

    def privilege(self, level: int, creator_id: int | None) -> int:
        """level: of restriction. Only its creator and administrators edit a restricted one."""
        may = level == EVERYONE_EDITS or self.may_restrict(creator_id)
        return MAY_EDIT if may else MAY_VIEW

    def may_restrict(self, creator_id: int | None) -> bool:
        return self.is_admin or creator_id == self.user_id

    def require_edit(self, level: int, creator_id: int | None) -> None:
        """raises: PermissionDenied"""
        if self.privilege(level, creator_id) != MAY_EDIT:
            raise PermissionDenied("You don't have edit permissions for this dashboard.")

    def require_restrict(self, creator_id: int | None) -> None:
        """raises: PermissionDenied"""
        if not self.may_restrict(creator_id):
            raise PermissionDenied(
                "Only the dashboard owner and project admins have the restriction rights required "
                "to change the dashboard's restriction level."
            )

    def insight_privilege(self, places: Collection[TilePlace]) -> int:
        """Of an insight on these dashboards: one that may be edited is enough."""
        found = [self.privilege(place.restriction_level, place.creator_id) for place in places]
        return max(found, default=MAY_EDIT)

    def require_insight_edit(self, places: Collection[TilePlace]) -> None:
        """raises: PermissionDenied"""
        if self.insight_privilege(places) != MAY_EDIT:
            raise PermissionDenied(
                "This insight is on a dashboard that can only be edited by its owner and by "
                "project admins."
            )


def restriction(places: Collection[TilePlace]) -> int:
    """Of an insight: the strictest level of its dashboards."""
    return max((place.restriction_level for place in places), default=EVERYONE_EDITS)
