"""Request and response bodies of the dashboard endpoints.

Source: cohorts.md, section 21.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.insights.dashboards.model import (
    TEXT_CHARS_MAX,
    DashboardRecord,
    StoredDashboard,
    StoredText,
    StoredTile,
    TileChange,
)
from fanion.insights.model import NO_RESULT, CachedResult
from fanion.insights.saved.model import EVERYONE_EDITS, Filters
from fanion.insights.saved.schemas import (
    NOT_YET,
    ExpectedTime,
    InsightBody,
    Name,
    Viewer,
    insight_body,
)
from fanion.insights.schemas import Result
from fanion.projects.model import UserSummary
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_DASHBOARD,
    MAINTAINED_OF_TEXT,
    MAINTAINED_OF_TILE,
    UNSUPPORTED_OF_DASHBOARD,
    UNSUPPORTED_OF_TILE,
)
from fanion.rest.validation import given_fields, shared_fields

Color = Annotated[str, Meta(max_length=400)]
Beside = Annotated[dict[str, Any], Meta(description="What the answer has beside its results.")]


TextContent = Annotated[str, Meta(min_length=1, max_length=TEXT_CHARS_MAX, description="Markdown.")]


class TextFields(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The text of a tile."""

    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_TEXT

    body: TextContent
    expected_modified_at: ExpectedTime | UnsetType | None = UNSET


class TileFields(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The changes of a tile, or without an id a new tile with a text.

    Attributes:
        id: The id of a tile that the dashboard has.
    """

    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_TILE | {"beside"}
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_TILE

    id: int | UnsetType = UNSET
    text: TextFields | UnsetType | None = UNSET
    layouts: dict[str, Any] | UnsetType = UNSET
    color: Color | UnsetType | None = UNSET
    deleted: bool | UnsetType = UNSET


def tile_change(sent: TileFields) -> TileChange:
    columns = given_fields(sent)
    tile_id, text = columns.pop("id", None), columns.pop("text", None)
    if text is None:
        return TileChange(tile_id, columns)
    expected = given_fields(text).get("expected_modified_at")
    return TileChange(tile_id, {**columns, "body": text.body}, expected)


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
    use_template: Annotated[
        str | None,
        Meta(
            description="Adds the insights and texts of a template: `product`, `web` or `flag`. "
            "The template also gives a name and a description, where none are sent."
        ),
    ] = None
    flag_key: Annotated[
        str | None, Meta(description="The key of the flag, for the template `flag`.")
    ] = None


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
    expected_modified_at: ExpectedTime | UnsetType | None = UNSET


class TextBody(Struct, kw_only=True):
    """A text on a dashboard.

    Attributes:
        id: The id of its tile.
        body: In Markdown.
    """

    id: int
    body: str
    last_modified_at: datetime
    last_modified_by: UserSummary | None


class TileBody(Struct, kw_only=True):
    """A tile, which shows either an insight or a text."""

    id: int
    insight: InsightBody | None
    text: TextBody | None
    layouts: dict[str, Any]
    color: str | None
    last_refresh: datetime | None
    is_cached: bool
    beside: Beside


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
    dashboard: StoredDashboard,
    viewer: Viewer,
    answers: Sequence[CachedResult] | None,
    *,
    own_questions: bool = False,
) -> DashboardBody:
    """Return the body of a dashboard.

    Args:
        answers: The results of its tiles, in their order; None for tiles without results, and with
            the insights' own questions.
        own_questions: Whether tiles have the insights' own questions, without the filters of the
            dashboard.
    """
    shown = [NO_RESULT] * len(dashboard.tiles) if answers is None else answers
    filters = {} if answers is None or own_questions else dashboard.filters
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
    insight, question = tile.insight, tile.question_within(filters)
    return TileBody(
        id=tile.id,
        insight=None if insight is None else insight_body(insight, viewer, answer, question),
        text=None if tile.text is None else _text_body(tile.id, tile.text),
        layouts=dict(tile.layouts),
        color=tile.color,
        last_refresh=answer.calculated_at,
        is_cached=answer.is_cached,
        beside=dict(answer.beside),
    )


def _text_body(tile_id: int, text: StoredText) -> TextBody:
    return TextBody(
        id=tile_id,
        body=text.body,
        last_modified_at=text.last_modified_at,
        last_modified_by=text.last_modified_by,
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


class SharedTextBody(Struct, kw_only=True):
    """A text on a shared dashboard, without the name of its author."""

    body: str


class SharedTileBody(Struct, kw_only=True):
    """A tile of a shared dashboard: without conditions and without URLs of lists of persons.

    A tile with a text has an empty name, empty filters and no result.
    """

    id: int
    name: str
    description: str
    text: SharedTextBody | None
    layouts: dict[str, Any]
    color: str | None
    filters: dict[str, Any]
    query: dict[str, Any] | None
    result: Result
    beside: Beside
    last_refresh: datetime | None
    is_refused: Annotated[
        bool,
        Meta(description="Whether the insight cannot be calculated, such as SQL that is too slow."),
    ]


class SharedDashboardBody(Struct, kw_only=True):
    name: str
    description: str
    timezone: str
    tiles: list[SharedTileBody]
