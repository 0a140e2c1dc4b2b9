"""Insights and dashboards as they are stored, and who may change them.

source: cohorts.md sections 21 and 22
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from fanion.errors import PermissionDenied
from fanion.insights.date_range import RangeClock
from fanion.insights.trends.query import TrendsQuery
from fanion.projects.model import UserSummary

# An older result is not returned.
RESULT_MAX_AGE = timedelta(days=7)
# A younger result is not calculated again, unless the client asks to refresh it.
FRESH_AGE = timedelta(minutes=15)
FRESH_AGE_BY_HOUR = timedelta(minutes=1)
# Restriction levels of dashboards.
EVERYONE_EDITS = 21
COLLABORATORS_EDIT = 37
RESTRICTION_LEVELS = (EVERYONE_EDITS, COLLABORATORS_EDIT)
# Privilege levels of users.
MAY_VIEW = 21
MAY_EDIT = 37

_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True)
class StoredInsight:
    id: int
    short_id: str
    name: str | None
    derived_name: str | None
    description: str
    filters: Mapping[str, Any]
    tags: Sequence[str]
    favorited: bool
    saved: bool
    is_sample: bool
    deleted: bool
    created_at: datetime
    created_by: UserSummary | None
    last_modified_at: datetime
    last_modified_by: UserSummary | None
    tiles: "Sequence[TilePlace]" = ()


@dataclass(frozen=True, slots=True)
class TilePlace:
    """A dashboard that contains the insight. restriction_level, creator_id: of the dashboard"""

    id: int
    dashboard_id: int
    restriction_level: int
    creator_id: int | None


@dataclass(frozen=True, slots=True)
class StoredTile:
    id: int
    insight: StoredInsight
    layouts: Mapping[str, Any]
    color: str | None


@dataclass(frozen=True, slots=True)
class StoredDashboard:
    """tiles: in the order in which they were added; none where many dashboards are listed"""

    id: int
    name: str
    description: str
    pinned: bool
    filters: Mapping[str, Any]
    tags: Sequence[str]
    deleted: bool
    restriction_level: int
    created_at: datetime
    created_by: UserSummary | None
    tiles: Sequence[StoredTile] = ()

    @property
    def creator_id(self) -> int | None:
        return None if self.created_by is None else self.created_by.id


@dataclass(frozen=True, slots=True)
class CachedResult:
    """result: None until it was calculated"""

    result: list[dict[str, Any]] | None
    calculated_at: datetime | None
    is_cached: bool


NO_RESULT = CachedResult(None, None, is_cached=False)


def on_dashboard(filters: Mapping[str, Any], dashboard: Mapping[str, Any]) -> dict[str, Any]:
    """The filters of an insight on a dashboard, whose date range replaces that of the insight."""
    if not dashboard.get("date_from") and not dashboard.get("date_to"):
        return dict(filters)
    own = {"date_from": dashboard.get("date_from"), "date_to": dashboard.get("date_to")}
    return {**filters, **own}


def filters_hash(
    filters: Mapping[str, Any], zone: str, *, within: Sequence[Mapping[str, Any]] = ()
) -> str:
    """Identifies filters, independent of the order of keys. within: conditions of the project that
    they ask for"""
    identified: list[Any] = [filters, zone]
    if within:
        identified.append(within)
    return sha256(_encode(identified)).hexdigest()[:40]


def is_fresh(query: TrendsQuery, calculated_at: datetime, now: datetime, zone: ZoneInfo) -> bool:
    """Whether a result is recent and about the same days."""
    age = now - calculated_at
    if not timedelta() <= age < (FRESH_AGE_BY_HOUR if query.interval == "hour" else FRESH_AGE):
        return False
    if query.since.is_all:
        return calculated_at.astimezone(zone).date() == now.astimezone(zone).date()
    if query.is_explicit:  # it moves with every microsecond
        return True
    then, today = (query.span(RangeClock(moment, zone)) for moment in (calculated_at, now))
    return then == today


@dataclass(frozen=True, slots=True)
class DashboardAccess:
    """The permissions of one user on the dashboards of one project; every user may view.

    is_viewer: may change none, not even the own ones
    """

    user_id: int
    is_admin: bool = False
    is_viewer: bool = False

    def privilege(self, level: int, creator_id: int | None) -> int:
        """level: of restriction. Only its creator and administrators edit a restricted one."""
        may = level == EVERYONE_EDITS or self.may_restrict(creator_id)
        return MAY_EDIT if may and not self.is_viewer else MAY_VIEW

    def may_restrict(self, creator_id: int | None) -> bool:
        return not self.is_viewer and (self.is_admin or creator_id == self.user_id)

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
        return max(found, default=MAY_VIEW if self.is_viewer else MAY_EDIT)

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
