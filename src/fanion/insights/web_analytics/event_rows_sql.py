"""The rows of a table by an event value: its events, and its sessions for the bounce rate.

The rows only need events in the range: a session with an event on the day before began earlier.

Source: insights.md, section 11.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from fanion.events.storage.copies_sql import CountedOnce
from fanion.events.storage.filters_sql import NO_PERSON
from fanion.insights.dates.intervals import DateRange
from fanion.insights.parsing.path_cleaning import Cleaning
from fanion.insights.sessions.sql import SESSION_ID, Reach, Sessions
from fanion.insights.sql.compiler import Compiler
from fanion.insights.web_analytics.counted_sql import CountedSessions
from fanion.insights.web_analytics.query import WebBreakdown, WebQuery
from fanion.insights.web_analytics.tables import Table

_EVENTS = """
  WITH {session_id} AS own_session
  SELECT {columns}
    FROM {events}
   WHERE {where}
     AND own_session != ''
     AND {is_recent}
     AND {check}
     AND own_session GLOBAL NOT IN (
         SELECT {session_id}
           FROM events
          WHERE {project}
            AND {is_read}
            AND timestamp < {since})
"""
# A session counts for each value that its events have; with pages, only for the one it began with.
_BOUNCES = """
  SELECT {columns}
    FROM ({sessions}) AS sessions
   WHERE {is_counted}
     AND has_view
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
# Breakdowns whose value is a JSON list as text, '' if all its parts are missing.
LISTS: Final[dict[WebBreakdown, tuple[str, ...]]] = {
    "Viewport": ("$viewport_width", "$viewport_height"),
    "Region": ("$geoip_country_code", "$geoip_subdivision_1_code", "$geoip_subdivision_1_name"),
    "City": ("$geoip_country_code", "$geoip_city_name"),
}


def event_columns(table: Table, once: CountedOnce, *, is_compared: bool) -> list[str]:
    """Return the columns of `event_rows` that a table's figures need."""
    return [
        "value",
        *(["is_previous"] if is_compared else []),
        *([] if once.by_key else ["uuid"]),
        *([] if table.goal is None else ["is_goal"]),
        *(["is_view", "bounced", "judged"] if table.bounce_rate else []),
    ]


def event_rows(
    compiler: Compiler,
    query: WebQuery,
    span: DateRange,
    is_previous: int,
    table: Table,
    names: Sequence[str],
) -> str:
    """Return the rows of one range, with `who` and the columns of `event_columns`."""
    bind, (value, check) = compiler.bindings, _value_of_event(compiler, table)
    reach = Reach.around(span, bind, compiler.context.whole_sessions)
    columns = {
        "value": value,
        "is_previous": str(is_previous),
        "uuid": "uuid",
        "is_goal": "0" if table.goal is None else f"event = {bind.text(table.goal)}",
        "is_view": "1",
        "bounced": "0",
        "judged": "0",
    }
    events = _EVENTS.format(
        columns=_named({name: columns[name] for name in names} | {"who": compiler.who()}),
        events=compiler.once.events,
        where=compiler.where(span, query.entities),
        session_id=SESSION_ID,
        project=compiler.project,
        is_read=reach.is_read(compiler.project),
        is_recent=reach.is_recent("own_session"),
        check=check,
        since=bind.time(span.start),
    )
    if not table.bounce_rate:
        return events
    return f"{events} UNION ALL {_bounces(compiler, query, span, is_previous, table, names)}"


def _bounces(
    compiler: Compiler,
    query: WebQuery,
    span: DateRange,
    is_previous: int,
    table: Table,
    names: Sequence[str],
) -> str:
    counted = CountedSessions(compiler, query, span, None)
    sessions = counted.sessions
    sessions.aggregate("has_view", "max(is_view)")
    if table.breakdown == "Page":
        entry = clean_path(sessions.shown("$entry_pathname"), table.cleaning, sessions)
        values = f"[{entry}]"
    else:
        sessions.column("own_value", _plain_value(compiler, table))
        values = sessions.aggregate("own_values", "groupUniqArrayIf(own_value, is_view)")
    bounce = sessions.value("$is_bounce")
    columns = {
        "value": f"arrayJoin({values})",
        "is_previous": str(is_previous),
        "uuid": NO_PERSON,
        "is_goal": "0",
        "is_view": "0",
        "bounced": f"ifNull({bounce}, 0)",
        "judged": f"isNotNull({bounce})",
    }
    return _BOUNCES.format(
        columns=_named({name: columns[name] for name in names} | {"who": NO_PERSON}),
        sessions=sessions.text(),
        is_counted=counted.is_counted,
    )


def _named(expressions: Mapping[str, str]) -> str:
    return ",\n         ".join(f"{text} AS {name}" for name, text in expressions.items())


def _value_of_event(compiler: Compiler, table: Table) -> tuple[str, str]:
    """Return SQL for the value of an event, and the condition that guarantees it is correct."""
    if table.breakdown not in _EVENT_PROPERTIES:
        return _plain_value(compiler, table), "1"
    text, check = compiler.text_and_check(_EVENT_PROPERTIES[table.breakdown])
    return _cleaned(text, table, compiler), check


def _plain_value(compiler: Compiler, table: Table) -> str:
    if table.breakdown is None:
        return "toString(event)"
    if table.breakdown == "Timezone":
        # JavaScript offsets are minutes west of UTC; people write hours east of it.
        offset = f"toFloat64OrNull({compiler.text('$timezone_offset')})"
        return f"ifNull(toString((0 - {offset}) / 60), '')"
    if table.breakdown in LISTS:
        return _listed([compiler.text(name) for name in LISTS[table.breakdown]])
    return _cleaned(compiler.text(_EVENT_PROPERTIES[table.breakdown]), table, compiler)


def _cleaned(text: str, table: Table, compiler: Compiler) -> str:
    return clean_path(text, table.cleaning, compiler) if table.breakdown == "Page" else text


def _listed(texts: Sequence[str]) -> str:
    together = f"[{', '.join(texts)}]"
    return f"if(arrayAll(one -> one = '', {together}), '', toJSONString({together}))"


def clean_path(text: str, cleaning: Sequence[Cleaning], bound: Compiler | Sessions) -> str:
    """Return SQL for a path after the cleaning rules, applied in order."""
    for rule in cleaning:
        regex, alias = bound.bindings.text(rule.regex), bound.bindings.text(rule.alias)
        text = f"replaceRegexpAll({text}, {regex}, {alias})"
    return text
