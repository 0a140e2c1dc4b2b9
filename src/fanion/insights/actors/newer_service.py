"""Answers to an `ActorsQuery` of newer clients.

Source: insights.md, section 13.
"""

from dataclasses import dataclass
from datetime import datetime

from fanion.errors import Invalid
from fanion.insights.actors.newer_query import read_actors_query, select_columns
from fanion.insights.actors.people_store import load_people
from fanion.insights.actors.service import ActorFinder, read_actors
from fanion.insights.parsing.fields import Fields, with_request_place
from fanion.insights.schemas import RowsBody
from fanion.projects.model import Project


@dataclass(frozen=True, slots=True)
class ActorsAnswers:
    actors: ActorFinder

    async def answer(self, project: Project, fields: Fields, now: datetime) -> RowsBody:
        """Return a page of the actors behind a number.

        Raises:
            Invalid: The query cannot be read or calculated.
            EventStoreUnavailable: The event store does not answer.
            RecordsUnavailable: The records store does not answer.
        """
        newer_query = read_actors_query(fields)
        query = read_actors(newer_query.sent, newer_query.places, newer_query.at)
        page_options = newer_query.limit, newer_query.offset, newer_query.search, newer_query.order
        try:
            page = await self.actors.find_page(project, query, now, *page_options)
        except Invalid as error:
            raise with_request_place(error, newer_query.places) from None
        index = query.group_type_index
        people = await load_people(self.actors.records, project.id, page.actors, index)
        ends_early = people.seen < len(page.actors)
        return RowsBody(
            results=select_columns(newer_query.select, people.bodies),
            columns=list(newer_query.select),
            has_more=page.has_more or ends_early,
            limit=people.seen if ends_early else newer_query.limit,
            offset=newer_query.offset,
            missing_actors_count=people.seen - len(people.bodies),
            timezone=project.timezone,
            last_refresh=now,
        )
