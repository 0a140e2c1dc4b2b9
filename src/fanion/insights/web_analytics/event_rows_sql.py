"""The rows of a table by an event value: its events, and its sessions for the bounce rate.

The rows only need events in the range: a session with an event on the day before began earlier.

Source: insights.md, section 11.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fanion.events.storage.copies_sql import CountedOnce
from fanion.events.storage.filters_sql import NO_PERSON
from fanion.insights.dates.intervals import DateRange
from fanion.insights.sessions.kept_views_sql import PAGES, SETTINGS
from fanion.insights.sessions.sql import SESSION_ID, Reach
from fanion.insights.sql.compiler import Compiler
from fanion.insights.web_analytics.counted_sql import CountedSessions
from fanion.insights.web_analytics.kept_sql import KeptRows, is_of_read, kept_rows
from fanion.insights.web_analytics.query import WebQuery
from fanion.insights.web_analytics.tables import Table
from fanion.insights.web_analytics.values.event_values_sql import (
    LEFT_PAGE,
    clean_path,
    listed_values,
    properties_of,
    row_value,
    value_of_event,
)
from fanion.properties.filters import ConditionGroup, Node, Property

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
_EVENTS_OF_BEGUN = """
  SELECT {columns}
    FROM {events}
   WHERE {where}
"""
# The views of sessions that kept rows do not answer; each counts for the first of its persons.
_EVENTS_OF_READ = """
  SELECT {columns}
    FROM (SELECT value, groupUniqArray(who) AS whos
            FROM ({events})
        GROUP BY uuid, value)
   ARRAY JOIN whos AS who, arrayEnumerate(whos) AS place
"""
_KEPT_VIEWS = """
  SELECT {columns}
    FROM ({rows}) AS sessions
   ARRAY JOIN {lists}
   WHERE {fulfils}
"""
# A session counts for each value that its events have; with pages, only for the one it began with.
_BOUNCES = """
  SELECT {columns}
    FROM ({sessions}) AS sessions
   WHERE {is_counted}
     AND has_view
"""

# Each event of a page that was left counts once.
_TIMES = """
  SELECT {columns}
    FROM ({events}) AS pages
GROUP BY view, page
"""
# Events that say how long the page before was shown.
LEAVING_EVENTS: Final = ("$pageview", "$pageleave", "$screen")
SECONDS_ON_PAGE_MAX: Final = 86_400
_DURATION: Final = "$prev_pageview_duration"


def event_columns(
    table: Table, once: CountedOnce, kept: KeptRows | None, *, is_compared: bool
) -> list[str]:
    """Return the columns of `event_rows` that a table's figures need."""
    counted = ["views"] if kept is not None else [] if once.by_key else ["uuid"]
    return [
        "value",
        *(["is_previous"] if is_compared else []),
        *counted,
        *([] if table.goal is None else ["is_goal"]),
        *(["is_view", "bounced", "judged"] if table.bounce_rate else []),
        *(["seconds"] if table.time_on_page else []),
    ]


