"""Web analytics, calculated in the event store.

The questions are for totals, for tables by page, source, device or place, and for goals.

Source: insights.md, sections 1c and 11.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from fanion.insights.calculation.kind_service import Kind
from fanion.insights.calculation.service import Calculation
from fanion.insights.dates.intervals import DateRange, cut_into_intervals
from fanion.insights.parsing.path_cleaning import project_cleaning
from fanion.insights.sql.compiler import Statement
from fanion.insights.web_analytics.clicks.query import WebExternalClicksTableQuery
from fanion.insights.web_analytics.clicks.result import clicks_answer
from fanion.insights.web_analytics.clicks.sql import clicks_statement
from fanion.insights.web_analytics.counted_sql import is_kept
from fanion.insights.web_analytics.kept_service import rows_from_kept
from fanion.insights.web_analytics.kept_sql import KeptRows
from fanion.insights.web_analytics.over_time.query import WebTrendsQuery
from fanion.insights.web_analytics.over_time.result import web_trends_answer
from fanion.insights.web_analytics.overview_sql import overview_statement, points_statement
from fanion.insights.web_analytics.parsing import (
    read_external_clicks,
    read_web_goals,
    read_web_overview,
    read_web_stats,
    read_web_trends,
)
from fanion.insights.web_analytics.query import (
    WebGoalsQuery,
    WebOverviewQuery,
    WebStatsTableQuery,
)
from fanion.insights.web_analytics.result import goals_answer, overview_answer, stats_answer
from fanion.insights.web_analytics.table_sql import table_statement
from fanion.insights.web_analytics.tables import Table, table_of


async def calculate_web_overview(
    calculation: Calculation, query: WebOverviewQuery
) -> dict[str, Any]:
    spans = query.spans(calculation.clock)

    def statement(kept: KeptRows | None) -> Statement:
        return overview_statement(calculation.context, query, spans, query.goal, kept)

    return overview_answer(query, await _rows(calculation, query, spans, statement))


async def calculate_web_stats(
    calculation: Calculation, query: WebStatsTableQuery
) -> dict[str, Any]:
    stored = calculation.project.path_cleaning_filters if query.clean_paths else ()
    table = table_of(query, query.columns, project_cleaning(stored))
    spans = query.spans(calculation.clock)

    def statement(kept: KeptRows | None) -> Statement:
        return table_statement(calculation.context, query, spans, table, kept)

    of_views = not table.is_of_sessions
    may_be_kept = table.is_kept
    rows = await _rows(
        calculation, query, spans, statement, of_views=of_views, may_be_kept=may_be_kept
    )
    return stats_answer(query, rows)


async def calculate_web_trends(calculation: Calculation, query: WebTrendsQuery) -> dict[str, Any]:
    spans, clock = query.spans(calculation.clock), calculation.clock
    cuts = [
        cut_into_intervals(span, query.interval, clock.zone, clock.week_start_day) for span in spans
    ]
    starts = sorted({start for cut in cuts for start in cut.starts})

    def statement(kept: KeptRows | None) -> Statement:
        return points_statement(calculation.context, query, spans, starts, kept)

    rows = await _rows(calculation, query, spans, statement)
    return web_trends_answer(query, cuts, rows, min(spans[0].end, calculation.now))


async def calculate_external_clicks(
    calculation: Calculation, query: WebExternalClicksTableQuery
) -> dict[str, Any]:
    spans = query.spans(calculation.clock)
    statement = clicks_statement(calculation.context, query, spans)
    return clicks_answer(query, await calculation.rows(statement))


async def calculate_web_goals(calculation: Calculation, query: WebGoalsQuery) -> dict[str, Any]:
    if not query.goals:
        return goals_answer(query, [], [])
    spans, context = query.spans(calculation.clock), calculation.context
    table = Table(goals=query.goals, limit=len(query.goals))
    rows = await calculation.rows(table_statement(context, query, spans, table))
    overview = await calculation.rows(overview_statement(context, query, spans, None))
    return goals_answer(query, rows, overview)


async def _rows(
    calculation: Calculation,
    query: WebOverviewQuery | WebStatsTableQuery | WebTrendsQuery,
    spans: Sequence[DateRange],
    statement: Callable[[KeptRows | None], Statement],
    *,
    of_views: bool = False,
    may_be_kept: bool = True,
) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, from kept rows of sessions where these answer it.

    Args:
        of_views: Whether it reads the views of sessions.
        may_be_kept: Whether these rows have all that it reads.
    """
    goal = None if isinstance(query, WebTrendsQuery) else query.goal
    if may_be_kept and is_kept(query, goal):
        statements, project_id = calculation.statements, calculation.project.id
        rows = await rows_from_kept(statements, project_id, spans, statement, of_views=of_views)
        if rows is not None:
            return rows
    return await calculation.rows(statement(None))


WEB_OVERVIEW: Final = Kind(
    "WebOverviewQuery", WebOverviewQuery, read_web_overview, calculate_web_overview
)
WEB_STATS_TABLE: Final = Kind(
    "WebStatsTableQuery", WebStatsTableQuery, read_web_stats, calculate_web_stats
)
WEB_TRENDS: Final = Kind("WebTrendsQuery", WebTrendsQuery, read_web_trends, calculate_web_trends)
WEB_EXTERNAL_CLICKS: Final = Kind(
    "WebExternalClicksTableQuery",
    WebExternalClicksTableQuery,
    read_external_clicks,
    calculate_external_clicks,
)
WEB_GOALS: Final = Kind("WebGoalsQuery", WebGoalsQuery, read_web_goals, calculate_web_goals)
