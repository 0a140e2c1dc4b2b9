"""Insights and dashboards as they are stored, and who may change them.

Source: cohorts.md, sections 21 and 22.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Meta, Struct

from fanion.errors import PermissionDenied
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.query import InsightQuery
from fanion.projects.model import UserSummary

NAME_CHARS_MAX = 400  # in the name of a dashboard or an insight; a flag's key may be as long
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
class SavedQuestion:
    """A question as it was sent: `filters`, or a `query` of newer clients and empty filters."""

    filters: Mapping[str, Any]
    query: Mapping[str, Any] | None = None

    def on_dashboard(self, dashboard: Mapping[str, Any]) -> Self:
        """Return the question with the filters of a dashboard.

        The dashboard's date range replaces that of the question, and its conditions are added.
        """
        if self.query is not None:
            return replace(self, query=query_on_dashboard(self.query, dashboard))
        return replace(self, filters=filters_on_dashboard(self.filters, dashboard))


@dataclass(frozen=True, slots=True)
class StoredInsight:
    id: int
    short_id: str
    name: str | None
    derived_name: str | None
    description: str
    filters: Mapping[str, Any]
    query: Mapping[str, Any] | None
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

    @property
    def question(self) -> SavedQuestion:
        return SavedQuestion(self.filters, self.query)


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


@dataclass(frozen=True, slots=True)
class StoredTile:
    id: int
    insight: StoredInsight
    layouts: Mapping[str, Any]
    color: str | None


class DashboardSettings(Struct, frozen=True, kw_only=True):
    """The fields of a dashboard that users set, without its filters."""

    name: str
    description: str
    pinned: bool
    tags: list[str]
    restriction_level: Annotated[
        int,
        Meta(
            description="21: everyone in the project can edit; 37: only its creator and "
            "administrators."
        ),
    ]


class PlainDashboard(DashboardSettings, frozen=True, kw_only=True):
    """The fields of a dashboard that users set: those that are exported and imported."""

    filters: dict[str, Any]


class DashboardRecord(DashboardSettings, frozen=True, kw_only=True):
    """A dashboard as it is stored and returned, without its filters and tiles."""

    id: int
    deleted: bool
    created_at: datetime
    created_by: UserSummary | None


class StoredDashboard(DashboardRecord, frozen=True, kw_only=True):
    """A dashboard as it is stored.

    Attributes:
        tiles: In the order in which they were added; empty in lists of dashboards.
    """

    filters: dict[str, Any]
    tiles: Sequence[StoredTile] = ()

    @property
    def creator_id(self) -> int | None:
        return None if self.created_by is None else self.created_by.id


@dataclass(frozen=True, slots=True)
class CachedResult:
    """The result of a question in the cache, if there is one.

    Attributes:
        result: None until it was calculated. An object with `results` has more beside them.
    """

    result: Any
    calculated_at: datetime | None
    is_cached: bool

    @property
    def results(self) -> Any:
        return self.result["results"] if self._has_more else self.result

    @property
    def beside(self) -> Mapping[str, Any]:
        """Return what an answer has beside its results, such as `hasMore` or `nodes`."""
        if not self._has_more:
            return {}
        return {name: value for name, value in self.result.items() if name != "results"}

    @property
    def _has_more(self) -> bool:
        return isinstance(self.result, dict) and "results" in self.result


NO_RESULT = CachedResult(None, None, is_cached=False)


def filters_on_dashboard(
    filters: Mapping[str, Any], dashboard: Mapping[str, Any]
) -> dict[str, Any]:
    """Return filters with those of a dashboard, as `SavedQuestion.on_dashboard` applies them."""
    return {**filters, **_range_of(dashboard), **_conditions_of(filters, dashboard)}


def query_on_dashboard(query: Mapping[str, Any], dashboard: Mapping[str, Any]) -> dict[str, Any]:
    """Return a query, in any wrappers, with the filters of a dashboard."""
    source = query.get("source")
    if isinstance(source, dict):
        return {**query, "source": query_on_dashboard(source, dashboard)}
    own = query.get("dateRange")
    span = {**(own if isinstance(own, dict) else {}), **_range_of(dashboard)}
    within = {"dateRange": span} if span else {}
    return {**query, **within, **_conditions_of(query, dashboard)}


def _range_of(dashboard: Mapping[str, Any]) -> dict[str, Any]:
    if not dashboard.get("date_from") and not dashboard.get("date_to"):
        return {}
    return {"date_from": dashboard.get("date_from"), "date_to": dashboard.get("date_to")}


def _conditions_of(question: Mapping[str, Any], dashboard: Mapping[str, Any]) -> dict[str, Any]:
    own, added = question.get("properties"), dashboard.get("properties")
    if not added:
        return {}
    if not own:
        return {"properties": added}
    return {"properties": {"type": "AND", "values": [_group(own), _group(added)]}}


def _group(conditions: Any) -> Any:
    if isinstance(conditions, dict) and "values" in conditions:
        return conditions
    listed = conditions if isinstance(conditions, list) else [conditions]
    return {"type": "AND", "values": listed}


def filters_hash(question: SavedQuestion, zone: str) -> str:
    """Return an identifier of filters or a query, independent of the order of names."""
    content = question.filters if question.query is None else question.query
    return sha256(_encode([content, zone])).hexdigest()[:40]


def is_fresh(query: InsightQuery, calculated_at: datetime, now: datetime, zone: ZoneInfo) -> bool:
    """Return whether a result is recent and about the same days as now."""
    age = now - calculated_at
    by_hour = query.interval in ("minute", "hour")
    if not timedelta() <= age < (FRESH_AGE_BY_HOUR if by_hour else FRESH_AGE):
        return False
    if query.scope.since.is_all:
        return calculated_at.astimezone(zone).date() == now.astimezone(zone).date()
    if query.scope.is_explicit:  # its range moves with every microsecond
        return True
    then, today = (query.span(RangeClock(moment, zone)) for moment in (calculated_at, now))
    return then == today


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
