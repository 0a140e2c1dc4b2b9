"""Finds the actors (persons) of a point of an insight in the event store, by one statement each.

An event counts once, however often it is stored, and for the person its person was merged into.
Events without a person are ignored.

source: cohorts.md section 10, "Other ways"
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from fanion.cohorts.criteria.behaviour import CriteriaError
from fanion.cohorts.members_store import MEMBERS_MAX
from fanion.errors import Invalid
from fanion.events.storage.filters_sql import NO_PERSON, with_merged
from fanion.insights.actors.query import (
    LISTS,
    PARAMETERS,
    ActorsQuery,
    FunnelPoint,
    LifecyclePoint,
    Status,
    StickinessPoint,
    TrendPoint,
    parse_actors_query,
    period,
)
from fanion.insights.date_range import RangeClock
from fanion.insights.series import Breakdown, Series
from fanion.insights.series_sql import NONE, InsightStatement, SeriesConditions, SeriesQuery
from fanion.insights.trends.query import for_project, parse_trends
from fanion.insights.trends.store import Trends
from fanion.insights.validation import check_insight_filters
from fanion.projects.cache import Projects
from fanion.projects.model import Project
from fanion.properties.cohort_sql import MICROSECOND, micros
from fanion.rest.body_reader import is_deep
from fanion.rest.unknown_fields import QUERY_NAMES

_SURVIVOR = f"if(moved.new_person = {NO_PERSON}, found.person_id, moved.new_person)"

# Rows of `found`: an interval and a person, each once.
ACTIVE_ACTORS = """
  SELECT person
    FROM (SELECT bucket, {survivor} AS person
            FROM (SELECT DISTINCT bucket, person_id
                    FROM (SELECT {bucket} AS bucket, person_id
                            FROM events
                           WHERE {where}
                             AND person_id != {no_person}
                           LIMIT 1 BY uuid)) AS found
            LEFT ANY JOIN (SELECT old_person, new_person
                             FROM person_overrides FINAL
                            WHERE {project}) AS moved ON moved.old_person = found.person_id)
GROUP BY person
  HAVING {test}
ORDER BY person
"""

# Rows of `found`: an event and a step that it matches. Times count from the start of the span in
# ticks, of which a microsecond has more than there are steps, so that no two rows of an event have
# the same time.
FUNNEL_ACTORS = """
  SELECT person
    FROM (SELECT at, step, {survivor} AS person
            FROM (SELECT arrayJoin(arrayFilter(one -> one > 0, [{steps}])) AS step,
                         toUInt64((toUnixTimestamp64Micro(timestamp) - {start}) * {ticks}
                                  + {place}) AS at,
                         person_id
                    FROM events
                   WHERE {where}
                     AND person_id != {no_person}
                     AND ({any_step})
                   LIMIT 1 BY uuid, step) AS found
            LEFT ANY JOIN (SELECT old_person, new_person
                             FROM person_overrides FINAL
                            WHERE {project}) AS moved ON moved.old_person = found.person_id)
GROUP BY person
  HAVING windowFunnel({window})(at, {levels}) {test}
ORDER BY person
"""

CREATED = """
  SELECT person_id
    FROM persons FINAL
   WHERE {project}
     AND created_at >= {start}
     AND created_at < {end}
