"""Conditions on the session of an event, and its values, in statements that read events."""

from datetime import UTC, datetime
from typing import Final

from fanion.insights.dates.intervals import DateRange
from fanion.insights.sessions.sql import AROUND, SESSION_ID, Reach, Sessions
from fanion.properties.bindings import Bindings, micros
from fanion.properties.filters import Node

_EVER: Final = DateRange(datetime(1900, 1, 1, tzinfo=UTC), datetime(2299, 1, 1, tzinfo=UTC))

# An array must not be empty; no session has an empty id.
_TEXTS = """(
  SELECT (arrayConcat([''], groupArray(session_id)), arrayConcat([''], groupArray({text})))
    FROM ({sessions}) AS sessions)"""


class SessionSource:
    """Values of the session of a row of `events`, in a statement that reads these rows.

    They are computed by a subquery that reads `events` again. On a cluster it is computed once, for
    all shards, as a session may lie on several of them: it is a scalar, or it is GLOBAL. The engine
    refuses any other on a Distributed table.

    Sessions are read around all ranges that the statement reads (`widen`), which may be said after
    a condition was written: the bounds of time are bound under names of their own. A statement that
    does not say reads all time.
    """

    def __init__(self, bindings: Bindings, project: str, now: datetime) -> None:
        self._bindings = bindings
        self._project = project
        self._now = now
        self._span: DateRange | None = None
        self._bounds: tuple[str, str] | None = None

    def widen(self, span: DateRange) -> None:
        """Events of this range are read too."""
        own = self._span or span
        self._span = DateRange(min(own.start, span.start), max(own.end, span.end))
        if self._bounds is not None:
            self._bind(*self._bounds)

    def condition(self, node: Node) -> str:
        """Whether the session of an event fulfils it. No event without a session does.

        node: conditions on sessions alone
        """
        sessions = self._sessions()
        fulfils = sessions.condition(node, self._now)
        found = f"SELECT session_id FROM ({sessions.text()}) AS sessions WHERE {fulfils}"
        return f"{SESSION_ID} GLOBAL IN ({found})"

    def text(self, field: str) -> str:
        """A value of the session of an event, as text; '' without a value or session.

        The values of all sessions are read once for a statement, and then are a constant of it.
        """
        sessions = self._sessions()
        shown = sessions.shown(field)
        known = _TEXTS.format(text=shown, sessions=sessions.text())
        return f"transform({SESSION_ID}, tupleElement({known}, 1), tupleElement({known}, 2), '')"

    def _sessions(self) -> Sessions:
        return Sessions(self._bindings, self._project, self.reach())

    def reach(self) -> Reach:
        """The time of which sessions are read."""
        bounds = self._bounds or (
            self._bindings.add("since of sessions", "Int64"),
            self._bindings.add("until of sessions", "Int64"),
        )
        self._bounds = bounds
        self._bind(*bounds)
        return Reach(*(f"fromUnixTimestamp64Micro({bound}, 'UTC')" for bound in bounds))

    def _bind(self, since: str, until: str) -> None:
        span = _EVER if self._span is None else self._span
        for bound, moment in ((since, span.start - AROUND), (until, span.end + AROUND)):
            name = bound[1:].partition(":")[0]
            self._bindings.values[name] = micros(moment)
