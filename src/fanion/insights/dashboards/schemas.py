"""Request and response bodies of the dashboard endpoints.

Source: cohorts.md, section 21.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.insights.dashboards.model import DashboardRecord, StoredDashboard, StoredTile
from fanion.insights.model import NO_RESULT, CachedResult
from fanion.insights.saved.model import EVERYONE_EDITS, Filters
from fanion.insights.saved.schemas import NOT_YET, InsightBody, Name, Viewer, insight_body
from fanion.insights.schemas import Result
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_DASHBOARD,
    MAINTAINED_OF_TILE,
    UNSUPPORTED_OF_DASHBOARD,
    UNSUPPORTED_OF_TILE,
)
from fanion.rest.validation import shared_fields

Color = Annotated[str, Meta(max_length=400)]


class TileFields(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The changes of a tile.

    Attributes:
        id: The id of a tile that the dashboard has.
    """

    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_TILE
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_TILE

    id: int
    layouts: dict[str, Any] | UnsetType = UNSET
    color: Color | UnsetType | None = UNSET
    deleted: bool | UnsetType = UNSET


class NewDashboard(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_DASHBOARD
    unsupported: ClassVar[Mapping[str, str]] = {
        **UNSUPPORTED_OF_DASHBOARD,
        "deleted": NOT_YET,
        "tiles": "Create insights on this dashboard.",
    }

    name: Name = ""
    description: str = ""
    pinned: bool = False
    filters: Filters | None = None
    tags: list[str] | None = None
    restriction_level: int = EVERYONE_EDITS


class DashboardChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_DASHBOARD
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_DASHBOARD

    name: Name | UnsetType = UNSET
    description: str | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    filters: Filters | UnsetType = UNSET
    tags: list[str] | UnsetType | None = UNSET
    restriction_level: int | UnsetType = UNSET
    deleted: bool | UnsetType = UNSET
    tiles: list[TileFields] | UnsetType | None = UNSET


class TileBody(Struct, kw_only=True):
    id: int
    insight: InsightBody
    text: None
    layouts: dict[str, Any]
    color: str | None
    last_refresh: datetime | None
    is_cached: bool


class DashboardSummary(DashboardRecord, frozen=True, kw_only=True):
    is_shared: bool
    creation_mode: Literal["default"]
    effective_restriction_level: int
    effective_privilege_level: int


class DashboardBody(DashboardSummary, frozen=True, kw_only=True):
    filters: Filters
    tiles: list[TileBody]


def dashboard_summary(dashboard: StoredDashboard, viewer: Viewer) -> DashboardSummary:
    return DashboardSummary(**_summary(dashboard, viewer))


def dashboard_body(
    dashboard: StoredDashboard, viewer: Viewer, answers: Sequence[CachedResult] | None
) -> DashboardBody:
    """Return the body of a dashboard.

    Args:
        answers: The results of its tiles, in their order; None for tiles without results, and with
            the insights' own questions.
    """
    shown = [NO_RESULT] * len(dashboard.tiles) if answers is None else answers
    filters = {} if answers is None else dashboard.filters
    return DashboardBody(
        **_summary(dashboard, viewer),
        filters=dict(dashboard.filters),
        tiles=[
            _tile(tile, filters, viewer, answer)
            for tile, answer in zip(dashboard.tiles, shown, strict=True)
        ],
    )


def _tile(
    tile: StoredTile, filters: Mapping[str, Any], viewer: Viewer, answer: CachedResult
) -> TileBody:
    question = tile.insight.question.on_dashboard(filters)
    return TileBody(
        id=tile.id,
        insight=insight_body(tile.insight, viewer, answer, question),
        text=None,
        layouts=dict(tile.layouts),
        color=tile.color,
        last_refresh=answer.calculated_at,
        is_cached=answer.is_cached,
    )


def _summary(dashboard: StoredDashboard, viewer: Viewer) -> Mapping[str, Any]:
    level = dashboard.restriction_level
    return {
        **shared_fields(dashboard, DashboardRecord),
        "is_shared": dashboard.is_shared,
        "creation_mode": "default",
        "effective_restriction_level": level,
        "effective_privilege_level": viewer.access.privilege(level, dashboard.creator_id),
    }


class SharedTileBody(Struct, kw_only=True):
    """A tile of a shared dashboard: without conditions and without URLs of lists of persons."""

    id: int
    name: str
    description: str
    layouts: dict[str, Any]
    color: str | None
    filters: dict[str, Any]
    query: dict[str, Any] | None
    result: Result
    beside: Annotated[dict[str, Any], Meta(description="What the answer has beside its results.")]
    last_refresh: datetime | None


class SharedDashboardBody(Struct, kw_only=True):
    name: str
    description: str
    timezone: str
    tiles: list[SharedTileBody]
