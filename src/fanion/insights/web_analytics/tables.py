"""The tables of web analytics: their columns, and which of their rows are shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from fanion.insights.entities import Entity
from fanion.insights.parsing.path_cleaning import Cleaning
from fanion.insights.web_analytics.query import (
    Column,
    Ordering,
    WebBreakdown,
    WebStatsTableQuery,
)

SESSION_FIELDS: Final[dict[WebBreakdown, str]] = {
    "InitialPage": "$entry_pathname",
    "ExitPage": "$exit_pathname",
    "InitialReferringDomain": "$entry_referring_domain",
    "InitialUTMSource": "$entry_utm_source",
    "InitialUTMMedium": "$entry_utm_medium",
    "InitialUTMCampaign": "$entry_utm_campaign",
    "InitialUTMTerm": "$entry_utm_term",
    "InitialUTMContent": "$entry_utm_content",
    "InitialChannelType": "$channel_type",
}
# The breakdown by three fields of the session together.
SOURCE_MEDIUM_CAMPAIGN: Final[WebBreakdown] = "InitialUTMSourceMediumCampaign"
# A breakdown whose value is not among the kept views of sessions.
PREVIOUS_PAGE: Final[WebBreakdown] = "PreviousPage"


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of a table, and which of its rows are shown.

    Attributes:
        breakdown: None for one row for each of `goals`, by its number.
    """

    breakdown: WebBreakdown | None = None
    goal: Entity | None = None
    bounce_rate: bool = False
    time_on_page: bool = False
    cleaning: Sequence[Cleaning] = field(default=())
    columns: Sequence[Column] = ("visitors", "views")
    ordering: Ordering | None = None
    limit: int = 10
    offset: int = 0
    goals: Sequence[Entity] = ()

    @property
    def is_of_sessions(self) -> bool:
        """Return whether a row's value belongs to the session, not the event."""
        return self.breakdown in SESSION_FIELDS or self.breakdown == SOURCE_MEDIUM_CAMPAIGN

    @property
    def is_kept(self) -> bool:
        """Return whether kept rows of sessions have all that its figures need."""
        return self.breakdown != PREVIOUS_PAGE and not self.time_on_page


def table_of(
    query: WebStatsTableQuery, columns: Sequence[Column], cleaning: Sequence[Cleaning]
) -> Table:
    return Table(
        query.breakdown,
        query.goal,
        query.bounce_rate,
        query.time_on_page,
        cleaning,
        columns,
        query.ordering,
        query.limit,
        query.offset,
    )
