"""The rows of a series: events, persons with their events, sessions, or first events.

`rows` reads `events` once. What counts persons, or events of persons, is grouped by the stored
person before persons are resolved. `valued` adds the values of the breakdown that belong to
persons.

Source: insights.md, sections 4 and 17; cohorts.md, section 23.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fanion.insights.breakdowns import Breakdowns
from fanion.insights.dates.intervals import DateRange
from fanion.insights.sessions.sql import Reach
from fanion.insights.sql.breakdown import Bins, BreakdownSql
from fanion.insights.sql.compiler import Compiler, SqlContext
from fanion.insights.trends.query import Series
from fanion.insights.trends.week import WeekPart

# A session counts in each interval in which it has such an event, with its whole length.
SESSIONS = """
  SELECT session, number, {cells}
    FROM (SELECT session,
                 (toUnixTimestamp64Micro(max(timestamp)) - toUnixTimestamp64Micro(min(timestamp)))
                 / 1000000 AS number,
                 groupUniqArrayIf({cell}, is_counted) AS cells
            FROM (SELECT {columns}, {session} AS session, timestamp, ({where}) AS is_counted
                    FROM events
                   WHERE {project}
                     AND {is_read}
                     AND session != '')
        GROUP BY session
          HAVING notEmpty(cells) AND {is_complete})
   ARRAY JOIN cells AS cell
"""

# The first event of all time of each actor. earliest: (time, uuid); first: (is_counted, columns)
FIRST = """
  SELECT who, min(at) AS earliest, argMin(cell, at) AS first
    FROM (SELECT {who} AS who,
                 tuple(timestamp, UUIDToNum(uuid)) AS at,
                 tuple(({is_counted}){columns}) AS cell
            FROM events
           WHERE {where})
GROUP BY who
"""

FIRST_OF_ACTORS = """
  SELECT {counted}{columns}, {bucket} AS bucket
    FROM (SELECT actor, min(earliest) AS at, argMin(first, earliest) AS cell
            FROM ({found})
        GROUP BY actor)
   WHERE cell.1
     AND at.1 >= {start}
