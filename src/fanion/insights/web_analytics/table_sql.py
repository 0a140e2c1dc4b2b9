"""The statements of the tables of web analytics: figures by a value of sessions or of events.

Values of sessions need the events around the range, grouped by session. Values of events only need
the events in it: a session began earlier if it has an event on the day before.

Source: insights.md, section 11.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fanion.events.storage.copies_sql import CountedOnce
from fanion.events.storage.filters_sql import NO_PERSON
from fanion.insights.dates.intervals import DateRange
from fanion.insights.parsing.path_cleaning import Cleaning
from fanion.insights.sessions.sql import SESSION_ID, Reach, Sessions
from fanion.insights.sql.compiler import Compiler, SqlContext, Statement
from fanion.insights.web_analytics.counted_sql import UNJUDGED, CountedSessions
from fanion.insights.web_analytics.kept_sql import KeptRows
from fanion.insights.web_analytics.query import (
    Column,
    Ordering,
    WebBreakdown,
    WebQuery,
    WebStatsTableQuery,
)

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
_RATE: Final = "unique_conversions{suffix} / visitors{suffix}"
_SESSION_FIGURES: Final[Mapping[Column, str]] = {
    "visitors": "uniqExactIf(actor, {when})",
    "views": "sumIf(counted.views, place = 1 AND {when})",
    "bounce_rate": """countIf(place = 1 AND ifNull(bounce, 0) AND {when})
           / countIf(place = 1 AND isNotNull(bounce) AND {when})""",
    "total_conversions": "sumIf(conversions, place = 1 AND {when})",
    "unique_conversions": "uniqExactIf(actor, converted AND {when})",
    "conversion_rate": _RATE,
}
_SESSION_COLUMNS: Final = (
    *("is_previous", "value", "place", "views", "conversions", "converted", "bounce"),
)
_EVENT_FIGURES: Final[Mapping[Column, str]] = {
    "visitors": "uniqExactIf(actor, is_view AND {when})",
    "views": "{views}",
    "bounce_rate": "sumIf(bounced, {when}) / sumIf(judged, {when})",
    "total_conversions": "{goals}",
    "unique_conversions": "uniqExactIf(actor, is_goal AND {when})",
    "conversion_rate": _RATE,
}
_EVENT_COLUMNS: Final = (
    *("is_previous", "value", "uuid", "is_view", "is_goal", "bounced", "judged"),
)
_EVENTS = """
  SELECT {is_previous} AS is_previous,
         {value} AS value,
         {who} AS who,
         uuid,
         1 AS is_view,
         {is_goal} AS is_goal,
         0 AS bounced,
         0 AS judged
    FROM {events}
   WHERE {where}
     AND {session_id} != ''
     AND {is_recent}
     AND {session_id} GLOBAL NOT IN (
         SELECT {session_id}
           FROM events
          WHERE {project}
            AND {is_read}
            AND timestamp < {since})
"""
# A session counts for each value that its events have; with pages, only for the one it began with.
_BOUNCES = """
  SELECT {is_previous} AS is_previous,
         arrayJoin({values}) AS value,
         {no_person} AS who,
         {no_person} AS uuid,
         0 AS is_view,
         0 AS is_goal,
         ifNull({bounce}, 0) AS bounced,
         isNotNull({bounce}) AS judged
    FROM ({sessions}) AS sessions
   WHERE {is_counted}
     AND notEmpty(own_values)
"""

_EVENT_PROPERTIES: Final[dict[WebBreakdown, str]] = {
    "Page": "$pathname",
    "ScreenName": "$screen_name",
    "Browser": "$browser",
    "OS": "$os",
    "DeviceType": "$device_type",
    "Country": "$geoip_country_code",
    "Language": "$browser_language",
}
# Breakdowns whose value is the JSON text of a list, '' without any part.
LISTS: Final[dict[WebBreakdown, tuple[str, ...]]] = {
    "Viewport": ("$viewport_width", "$viewport_height"),
    "Region": ("$geoip_country_code", "$geoip_subdivision_1_code", "$geoip_subdivision_1_name"),
    "City": ("$geoip_country_code", "$geoip_city_name"),
}
_SESSION_FIELDS: Final[dict[WebBreakdown, str]] = {
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
# The order after the column that the question names.
_ORDER: Final[tuple[Column, ...]] = ("unique_conversions", "total_conversions", "visitors", "views")


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of a table, and which of its rows are shown.

    Attributes:
        breakdown: None for the name of the event.
    """

    breakdown: WebBreakdown | None = None
    goal: str | None = None
    bounce_rate: bool = False
    cleaning: Sequence[Cleaning] = field(default=())
    columns: Sequence[Column] = ("visitors", "views")
    ordering: Ordering | None = None
    limit: int = 10
    offset: int = 0

    @property
    def is_of_sessions(self) -> bool:
        """Return whether the value of a row is one of its session."""
        return self.breakdown in _SESSION_FIELDS


