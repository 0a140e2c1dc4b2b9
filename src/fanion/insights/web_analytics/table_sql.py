"""The statements of the tables of web analytics: figures by a value of sessions or of events.

Values of sessions need the events around the range, grouped by session. Values of events only need
the events in it: a session began earlier if it has an event on the day before.

Source: insights.md, section 11.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from fanion.events.storage.copies_sql import CountedOnce
from fanion.insights.dates.intervals import DateRange
from fanion.insights.sessions.sql import Sessions
from fanion.insights.sql.compiler import Compiler, SqlContext, Statement
from fanion.insights.web_analytics.counted_sql import CountedSessions
from fanion.insights.web_analytics.event_rows_sql import EventRows, event_columns
from fanion.insights.web_analytics.kept_sql import KeptRows
from fanion.insights.web_analytics.query import Column, WebQuery
from fanion.insights.web_analytics.tables import (
    SESSION_FIELDS,
    SOURCE_MEDIUM_CAMPAIGN,
    Table,
)
from fanion.insights.web_analytics.values.event_values_sql import clean_path

# Has each figure beside that of the previous range.
_STATS = """
  SELECT value,
         {figures}
    FROM ({counted}) AS counted
GROUP BY value
  HAVING (visitors > 0 OR visitors_before > 0) AND {shown}
ORDER BY {order}
   LIMIT {limit} OFFSET {offset}
