"""Finds the actors (persons) of a point of an insight in the event store."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from fanion.cohorts.criteria.behaviour import CriteriaError
from fanion.cohorts.members_store import MEMBERS_MAX
from fanion.errors import Invalid
from fanion.insights.actors.query import (
    LISTS,
    PARAMETERS,
    ActorsQuery,
    LifecyclePoint,
    StickinessPoint,
    TrendPoint,
    parse_actors_query,
    period,
)
from fanion.insights.actors.sql import (
    funnel_actors,
    lifecycle_actors,
    stickiness_actors,
    trend_actors,
)
from fanion.insights.date_range import RangeClock
from fanion.insights.series_sql import InsightStatement, SeriesQuery
from fanion.insights.trends.query import parse_trends
from fanion.insights.trends.store import Trends
from fanion.insights.validation import check_insight_filters
from fanion.projects.cache import Projects
from fanion.projects.model import Project
from fanion.rest.body_reader import is_deep
from fanion.rest.unknown_fields import QUERY_NAMES


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
        query = actors.trends
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
        return _compiled(actors, asked)


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


def _compiled(actors: ActorsQuery, asked: SeriesQuery) -> InsightStatement:
    if isinstance(actors.point, TrendPoint):
        return trend_actors(asked, actors.point)
    if isinstance(actors.point, StickinessPoint):
        return stickiness_actors(asked, actors.point)
    if isinstance(actors.point, LifecyclePoint):
        return lifecycle_actors(asked, actors.point.status)
    return funnel_actors(asked, actors.point)


def _decoded(name: str, text: str) -> Any:
    """raises: Invalid"""
    try:
        value = msgspec.json.decode(text)
        if is_deep(value):
            raise ValueError
    except (ValueError, RecursionError):
        raise Invalid("This value must be valid JSON.", attr=name) from None
    return value
