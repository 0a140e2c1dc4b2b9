"""The people behind a point of an insight, asked of the event store."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
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
    Did,
    DidOn,
    Lived,
    PeopleQuery,
    parse_people,
    period,
)
from fanion.insights.actors.sql import (
    people_who_did,
    people_who_did_on,
    people_who_lived,
    people_who_reached,
)
from fanion.insights.trends.date_range import Clock
from fanion.insights.trends.filters_sql import Asked, Statement
from fanion.insights.trends.query import parse_trends
from fanion.insights.trends.store import Trends
from fanion.insights.validation import check_question
from fanion.projects.model import Project
from fanion.rest.body import is_deep
from fanion.rest.unknown_fields import QUERY_NAMES


class _Kept(msgspec.Struct):
    """A question as it waits. now: when it was asked, from where its dates count back"""

    asked: dict[str, Any]
    now: datetime


def insight_of(project: Project, query: Mapping[str, str], now: datetime) -> str:
    """The text that `People` answers. query: of a request. raises: Invalid"""
    asked = {
        name: _decoded(name, query[name]) if name in LISTS else query[name]
        for name in PARAMETERS
        if query.get(name)
    }
    people = parse_people(asked)
    _check(query)
    if not people.trends.since.is_all:
        period(people, Clock(now, ZoneInfo(project.timezone)))
    return msgspec.json.encode(_Kept(asked, now)).decode()


@dataclass(frozen=True, slots=True)
class People:
    """zone_of: the time zone of a project, by its id"""

    trends: Trends
    zone_of: Callable[[int], Awaitable[ZoneInfo]]

    async def of(self, project_id: int, text: str) -> AsyncGenerator[Sequence[UUID]]:
        """Some at a time. raises: CriteriaError, whatever the stores raise"""
        try:
            statement = await self._statement(project_id, text)
        except Invalid as error:
            raise CriteriaError(error.detail) from None
        answer = await self.trends.events.ask(statement.text, statement.parameters, estimated=False)
        found = answer.columns[0] if answer.columns else ()
        for start in range(0, len(found), MEMBERS_MAX):
            yield found[start : start + MEMBERS_MAX]

    async def _statement(self, project_id: int, text: str) -> Statement:
        """raises: Invalid"""
        kept = msgspec.json.decode(text, type=_Kept)
        people = parse_people(kept.asked)
        query = people.trends
        clock = Clock(kept.now, await self.zone_of(project_id))
        if query.since.is_all:
            events = replace(query, series=(*query.series, people.series))
            clock = replace(clock, first=await self.trends.first(project_id, events))
        span, starts = period(people, clock)
        run = await self.trends.handed_in(project_id, query.cohort_ids())
        asked = Asked(project_id, query, people.series, span, starts, kept.now, run)
        return _compiled(people, asked)


def _check(query: Mapping[str, str]) -> None:
    """The whole question, though only PARAMETERS of it count: no option is passed over.

    raises: Invalid
    """
    asked = {
        name: _decoded(name, value) if name in LISTS and value else value
        for name, value in query.items()
        if name not in QUERY_NAMES
    }
    check_question(asked)
    # Clients name stickiness and life cycles twice.
    parse_trends({**asked, "insight": "TRENDS", "shown_as": None})


def _compiled(people: PeopleQuery, asked: Asked) -> Statement:
    if isinstance(people.point, Did):
        return people_who_did(asked, people.point)
    if isinstance(people.point, DidOn):
        return people_who_did_on(asked, people.point)
    if isinstance(people.point, Lived):
        return people_who_lived(asked, people.point.status)
    return people_who_reached(asked, people.point)


def _decoded(name: str, text: str) -> Any:
    """raises: Invalid"""
    try:
        value = msgspec.json.decode(text)
        if is_deep(value):
            raise ValueError
    except (ValueError, RecursionError):
        raise Invalid("This must be JSON.", attr=name) from None
    return value
