"""The sessions that began in a range, and what web analytics counts of each.

Source: insights.md, section 11.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from fanion.insights.dates.intervals import DateRange
from fanion.insights.entities import Entity
from fanion.insights.sessions.fields import is_of_sessions
from fanion.insights.sessions.kept_sql import KEPT_FIELDS
from fanion.insights.sessions.sql import SESSION_ID, Reach, Sessions
from fanion.insights.sql.compiler import Compiler
from fanion.insights.web_analytics.kept_sql import (
    KeptRows,
    is_of_read,
    kept_text,
    rows_of_read,
)
from fanion.insights.web_analytics.query import VIEWS, WebQuery
from fanion.properties.filters import ConditionGroup, Node, Property

# A session has a row for each of its persons. Its own numbers count in the first one, `place` 1.
_ROWS = """
  SELECT {is_previous} AS is_previous,
         who,
         place,
         {columns}
    FROM ({sessions}) AS sessions
   ARRAY JOIN whos AS who, arrayEnumerate(whos) AS place
   WHERE {is_counted}
"""


class CountedSessions:
    """Sessions that began in `span` and fulfil the conditions, with their events that count.

    Args:
        goal: The event whose conversions are counted.
        kept: The kept rows of sessions, for a question that they answer.
        parted_at: Where `span` is two ranges, one after the other, the time at which the second one
            begins. The views of a session count until the end of the range in which it began.

    Attributes:
        fulfils: The condition on a session alone.
        is_counted: The same, and that it began in the range.
    """

    def __init__(
        self,
        compiler: Compiler,
        query: WebQuery,
        span: DateRange,
        goal: Entity | None,
        kept: KeptRows | None = None,
        parted_at: datetime | None = None,
    ) -> None:
        bind = compiler.bindings
        of_events, of_sessions = _split(query.scope.properties)
        compiler.sessions.widen(span)
        since, until = bind.time(span.start), bind.time(span.end)
        reach = Reach.around(span, bind, compiler.context.whole_sessions)
        columns = compiler.context.columns
        self.sessions = Sessions(bind, compiler.project, reach, compiler.once, columns)
        began = f"started >= {since} AND started < {until}"
        now = compiler.context.now
        fulfils = "1" if of_sessions is None else self.sessions.condition(of_sessions, now)
        self.is_counted, self.fulfils = f"{began} AND {fulfils}", fulfils
        conditions = [
            f"timestamp >= {since}",
            f"timestamp < {until}",
            compiler.any_of(query.entities),
            "1" if of_events is None else compiler.condition(of_events),
        ]
        self.sessions.column("who", compiler.who())
        self.sessions.column("is_view", f"({' AND '.join(conditions)})")
        self._project, self._span, self._kept = compiler.project, span, kept
        self._parted_at = None if parted_at is None else bind.time(parted_at)
        self._goal = None if goal is None else f"is_view AND {compiler.entity(goal)}"

    def rows_of_both(self, columns: Mapping[str, str]) -> str:
        """Return what `rows` does, of two ranges of which the first is the previous one."""
        return self.rows(f"started < {self._parted_at}", columns)

    def rows(self, is_previous: int | str, columns: Mapping[str, str]) -> str:
        """Return a row for each session and person who viewed something.

        Columns: is_previous, who, place, views, and `columns`; with a goal, conversions and
        converted.
        """
        aggregate, once = self.sessions.aggregate, self.sessions.once
        views = aggregate("views", self._of_views(once.count))
        aggregate("whos", self._of_views("groupUniqArrayIf(who, {})".format))
        shown = {views: views, **self._conversions(), **columns}
        return _ROWS.format(
            is_previous=is_previous,
            columns=",\n         ".join(f"{text} AS {name}" for name, text in shown.items()),
            sessions=self.text(),
            is_counted=self.fulfils if self._is_only_kept else self.is_counted,
        )

    def _of_views(self, aggregate: Callable[[str], str]) -> str:
        """Return an aggregate of the views that count.

        Args:
            aggregate: Returns that of the events that fulfil a condition.
        """
        if self._parted_at is None:
            return aggregate("is_view")
        earlier = aggregate(f"is_view AND timestamp < {self._parted_at}")
        return f"if(started < {self._parted_at}, {earlier}, {aggregate('is_view')})"

    @property
    def _is_only_kept(self) -> bool:
        """Return whether all rows are kept ones, which are selected by their start time."""
        return self._kept is not None and not self._kept.read

    def text(self, from_lists: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return the rows of the sessions.

        Args:
            from_lists: As for `kept_text`.
        """
        if self._kept is None:
            return self.sessions.text()
        return kept_text(self.sessions, self._project, self._span, self._kept, from_lists)

    def of_read(self, kept: KeptRows) -> Sequence[str]:
        """Return the conditions on an event of a session that is read from its events."""
        bind = self.sessions.bindings
        is_read = is_of_read(bind, self._project, kept)
        if self.fulfils == "1":
            return [is_read]
        rows = rows_of_read(self.sessions, self._project, self._span, kept)
        matching = f"SELECT session_id FROM ({rows}) AS sessions WHERE {self.fulfils}"
        return [is_read, f"{SESSION_ID} IN ({matching})"]

    def _conversions(self) -> Mapping[str, str]:
        if self._goal is None:
            return {}
        self.sessions.column("is_goal", f"({self._goal})")
        aggregate, count = self.sessions.aggregate, self.sessions.once.count
        times = aggregate("conversion_count", count("is_goal"))
        converters = aggregate("converters", "groupUniqArrayIf(who, is_goal)")
        return {"conversions": times, "converted": f"has({converters}, who)"}


def is_kept(query: WebQuery, goal: Entity | None) -> bool:
    """Return whether kept rows of sessions answer a question, if they have its fields."""
    of_events, of_sessions = _split(query.scope.properties)
    is_of_views = goal is None and of_events is None and query.entities == VIEWS
    fields = () if of_sessions is None else _fields(of_sessions)
    return is_of_views and all(field in KEPT_FIELDS for field in fields)


def _fields(node: Node) -> Iterator[str]:
    if isinstance(node, ConditionGroup):
        for child in node.children:
            yield from _fields(child)
    elif isinstance(node, Property):
        yield node.key


def _split(node: Node | None) -> tuple[Node | None, Node | None]:
    """Split conditions into those on events and those on sessions, which both must hold."""
    if node is None or is_of_sessions(node):
        return None, node
    if not isinstance(node, ConditionGroup) or node.type != "AND" or node.negation:
        return node, None
    halves = [_split(child) for child in node.children]
    return _all([of_events for of_events, _ in halves]), _all(
        [of_sessions for _, of_sessions in halves]
    )


def _all(nodes: Sequence[Node | None]) -> Node | None:
    kept = tuple(node for node in nodes if node is not None)
    return ConditionGroup("AND", kept) if kept else None
