"""Lists of persons in the records store, and of those that have certain properties."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.db.engine import Records
from fanion.db.tables import person_distinct_ids, persons
from fanion.errors import Invalid
from fanion.events.event import EventRejected
from fanion.events.store import EventStore
from fanion.persons.store import Person, person_rows, with_distinct_ids
from fanion.properties.filters import Property
from fanion.properties.sql import Bindings, property_condition

# Persons read at a time where they are chosen by their properties.
SCAN_MAX = 1_000

_person = persons.c
_link = person_distinct_ids.c

Choose = Callable[[Sequence[Person]], Awaitable[Sequence[Person]]]
# By which lists are ordered: the newest first.
Place = tuple[datetime, int]
# Up to so many persons from behind a place on, or from the beginning.
Read = Callable[[Place | None, int], Awaitable[Sequence[Person]]]


@dataclass(frozen=True, slots=True)
class PersonQuery:
    """search: part of the e-mail address, or a whole distinct id

    chosen: of those that are found, in their order; None for all of them
    after:  the last person of the page before, from where `offset` need not be counted again
    """

    distinct_id: str | None = None
    email: str | None = None
    search: str | None = None
    limit: int = 100
    offset: int = 0
    chosen: Choose | None = None
    after: UUID | None = None


async def find_persons(
    records: Records, project_id: int, query: PersonQuery
) -> tuple[list[Person], bool]:
    """One page, newest first, and whether there are more."""

    async def read(place: Place | None, limit: int, offset: int = 0) -> list[Person]:
        statement = person_rows(project_id).where(*_conditions(project_id, query))
        statement = newest_first(statement, place).limit(limit).offset(offset)
        async with records.read() as connection:
            rows = (await connection.execute(statement)).all()
            return await with_distinct_ids(connection, project_id, rows)

    async with records.read() as connection:
        place = await place_of(connection, project_id, query.after)
    offset = query.offset if place is None else 0
    if query.chosen is None:
        found = await read(place, query.limit + 1, offset)
    else:
        found = await choose_page(read, query.chosen, place, query.limit + 1, offset)
    return found[: query.limit], len(found) > query.limit


def having(properties: Sequence[Property], events: EventStore, project_id: int) -> Choose:
    """Those who have all of the properties, as the event store knows and compares them.

    raises (the choice): Invalid, EventStoreUnavailable
    """

    async def choose(people: Sequence[Person]) -> Sequence[Person]:
        bindings = Bindings()
        where = [
            f"project_id = {bindings.add(project_id, 'UInt64')}",
            f"person_id IN {bindings.add([person.uuid for person in people], 'Array(UUID)')}",
            *(property_condition(one, bindings) for one in properties),
        ]
        statement = f"SELECT person_id FROM persons FINAL WHERE {' AND '.join(where)}"
        try:
            answer = await events.ask(statement, bindings.values, estimated=False)
        except EventRejected as error:
            raise Invalid(f"Properties cannot be compared: {error}.", attr="properties") from None
        found = set(answer.columns[0] if answer.columns else ())
        return [person for person in people if person.uuid in found]

    return choose


async def choose_page(
    read: Read, choose: Choose, place: Place | None, limit: int, offset: int
) -> list[Person]:
    """Some persons at a time, until the page is full."""
    found: list[Person] = []
    while len(found) < offset + limit:
        some = await read(place, SCAN_MAX)
        if not some:
            break
        found += await choose(some)
        place = some[-1].created_at, some[-1].id
    return found[offset : offset + limit]


async def place_of(
    connection: AsyncConnection, project_id: int, person: UUID | None
) -> Place | None:
    """None for a person that is gone."""
    if person is None:
        return None
    row = await connection.execute(
        select(_person.created_at, _person.id).where(
            _person.project_id == project_id, _person.uuid == person
        )
    )
    found = row.first()
    return None if found is None else (found.created_at, found.id)


def newest_first(statement: Select[Any], place: Place | None) -> Select[Any]:
    """In the order of lists, from behind a place on."""
    ordered = statement.order_by(_person.created_at.desc(), _person.id.desc())
    if place is None:
        return ordered
    at, number = place
    behind = (_person.created_at == at) & (_person.id < number)
    return ordered.where(_person.created_at <= at, (_person.created_at < at) | behind)


def _conditions(project_id: int, query: PersonQuery) -> Iterable[ColumnElement[bool]]:
    if query.distinct_id is not None:
        yield owns(project_id, query.distinct_id)
    if query.email is not None:
        yield has_email(query.email, whole=True)
    if query.search:
        yield or_(owns(project_id, query.search), has_email(query.search, whole=False))


def owns(project_id: int, distinct_id: str) -> ColumnElement[bool]:
    owner = select(_link.person_id).where(
        _link.project_id == project_id, _link.distinct_id == distinct_id
    )
    return _person.id.in_(owner)


def has_email(text: str, *, whole: bool) -> ColumnElement[bool]:
    """In any letter case. whole: or is the text a part of it"""
    email = _person.email
    return email == text.lower() if whole else email.contains(text.lower(), autoescape=True)
