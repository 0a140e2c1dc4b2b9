"""Lists of persons in the records store, optionally filtered by properties."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal, Protocol, get_args
from uuid import UUID

from sqlalchemy import ColumnElement, Select, select

from fanion.db.bulk import IDS_MAX
from fanion.db.engine import Records
from fanion.db.schema.tables import persons
from fanion.errors import Invalid
from fanion.events.event import EventRejected
from fanion.events.storage.store import EventStore
from fanion.persons.search_store import has_email, is_found, owns
from fanion.persons.state.store import ids_by_uuid, of_ids
from fanion.persons.store import PERSON_COLUMNS, Person, with_distinct_ids
from fanion.properties.bindings import Bindings
from fanion.properties.condition_sql import property_condition
from fanion.properties.filters import Property

# Persons read at a time when filtering by properties.
SCAN_MAX = 1_000
# Limit of a page's properties in memory as text; 10,000 persons of 2 KB take a third of it.
PAGE_BYTES_MAX = 64 * 2**20
# Properties read at a time, but of at least PORTION_ROWS_MIN persons: 50 MB of the largest ones.
PORTION_BYTES = 4 * 2**20
PORTION_ROWS_MIN = 100

_person = persons.c
_ROWS = of_ids(*PERSON_COLUMNS)


class PersonKey(Protocol):
    """A narrow row of a list, read before the persons themselves."""

    @property
    def id(self) -> int: ...
    @property
    def uuid(self) -> UUID: ...
    @property
    def created_at(self) -> datetime: ...


Choose = Callable[[Sequence[PersonKey]], Awaitable[Sequence[PersonKey]]]
# The position of a person in a list: lists are ordered by it, the newest first.
Position = tuple[datetime, int]
# Without an e-mail address, persons come last in both orders of `email`.
PersonOrder = Literal["-created_at", "created_at", "email", "-email"]
PERSON_ORDERS: Final[tuple[PersonOrder, ...]] = get_args(PersonOrder)
NEWEST_FIRST: Final = "-created_at"
# Reads up to a number of persons after a position, or from the beginning.
Read = Callable[[Position | None, int], Awaitable[Sequence[PersonKey]]]


@dataclass(frozen=True, slots=True)
class PersonsPage:
    """A page of a list of persons.

    Attributes:
        seen: The number of rows of the list, including persons deleted meanwhile.
        last: The last of these rows.
        is_cut: Whether the list continues.
    """

    persons: list[Person]
    seen: int
    last: UUID | None
    is_cut: bool


@dataclass(frozen=True, slots=True)
class PersonQuery:
    """Conditions on persons, combined by AND, and the page to return.

    Attributes:
        search: Read as by `is_found`.
        chosen: Selects some of the persons found, in their order; None selects all of them.
        after: The last person of the previous page, from where `offset` need not be counted again;
            used with the order NEWEST_FIRST only.
    """

    distinct_id: str | None = None
    email: str | None = None
    search: str | None = None
    limit: int = 100
    offset: int = 0
    chosen: Choose | None = None
    after: UUID | None = None
    order: PersonOrder = NEWEST_FIRST


async def find_persons(records: Records, project_id: int, query: PersonQuery) -> PersonsPage:
    """Return one page of persons, in the order of the query."""
    if query.order == NEWEST_FIRST:
        keys = await _newest_keys(records, project_id, query)
    else:
        keys = await _ordered_keys(records, project_id, query)
    page = await read_page(records, project_id, keys[: query.limit])
    return page if len(keys) <= query.limit else replace(page, is_cut=True)


async def _newest_keys(
    records: Records, project_id: int, query: PersonQuery
) -> Sequence[PersonKey]:
    """Return the keys of a page and one more, if there is one."""

    async def read(position: Position | None, limit: int, offset: int = 0) -> Sequence[PersonKey]:
        statement = keys_of(project_id).where(*conditions_of(project_id, query))
        statement = newest_first(statement, position).limit(limit).offset(offset)
        return await read_keys(records, statement)

    position = await position_of(records, project_id, query.after)
    offset = query.offset if position is None else 0
    limit = query.limit + 1
    if query.chosen is None:
        return await read(position, limit, offset)
    return await choose_page(read, query.chosen, position, limit, offset)


async def _ordered_keys(
    records: Records, project_id: int, query: PersonQuery
) -> Sequence[PersonKey]:
    """Return the keys of a page and one more, counting all that precede the page."""
    ordered = keys_of(project_id).where(*conditions_of(project_id, query))
    ordered = ordered.order_by(*_ORDERS[query.order])
    end = query.offset + query.limit + 1
    if query.chosen is None:
        return await read_keys(records, ordered.limit(query.limit + 1).offset(query.offset))
    matching: list[PersonKey] = []
    start = 0
    while len(matching) < end:
        some = await read_keys(records, ordered.limit(SCAN_MAX).offset(start))
        if not some:
            break
        matching += await query.chosen(some)
        start += len(some)
    return matching[query.offset : end]


_ORDERS: Mapping[PersonOrder, Sequence[ColumnElement[Any]]] = {
    "created_at": (_person.created_at, _person.id),
    "email": (_person.email.is_(None), _person.email, _person.id.desc()),
    "-email": (_person.email.is_(None), _person.email.desc(), _person.id.desc()),
}


async def read_page(
    records: Records,
    project_id: int,
    keys: Sequence[PersonKey],
    distinct_ids_max: int | None = None,
    bytes_max: int = PAGE_BYTES_MAX,
) -> PersonsPage:
    """Return the persons of a page.

    The page ends early, after a portion, when the properties exceed `bytes_max`.
    """
    loaded: list[Person] = []
    seen = size = 0
    async with aclosing(in_portions(records, project_id, keys, distinct_ids_max)) as portions:
        async for some, length in portions:
            loaded += some
            seen, size = seen + length, size + sum(person.properties_chars for person in some)
            if size >= bytes_max:
                break
    last = keys[seen - 1].uuid if seen else None
    return PersonsPage(loaded, seen, last, is_cut=seen < len(keys))


async def in_portions(
    records: Records,
    project_id: int,
    keys: Sequence[PersonKey],
    distinct_ids_max: int | None = None,
) -> AsyncGenerator[tuple[list[Person], int]]:
    """Yield persons in the order of their keys, without deleted ones, in portions.

    A portion has about PORTION_BYTES of properties, estimated from the previous portion.

    Yields:
        The persons, and the number of keys of the portion.
    """
    start, rows = 0, PORTION_ROWS_MIN
    while start < len(keys):
        some = keys[start : start + rows]
        async with records.read() as connection:
            parameters = {"project_id": project_id, "ids": [key.id for key in some]}
            read = (await connection.execute(_ROWS[records.dialect], parameters)).all()
            by_id = {row.id: row for row in read}
            ordered = [by_id[key.id] for key in some if key.id in by_id]
            loaded = await with_distinct_ids(connection, project_id, ordered, distinct_ids_max)
        yield loaded, len(some)
        start += rows
        size = sum(person.properties_chars for person in loaded) // len(some) + 1
        rows = min(max(PORTION_BYTES // size, PORTION_ROWS_MIN), IDS_MAX)


def keys_of(project_id: int) -> Select[Any]:
    return select(_person.id, _person.uuid, _person.created_at).where(
        _person.project_id == project_id
    )


async def read_keys(records: Records, statement: Select[Any]) -> Sequence[PersonKey]:
    """Return the rows of a statement that is based on `keys_of`."""
    async with records.read() as connection:
        keys: Sequence[PersonKey] = (await connection.execute(statement)).all()
    return keys


def having_properties(
    properties: Sequence[Property], events: EventStore, project_id: int, now: datetime
) -> Choose:
    """Return a function that chooses the persons with all of the properties.

    The event store compares them. The function raises Invalid when they cannot be compared, and
    EventStoreUnavailable.
    """

    async def choose(keys: Sequence[PersonKey]) -> Sequence[PersonKey]:
        bindings = Bindings()
        where = [
            f"project_id = {bindings.add(project_id, 'UInt64')}",
            f"person_id IN {bindings.add([key.uuid for key in keys], 'Array(UUID)')}",
        ]
        columns = await ask_persons("person_id", where, properties, bindings, events, now)
        matching_ids = set(columns[0] if columns else ())
        return [key for key in keys if key.uuid in matching_ids]

    return choose


async def ask_persons(
    selected: str,
    where: Sequence[str],
    properties: Sequence[Property],
    bindings: Bindings,
    events: EventStore,
    now: datetime,
    ordered: str = "",
) -> Sequence[Sequence[Any]]:
    """Return the columns of mirrored persons with all of the properties.

    Args:
        ordered: The end of the statement: ORDER BY and LIMIT.

    Raises:
        Invalid: The properties cannot be compared.
        EventStoreUnavailable: The event store failed.
    """
    having = (property_condition(leaf, bindings, now) for leaf in properties)
    statement = f"SELECT {selected} FROM persons FINAL WHERE {' AND '.join([*where, *having])}"
    statement = f"{statement} {ordered}".rstrip()
    try:
        seconds_max = events.reads.seconds
        answer = await events.ask(statement, bindings.values, seconds_max, estimated=False)
    except EventRejected as error:
        raise Invalid(f"Properties cannot be compared: {error}.", attr="properties") from None
    return answer.columns


async def choose_page(
    read: Read, choose: Choose, position: Position | None, limit: int, offset: int
) -> list[PersonKey]:
    """Read persons in portions until the page is full; those before `offset` are only counted."""
    matching: list[PersonKey] = []
    before = offset
    while len(matching) < limit:
        some = await read(position, SCAN_MAX)
        if not some:
            break
        chosen = await choose(some)
        matching += chosen[before:]
        before = max(before - len(chosen), 0)
        position = some[-1].created_at, some[-1].id
    return matching[:limit]


async def position_of(records: Records, project_id: int, person: UUID | None) -> Position | None:
    """Return the position of a person in lists, or None if the person was deleted."""
    if person is None:
        return None
    statement = keys_of(project_id).where(_person.id.in_(ids_by_uuid(project_id, [person])))
    async with records.read() as connection:
        row = (await connection.execute(statement)).first()
    return None if row is None else (row.created_at, row.id)


def newest_first(statement: Select[Any], position: Position | None) -> Select[Any]:
    """Order a statement as lists are ordered, and begin after a position."""
    ordered = statement.order_by(_person.created_at.desc(), _person.id.desc())
    if position is None:
        return ordered
    at, number = position
    behind = (_person.created_at == at) & (_person.id < number)
    return ordered.where(_person.created_at <= at, (_person.created_at < at) | behind)


def conditions_of(project_id: int, query: PersonQuery) -> Iterable[ColumnElement[bool]]:
    """Yield the conditions of a query that the records store compares."""
    if query.distinct_id is not None:
        yield owns(project_id, query.distinct_id)
    if query.email is not None:
        yield has_email(query.email, whole=True)
    if query.search:
        yield is_found(project_id, query.search)
