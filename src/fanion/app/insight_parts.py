"""Builds what calculates insights, and what shows them."""

from dataclasses import dataclass

from fanion.db.engine import Records
from fanion.events.storage.store import EventStore
from fanion.insights.api import Insights, InsightsApi
from fanion.insights.calculate import Results
from fanion.insights.dashboards_api import Dashboards, DashboardsApi
from fanion.insights.dashboards_store import DashboardStore
from fanion.insights.result_cache import ResultStore
from fanion.insights.store import InsightStore
from fanion.insights.trends.store import Trends

INSIGHT_CONTROLLERS = (InsightsApi, DashboardsApi)


@dataclass(frozen=True, slots=True)
class InsightParts:
    """trends: without any memory of what was calculated before"""

    trends: Trends
    insights: Insights
    dashboards: Dashboards


def build_insight_parts(records: Records, events: EventStore) -> InsightParts:
    trends, store = Trends(records, events), DashboardStore(records)
    results = Results(trends, ResultStore(records))
    insights = Insights(InsightStore(records), store, results)
    return InsightParts(trends, insights, Dashboards(store, results))
