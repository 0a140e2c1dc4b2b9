"""Sessions as rows, and how each of their fields is computed from the events of a session.

A session is the events that share `$session_id`. They are read within a day of the range of a
question, since clients begin a new session after 24 hours at the latest. Of sessions that are
longer all events are read, whatever the range, so that no value depends on it.

Source: insights.md, section 11.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from fanion.events.storage.copies_sql import CountedOnce
from fanion.insights.dates.intervals import DateRange
from fanion.insights.sessions.channels import channel_sql
from fanion.insights.sessions.fields import (
    EVENT_COUNTS,
    FIELDS,
    FIRST_EVENT_PROPERTIES,
    URL_FIELDS,
    URL_PARTS,
)
from fanion.properties.bindings import NO_COLUMNS, Bindings, DedicatedColumns, micros
from fanion.properties.condition_sql import value_condition
from fanion.properties.filters import ConditionGroup, Node, Property

AROUND: Final = timedelta(days=1)
# A session that is seen for this long may have events that are further from the range than AROUND.
LONG: Final = timedelta(hours=12)
# A session of one page view that is shorter than this is a bounce.
BOUNCE_SECONDS: Final = 10
SESSION_ID: Final = "ifNull(toString(attributes.`$session_id`), '')"

_PAGE_VIEW: Final = "event = '$pageview'"
# The order of events: by time, then by uuid. A single number is quick to compare.
_PLACE = """bitShiftLeft(toUInt256(toUnixTimestamp64Micro(timestamp) + 4611686018427387904), 128)
            + toUInt256(toUInt128(uuid))"""

# One grouping over `events`, so that on a cluster each shard groups its own rows.
_SESSIONS = """
      WITH {columns}
    SELECT {key},
           {aggregates}
      FROM {events}
     WHERE {is_read}
       AND session_id != ''
  GROUP BY {key}
    HAVING {is_complete}
"""

# Computes values of a session from its aggregates.
_COMPUTED = """
    SELECT {key}, {aggregates}, {computed}
      FROM ({sessions})