"""


@dataclass(frozen=True, slots=True)
class SeriesQuery:
    """One series in one time range.

    Attributes:
        starts: The starts of the intervals; empty for the whole span.
        numbers: With a window, the numbers of the intervals, which are days, from 0.
        bins: The bins of the parts of the breakdown that are histograms.
        window: For active persons, the number of days in one of which a person needs an event.
        once: Whether a person, session or group counts in its first interval only.
        week: For a trend by weekday and hour, which of its numbers are counted.
    """

    context: SqlContext
    series: Series
    breakdowns: Breakdowns | None
    span: DateRange
    starts: Sequence[datetime] = ()
    numbers: Sequence[int] = ()
    bins: Mapping[int, Bins] = field(default_factory=dict)
    window: int | None = None
    once: bool = False
    week: WeekPart | None = None

    @property
    def limit(self) -> int:
        return 1 if self.breakdowns is None else self.breakdowns.limit


class SeriesRows:
    def __init__(self, query: SeriesQuery) -> None:
        self.query = query
        self.math = query.series.math
        self.compiler = Compiler(query.context)
        self.values = BreakdownSql(self.compiler, query.breakdowns, query.bins)
        self.by_group = query.context.scope.group_type_index is not None

    @property
    def counts_persons(self) -> bool:
        return not self.by_group

    def where(self) -> str:
        where = self.compiler.where(self.query.span, [self.query.series.entity])
        return where + self._in_week("timestamp")

    def _bucket(self, time: str) -> str:
        week = self.query.week
        if week is None:
            return self.compiler.bucket(self.query.starts, time)
        return week.number(self.compiler, time)

    def _in_week(self, time: str) -> str:
        week = self.query.week
        return "" if week is None else week.condition(self.compiler, time)

    def columns(self, *, actor: bool, bucket: bool = True) -> dict[str, str]:
        """Return names and expressions over a row of `events`.

        Args:
            actor: Whether the rows need who is counted.
        """
        columns = {"bucket": self._bucket("timestamp")} if bucket else {}
        columns |= self.values.event_columns()
        if self.values.needs_person or (actor and self.counts_persons):
            columns["who"] = self.compiler.person()
        if actor and self.by_group:
            columns["group_key"] = self.compiler.who()
        return columns

    def rows(self, columns: Mapping[str, str], where: str, *, once: bool) -> str:
        """Return a SELECT of the columns from `events`.

        Args:
            once: Whether an event counts once, however often it is stored.
        """
        named = ",\n         ".join(f"{text} AS {name}" for name, text in columns.items())
        counted = self.compiler.once
        events, limit = (counted.events, counted.limit) if once else ("events", "")
        return f"\n  SELECT {named}\n    FROM {events}\n   WHERE {where}{limit}\n"

    def grouped(self, rows: str, columns: Mapping[str, str], total: str) -> str:
        names = ", ".join(columns)
        return f"\n  SELECT {names}, {total}\n    FROM ({rows})\nGROUP BY {names}\n"

    def resolved(self, rows: str, columns: Sequence[str]) -> str:
        """Return the rows with the current person as `actor`, if they have `who`."""
        kept = [name for name in columns if name != "who"]
        if "who" not in columns:
            return rows
        return self.compiler.resolved_person(rows, kept)

    @property
    def counted(self) -> str:
        return "group_key" if self.by_group else "actor"

    def valued(self, rows: str, more: Sequence[str]) -> str:
        """Return rows with the value of the breakdown as `value`, and the columns in `more`.

        Args:
            rows: Rows that have `actor` if the breakdown needs it.
        """
        names = "".join(f", {name}" for name in more)
        return (
            f"\n  SELECT {self.values.value()} AS value{names}\n"
            f"    FROM ({rows}) AS valued\n{self.values.joins()}"
        )

    def key(self) -> str:
        """Return SQL for what `unique_session` and `unique_group` count."""
        index = self.math.group_type_index
        return self.compiler.text("$session_id" if index is None else f"$group_{index}")

    def measured(self, *, actor: bool) -> str:
        """Return the rows of events with the property that is aggregated as `number`."""
        name, columns = self.math.name or "", self.columns(actor=actor)
        if self.math.of_person:
            return self._measured_by_person(name, columns)
        columns["number"] = self.compiler.number(name)
        where = f"{self.where()} AND isNotNull(number)"
        return self.resolved(self.rows(columns, where, once=True), list(columns))

    def _measured_by_person(self, name: str, columns: dict[str, str]) -> str:
        compiler = self.compiler
        columns["who"] = compiler.person()
        rows = self.resolved(self.rows(columns, self.where(), once=True), list(columns))
        measures = (
            f"SELECT person_id, {compiler.number(name)} AS number "
            f"FROM persons FINAL WHERE {compiler.project}"
        )
        kept = [*(name for name in columns if name != "who"), "actor", "number"]
        return (
            f"SELECT {', '.join(kept)} FROM ({rows}) AS measured LEFT ANY JOIN ({measures}) "
            "AS measures ON measures.person_id = actor WHERE isNotNull(number)"
        )

    def sessions(self, *, actor: bool) -> str:
        """Return a row for each session and each interval and value that it is counted in."""
        bind, span = self.compiler.bindings, self.query.span
        columns = self.columns(actor=actor)
        names = list(columns)
        cells = ", ".join(f"cell.{index} AS {name}" for index, name in enumerate(names, 1))
        session = self.compiler.text("$session_id")
        reach = Reach.around(span, bind, self.compiler.context.whole_sessions)
        rows = SESSIONS.format(
            cells=cells,
            cell=f"tuple({', '.join(names)})",
            columns=", ".join(f"{text} AS {name}" for name, text in columns.items()),
            session=session,
            where=self.where(),
            project=self.compiler.project,
            is_read=reach.is_read(self.compiler.project, session),
            is_complete=reach.is_complete("session"),
        )
        return self.resolved(rows, [*names, "session", "number"])

    def events_of_actors(self) -> str:
        """Return rows of who is counted, with the number of its events as `n`."""
        columns = self.columns(actor=True)
        rows = self.rows(columns, self.where(), once=True)
        grouped = self.grouped(rows, columns, "count() AS n")
        return self.resolved(grouped, [*columns, "n"])

    def first_events(self) -> str:
        """Return rows of who is counted and of its first event, if that event counts."""
        columns = self.columns(actor=False, bucket=False)
        is_person = self.counts_persons
        columns = {name: text for name, text in columns.items() if name != "who" or not is_person}
        rows = FIRST.format(
            who=self.compiler.who(),
            is_counted=self._is_counted(),
            columns="".join(f", {text}" for text in columns.values()),
            where=self._of_all_time(),
        )
        first = FIRST_OF_ACTORS.format(
            counted="actor" if is_person else "actor AS group_key",
            columns="".join(f", cell.{n} AS {name}" for n, name in enumerate(columns, 2)),
            bucket=self._bucket("at.1"),
            found=self.compiler.resolved(rows, ["earliest", "first"]),
            start=self.compiler.bindings.time(self.query.span.start),
        )
        first += self._in_week("at.1")
        return first if is_person else self.resolved(first, ["group_key", *columns, "bucket"])

    def _is_counted(self) -> str:
        """Return the condition that the very first event fulfils the conditions."""
        if self.math.word != "first_time_for_user":
            return "1"
        return self.compiler.entity(self.query.series.entity) + self._of_scope()

    def _of_scope(self) -> str:
        properties = self.query.context.scope.properties
        return "" if properties is None else f" AND {self.compiler.condition(properties)}"

    def _of_all_time(self) -> str:
        compiler, entity = self.compiler, self.query.series.entity
        condition = (
            f"{compiler.project} AND timestamp < {compiler.bindings.time(self.query.span.end)}"
        )
        if entity.names is not None:
            condition += f" AND event IN {compiler.bindings.texts(entity.names)}"
        if self.by_group:
            condition += f" AND {compiler.who()} != ''"
        if self.math.word == "first_time_for_user":
            return condition
        return f"{condition} AND {compiler.entity(entity)}{self._of_scope()}"
