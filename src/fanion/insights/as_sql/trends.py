"""Trends as SQL: a row for each interval, and for each value of the breakdown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from fanion.insights.as_sql.conditions import entity_conditions
from fanion.insights.as_sql.refusals import no_sql_for, require_known
from fanion.insights.as_sql.rows import EventRows, is_entity, named, values_of
from fanion.insights.as_sql.texts import ROWS_MAX, all_of, property_of, quoted, select, within
from fanion.insights.dates.intervals import DateRange, midnight
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.trends.maths import Aggregate, Math
from fanion.insights.trends.query import Series, TrendsQuery
from fanion.properties.bindings import MICROSECOND
from fanion.properties.values import text_of

_AGGREGATES: Final[dict[Aggregate, str]] = {
    "avg": "avg",
    "sum": "sum",
    "min": "min",
    "max": "max",
    "median": "quantileExactInclusive(0.5)",
    "p25": "quantileExactInclusive(0.25)",
    "p75": "quantileExactInclusive(0.75)",
    "p90": "quantileExactInclusive(0.9)",
    "p95": "quantileExactInclusive(0.95)",
    "p99": "quantileExactInclusive(0.99)",
}
# The first event of each person comes first by time, then by its id.
_FIRST: Final = "(timestamp, toString(uuid))"


def trends_text(query: TrendsQuery, clock: RangeClock) -> str:
    """Write a trend.

    Raises:
        Invalid: An option cannot be said in SQL.
    """
    require_known(query, "shape", "series", "scope", "interval", "breakdowns")
    if query.shape == "cumulative":
        raise no_sql_for("a display of running sums")
    if query.shape == "week":
        raise no_sql_for("a display by weekday and hour")
    if not query.series:
        raise no_sql_for("a trend without series")
    parts = [_SeriesText(query, series, clock) for series in query.series]
    order = [*([] if query.totals else [query.interval]), *values_of(query.breakdowns)]
    if len(parts) == 1:
        return parts[0].text([], order)
    texts = [
        part.text([f"{quoted(_label(part.series, number))} AS series"], [])
        for number, part in enumerate(parts)
    ]
    listed = ", ".join(["series", *order])
    return "\nUNION ALL\n".join(texts) + f"\nORDER BY {listed}\nLIMIT {ROWS_MAX}"


def _label(series: Series, number: int) -> str:
    return f"{chr(ord('A') + number)}: {series.entity.label}"


@dataclass(frozen=True, slots=True)
class _SeriesText:
    """One series of a trend."""

    query: TrendsQuery
    series: Series
    clock: RangeClock

    @property
    def math(self) -> Math:
        return self.series.math.at(self.query.effective_interval)

    @property
    def events(self) -> EventRows:
        return EventRows(self.query.scope, self.clock)

    @property
    def own(self) -> list[str]:
        """Return the conditions on the events of the series, whenever they were."""
        return [*entity_conditions(self.series.entity), *self.events.of_scope()]

    @property
    def columns(self) -> dict[str, str]:
        interval = self.query.interval
        start: dict[str, str] = {} if self.query.totals else {interval: self.events.start(interval)}
        return {**start, **values_of(self.query.breakdowns)}

    def text(self, before: list[str], order: Sequence[str]) -> str:
        require_known(self.series, "entity", "math")
        require_known(
            self.series.math,
            *("word", "name", "of_person", "group_type_index", "hogql", "multiplier"),
        )
        math = self.math
        if math.is_first_time:
            return self._first_time(before, order)
        if math.window is not None and not self.query.totals:
            return self._of_window(math.window, before, order)
        if math.is_per_actor or math.is_sum_per_actor:
            return self._per_actor(before, order)
        counted = f"{self._number(math)} AS total"
        where = [*self.events.within(self._span()), *self.own]
        columns = self.columns
        return select([*before, *named(columns), counted], "events", where, list(columns), order)

    def _span(self) -> DateRange:
        """Return the range that is counted: that of active persons is the last days of it."""
        span = self.query.span(self.clock)
        if self.math.window is None:
            return span
        last = (span.end - MICROSECOND).astimezone(self.clock.zone).date()
        return replace(
            span, start=midnight(last - timedelta(days=self.math.window - 1), self.clock.zone)
        )

    def _number(self, math: Math) -> str:
        if math.hogql is not None:
            return within(math.hogql)
        if math.word == "total":
            return "count()"
        if math.word == "unique_session":
            return "uniqExact(nullIf($session_id, ''))"
        if math.word == "unique_group":
            return f"uniqExact(nullIf($group_{math.group_type_index}, ''))"
        if math.aggregate is not None:
            return f"{_AGGREGATES[math.aggregate]}({self._value(math)})"
        return f"uniqExact({self.events.who})"

    def _value(self, math: Math) -> str:
        """Return SQL for the value that is aggregated, null if it is no number."""
        if math.of_sessions:
            raise no_sql_for(f"math {math.word} of {math.name}")
        number = f"toFloat({property_of('person' if math.of_person else '', math.name or '')})"
        return number if math.multiplier is None else f"{number} * {text_of(math.multiplier)}"

    def _per_actor(self, before: list[str], order: Sequence[str]) -> str:
        events, math, columns = self.events, self.math, self.columns
        each = f"sum({self._value(math)})" if math.is_sum_per_actor else "count()"
        actors = select(
            [*named(columns), events.who_column, f"{each} AS number"],
            "events",
            [*events.within(self._span()), *self.own],
            [*columns, events.counted],
        )
        assert math.aggregate is not None  # what is counted per person is aggregated
        total = f"{_AGGREGATES[math.aggregate]}(number) AS total"
        return select([*before, *columns, total], actors, (), list(columns), order)

    def _of_window(self, days: int, before: list[str], order: Sequence[str]) -> str:
        """Count who is active in the days up to each day."""
        if self.query.interval != "day":
            raise no_sql_for(f"math {self.math.word} by {self.query.interval}")
        events, span = self.events, self.query.span(self.clock)
        first, last = (
            moment.astimezone(self.clock.zone).date()
            for moment in (span.start, span.end - MICROSECOND)
        )
        read = DateRange(midnight(first - timedelta(days=days - 1), self.clock.zone), span.end)
        values = values_of(self.query.breakdowns)
        following = f"arrayMap(n -> toDate(timestamp) + n, range({days}))"
        each = select(
            [f"arrayJoin({following}) AS day", *named(values), events.who_column],
            "events",
            [*events.within(read), *self.own],
        )
        where = [f"day >= toDate('{first}')", f"day <= toDate('{last}')"]
        columns = ["day", *values]
        total = f"uniqExact({events.counted}) AS total"
        return select([*before, *columns, total], each, where, columns, order)

    def _first_time(self, before: list[str], order: Sequence[str]) -> str:
        """Count who has the very first event in the range."""
        events, span = self.events, self.query.span(self.clock)
        values = values_of(self.query.breakdowns)
        found = {name: f"argMin({_tupled(text)}, {_FIRST})" for name, text in values.items()}
        is_any = self.math.word == "first_time_for_user"
        where = [events.until(span.end), *([] if is_any else self.own)]
        if is_any:
            names = replace(self.series.entity, properties=None)
            where += entity_conditions(names)
            where += [] if self.query.scope.counts_persons else [f"{events.who} != ''"]
            conditions = [is_entity(self.series.entity), *events.of_scope()]
            found["is_counted"] = f"argMin({all_of(conditions)}, {_FIRST})"
        firsts = select(
            [events.who_column, "min(timestamp) AS first_at", *named(found)],
            "events",
            where,
            [events.counted],
        )
        start: dict[str, str] = (
            {} if self.query.totals else {self.query.interval: self._first_start()}
        )
        shown = {**start, **{name: f"tupleElement({name}, 1)" for name in values}}
        counted = [f"first_at >= {events.moment(span.start)}", *(["is_counted"] if is_any else [])]
        return select(
            [*before, *named(shown), "count() AS total"], firsts, counted, [*shown], order
        )

    def _first_start(self) -> str:
        return self.events.start(self.query.interval, "first_at")


def _tupled(text: str) -> str:
    """Return a value within a tuple: of nulls alone an aggregate would take the next value."""
    return f"tuple({text})"
