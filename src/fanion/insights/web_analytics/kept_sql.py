"""Statements that read the kept rows of sessions.

A session that may have changed, that is long, or that goes on after the end of a range is read
from its events even so.

Source: docs/decisions/0026-kept-sessions.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from types import MappingProxyType
from typing import Final

from fanion.events.storage.session_rows_sql import IS_NEW
from fanion.insights.dates.intervals import DateRange
from fanion.insights.sessions.kept_views_sql import IS_UNLISTED
from fanion.insights.sessions.sql import AROUND, LONG, SESSION_ID, Reach, Sessions
from fanion.insights.sql.compiler import Statement
from fanion.properties.bindings import Bindings

# A question about which more sessions have to be read from their events does not use the rows.
READ_MAX: Final = 5_000
# The days of a longer session are not listed.
DAYS_MAX: Final = 400

_CHANGED: Final = f"""
  SELECT hex({SESSION_ID}) AS id, min(timestamp), max(timestamp)
    FROM events
   WHERE project_id = {{project:UInt64}}
     AND {IS_NEW}
     AND id != ''
GROUP BY id
   LIMIT {READ_MAX + 1}
"""
# A row that was replaced has narrower ends, so FINAL, which costs more than the rest, is not
# needed.
_UNFIT: Final = """
  SELECT hex(session_id) AS id, min(started), max(ended)
    FROM ({rows})
GROUP BY id
   LIMIT {limit}
"""
_ROWS_WHERE: Final = """
    SELECT session_id, started, ended
      FROM session_rows
     WHERE {project}
       AND {where}"""
_IS_LONG: Final = f"""dateDiff('second', started, ended) >= {int(LONG.total_seconds())}
       AND started < {{until}}
       AND ended >= {{since}}"""
_GOES_ON: Final = "started < {end} AND ended >= {end}"
_IS_UNLISTED: Final = f"started >= {{start}} AND started < {{end}} AND {IS_UNLISTED}"
_ROWS: Final = """
    SELECT session_id,
           {names}
      FROM session_rows FINAL
     WHERE {project}
       AND started >= {since}
       AND started < {until}"""
# Ids are passed on as hexadecimal digits, because they may be any bytes.
_READ: Final = "SELECT unhex(arrayJoin({ids}))"


@dataclass(frozen=True, slots=True)
class KeptRows:
    """The rows that a question may read, and the sessions that it reads from their events.

    Attributes:
        last_mutation: An answer from the rows is right if the events have no later mutation.
        read: The ids of the other sessions, in hexadecimal digits.
        days: The days on which these have events, None for any.
        are_short: Whether none of these is as long as LONG, so that `days` has all their events.
        first: The time before which these have no event, None for any.
    """

    last_mutation: int
    read: Sequence[str] = ()
    days: Sequence[date] | None = ()
    are_short: bool = True
    first: datetime | None = None

    def began_since(self, time: datetime) -> bool:
        """Return whether all sessions that are read from their events began at a time or later."""
        return self.are_short and self.first is not None and self.first >= time


def changed_statement(project_id: int, last_insert: int) -> Statement:
    """Return the statement of the sessions with later events.

    Rows: the id in hexadecimal digits, and the times of the first and last of these events.
    """
    return Statement(_CHANGED, {"project": project_id, "last_insert": last_insert})


def unfit_statement(
    project_id: int, spans: Iterable[DateRange], changed: Sequence[str], *, of_views: bool = False
) -> Statement:
    """Return the statement of the sessions whose rows do not answer a question about some ranges.

    Rows: the id in hexadecimal digits, and the times of the first and last event in the row.

    Args:
        changed: The ids of sessions with later events, in hexadecimal digits.
        of_views: Whether the question reads the views of sessions.
    """
    bind = Bindings()
    conditions = [f"session_id IN ({_read(bind, changed)})"] if changed else []
    for span in spans:
        since, until, end = map(bind.time, (span.start - AROUND, span.end + AROUND, span.end))
        conditions.append(_IS_LONG.format(since=since, until=until))
        conditions.append(_GOES_ON.format(end=end))
        if of_views:
            start = bind.time(span.start)
            conditions.append(_IS_UNLISTED.format(start=start, end=end))
    project = f"project_id = {bind.add(project_id, 'UInt64')}"
    rows = " UNION ALL ".join(_ROWS_WHERE.format(project=project, where=w) for w in conditions)
    return Statement(_UNFIT.format(rows=rows, limit=READ_MAX + 1), bind.values)


def _read(bind: Bindings, ids: Sequence[str]) -> str:
    return _READ.format(ids=bind.add(list(ids), "Array(String)"))


def are_short(times: Iterable[tuple[str, datetime, datetime]]) -> bool:
    """Return whether no session takes as long as LONG.

    Args:
        times: Ids of sessions, each with the times of a first and a last event.
    """
    ends: dict[str, tuple[datetime, datetime]] = {}
    for session_id, first, last in times:
        known = ends.get(session_id, (first, last))
        ends[session_id] = min(known[0], first), max(known[1], last)
    return all(last - first < LONG for first, last in ends.values())


def days_of(times: Iterable[tuple[datetime, datetime]]) -> Sequence[date] | None:
    """Return the days in UTC between any first and last time, None for any day."""
    days: set[date] = set()
    for first, last in times:
        day, number = first.date(), (last.date() - first.date()).days + 1
        if number > DAYS_MAX:
            return None
        days.update(day + timedelta(days=n) for n in range(number))
    return sorted(days)


def kept_text(
    sessions: Sessions,
    project: str,
    span: DateRange,
    kept: KeptRows,
    from_lists: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the rows of `sessions.text()` for sessions that began in the range, from kept rows.

    Args:
        project: The condition on the project.
        from_lists: Aggregates that rows do not have by their names, and how each is computed.
    """
    bind = sessions.bindings
    names = [f"{from_lists[n]} AS {n}" if n in from_lists else n for n in sessions.names]
    rows = kept_rows(bind, project, span, kept, names)
    if not kept.read:
        return rows
    return f"{rows}\n     UNION ALL\n{rows_of_read(sessions, project, span, kept)}"


def rows_of_read(sessions: Sessions, project: str, span: DateRange, kept: KeptRows) -> str:
    """Return the rows of `sessions.text()` for sessions that are read from their events."""
    bind = sessions.bindings
    of_read = is_of_read(bind, project, kept)
    if kept.are_short:
        return sessions.grouped("session_id", of_read)
    return sessions.of_events(of_read, Reach.around(span, bind, True))


def kept_rows(
    bindings: Bindings, project: str, span: DateRange, kept: KeptRows, names: Sequence[str]
) -> str:
    """Return some columns of the kept rows of sessions that began in the range."""
    rows = _ROWS.format(
        names=",\n           ".join(names),
        project=project,
        since=bindings.time(span.start),
        until=bindings.time(span.end),
    )
    read = _read(bindings, kept.read)
    return f"{rows}\n       AND session_id NOT IN ({read})" if kept.read else rows


def is_of_read(bindings: Bindings, project: str, kept: KeptRows) -> str:
    """Return the condition on an event of a session that is read from its events."""
    is_day = "1"
    if kept.days is not None:
        is_day = f"toDate32(timestamp) IN {bindings.add(list(kept.days), 'Array(Date32)')}"
    return f"{project} AND {SESSION_ID} IN ({_read(bindings, kept.read)}) AND {is_day}"
