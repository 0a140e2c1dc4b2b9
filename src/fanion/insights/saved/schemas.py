"""Request and response bodies of the insight endpoints.

Source: cohorts.md, section 22; insights.md, section 14.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.insights.model import NO_RESULT, CachedResult, SavedQuestion, filters_hash
from fanion.insights.saved.model import (
    NAME_CHARS_MAX,
    DashboardAccess,
    Filters,
    InsightRecord,
    Query,
    StoredInsight,
    strictest_restriction,
)
from fanion.insights.schemas import Result
from fanion.rest.posthog_fields import MAINTAINED_OF_INSIGHT, UNSUPPORTED_OF_INSIGHT
from fanion.rest.validation import shared_fields

NOT_YET = "This field can only be set after creation."  # in the error for such a field
Name = Annotated[str, Meta(max_length=NAME_CHARS_MAX)]
ExpectedTime = Annotated[
    datetime,
    Meta(description="`last_modified_at` of what the change is based on; 409 if it is older."),
]


class NewInsight(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_INSIGHT
    unsupported: ClassVar[Mapping[str, str]] = {**UNSUPPORTED_OF_INSIGHT, "deleted": NOT_YET}

    name: Name | None = None
    derived_name: Name | None = None
    description: str | None = ""
    filters: Filters | None = None
    query: Query | None = None
    dashboards: list[int] | None = None
    tags: list[str] | None = None
    favorited: bool = False
    saved: bool = False


class InsightChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_INSIGHT
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_INSIGHT

    name: Name | UnsetType | None = UNSET
    derived_name: Name | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    filters: Filters | UnsetType = UNSET
    query: Query | UnsetType | None = UNSET
    dashboards: list[int] | UnsetType | None = UNSET
    tags: list[str] | UnsetType | None = UNSET
    favorited: bool | UnsetType = UNSET
    saved: bool | UnsetType = UNSET
    deleted: bool | UnsetType = UNSET
    expected_modified_at: ExpectedTime | UnsetType | None = UNSET


class TilePlaceBody(Struct, kw_only=True):
    id: int
    dashboard_id: int
    deleted: bool


class InsightBody(InsightRecord, frozen=True, kw_only=True):
    filters_hash: str
    order: None
    dashboards: list[int]
    dashboard_tiles: list[TilePlaceBody]
    last_refresh: datetime | None
    next_allowed_client_refresh: datetime | None
    result: Result
    columns: Annotated[
        list[str] | None, Meta(description="The columns of the result of a query in SQL.")
    ]
    updated_at: datetime
    effective_restriction_level: int
    effective_privilege_level: int
    timezone: str
    is_cached: bool


@dataclass(frozen=True, slots=True)
class Viewer:
    """The user that a body is built for.

    Attributes:
        zone: The time zone of the project.
    """

    zone: str
    access: DashboardAccess


def insight_body(
    insight: StoredInsight,
    viewer: Viewer,
    answer: CachedResult = NO_RESULT,
    question: SavedQuestion | None = None,
) -> InsightBody:
    """Return the body of an insight.

    Args:
        question: The question with a dashboard's filters; None for the insight's own.
    """
    shown = insight.question if question is None else question
    displayed = {"filters": shown.filters, "query": shown.query}
    return InsightBody(
        **(shared_fields(insight, InsightRecord) | displayed),
        filters_hash=filters_hash(shown, viewer.zone),
        order=None,
        dashboards=[tile.dashboard_id for tile in insight.tiles],
        dashboard_tiles=[
            TilePlaceBody(id=tile.id, dashboard_id=tile.dashboard_id, deleted=False)
            for tile in insight.tiles
        ],
        last_refresh=answer.calculated_at,
        next_allowed_client_refresh=answer.calculated_at,
        result=answer.results,
        columns=answer.beside.get("columns"),
        updated_at=insight.last_modified_at,
        effective_restriction_level=strictest_restriction(insight.tiles),
        effective_privilege_level=viewer.access.insight_privilege(insight.tiles),
        timezone=viewer.zone,
        is_cached=answer.is_cached,
    )
