"""Search for the actors behind a number of an answer: persons, or groups.

Source: insights.md, section 13.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy import select

from fanion.db.engine import Records
from fanion.db.schema.persons import person_keys
from fanion.db.schema.tables import person_distinct_ids
from fanion.errors import Invalid
from fanion.events.storage.filters_sql import group_rows
from fanion.insights.actors.newer_query import Order
from fanion.insights.calculation.service import Analysis, Calculation, with_test_account_filters
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.entities import ACTION
from fanion.insights.kinds.service import KINDS_BY_INSIGHT, kind_name, read_query
from fanion.insights.parsing.fields import Fields
from fanion.insights.query import InsightQuery
from fanion.insights.sql.compiler import Statement
from fanion.persons.search_store import NAMES
from fanion.projects.model import Project
from fanion.properties.bindings import Bindings
from fanion.rest.unknown_fields import no_choice
from fanion.wire.distinct_id import stored_distinct_id

# Actors of one statement; each takes 100 bytes of memory.
BATCH_MAX: Final = 100_000

# Keeps the order of the inner statement, which is the order of the list.
_SEARCHED = """
  SELECT *
    FROM ({text})
   WHERE {condition}
"""

# A row of the list: a person's UUID, or a group's key, and the value of the actor.
Actor = tuple[UUID | str, Any]


@dataclass(frozen=True, slots=True)
class ActorsQuery:
    """A question, and the number of its answer whose actors are wanted.

    Attributes:
        query: The question.
        place: The place of the number in the answer, as its kind reads it.
        group_type_index: The type of the groups; None for persons.
        find: Returns the statement of the actors; see `ActorsKind`.
    """

    query: InsightQuery
    place: Any
    group_type_index: int | None
    find: Callable[[Calculation, Any, Any], Awaitable[Statement]]


def read_actors(
    sent: Mapping[str, Any], places: Mapping[str, str] | None = None, at: str = ""
) -> ActorsQuery:
    """Parse a question and the place of a number in its answer.

    Args:
        sent: The question and the place, by the names of `filters`.
        places: As in `Fields`.
        at: As in `Fields`.

    Raises:
        Invalid: They cannot be read, or the actors of this kind cannot be listed.
    """
    fields, insight = Fields(sent, places, at), kind_name(sent)
    if insight not in KINDS_BY_INSIGHT:
        raise no_choice(insight, KINDS_BY_INSIGHT, fields.place("insight"))
    actors = KINDS_BY_INSIGHT[insight].actors
    if actors is None:
        raise Invalid("The actors of this insight cannot be listed.", attr="insight")
    query = read_query(Fields(_question_of(sent, actors.places), places, at))
    place = actors.read(fields, query)
    _refuse_other_places(fields, insight, actors.places)
    return ActorsQuery(query, place, actors.group_type(query, place), actors.find)


@dataclass(frozen=True, slots=True)
class ActorsPage:
    """A page of actors.

    Attributes:
        actors: In the order of the list.
        has_more: Whether there are more.
    """

    actors: Sequence[Actor]
    has_more: bool


@dataclass(frozen=True, slots=True)
class ActorFinder:
    """The search for the actors behind a number.

    Every call raises EventStoreUnavailable, RecordsUnavailable, or Invalid for a question that
    cannot be calculated.
    """

    analysis: Analysis

    @property
    def records(self) -> Records:
        return self.analysis.records

    def check_range(self, project: Project, actors_query: ActorsQuery, now: datetime) -> None:
        """Raise Invalid if the range of the question cannot be resolved."""
        if not actors_query.query.scope.since.is_all:
            with_test_account_filters(project, actors_query.query).span(
                RangeClock(now, ZoneInfo(project.timezone))
            )

    async def find_page(
        self,
        project: Project,
        actors_query: ActorsQuery,
        now: datetime,
        limit: int,
        offset: int = 0,
        search: str = "",
        order: Order = "",
    ) -> ActorsPage:
        """Return one page; no more than its rows are in memory.

        Args:
            search: Part of a person's name or e-mail address, a whole distinct id, or the UUID; for
                groups, part of the key or the name.
            order: Empty for the order of the number.
        """

        async def read() -> list[tuple[Any, ...]]:
            calculation, statement = await self._statement(project, actors_query, now)
            if search:
                statement = await self._searched(project.id, actors_query, statement, search)
            statement = order_actors(statement, project.id, actors_query.group_type_index, order)
            return await calculation.rows(limit_rows(statement, limit + 1, offset))

        rows = await self.analysis.complete(project, read)
        return ActorsPage([_actor(row) for row in rows[:limit]], len(rows) > limit)

    async def find_batches(
        self,
        project: Project,
        actors_query: ActorsQuery,
        now: datetime,
        size: int,
        batch_max: int = BATCH_MAX,
    ) -> AsyncGenerator[Sequence[Actor]]:
        """Yield all actors, `size` at a time.

        Each statement waits for its turn. Between statements others get theirs, so a slow consumer
        blocks no one.
        """
        offset, has_more = 0, True
        while has_more:
            page = await self.find_page(project, actors_query, now, batch_max, offset)
            for start in range(0, len(page.actors), size):
                yield page.actors[start : start + size]
            offset, has_more = offset + batch_max, page.has_more

    async def find_uuids(
        self, project: Project, actors_query: ActorsQuery, now: datetime, size: int
    ) -> AsyncGenerator[Sequence[UUID]]:
        """Yield the UUIDs of all persons, `size` at a time."""
        async for some in self.find_batches(project, actors_query, now, size):
            yield [who for who, _ in some if isinstance(who, UUID)]

    async def _statement(
        self, project: Project, actors_query: ActorsQuery, now: datetime
    ) -> tuple[Calculation, Statement]:
        query, calculation = await self.analysis.begin(project, actors_query.query, now)
        return calculation, await actors_query.find(calculation, query, actors_query.place)

    async def _searched(
        self, project_id: int, actors_query: ActorsQuery, statement: Statement, search: str
    ) -> Statement:
        bindings = Bindings("s")
        project = f"project_id = {bindings.add(project_id, 'UInt64')}"
        index, part = actors_query.group_type_index, bindings.text(search.lower())
        if index is not None:
            named = f"position(lowerUTF8(toString(attributes.name)), {part}) > 0"
            rows = group_rows(index, bindings, project)
            condition = (
                f"position(lowerUTF8(actor), {part}) > 0 "
                f"OR actor IN (SELECT group_key FROM {rows} AND {named})"
            )
        else:
            ids = bindings.add(await self._named(project_id, search), "Array(UUID)")
            named = " OR ".join(
                f"position(lowerUTF8(toString(attributes.{name})), {part}) > 0" for name in NAMES
            )
            condition = (
                f"actor IN {ids} OR actor IN "
                f"(SELECT person_id FROM persons FINAL WHERE {project} AND ({named}))"
            )
        text = _SEARCHED.format(text=statement.text, condition=condition)
        return Statement(text, {**statement.parameters, **bindings.values})

    async def _named(self, project_id: int, search: str) -> list[UUID]:
        """Return the UUID of the owner of this distinct id, and the text itself if it is a UUID."""
        link = person_distinct_ids.c
        owner = (
            select(person_keys.c.uuid)
            .join(person_distinct_ids, link.person_id == person_keys.c.person_id)
            .where(link.project_id == project_id)
            .where(link.distinct_id == stored_distinct_id(search))
        )
        owners = [row.uuid for row in await self.records.fetch(owner)]
        try:
            return [*owners, UUID(search)]
        except ValueError:
            return owners


def order_actors(
    statement: Statement, project_id: int, group_type_index: int | None, order: Order
) -> Statement:
    """Return the statement in the given order; an empty one keeps the order of the number."""
    if not order:
        return statement
    name, _, descending = order.partition(" ")
    key = {"event_count": "2", "id": "1"}.get(name, "known.created_at")
    bindings = Bindings("o")
    project = f"project_id = {bindings.add(project_id, 'UInt64')}"
    known, who = f"persons FINAL WHERE {project}", "person_id"
    if group_type_index is not None:
        known, who = group_rows(group_type_index, bindings, project), "group_key"
    join = f"LEFT ANY JOIN (SELECT {who}, created_at FROM {known}) AS known ON known.{who} = actor"
    text = (
        f"SELECT found.* FROM ({statement.text}) AS found {join if name == 'created_at' else ''} "
        f"ORDER BY {key} {descending}, 1"
    )
    return Statement(text, {**statement.parameters, **bindings.values})


def limit_rows(statement: Statement, limit: int, offset: int) -> Statement:
    """Return some rows of a statement that ends with its order."""
    text = f"{statement.text.rstrip()}\n   LIMIT {int(limit)} OFFSET {int(offset)}\n"
    return Statement(text, statement.parameters)


def _actor(row: tuple[Any, ...]) -> Actor:
    return row[0], row[1]


def _question_of(sent: Mapping[str, Any], places: Collection[str]) -> dict[str, Any]:
    """Return the question without the place, its events with the one that the place names.

    Args:
        places: The names that a place of the kind has.
    """
    values = {name: sent[name] for name in sent if name not in places}
    if "entity_id" in places:
        values["events"] = _with_named(values.get("events"), sent)
    return values


def _refuse_other_places(fields: Fields, insight: str, places: Collection[str]) -> None:
    """Raise Invalid for an unread part of the place: the number does not have it."""
    fields.refuse_unread(f"Actors of {insight.lower()}", fields.values.keys() - set(places))


def _with_named(events: Any, sent: Mapping[str, Any]) -> Any:
    """Add the event that the place names: older clients ask for the actors of any event."""
    name = None if sent.get("entity_type") == ACTION else sent.get("entity_id")
    known = events or []
    if not isinstance(name, str) or not name or not isinstance(known, list):
        return events
    if any(isinstance(event, dict) and event.get("id") == name for event in known):
        return events
    return [*known, {"id": name, "name": name, "type": "events"}]