"""

# A UUID of version 7 says when its session began, which may be before the time that is read: it is
# less than the first one of that time.
# With capital letters an id may only seem to be less, which costs time and no session.
_IS_OLDER = "substring({id}, 15, 1) = '7' AND {id} < {first_id}"
_IS_LONG = """dateDiff('second', {started}, {ended}) >= {long_s}
              OR {is_older} AND {ended} >= {start}"""
_LONG = """(
  SELECT groupArray(session_id)
    FROM (SELECT {session} AS session_id, min(timestamp) AS started, max(timestamp) AS ended
            FROM events
           WHERE {project}
             AND timestamp >= {since}
             AND timestamp < {until}
             AND session_id != ''
        GROUP BY session_id
          HAVING {is_long}))"""

# The ids of long sessions are a scalar, which the engine computes once wherever it is named.
_IS_READ_WHOLE = """
           timestamp >= if(empty({long}), {since}, toDateTime64('1900-01-01 00:00:00', 6, 'UTC'))
       AND timestamp < if(empty({long}), {until}, toDateTime64('2299-01-01 00:00:00', 6, 'UTC'))
       AND ((timestamp >= {since} AND timestamp < {until})
            OR {session} GLOBAL IN (SELECT arrayJoin({long})))"""
_IS_READ = "timestamp >= {since} AND timestamp < {until}"

# The engine's code (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO) for a statement that `is_complete` ended.
INCOMPLETE_SESSION: Final = 395


def first_id(moment: datetime) -> str:
    """Return the first 13 characters of version 7 UUIDs created at a time."""
    digits = f"{max(micros(moment) // 1000, 0):012x}"
    return f"{digits[:8]}-{digits[8:]}"


@dataclass(frozen=True, slots=True)
class Reach:
    """The time range from which sessions are read.

    To find the long sessions takes a third of the time of a question, so it is asked without them
    first, and again with them only when it has met a session that it would cut off.

    Attributes:
        since: An expression, like `until`.
        first_id: An expression of what `first_id` returns for `since`.
        whole: Whether all events of long sessions are read.
    """

    since: str
    until: str
    first_id: str
    whole: bool

    @classmethod
    def around(cls, span: DateRange, bindings: Bindings, whole: bool) -> "Reach":
        since, until = span.start - AROUND, span.end + AROUND
        first = bindings.text(first_id(since))
        return cls(bindings.time(since), bindings.time(until), first, whole)

    def is_read(self, project: str, session: str = SESSION_ID) -> str:
        """Return the condition that an event is in this range, or in a long session seen in it.

        Args:
            project: The condition on the project.
            session: The id of the row's session.
        """
        if not self.whole:
            return _IS_READ.format(since=self.since, until=self.until)
        long = _LONG.format(
            project=project,
            session=session,
            since=self.since,
            until=self.until,
            is_long=self._is_long("session_id", "started", "ended"),
        )
        return _IS_READ_WHOLE.format(since=self.since, until=self.until, session=session, long=long)

    def is_complete(self, session: str = "session_id") -> str:
        """Return the condition on the events of one session that none of them is left out.

        It ends the statement with `INCOMPLETE_SESSION` where one may be.

        Args:
            session: The column of the session's id.
        """
        if self.whole:
            return "1"
        return f"throwIf({self._is_long(session, 'min(timestamp)', 'max(timestamp)')}) = 0"

    def is_recent(self, session: str = SESSION_ID) -> str:
        """Return the condition on an event that its session did not begin before this range.

        It ends the statement with `INCOMPLETE_SESSION` where the id of the session says so. It is
        for statements that do not group by session, in which any other id says nothing.
        """
        return "1" if self.whole else f"throwIf({self._is_older(session)}) = 0"

    def _is_older(self, session: str) -> str:
        return _IS_OLDER.format(id=session, first_id=self.first_id)

    def _is_long(self, session: str, started: str, ended: str) -> str:
        around_s, long_s = (int(time.total_seconds()) for time in (AROUND, LONG))
        return _IS_LONG.format(
            started=started,
            ended=ended,
            is_older=self._is_older(session),
            start=f"({self.since} + INTERVAL {around_s} SECOND)",
            long_s=long_s,
        )


class Sessions:
    """The sessions of one range, as a statement with the columns that were added.

    Args:
        project: The condition on the project.
        once: The parts by which an event counts once.
        columns: The properties of events with a dedicated column.
    """

    def __init__(
        self,
        bindings: Bindings,
        project: str,
        reach: Reach,
        once: CountedOnce,
        columns: DedicatedColumns = NO_COLUMNS,
    ) -> None:
        self.bindings = bindings
        self.once = once
        self._own_columns = columns
        self._project = project
        self._reach = reach
        self._columns = {"session_id": SESSION_ID}
        self._aggregates: dict[str, str] = {"started": "min(timestamp)"}
        # Values computed from aggregates, and these if nothing else reads them.
        self._computed_values: dict[str, str] = {}
        self._inputs: dict[str, str] = {}

    def text(self) -> str:
        """Return rows with session_id, started, and the aggregates that were added."""
        return self.of_events(self._project, self._reach)

    def grouped(self, key: str, is_read: str, is_complete: str = "1") -> str:
        """Return rows of the sessions of some events, with the columns of `key`.

        Args:
            is_read: The condition on these events.
            is_complete: The condition on a session.
        """
        sessions = _SESSIONS.format(
            key=key,
            columns=_named(self._columns),
            aggregates=_named({**self._inputs, **self._aggregates}),
            events=self.once.events,
            is_read=is_read,
            is_complete=is_complete,
        )
        if not self._computed_values:
            return sessions
        return _COMPUTED.format(
            key=key,
            aggregates=", ".join(self._aggregates),
            computed=_named(self._computed_values),
            sessions=sessions,
        )

    @property
    def names(self) -> Sequence[str]:
        """Return the names of the aggregates and computed values, of which `started` is first."""
        return *self._aggregates, *self._computed_values

    def of_events(self, project: str, reach: Reach) -> str:
        """Return the rows of `text` for other events."""
        is_read = f"{project}\n       AND {reach.is_read(project)}"
        return self.grouped("session_id", is_read, reach.is_complete())

    def column(self, name: str, expression: str) -> str:
        """Add a column of events, and return its name for use in `aggregate`."""
        self._columns[name] = expression
        return name

    def aggregate(self, name: str, expression: str) -> str:
        """Add an aggregate over the events of a session, and return its name."""
        self._aggregates[name] = expression
        return name

    def value(self, field: str) -> str:
        """Return SQL for a value of a row of `text`, null if the session has none.

        Args:
            field: One of FIELDS.
        """
        if FIELDS[field] == "text" and field != "$channel_type":
            return f"nullIf({self._text(field)}, '')"
        return self._computed(field)

    def shown(self, field: str) -> str:
        """Return SQL for a value of a row of `text` as text, '' if the session has none."""
        if FIELDS[field] == "text":
            return self._text(field)
        value = self._computed(field)
        if FIELDS[field] == "boolean":
            return f"multiIf(isNull({value}), '', {value}, 'true', 'false')"
        return f"ifNull(toString({value}), '')"

    def condition(self, node: Node, now: datetime) -> str:
        """Return a condition on a row of `text`.

        Args:
            node: Conditions that are all on sessions.
            now: The time against which relative dates are resolved.
        """
        if isinstance(node, ConditionGroup):
            parts = [self.condition(child, now) for child in node.children]
            return f"({f' {node.type} '.join(parts)})"
        assert isinstance(node, Property)
        return value_condition(node, self.shown(node.key), self.bindings, now)

    def _text(self, field: str) -> str:
        if field == "$channel_type":
            return self._channel()
        if field in URL_FIELDS:
            part = field.partition("_")[2]
            return URL_PARTS[part].format(url=self._url(URL_FIELDS[field]))
        return self._first(FIRST_EVENT_PROPERTIES[field])

    def _computed(self, field: str) -> str:
        if field == "$channel_type":
            return self._channel()
        if field in EVENT_COUNTS:
            return self._count(EVENT_COUNTS[field])
        if field == "$start_timestamp":
            return "started"
        ended = self.aggregate("ended", "max(timestamp)")
        if field == "$end_timestamp":
            return ended
        seconds = f"dateDiff('second', started, {ended})"
        return seconds if field == "$session_duration" else self._bounce(seconds)

    def _count(self, event: str) -> str:
        return self.aggregate(f"`{event} count`", self.once.count(f"event = '{event}'"))

    def _bounce(self, seconds: str) -> str:
        views = self._count("$pageview")
        clicked = self.aggregate("clicked", "max(event = '$autocapture')")
        engaged = f"{views} > 1 OR {clicked} OR {seconds} >= {BOUNCE_SECONDS}"
        return f"if({views} = 0, NULL, NOT ({engaged}))"

    def _url(self, end: str) -> str:
        """Return SQL for the URL of the first or last page view, or event if there is no view."""
        url, order = self.column("url", self.plain_text("$current_url")), self._place()
        is_entry = end == "entry_url"
        rank = f"NOT ({_PAGE_VIEW})" if is_entry else _PAGE_VIEW
        ranked = f"bitShiftLeft(toUInt256({rank}), 192) + {order}"
        function = "argMinIf" if is_entry else "argMaxIf"
        return self.aggregate(end, f"{function}({url}, {ranked}, {url} != '')")

    def _first(self, name: str) -> str:
        """Return SQL for a property of the first event, '' if it has none."""
        return self.aggregate(*self._named_first(name))

    def _named_first(self, name: str) -> tuple[str, str]:
        own = self.column(f"`own {name}`", self.plain_text(name))
        return f"`first {name}`", f"argMin({own}, {self._place()})"

    def plain_text(self, key: str) -> str:
        """Return SQL for a property of a row of `events` as text, '' without one."""
        own = self._own_columns.plain_text(key)
        return f"ifNull(toString(attributes.`{key}`), '')" if own is None else own

    def _place(self) -> str:
        return self.column("place", _PLACE)

    def _channel(self) -> str:
        names = {
            "source": "utm_source",
            "medium": "utm_medium",
            "campaign": "utm_campaign",
            "referrer": "$referring_domain",
            "gclid": "gclid",
            "fbclid": "fbclid",
            "gad": "gad_source",
        }
        firsts = {part: self._named_first(name) for part, name in names.items()}
        self._inputs.update(firsts.values())
        parts = {part: column for part, (column, _) in firsts.items()}
        self._computed_values["channel"] = channel_sql(self.bindings, parts)
        return "channel"


def _named(expressions: Mapping[str, str]) -> str:
    return ",\n           ".join(
        f"{expression} AS {name}" for name, expression in expressions.items()
    )
