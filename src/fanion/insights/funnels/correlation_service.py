"""Calculation of what correlates with reaching the last step of a funnel.

Source: insights.md, section 5i.
"""

from dataclasses import replace
from typing import Any, Final

from fanion.insights.calculation_service import Calculation
from fanion.insights.funnels.correlation_sql import CorrelationSql, correlated, correlated_actors
from fanion.insights.funnels.places import CorrelationPlace
from fanion.insights.funnels.query import FunnelCorrelationQuery
from fanion.insights.funnels.service import funnel_sql
from fanion.insights.funnels.sql import step_counts
from fanion.insights.sql.compiler import Statement

# If successes and failures differ by a larger factor, the odds say nothing.
SKEW_MAX: Final = 10


async def calculate_correlation(
    calculation: Calculation, query: FunnelCorrelationQuery
) -> dict[str, Any]:
    funnel = funnel_sql(calculation, replace(query.funnel, scope=query.scope))
    rows = await calculation.rows(step_counts(funnel, 1))
    size = len(query.funnel.steps)
    successes = int(rows[0][size]) if rows else 0
    failures = int(rows[0][1]) - successes if rows else 0
    if is_skewed(successes, failures):
        return {"events": [], "skewed": True}
    statement = correlated(CorrelationSql(funnel, query), successes, failures)
    event_rows = await calculation.rows(statement)
    return {"events": [_event(*row) for row in event_rows], "skewed": False}


async def find_correlated_actors(
    calculation: Calculation, query: FunnelCorrelationQuery, place: CorrelationPlace
) -> Statement:
    """Return the statement of the actors, each with the number of steps that it reached."""
    funnel = funnel_sql(calculation, replace(query.funnel, scope=query.scope))
    return correlated_actors(CorrelationSql(funnel, query), place.name, converted=place.converted)


def is_skewed(successes: int, failures: int) -> bool:
    least, most = sorted((successes, failures))
    return least == 0 or most > least * SKEW_MAX


def _event(name: str, success: int, failure: int, odds: float) -> dict[str, Any]:
    return {
        "event": {"event": name, "properties": {}, "elements": []},
        "success_count": success,
        "failure_count": failure,
        "odds_ratio": odds,
        "correlation_type": "success" if odds > 1 else "failure",
    }