"""


class _PendingQuery(msgspec.Struct):
    """A stored query. now: when it was sent; relative dates are resolved against it"""

    asked: dict[str, Any]
    now: datetime


def actors_query_text(project: Project, query: Mapping[str, str], now: datetime) -> str:
    """The text that `Actors.of` reads. query: of a request. raises: Invalid"""
    asked = {
        name: _decoded(name, query[name]) if name in LISTS else query[name]
        for name in PARAMETERS
        if query.get(name)
    }
    actors = parse_actors_query(asked)
    _check(query)
    if not actors.trends.since.is_all:
        period(actors, RangeClock(now, ZoneInfo(project.timezone)))
    return msgspec.json.encode(_PendingQuery(asked, now)).decode()


@dataclass(frozen=True, slots=True)
class Actors:
    trends: Trends
    projects: Projects

    async def of(self, project_id: int, text: str) -> AsyncGenerator[Sequence[UUID]]:
        """Their UUIDs in batches. raises: CriteriaError, whatever the stores raise"""
        try:
            statement = await self._statement(project_id, text)
        except Invalid as error:
            raise CriteriaError(error.detail) from None
        answer = await self.trends.events.ask(statement.text, statement.parameters, estimated=False)
        found = answer.columns[0] if answer.columns else ()
        for start in range(0, len(found), MEMBERS_MAX):
            yield found[start : start + MEMBERS_MAX]

    async def _statement(self, project_id: int, text: str) -> InsightStatement:
        """raises: Invalid"""
        pending = msgspec.json.decode(text, type=_PendingQuery)
        actors = parse_actors_query(pending.asked)
        project = await self.projects.by_id(project_id)
        own = () if project is None else project.test_account_filters
        query = for_project(actors.trends, own)
        clock = RangeClock(pending.now, await self.projects.zone_of(project_id))
        if query.since.is_all:
            series = (*query.series, actors.series)
            clock = replace(clock, first=await self.trends.first_event(project_id, series))
        span, starts = period(actors, clock)
        run = await self.trends.put_cohorts(project_id, query.cohort_ids())
        properties, breakdown = query.properties, query.breakdown
        asked = SeriesQuery(
            project_id, properties, breakdown, actors.series, span, starts, pending.now, run
        )
        return _compile(actors, asked)


def _check(query: Mapping[str, str]) -> None:
    """Validate all parameters, though only PARAMETERS are read: no option is ignored.

    raises: Invalid
    """
    asked = {
        name: _decoded(name, value) if name in LISTS and value else value
        for name, value in query.items()
        if name not in QUERY_NAMES
    }
    check_insight_filters(asked)
    # Clients name stickiness and life cycles twice.
    parse_trends({**asked, "insight": "TRENDS", "shown_as": None})


def _decoded(name: str, text: str) -> Any:
    """raises: Invalid"""
    try:
        value = msgspec.json.decode(text)
        if is_deep(value):
            raise ValueError
    except (ValueError, RecursionError):
        raise Invalid("This value must be valid JSON.", attr=name) from None
    return value


def _compile(actors: ActorsQuery, asked: SeriesQuery) -> InsightStatement:
    if isinstance(actors.point, TrendPoint):
        return _trend_actors(asked, actors.point)
    if isinstance(actors.point, StickinessPoint):
        return _stickiness_actors(asked, actors.point)
    if isinstance(actors.point, LifecyclePoint):
        return _lifecycle_actors(asked, actors.point.status)
    return _funnel_actors(asked, actors.point)


def _trend_actors(query: SeriesQuery, point: TrendPoint) -> InsightStatement:
    """query: without starts"""
    compiler = _ActorsCompiler(query)
    breakdown = query.breakdown
    where = compiler.where()
    if breakdown is not None and point.value is not None:
        where += f" AND {compiler.broken_down(breakdown, point.value)}"
    return compiler.active(where, "count() > 0")


def _stickiness_actors(query: SeriesQuery, point: StickinessPoint) -> InsightStatement:
    compiler = _ActorsCompiler(query)
    number = compiler.bindings.add(point.intervals, "UInt64")
    return compiler.active(compiler.where(), f"uniqExact(bucket) = {number}")


def _lifecycle_actors(query: SeriesQuery, status: Status) -> InsightStatement:
    """query: the interval and the previous one, with which its range begins

    A person who was active before is returning, even when the person was created since.
    """
    compiler = _ActorsCompiler(query)
    return compiler.active(compiler.where(), _STATUS_TESTS[status](compiler))


def _funnel_actors(query: SeriesQuery, point: FunnelPoint) -> InsightStatement:
    """query: a series of any event, without starts

    Steps at the same time are in their order, but reversed where one event may be several steps,
    so that an event does not follow itself.
    """
    compiler = _ActorsCompiler(query)
    steps = [compiler.step(step) for step in point.steps]
    numbers, ticks = range(1, len(steps) + 1), len(steps) + 1
    is_reversed = _may_coincide(point.steps)
    slack = 0 if is_reversed else len(steps)
    level = compiler.bindings.add(point.level, "UInt64")
    text = FUNNEL_ACTORS.format(
        survivor=_SURVIVOR,
        steps=", ".join(f"if({step}, {n}, 0)" for n, step in zip(numbers, steps, strict=True)),
        start=compiler.bindings.add(micros(query.span.start), "Int64"),
        ticks=ticks,
        place=f"{len(steps)} - step" if is_reversed else "step",
        where=compiler.where(),
        no_person=NO_PERSON,
        any_step=" OR ".join(steps),
        project=compiler.project,
        window=point.window // MICROSECOND * ticks + slack,
        levels=", ".join(f"step = {number}" for number in numbers),
        test=f"{'=' if point.only else '>='} {level}",
    )
    return InsightStatement(text, compiler.bindings.values)


class _ActorsCompiler(SeriesConditions):
    def active(self, where: str, test: str) -> InsightStatement:
        text = ACTIVE_ACTORS.format(
            survivor=_SURVIVOR,
            bucket=self.bucket(),
            where=where,
            no_person=NO_PERSON,
            project=self.project,
            test=test,
        )
        return InsightStatement(text, self.bindings.values)

    def broken_down(self, breakdown: Breakdown, value: str) -> str:
        """A person without a row has no value."""
        own, wanted = self.value(breakdown), self.bindings.text(value)
        if not breakdown.of_person:
            return f"{own} = {wanted}"
        operator, within = ("!=", "NOT IN") if value == NONE else ("=", "IN")
        rows = f"{self.project} AND {own} {operator} {wanted}"
        return f"person_id {within} ({with_merged('persons FINAL', rows, self.project)})"

    def step(self, series: Series) -> str:
        named = "1" if series.event is None else f"event = {self.bindings.text(series.event)}"
        if series.properties is None:
            return f"({named})"
        return f"({named} AND {self.condition(series.properties)})"

    def active_in(self, number: int) -> str:
        start = self.bindings.add(micros(self.query.starts[number]), "Int64")
        return f"countIf(bucket = {start}) > 0"

    def is_created(self) -> str:
        time, query = self.bindings.time, self.query
        start, end = time(query.starts[1]), time(query.span.end)
        return f"person IN ({CREATED.format(project=self.project, start=start, end=end)})"


_STATUS_TESTS: dict[Status, Callable[[_ActorsCompiler], str]] = {
    "new": lambda c: f"{c.active_in(1)} AND NOT {c.active_in(0)} AND {c.is_created()}",
    "returning": lambda c: f"{c.active_in(1)} AND {c.active_in(0)}",
    "resurrecting": lambda c: f"{c.active_in(1)} AND NOT {c.active_in(0)} AND NOT {c.is_created()}",
    "dormant": lambda c: f"{c.active_in(0)} AND NOT {c.active_in(1)}",
}


def _may_coincide(steps: tuple[Series, ...]) -> bool:
    names = [step.event for step in steps]
    return len(names) > 1 and (None in names or len(set(names)) < len(names))
