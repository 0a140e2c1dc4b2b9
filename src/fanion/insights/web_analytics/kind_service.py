"""Web analytics: totals, tables by page, source, device or place, and goals.

Source: insights.md, sections 1c and 11.
"""

from typing import Final

from fanion.insights.kind_service import Kind
from fanion.insights.web_analytics.parsing import read_web_goals, read_web_overview, read_web_stats
from fanion.insights.web_analytics.query import WebGoalsQuery, WebOverviewQuery, WebStatsTableQuery
from fanion.insights.web_analytics.service import (
    calculate_web_goals,
    calculate_web_overview,
    calculate_web_stats,
)

WEB_OVERVIEW: Final = Kind(
    "WebOverviewQuery", WebOverviewQuery, read_web_overview, calculate_web_overview
)
WEB_STATS_TABLE: Final = Kind(
    "WebStatsTableQuery", WebStatsTableQuery, read_web_stats, calculate_web_stats
)
WEB_GOALS: Final = Kind("WebGoalsQuery", WebGoalsQuery, read_web_goals, calculate_web_goals)
