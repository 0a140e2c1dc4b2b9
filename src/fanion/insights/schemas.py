"""Bodies of answers of the insight endpoints.

Source: cohorts.md, sections 21 and 22.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypeVar, cast

from msgspec import Meta, Struct, field, to_builtins

from fanion.insights.model import (
    NAME_CHARS_MAX,
    NO_RESULT,
    CachedResult,
    DashboardAccess,
    SavedQuestion,
    StoredInsight,
    filters_hash,
    strictest_restriction,
)
from fanion.projects.model import UserSummary

_Body = TypeVar("_Body", bound=Struct)
NOT_YET = "This field can only be set after creation."  # in the error for such a field

Filters = Annotated[
    dict[str, Any], Meta(description="Events, date range, interval, breakdown, conditions.")
]
Query = Annotated[
    dict[str, Any], Meta(description="The question of newer clients, in place of `filters`.")
]
Name = Annotated[str, Meta(max_length=NAME_CHARS_MAX)]
Result = Annotated[
    Any, Meta(description="The shape depends on the kind; null until it is calculated.")
]


class TilePlaceBody(Struct, kw_only=True):
    id: int
    dashboard_id: int
    deleted: bool


class InsightBody(Struct, kw_only=True):
    id: int
    short_id: str
    name: str | None
    derived_name: str | None
    description: str
    filters: Filters
    filters_hash: str
    query: Query | None
    order: None
    deleted: bool
    dashboards: list[int]
    dashboard_tiles: list[TilePlaceBody]
    last_refresh: datetime | None
    next_allowed_client_refresh: datetime | None
    result: Result
    columns: None
    created_at: datetime
    created_by: UserSummary | None
    updated_at: datetime
    last_modified_at: datetime
    last_modified_by: UserSummary | None
    tags: list[str]
    favorited: bool
    saved: bool
    is_sample: bool
    effective_restriction_level: int
    effective_privilege_level: int
    timezone: str
    is_cached: bool


class ResultBody(Struct, kw_only=True):
    """An answer to `filters`. A kind may have more beside its result, such as `nodes` of paths."""

    result: Result
    timezone: str
    last_refresh: datetime | None
    is_cached: bool
    next: None = None


class QueryResultBody(Struct, kw_only=True):
    """An answer to a `query`. A kind may have more beside its results, such as `columns`."""

    results: Result
    timezone: str
    last_refresh: datetime | None
    is_cached: bool
    cache_key: Annotated[str, Meta(description="Identifies the question.")]
    has_more: bool = field(default=False, name="hasMore")
    error: None = None
    timings: Annotated[list[Any], Meta(description="Always empty.")] = []
    modifiers: Annotated[dict[str, Any], Meta(description="Always empty.")] = {}


class RowsBody(Struct, kw_only=True):
    """An answer to a `query` for a list: rows in the order of its `select`."""

    results: list[list[Any]]
    columns: list[str]
    types: Annotated[list[str], Meta(description="Always empty.")] = []
    has_more: bool = field(name="hasMore")
    limit: int
    offset: int
    missing_actors_count: Annotated[
        int, Meta(description="Actors on the page that are not persons: events without a profile.")
    ]
    timezone: str
    is_cached: bool = False
    last_refresh: datetime


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
    return InsightBody(
        id=insight.id,
        short_id=insight.short_id,
        name=insight.name,
        derived_name=insight.derived_name,
        description=insight.description,
        filters=dict(shown.filters),
        filters_hash=filters_hash(shown, viewer.zone),
        query=None if shown.query is None else dict(shown.query),
        order=None,
        deleted=insight.deleted,
        dashboards=[tile.dashboard_id for tile in insight.tiles],
        dashboard_tiles=[
            TilePlaceBody(id=tile.id, dashboard_id=tile.dashboard_id, deleted=False)
            for tile in insight.tiles
        ],
        last_refresh=answer.calculated_at,
        next_allowed_client_refresh=answer.calculated_at,
        result=answer.results,
        columns=None,
        created_at=insight.created_at,
        created_by=insight.created_by,
        updated_at=insight.last_modified_at,
        last_modified_at=insight.last_modified_at,
        last_modified_by=insight.last_modified_by,
        tags=list(insight.tags),
        favorited=insight.favorited,
        saved=insight.saved,
        is_sample=insight.is_sample,
        effective_restriction_level=strictest_restriction(insight.tiles),
        effective_privilege_level=viewer.access.insight_privilege(insight.tiles),
        timezone=viewer.zone,
        is_cached=answer.is_cached,
    )


def with_more(body: _Body, answer: CachedResult, unknown: Mapping[str, Sequence[str]]) -> _Body:
    """Return the body of an answer with what there is beside the results.

    Args:
        body: The fields that every answer has.
        answer: The answer; its kind may have more, such as `nodes` of paths.
        unknown: Names in the question that were never seen, as `unknown_event`.
    """
    beside = {**answer.beside, **unknown}
    return cast(_Body, {**to_builtins(body), **beside}) if beside else body
