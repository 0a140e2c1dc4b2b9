"""Dashboards, and the tiles that show insights on them.

Source: cohorts.md, section 21.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct

from fanion.insights.saved.model import StoredInsight
from fanion.projects.model import UserSummary


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
        is_shared: Whether a link shows it to anyone with the link.
        tiles: In the order in which they were added; empty in lists of dashboards.
    """

    filters: dict[str, Any]
    is_shared: bool = False
    tiles: Sequence[StoredTile] = ()

    @property
    def creator_id(self) -> int | None:
        return None if self.created_by is None else self.created_by.id
