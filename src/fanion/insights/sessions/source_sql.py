"""Conditions on the session of an event, and its values, in statements that read events."""

from datetime import UTC, datetime
from typing import Final

from fanion.events.storage.copies_sql import CountedOnce
from fanion.insights.dates.intervals import DateRange
from fanion.insights.sessions.sql import AROUND, SESSION_ID, Reach, Sessions, first_id
from fanion.properties.bindings import Bindings, DedicatedColumns, micros
from fanion.properties.filters import Node

EVER: Final = DateRange(datetime(1900, 1, 1, tzinfo=UTC), datetime(2299, 1, 1, tzinfo=UTC))

# Both arrays begin with an empty text because an array must not be empty. No session has an empty
# id.
_TEXTS = """(
  SELECT (arrayConcat([''], groupArray(session_id)), arrayConcat([''], groupArray({text})))
    FROM ({sessions}) AS sessions)"""


class SessionSource:
    """The values of the session of a row of `events`, in a statement that reads these rows.

    They are computed by a subquery that reads `events` again. On a cluster it is computed once for
    all shards, as a session may be spread over several of them: it is a scalar, or it is GLOBAL.
    The engine refuses any other subquery on a Distributed table.

    Sessions are read around all ranges that the statement reads (`widen`). A range may be added
    after a condition was written, so the time bounds are separate parameters. A statement that
    adds no range reads all time.
    """

    def __init__(
        self,
        bindings: Bindings,
        project: str,
        now: datetime,
        whole: bool,
        once: CountedOnce,
        columns: DedicatedColumns,
    ) -> None:
        self._bindings = bindings
        self._project = project
        self._now = now
        self._whole = whole
        self._once = once
        self._columns = columns
        self._span: DateRange | None = None
        self._bounds: tuple[str, str, str] | None = None

    def widen(self, span: DateRange) -> None:
        """Add a range whose events the statement reads."""
        own = self._span or span
        self._span = DateRange(min(own.start, span.start), max(own.end, span.end))
        if self._bounds is not None:
            self._bind(*self._bounds)

    def condition(self, node: Node) -> str:
        """Return the condition on the session of an event; no event without a session fulfils it.

        Args:
            node: Conditions that are all on sessions.
        """
        sessions = self._sessions()
        fulfils = sessions.condition(node, self._now)
        matching = f"SELECT session_id FROM ({sessions.text()}) AS sessions WHERE {fulfils}"
        return f"{SESSION_ID} GLOBAL IN ({matching})"

    def text(self, field: str) -> str:
        """Return SQL for a value of an event's session as text, '' without a value or session.

        The values of all sessions are read once for a statement, and are then a constant in it.
        """
        sessions = self._sessions()
        shown = sessions.shown(field)
        known = _TEXTS.format(text=shown, sessions=sessions.text())
        return f"transform({SESSION_ID}, tupleElement({known}, 1), tupleElement({known}, 2), '')"

    def _sessions(self) -> Sessions:
        return Sessions(self._bindings, self._project, self.reach(), self._once, self._columns)

    def reach(self) -> Reach:
        """Return the time range from which sessions are read."""
        bounds = self._bounds or (
            self._bindings.add("since of sessions", "Int64"),
            self._bindings.add("until of sessions", "Int64"),
            self._bindings.add("first id of sessions", "String"),
        )
        self._bounds = bounds
        self._bind(*bounds)
        since, until = (f"fromUnixTimestamp64Micro({bound}, 'UTC')" for bound in bounds[:2])
        return Reach(since, until, bounds[2], self._whole)

    def _bind(self, *bounds: str) -> None:
        span = EVER if self._span is None else self._span
        since, until = span.start - AROUND, span.end + AROUND
        values = (micros(since), micros(until), first_id(since))
        for bound, value in zip(bounds, values, strict=True):
            self._bindings.values[bound[1:].partition(":")[0]] = value
