"""Static cohorts of the persons behind a number of an insight.

Source: insights.md, section 13; cohorts.md, section 10, "Other ways".
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from fanion.cohorts.criteria.definition import CriteriaError
from fanion.cohorts.members.store import MEMBERS_MAX
from fanion.errors import Invalid
from fanion.insights.actors.newer_query import read_actors_query
from fanion.insights.actors.service import ActorFinder, ActorsQuery, read_actors
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.query_string import decode_parameters
from fanion.projects.cache import Projects
from fanion.projects.model import Project
from fanion.rest.posthog_insight_fields import OF_FILTERS, OF_PLACES

_NO_SEARCH = "A cohort contains all actors behind a number. Leave it out."


class _PendingQuery(msgspec.Struct):
    """A stored question for the persons behind a number.

    Attributes:
        asked: The question and the place, by the names of `filters`.
        now: The time when it was sent; relative dates are resolved against it.
    """

    asked: dict[str, Any]
    now: datetime


@dataclass(frozen=True, slots=True)
class CohortActors:
    actors: ActorFinder
    projects: Projects

    def pending_query(self, project: Project, sent: Mapping[str, str], now: datetime) -> str:
        """Return the text that `person_uuids` reads, for the query string of a request.

        Raises:
            Invalid: The question cannot be answered by a cohort.
        """
        named = {name: sent[name] for name in sent if name in OF_FILTERS | OF_PLACES}
        if named.pop("search", ""):
            raise Invalid(_NO_SEARCH, attr="search")
        values = decode_parameters(named)
        self.actors.check_range(project, _read_persons_query(values), now)
        return msgspec.json.encode(_PendingQuery(values, now)).decode()

    def pending_actors_query(
        self, project: Project, query: Mapping[str, Any], now: datetime
    ) -> str:
        """Return the text that `person_uuids` reads, for an ActorsQuery, whatever page it asks for.

        Raises:
            Invalid: The question cannot be answered by a cohort.
        """
        newer_query = read_actors_query(Fields(query, at="query"))
        if newer_query.search:
            raise Invalid(_NO_SEARCH, attr="query__search")
        actors_query = read_actors(newer_query.sent, newer_query.places, newer_query.at)
        _require_persons(actors_query.group_type_index)
        self.actors.check_range(project, actors_query, now)
        return msgspec.json.encode(_PendingQuery(dict(newer_query.sent), now)).decode()

    async def person_uuids(self, project_id: int, text: str) -> AsyncGenerator[Sequence[UUID]]:
        """Yield the UUIDs of the persons in batches.

        Among them are UUIDs of events without a person, which match no person. Errors of the stores
        are passed on.

        Raises:
            CriteriaError: The question cannot be calculated any more.
        """
        pending = msgspec.json.decode(text, type=_PendingQuery)
        try:
            query = _read_persons_query(pending.asked)
            project = await self._project(project_id)
            async for some in self.actors.find_uuids(project, query, pending.now, MEMBERS_MAX):
                yield some
        except Invalid as error:
            raise CriteriaError(error.detail) from None

    async def _project(self, project_id: int) -> Project:
        project = await self.projects.by_id(project_id)
        if project is None:
            raise Invalid("There is no such project.")
        return project


def _read_persons_query(sent: Mapping[str, Any]) -> ActorsQuery:
    query = read_actors(sent)
    _require_persons(query.group_type_index)
    return query


def _require_persons(group_type_index: object) -> None:
    if group_type_index not in (None, ""):
        detail = "A cohort has persons, and this insight counts groups."
        raise Invalid(detail, attr="aggregation_group_type_index")
