"""Saved insights, and who may change them and the dashboards that show them.

Source: cohorts.md, sections 21 and 22.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct

from fanion.errors import PermissionDenied
from fanion.insights.model import SavedQuestion
from fanion.projects.model import UserSummary

NAME_CHARS_MAX = 400  # in the name of a dashboard or an insight; a flag's key may be as long
# Restriction levels of dashboards.
EVERYONE_EDITS = 21
COLLABORATORS_EDIT = 37
RESTRICTION_LEVELS = (EVERYONE_EDITS, COLLABORATORS_EDIT)
# Privilege levels of users.
MAY_VIEW = 21
MAY_EDIT = 37

Filters = Annotated[
    dict[str, Any], Meta(description="Events, date range, interval, breakdown, conditions.")
]
Query = Annotated[
    dict[str, Any], Meta(description="The question of newer clients, in place of `filters`.")
]


class PlainInsight(Struct, frozen=True, kw_only=True):
    """The fields of an insight that users set: those that are recorded, exported and imported.

    The defaults are those of a new insight.
    """

    name: str | None = None
    derived_name: str | None = None
    description: str = ""
    filters: dict[str, Any] = {}
    query: dict[str, Any] | None = None
    tags: list[str] = []
    favorited: bool = False
    saved: bool = False


class InsightRecord(Struct, frozen=True, kw_only=True):
    """An insight as it is stored and returned, without the dashboards that show it."""

    name: str | None
    derived_name: str | None
    description: str
    filters: Filters
    query: Query | None
    tags: list[str]
    favorited: bool
    saved: bool
    id: int
    short_id: str
    is_sample: bool
    deleted: bool
    created_at: datetime
    created_by: UserSummary | None
    last_modified_at: datetime
    last_modified_by: UserSummary | None


@dataclass(frozen=True, slots=True)
class TilePlace:
    """A tile of a dashboard that shows the insight.

    Attributes:
        restriction_level: The restriction level of the dashboard.
        creator_id: The creator of the dashboard.
    """

    id: int
    dashboard_id: int
    restriction_level: int
    creator_id: int | None


class StoredInsight(InsightRecord, frozen=True, kw_only=True):
    """An insight as it is stored, with the tiles that show it."""

    tiles: Sequence[TilePlace] = ()

    @property
    def question(self) -> SavedQuestion:
        return SavedQuestion(self.filters, self.query)


@dataclass(frozen=True, slots=True)
class DashboardAccess:
    """The permissions of one user on the dashboards of one project; every user may view.

    Attributes:
        is_viewer: Whether the user may change no dashboard, not even their own.
    """

    user_id: int
    is_admin: bool = False
    is_viewer: bool = False

    def privilege(self, level: int, creator_id: int | None) -> int:
        """Return the privilege; only its creator and administrators edit a restricted dashboard.

        Args:
            level: The restriction level.
        """
        may = level == EVERYONE_EDITS or self.may_restrict(creator_id)
        return MAY_EDIT if may and not self.is_viewer else MAY_VIEW

    def may_restrict(self, creator_id: int | None) -> bool:
        return not self.is_viewer and (self.is_admin or creator_id == self.user_id)

    def require_edit(self, level: int, creator_id: int | None) -> None:
        """Raise PermissionDenied unless the user may edit the dashboard."""
        if self.privilege(level, creator_id) != MAY_EDIT:
            raise PermissionDenied("You don't have edit permissions for this dashboard.")

    def require_restrict(self, creator_id: int | None) -> None:
        """Raise PermissionDenied unless the user may change the restriction level."""
        if not self.may_restrict(creator_id):
            raise PermissionDenied(
                "Only the dashboard owner and project admins have the restriction rights required "
                "to change the dashboard's restriction level."
            )

    def insight_privilege(self, tiles: Collection[TilePlace]) -> int:
        """Return the privilege on an insight: one dashboard that the user may edit is enough."""
        privileges = [self.privilege(tile.restriction_level, tile.creator_id) for tile in tiles]
        return max(privileges, default=MAY_VIEW if self.is_viewer else MAY_EDIT)

    def require_insight_edit(self, tiles: Collection[TilePlace]) -> None:
        """Raise PermissionDenied unless the user may edit an insight on these dashboards."""
        if self.insight_privilege(tiles) != MAY_EDIT:
            raise PermissionDenied(
                "This insight is on a dashboard that can only be edited by its owner and by "
                "project admins."
            )


def strictest_restriction(tiles: Collection[TilePlace]) -> int:
    """Return the strictest restriction level of the dashboards of an insight."""
    return max((tile.restriction_level for tile in tiles), default=EVERYONE_EDITS)