def table_of(
    query: WebStatsTableQuery, columns: Sequence[Column], cleaning: Sequence[Cleaning]
) -> Table:
    return Table(
        query.breakdown,
        query.goal,
        query.bounce_rate,
        cleaning,
        columns,
        query.ordering,
        query.limit,
        query.offset,
    )


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
    compiler = Compiler(context)
    is_of_sessions = table.is_of_sessions
    rows = " UNION ALL ".join(
        _session_rows(compiler, query, span, index, table, kept)
        if is_of_sessions
        else _event_rows(compiler, query, span, index, table)
        for index, span in enumerate(spans)
    )
    columns = _SESSION_COLUMNS if is_of_sessions else _EVENT_COLUMNS
    text = _STATS.format(
        figures=_figures(
            _SESSION_FIGURES if is_of_sessions else _EVENT_FIGURES,
            compiler.once,
            table,
            is_compared=len(spans) > 1,
        ),
        counted=compiler.resolved(rows, columns),
        shown="value != ''" if table.breakdown == "InitialReferringDomain" else "1",
        order=_order(table, is_compared=len(spans) > 1),
        limit=table.limit + 1,
        offset=table.offset,
    )
    return compiler.statement(text)


def _figures(
    texts: Mapping[Column, str], once: CountedOnce, table: Table, *, is_compared: bool
) -> str:
    """Return the figures; those that the table does not show are 0."""
    stretches = (("", "NOT is_previous", True), ("_before", "is_previous", is_compared))
    shown = {"visitors", *table.columns}
    if "conversion_rate" in shown:
        shown.add("unique_conversions")
    return ",\n         ".join(
        f"{_figure(text, when, suffix, once) if is_read and name in shown else 0} AS {name}{suffix}"
        for name, text in texts.items()
        for suffix, when, is_read in stretches
    )


def _figure(text: str, when: str, suffix: str, once: CountedOnce) -> str:
    views, goals = (once.count(f"{which} AND {when}") for which in ("is_view", "is_goal"))
    return text.format(when=when, suffix=suffix, views=views, goals=goals)


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


# ── By a value of sessions ───────────────────────────────────────────────────────────────


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
    shown = sessions.shown(_SESSION_FIELDS[table.breakdown])
    columns = {
        "value": clean_path(shown, table.cleaning, sessions),
        "bounce": sessions.value("$is_bounce") if table.bounce_rate else UNJUDGED,
    }
    return counted.rows(is_previous, columns)


# ── By a value of events ─────────────────────────────────────────────────────────────────


def _event_rows(
    compiler: Compiler, query: WebQuery, span: DateRange, is_previous: int, table: Table
) -> str:
    bind, value = compiler.bindings, _value_of_event(compiler, table)
    reach = Reach.around(span, bind, compiler.context.whole_sessions)
    events = _EVENTS.format(
        is_previous=is_previous,
        value=value,
        events=compiler.once.events,
        who=compiler.who(),
        is_goal="0" if table.goal is None else f"event = {bind.text(table.goal)}",
        where=compiler.where(span, query.entities),
        session_id=SESSION_ID,
        project=compiler.project,
        is_read=reach.is_read(compiler.project),
        is_recent=reach.is_recent(),
        since=bind.time(span.start),
    )
    if not table.bounce_rate:
        return events
    return f"{events} UNION ALL {_bounces(compiler, query, span, is_previous, table, value)}"


def _bounces(
    compiler: Compiler, query: WebQuery, span: DateRange, is_previous: int, table: Table, value: str
) -> str:
    counted = CountedSessions(compiler, query, span, None)
    sessions = counted.sessions
    sessions.column("own_value", value)
    values = sessions.aggregate("own_values", "groupUniqArrayIf(own_value, is_view)")
    if table.breakdown == "Page":
        entry = clean_path(sessions.shown("$entry_pathname"), table.cleaning, sessions)
        values = f"[{entry}]"
    return _BOUNCES.format(
        is_previous=is_previous,
        values=values,
        no_person=NO_PERSON,
        bounce=sessions.value("$is_bounce"),
        sessions=sessions.text(),
        is_counted=counted.is_counted,
    )


def _value_of_event(compiler: Compiler, table: Table) -> str:
    if table.breakdown is None:
        return "toString(event)"
    if table.breakdown == "Timezone":
        # JavaScript counts minutes to the west; people count hours to the east.
        offset = f"toFloat64OrNull({compiler.text('$timezone_offset')})"
        return f"ifNull(toString((0 - {offset}) / 60), '')"
    if table.breakdown in LISTS:
        return _listed([compiler.text(name) for name in LISTS[table.breakdown]])
    text = compiler.text(_EVENT_PROPERTIES[table.breakdown])
    return clean_path(text, table.cleaning, compiler) if table.breakdown == "Page" else text


def _listed(texts: Sequence[str]) -> str:
    together = f"[{', '.join(texts)}]"
    return f"if(arrayAll(one -> one = '', {together}), '', toJSONString({together}))"


def clean_path(text: str, cleaning: Sequence[Cleaning], bound: Compiler | Sessions) -> str:
    """Return SQL for a path after the cleaning rules, applied one after the other."""
    for rule in cleaning:
        regex, alias = bound.bindings.text(rule.regex), bound.bindings.text(rule.alias)
        text = f"replaceRegexpAll({text}, {regex}, {alias})"
    return text
