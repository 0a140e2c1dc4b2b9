"""The statement of the links to other sites that visitors click.

Clicks are those of the range, whenever their session began.

Source: insights.md, section 11.
"""

from collections.abc import Sequence
from typing import Final

from fanion.insights.dates.intervals import DateRange
from fanion.insights.sql.compiler import Compiler, SqlContext, Statement
from fanion.insights.web_analytics.clicks.query import COLUMNS, WebExternalClicksTableQuery

_ROWS: Final = """
  SELECT {shown} AS value,
         {is_previous} AS is_previous,
         uuid,
         {who} AS who
    FROM {events}
   WHERE {where}
     AND {kind} = 'click'
     AND {url} != ''
     AND cutToFirstSignificantSubdomain({url}) != cutToFirstSignificantSubdomain({host})
"""
_TABLE: Final = """
  SELECT value,
         uniqExactIf(actor, NOT is_previous) AS visitors,
         uniqExactIf(actor, is_previous) AS visitors_before,
         {clicks} AS clicks,
         {clicks_before} AS clicks_before
    FROM ({counted}) AS counted
GROUP BY value
ORDER BY {order}
   LIMIT {limit} OFFSET {offset}
"""


def clicks_statement(
    context: SqlContext, query: WebExternalClicksTableQuery, spans: Sequence[DateRange]
) -> Statement:
    """Return the statement of the table, with one row more than it shows if there is one.

    Rows: the address; visitors and clicks, each of the range and of the previous one.
    """
    compiler = Compiler(context)
    rows = " UNION ALL ".join(
        _rows(compiler, query, span, index) for index, span in enumerate(spans)
    )
    count = compiler.once.count
    text = _TABLE.format(
        clicks=count("NOT is_previous"),
        clicks_before=count("is_previous"),
        counted=compiler.resolved(rows, ("value", "is_previous", "uuid")),
        order=_order(query),
        limit=query.limit + 1,
        offset=query.offset,
    )
    return compiler.statement(text)


def _rows(
    compiler: Compiler, query: WebExternalClicksTableQuery, span: DateRange, is_previous: int
) -> str:
    url = compiler.text("$external_click_url")
    return _ROWS.format(
        shown=f"cutQueryStringAndFragment({url})" if query.strips else url,
        is_previous=is_previous,
        who=compiler.who(),
        events=compiler.once.events,
        where=compiler.where(span, query.entities),
        kind=compiler.text("$event_type"),
        url=url,
        host=compiler.text("$host"),
    )


def _order(query: WebExternalClicksTableQuery) -> str:
    """Return the order by the figure in question, then by the other one and the address."""
    ordering = query.ordering
    column = "clicks" if ordering is None else ordering.column
    direction = "DESC" if ordering is None or ordering.is_descending else "ASC"
    columns = [column, *(other for other in reversed(COLUMNS) if other != column)]
    figures = [f"{name}{suffix} {direction}" for name in columns for suffix in ("", "_before")]
    return ", ".join([*figures, "value"])
