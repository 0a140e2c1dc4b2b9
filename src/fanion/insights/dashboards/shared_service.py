"""Shared dashboards: their tiles with results, and nothing else.

Conditions are left out because they contain e-mail addresses and cohort ids. So are the text of
SQL, the URLs of lists of persons that results contain, how many rows they took to calculate, and
every other part of the project.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fanion.accounts.client_limits_cache import Rate, RateLimit, client_rates, take_tokens
from fanion.errors import NotFound
from fanion.insights.dashboards.model import StoredDashboard, StoredTile
from fanion.insights.dashboards.schemas import (
    SharedDashboardBody,
    SharedTextBody,
    SharedTileBody,
)
from fanion.insights.dashboards.service import DashboardService
from fanion.insights.dashboards.shares_store import ShareStore
from fanion.insights.model import PEOPLE_URLS, CachedResult, without_cost, without_fields
from fanion.projects.model import Project
from fanion.server.forwarded import Client

# Per client, and in total for an untrusted peer, whatever addresses it claims to forward.
CLIENT_RATE: Final = Rate(60, 1.0)
PEER_RATE: Final = Rate(600, 10.0)
COUNTED_MAX: Final = 20_000  # clients tracked at a time

_HIDDEN: Final = PEOPLE_URLS | {
    *("properties", "fixedProperties", "test_account_filters", "filter", "people", "persons_urls"),
}
# Of a query in SQL; results may have columns of these names.
_HIDDEN_OF_QUERY: Final = _HIDDEN | {"query", "values", "variables"}


@dataclass(frozen=True, slots=True)
class SharedDashboards:
    """The dashboards that are shared by a link.

    Attributes:
        project_of: Finds a project by its id.
    """

    shares: ShareStore
    dashboards: DashboardService
    project_of: Callable[[int], Awaitable[Project | None]]
    limits: RateLimit

    async def show(self, token: str, client: Client, now: datetime) -> SharedDashboardBody:
        """Return a link's dashboard with its cached results.

        Missing and old results are calculated in the background: one calculation at a time, and
        once per freshness period, however often the link is opened, also where it fails.

        Raises:
            NotFound: The link was withdrawn or never existed.
            Throttled: The client sent too many requests.
        """
        take_tokens(self.limits.require_room(client_rates(client, CLIENT_RATE, PEER_RATE)))
        project_id, dashboard = await self.shares.find_dashboard(token)
        project = await self.project_of(project_id)
        if project is None:
            raise NotFound
        results = await self.dashboards.cached_results(project, dashboard, now, with_missing=True)
        return _body(project, dashboard, results)


def _body(project: Project, dashboard: StoredDashboard, results: Any) -> SharedDashboardBody:
    return SharedDashboardBody(
        name=dashboard.name,
        description=dashboard.description,
        timezone=project.timezone,
        tiles=[
            _tile(tile, dashboard, result)
            for tile, result in zip(dashboard.tiles, results, strict=True)
        ],
    )


def _tile(tile: StoredTile, dashboard: StoredDashboard, result: CachedResult) -> SharedTileBody:
    insight, question = tile.insight, tile.question_within(dashboard.filters)
    return SharedTileBody(
        id=tile.id,
        name="" if insight is None else insight.name or insight.derived_name or "",
        description="" if insight is None else insight.description,
        text=None if tile.text is None else SharedTextBody(body=tile.text.body),
        layouts=dict(tile.layouts),
        color=tile.color,
        filters={} if question is None else _without_hidden(question.filters),
        query=None if question is None else without_fields(question.query, _HIDDEN_OF_QUERY),
        result=_without_hidden(result.results),
        beside=_without_hidden(without_cost(result.beside)),
        last_refresh=result.calculated_at,
        is_refused=insight is not None and result.is_refused,
    )


def _without_hidden(value: Any) -> Any:
    """Return JSON without the fields that a link must not reveal, at any depth."""
    return without_fields(value, _HIDDEN)