@dataclass(frozen=True, slots=True)
class EventRows:
    """The rows of one range, with `who` and the columns of `event_columns`.

    Attributes:
        names: The columns.
        kept: The kept rows of sessions, for a question that they answer.
    """

    compiler: Compiler
    query: WebQuery
    span: DateRange
    is_previous: int
    table: Table
    names: Sequence[str]
    kept: KeptRows | None

    def text(self) -> str:
        parts = [self._of_events()] if self.kept is None else self._of_kept(self.kept)
        if self.table.bounce_rate:
            parts.append(self._bounces())
        if self.table.time_on_page:
            parts.append(self._times())
        return " UNION ALL ".join(parts)

    def _of_events(self) -> str:
        value, check = value_of_event(self.compiler, self.table)
        entities = self.query.entities
        where = self.compiler.where(self.span, entities)
        if any(entity.properties is not None for entity in entities):
            where = f"{where}\n   AND {self.compiler.any_of(entities)}"
        columns = self._columns(value, self.compiler.who())
        return self._events(columns, where, self.compiler.project, check)

    def _events(self, columns: str, where: str, project: str, check: str = "1") -> str:
        compiler = self.compiler
        reach = Reach.around(self.span, compiler.bindings, self._reads_whole)
        # The engine may look at the ids of other events, too.
        is_within = " AND ".join(self._within())
        return _EVENTS.format(
            columns=columns,
            events=compiler.once.events,
            where=where,
            session_id=SESSION_ID,
            project=project,
            is_read=reach.is_read(project),
            is_recent=reach.is_recent(f"if({is_within}, own_session, '')"),
            check=check,
            since=compiler.bindings.time(self.span.start),
        )

    @property
    def _reads_whole(self) -> bool:
        """Return whether the views are those of whole sessions.

        Without kept rows, whatever else is calculated of sessions asks for whole ones when it has
        met a long one.
        """
        is_long = self.kept is not None and not self.kept.are_short
        is_of_sessions = self.table.bounce_rate or self.query.scope.properties is not None
        return self.compiler.context.whole_sessions or (is_long and is_of_sessions)

    def _of_kept(self, kept: KeptRows) -> list[str]:
        compiler, breakdown = self.compiler, self.table.breakdown
        counted = self._counted()
        lists = PAGES if breakdown in ("Page", "ScreenName") else SETTINGS
        keys = [lists.values(key) for key in properties_of(self.table)]
        joined = [*keys, lists.persons, lists.views]
        columns = [*counted.sessions.names, "whos", *joined]
        value = row_value(self.table, compiler, lists.values)
        rows = _KEPT_VIEWS.format(
            columns=self._columns(value, f"whos[{lists.persons}]", views=lists.views),
            rows=kept_rows(compiler.bindings, compiler.project, self.span, kept, columns),
            lists=", ".join(joined),
            fulfils=counted.fulfils,
        )
        return [rows, self._of_read(counted, kept)] if kept.read else [rows]

    def _of_read(self, counted: CountedSessions, kept: KeptRows) -> str:
        """Return the rows of the sessions that are read from their events."""
        compiler = self.compiler
        conditions = (
            *self._within(),
            compiler.any_of(self.query.entities),
            *counted.of_read(kept),
        )
        value = row_value(self.table, compiler, compiler.text)
        columns = f"{value} AS value, uuid, {compiler.who()} AS who"
        where = "\n   AND ".join(conditions)
        if kept.began_since(self.span.start):
            once = compiler.once.events
            events = _EVENTS_OF_BEGUN.format(columns=columns, events=once, where=where)
        else:
            is_read = is_of_read(compiler.bindings, compiler.project, kept)
            events = self._events(columns, where, is_read)
        # Texts of another type would make the engine convert those of all kept rows.
        value = "CAST(value AS LowCardinality(String))"
        return _EVENTS_OF_READ.format(
            columns=self._columns(value, "who", views="toUInt32(place = 1)"), events=events
        )

    def _within(self) -> tuple[str, str]:
        bind, span = self.compiler.bindings, self.span
        return f"timestamp >= {bind.time(span.start)}", f"timestamp < {bind.time(span.end)}"

    def _counted(self) -> CountedSessions:
        return CountedSessions(self.compiler, self.query, self.span, None, self.kept)

    def _bounces(self) -> str:
        counted, table, compiler = self._counted(), self.table, self.compiler
        sessions = counted.sessions
        sessions.aggregate("has_view", "max(is_view)")
        from_lists = {"has_view": "views > 0"}
        if table.breakdown == "Page":
            entry = clean_path(sessions.shown("$entry_pathname"), table.cleaning, sessions)
            values = f"[{entry}]"
        else:
            sessions.column("own_value", row_value(table, compiler, compiler.text))
            values = sessions.aggregate("own_values", "groupUniqArrayIf(own_value, is_view)")
            from_lists[values] = listed_values(table, compiler)
        bounce = sessions.value("$is_bounce")
        columns = self._columns(
            f"arrayJoin({values})",
            NO_PERSON,
            views="0",
            is_view="0",
            uuid=NO_PERSON,
            bounced=f"ifNull({bounce}, 0)",
            judged=f"isNotNull({bounce})",
        )
        return _BOUNCES.format(
            columns=columns,
            sessions=counted.text(from_lists),
            is_counted=counted.is_counted,
        )

    def _times(self) -> str:
        """Return a row for each page that was left, with the seconds that it was shown.

        The event behind it, of another view or of the end, says how long that was.
        """
        compiler, properties = self.compiler, self.query.scope.properties
        conditions = [
            compiler.project,
            *self._within(),
            f"event IN {compiler.bindings.texts(LEAVING_EVENTS)}",
            f"{compiler.text(LEFT_PAGE)} != ''",
            f"isNotNull({compiler.number(_DURATION)})",
            *([] if properties is None else [compiler.condition(of_left_page(properties))]),
        ]
        page = clean_path(compiler.text(LEFT_PAGE), self.table.cleaning, compiler)
        seconds = f"least({compiler.number(_DURATION)}, {SECONDS_ON_PAGE_MAX})"
        columns = f"uuid AS view, {page} AS page, {seconds} AS spent"
        events = self._events(columns, "\n   AND ".join(conditions), compiler.project)
        shown = self._columns(
            "page",
            NO_PERSON,
            views="0",
            is_view="0",
            uuid=NO_PERSON,
            seconds="ifNull(toFloat64(any(spent)), -1)",
        )
        return _TIMES.format(columns=shown, events=events)

    def _columns(self, value: str, who: str, **others: str) -> str:
        goal = self.table.goal
        texts = {
            "value": value,
            "is_previous": str(self.is_previous),
            "uuid": "uuid",
            "is_goal": "0" if goal is None else self.compiler.entity(goal),
            "is_view": "1",
            "bounced": "0",
            "judged": "0",
            "seconds": "toFloat64(-1)",
            **others,
        }
        return _named({name: texts[name] for name in self.names} | {"who": who})


def _named(expressions: Mapping[str, str]) -> str:
    return ",\n         ".join(f"{text} AS {name}" for name, text in expressions.items())


def of_left_page(node: Node) -> Node:
    """Return conditions with those on the page changed to those on the page that was left."""
    if isinstance(node, ConditionGroup):
        return replace(node, children=tuple(map(of_left_page, node.children)))
    if isinstance(node, Property) and (node.type, node.key) == ("event", "$pathname"):
        return replace(node, key=LEFT_PAGE)
    return node
