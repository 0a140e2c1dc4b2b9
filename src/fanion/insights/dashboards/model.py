"""Dashboards, and the tiles that show insights and texts on them.

Source: cohorts.md, section 21.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct

from fanion.errors import AppError
from fanion.insights.model import SavedQuestion
from fanion.insights.saved.model import StoredInsight
from fanion.projects.model import UserSummary

TEXT_CHARS_MAX = 4_000  # in a text on a dashboard, as in PostHog


class StaleDashboard(AppError):
    """The dashboard, or a text on it, has changed since the caller read it."""

    status, type, default_code = 409, "invalid_request", "conflict"
    default_detail = (
        "The dashboard was changed since you read it. Review the current version and try again."
    )


@dataclass(frozen=True, slots=True)
class TileChange:
    """A change of a tile, or a new tile.

    Attributes:
        tile_id: None for a new tile.
        columns: Any of `layouts`, `color` and `deleted`, of a text also `body`; of a new tile with
            an insight also `insight_id`.
        expected_modified_at: When the text was last changed, as far as the caller knows; None for
            any time.
    """

    tile_id: int | None
    columns: Mapping[str, Any] = field(default_factory=dict)
    expected_modified_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StoredText:
    """The text of a tile.

    Attributes:
        body: In Markdown.
    """

    body: str
    last_modified_at: datetime
    last_modified_by: UserSummary | None


@dataclass(frozen=True, slots=True)
class StoredTile:
    """A tile, which shows either an insight or a text."""

    id: int
    insight: StoredInsight | None
    text: StoredText | None
    layouts: Mapping[str, Any]
    color: str | None

    def question_within(self, filters: Mapping[str, Any]) -> SavedQuestion | None:
        """Return the insight's question with the filters of a dashboard, None for a text."""
        return None if self.insight is None else self.insight.question.on_dashboard(filters)


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
    last_modified_at: Annotated[
        datetime, Meta(description="When its own fields last changed. Its tiles do not count.")
    ]


class StoredDashboard(DashboardRecord, frozen=True, kw_only=True):
    """A dashboard as it is stored.

    Attributes:
        is_shared: Whether a link shows it to anyone with the link.
        tiles: In the order in which they were added; empty in lists of dashboards.
    """

    filters: dict[str, Any]
    is_shared: bool = False
    tiles: Sequence[StoredTile] = ()

    @property
    def creator_id(self) -> int | None:
        return None if self.created_by is None else self.created_by.id
