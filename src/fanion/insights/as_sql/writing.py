"""Questions of every kind as SQL that users can read, change and run.

Source: insights.md, section 10.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from fanion.insights.as_sql.funnels import funnel_text
from fanion.insights.as_sql.refusals import no_sql_for
from fanion.insights.as_sql.regularity import lifecycle_text, stickiness_text
from fanion.insights.as_sql.retention import retention_text
from fanion.insights.as_sql.trends import trends_text
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.expressions.grammar import Refused, parse_query
from fanion.insights.funnels.query import FunnelsQuery
from fanion.insights.lifecycle.query import LifecycleQuery
from fanion.insights.query import InsightQuery
from fanion.insights.retention.query import RetentionQuery
from fanion.insights.stickiness.query import StickinessQuery
from fanion.insights.trends.query import TrendsQuery

_WRITERS: Final[Mapping[type, Callable[[Any, RangeClock], str]]] = {
    TrendsQuery: trends_text,
    FunnelsQuery: funnel_text,
    RetentionQuery: retention_text,
    StickinessQuery: stickiness_text,
    LifecycleQuery: lifecycle_text,
}


def as_sql(query: InsightQuery, kind: str, clock: RangeClock) -> str:
    """Return a SELECT with the numbers of a question.

    Args:
        query: The question, with the conditions of its actions and of test accounts.
        kind: The `kind` of its query.

    Raises:
        Invalid: The kind, or an option, cannot be said in SQL.
    """
    write = _WRITERS.get(type(query))
    if write is None:
        raise no_sql_for(f"its kind, {kind}")
    text = write(query, clock)
    try:
        parse_query(text)
    except Refused as refused:
        raise no_sql_for(f"what its SQL would be: {refused.placed(text)}") from None
    return text
