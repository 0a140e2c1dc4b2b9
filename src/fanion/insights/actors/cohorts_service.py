"""Static cohorts of the persons behind a number of an insight.

source: insights.md section 13; cohorts.md section 10, "Other ways"
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from fanion.cohorts.criteria.behaviour import CriteriaError
from fanion.cohorts.members_store import MEMBERS_MAX
from fanion.errors import Invalid
from fanion.insights.actors.newer_query import read_actors_query
from fanion.insights.actors.service import ActorFinder, ActorsQuery, read_actors
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.query_string import decoded
from fanion.projects.cache import Projects
from fanion.projects.model import Project
from fanion.rest.posthog_insight_fields import OF_FILTERS, OF_PLACES

_NO_SEARCH = "A cohort has all actors of a number. Leave it out."


class _PendingQuery(msgspec.Struct):
    """A stored query. now: when it was sent; relative dates are resolved against it"""

    asked: dict[str, Any]
    now: datetime


@dataclass(frozen=True, slots=True)
class CohortActors:
    actors: ActorFinder
    projects: Projects

    def text(self, project: Project, sent: Mapping[str, str], now: datetime) -> str:
        """The text that `of` reads. sent: the query of a request. raises: Invalid"""
        named = {name: sent[name] for name in sent if name in OF_FILTERS | OF_PLACES}
        if named.pop("search", ""):
            raise Invalid(_NO_SEARCH, attr="search")
        asked = decoded(named)
        self.actors.check(project, _read(asked), now)
        return msgspec.json.encode(_PendingQuery(asked, now)).decode()

    def text_of_query(self, project: Project, query: Mapping[str, Any], now: datetime) -> str:
        """All actors of an ActorsQuery, whatever page of them it asks for. raises: Invalid"""
        asked = read_actors_query(Fields(query, at="query"))
        if asked.search:
            raise Invalid(_NO_SEARCH, attr="query__search")
        found = read_actors(asked.sent, asked.places, asked.at)
        _require_persons(found.group_type_index)
        self.actors.check(project, found, now)
        return msgspec.json.encode(_PendingQuery(dict(asked.sent), now)).decode()

    async def of(self, project_id: int, text: str) -> AsyncGenerator[Sequence[UUID]]:
        """Their UUIDs in batches, and those of events without a person, which match none.

        raises: CriteriaError, whatever the stores raise
        """
        pending = msgspec.json.decode(text, type=_PendingQuery)
        try:
            query = _read(pending.asked)
            project = await self._project(project_id)
            batches = self.actors.batches(project, query, pending.now, MEMBERS_MAX)
            async for some in batches:
                yield [who for who, _ in some if isinstance(who, UUID)]
        except Invalid as error:
            raise CriteriaError(error.detail) from None

    async def _project(self, project_id: int) -> Project:
        project = await self.projects.by_id(project_id)
        if project is None:
            raise Invalid("There is no such project.")
        return project


def _read(asked: Mapping[str, Any]) -> ActorsQuery:
    """raises: Invalid"""
    query = read_actors(asked)
    _require_persons(query.group_type_index)
    return query


def _require_persons(group_type_index: object) -> None:
    if group_type_index not in (None, ""):
        detail = "A cohort has persons, and this insight counts groups."
        raise Invalid(detail, attr="aggregation_group_type_index")