"""
# What stands for a part that a session does not have.
_NONE: Final = "'(none)'"
_RATE: Final = "unique_conversions{suffix} / visitors{suffix}"
_SESSION_FIGURES: Final[Mapping[Column, str]] = {
    "visitors": "{visitors}",
    "views": "sumIf(counted.views, place = 1 AND {when})",
    "avg_time_on_page": "0",
    "bounce_rate": """countIf(place = 1 AND ifNull(bounce, 0) AND {when})
           / countIf(place = 1 AND isNotNull(bounce) AND {when})""",
    "total_conversions": "sumIf(conversions, place = 1 AND {when})",
    "unique_conversions": "uniqExactIf(actor, converted AND {when})",
    "conversion_rate": _RATE,
}
_EVENT_FIGURES: Final[Mapping[Column, str]] = {
    "visitors": "{visitors}",
    "views": "{views}",
    # What PostHog shows under this name: nine of ten visits to the page were shorter.
    "avg_time_on_page": "quantileExactInclusiveIf(0.9)(seconds, seconds >= 0 AND {when})",
    "bounce_rate": "sumIf(bounced, {when}) / sumIf(judged, {when})",
    "total_conversions": "{goals}",
    "unique_conversions": "uniqExactIf(actor, {is_goal} AND {when})",
    "conversion_rate": _RATE,
}
# The order after the column that the question names.
_ORDER: Final[tuple[Column, ...]] = ("unique_conversions", "total_conversions", "visitors", "views")


def table_statement(
    context: SqlContext,
    query: WebQuery,
    spans: Sequence[DateRange],
    table: Table,
    kept: KeptRows | None = None,
) -> Statement:
    """Return the statement of a table, with one row more than it shows if there is one.

    Rows: the value, '' without one; then each figure of the range and of the previous one:
    visitors, views, bounce rate, conversions, persons who converted, their rate.
    """
    compiler, is_compared = Compiler(context), len(spans) > 1
    names = _names(table, compiler.once, kept, is_compared=is_compared)
    rows = " UNION ALL ".join(
        _session_rows(compiler, query, span, index, table, kept)
        if table.is_of_sessions
        else EventRows(compiler, query, span, index, table, names, kept).text()
        for index, span in enumerate(spans)
    )
    text = _STATS.format(
        figures=_figures(compiler.once, table, names, is_compared=is_compared),
        counted=compiler.resolved(rows, names),
        shown="value != ''" if table.breakdown == "InitialReferringDomain" else "1",
        order=_order(table, is_compared=is_compared),
        limit=table.limit + 1,
        offset=table.offset,
    )
    return compiler.statement(text)


def _names(
    table: Table, once: CountedOnce, kept: KeptRows | None, *, is_compared: bool
) -> list[str]:
    """Return the columns that the figures are computed from."""
    if not table.is_of_sessions:
        return event_columns(table, once, kept, is_compared=is_compared)
    return [
        *("value", "place", "views"),
        *(["is_previous"] if is_compared else []),
        *([] if table.goal is None else ["conversions", "converted"]),
        *(["bounce"] if table.bounce_rate else []),
    ]


def _figures(once: CountedOnce, table: Table, names: Sequence[str], *, is_compared: bool) -> str:
    """Return the figures; those that the table does not show are 0."""
    now = "NOT is_previous" if is_compared else "1"
    stretches = (("", now, True), ("_before", "is_previous", is_compared))
    texts = _SESSION_FIGURES if table.is_of_sessions else _EVENT_FIGURES
    shown = {"visitors", *table.columns}
    if "conversion_rate" in shown:
        shown.add("unique_conversions")
    return ",\n         ".join(
        f"{_figure(text, when, suffix, once, table, names) if is_read and name in shown else 0} "
        f"AS {name}{suffix}"
        for name, text in texts.items()
        for suffix, when, is_read in stretches
    )


def _figure(
    text: str, when: str, suffix: str, once: CountedOnce, table: Table, names: Sequence[str]
) -> str:
    is_view = "is_view" if "is_view" in names else "1"
    is_goal = "0" if table.goal is None else "is_goal"
    return text.format(
        when=when,
        suffix=suffix,
        visitors=_of_rows("uniqExact", "actor", is_view, when),
        is_goal=is_goal,
        views=_of_rows("sum", "counted.views", is_view, when)
        if "views" in names
        else once.count(f"{is_view} AND {when}"),
        goals=once.count(f"{is_goal} AND {when}"),
    )


def _of_rows(function: str, column: str, *conditions: str) -> str:
    """Return an aggregate of the rows that fulfil all conditions.

    A condition that is always true costs a tenth of the time of a table.
    """
    real = [condition for condition in conditions if condition != "1"]
    return f"{function}If({column}, {' AND '.join(real)})" if real else f"{function}({column})"


def _order(table: Table, *, is_compared: bool) -> str:
    """Return the order by the figure in question, then by the others and the value; nulls last."""
    ordering = table.ordering
    direction = "DESC" if ordering is None or ordering.is_descending else "ASC"
    columns = dict.fromkeys([*([ordering.column] if ordering else []), *_ORDER])
    shown = [column for column in columns if column in table.columns]
    suffixes = ("", "_before") if is_compared else ("",)
    figures = [f"{column}{suffix}" for column in shown for suffix in suffixes]
    by = [f"if(isNaN({column}), NULL, {column}) {direction} NULLS LAST" for column in figures]
    return ", ".join([*by, "value"])


def _session_rows(
    compiler: Compiler,
    query: WebQuery,
    span: DateRange,
    is_previous: int,
    table: Table,
    kept: KeptRows | None,
) -> str:
    counted = CountedSessions(compiler, query, span, table.goal, kept)
    sessions = counted.sessions
    assert table.breakdown is not None
    if table.breakdown == SOURCE_MEDIUM_CAMPAIGN:
        shown = _source_medium_campaign(sessions)
    else:
        shown = sessions.shown(SESSION_FIELDS[table.breakdown])
    columns = {"value": clean_path(shown, table.cleaning, sessions)}
    if table.bounce_rate:
        columns["bounce"] = sessions.value("$is_bounce")
    return counted.rows(is_previous, columns)


def _source_medium_campaign(sessions: Sessions) -> str:
    """Return SQL for source, medium and campaign of a session as one text, as PostHog writes it.

    The domain of the referrer stands for a missing source.
    """
    source, referrer, medium, campaign = (
        sessions.shown(f"$entry_{name}")
        for name in ("utm_source", "referring_domain", "utm_medium", "utm_campaign")
    )
    of_referrer = f"concat('referrer:', {referrer})"
    texts = [
        f"multiIf({source} != '', {source}, {referrer} != '', {of_referrer}, {_NONE})",
        *(f"if({text} = '', {_NONE}, {text})" for text in (medium, campaign)),
    ]
    return f"concatWithSeparator(' / ', {', '.join(texts)})"
