"""Property definitions in the records store: names, types, and the events that have them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import (
    ColumnElement,
    Connection,
    Dialect,
    Row,
    Select,
    bindparam,
    func,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.schema.events import event_properties, property_definitions
from fanion.events.definitions.properties import (
    NewProperties,
    ProjectProperties,
    PropertyCache,
    PropertyDefinition,
    PropertyType,
)

EVENTS_SHOWN = 100  # events of one property; the first by name

_definition = property_definitions.c
_carried = event_properties.c

_TYPES = select(_definition.name, _definition.property_type).where(
    _definition.project_id == bindparam("project_id")
)
_CARRIED = (
    select(_carried.event, _carried.property)
    .where(_carried.project_id == bindparam("project_id"))
    .where(_carried.event.in_(bindparam("events", expanding=True)))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyQuery:
    """A query for property definitions.

    Attributes:
        words: Words that must all occur in the name, in any case.
        names: If given, only these.
        excluded: Names to leave out.
        events: If given, only properties of these events.
        is_numeric: True, False, or None for any.
    """

    words: Sequence[str] = ()
    names: Sequence[str] = ()
    excluded: Sequence[str] = ()
    events: Sequence[str] = ()
    is_numeric: bool | None = None
    limit: int = 100
    offset: int = 0


# ── For ingestion ────────────────────────────────────────────────────────────────────────


def load_properties(
    connection: Connection, project_id: int, events: Collection[str], cache: PropertyCache
) -> ProjectProperties:
    """Return the stored properties of the project and these events, reading those not cached."""
    recorded = cache.of_project(project_id)
    if recorded is None:
        rows = connection.execute(_TYPES, {"project_id": project_id})
        recorded = ProjectProperties({row.name: _property_type(row.property_type) for row in rows})
        cache.put_project(project_id, recorded)
    unread = [event for event in events if event not in recorded.carried]
    if unread:
        recorded.carried.update({event: set() for event in unread})
        parameters = {"project_id": project_id, "events": unread}
        for event, name in connection.execute(_CARRIED, parameters):
            if recorded.types.get(name) is not None:
                recorded.carried[event].add(name)
    return recorded


def record_properties(
    connection: Connection, project_id: int, new: NewProperties, now: datetime
) -> None:
    """Write new properties. A stored type stays.

    Another server may have written the same properties concurrently.
    """
    types = [
        {
            "id": uuid4(),
            "project_id": project_id,
            "name": name,
            "property_type": property_type,
            "created_at": now,
        }
        for name, property_type in sorted(new.types.items())
    ]
    carried = [
        {"project_id": project_id, "event": event, "property": name}
        for event, names in sorted(new.carried.items())
        for name in names
    ]
    if types:
        connection.execute(_put_types(connection.dialect), types)
    if carried:
        put = upsert(connection.dialect, event_properties).on_conflict_do_nothing()
        connection.execute(put, carried)


def _put_types(dialect: Dialect) -> Any:
    statement = upsert(dialect, property_definitions)
    property_type = func.coalesce(_definition.property_type, statement.excluded.property_type)
    return statement.on_conflict_do_update(
        index_elements=["project_id", "name"], set_={"property_type": property_type}
    )


# ── For the API ───────────────────────────────────────────────────────────────────────────


async def find_properties(
    records: Records, project_id: int, query: PropertyQuery
) -> tuple[list[PropertyDefinition], int]:
    """Return one page by name, and the total number."""
    conditions = [_definition.project_id == project_id, *_conditions(project_id, query)]
    page = (
        _select_properties(conditions)
        .order_by(_definition.name)
        .limit(query.limit)
        .offset(query.offset)
    )
    count = select(func.count()).select_from(property_definitions).where(*conditions)
    async with records.read() as connection:
        total = await connection.scalar(count)
        return await _load_page(connection, project_id, page), total or 0


async def get_property(
    records: Records, project_id: int, definition_id: UUID
) -> PropertyDefinition | None:
    conditions = [_definition.project_id == project_id, _definition.id == definition_id]
    async with records.read() as connection:
        return next(
            iter(await _load_page(connection, project_id, _select_properties(conditions))), None
        )


def _select_properties(conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    return select(_definition.id, _definition.name, _definition.property_type).where(*conditions)


async def _load_page(
    connection: AsyncConnection, project_id: int, page: Select[Any]
) -> list[PropertyDefinition]:
    rows: Sequence[Row[Any]] = (await connection.execute(page)).all()
    events: dict[str, list[str]] = {row.name: [] for row in rows}
    for name, event in await connection.execute(_carriers(project_id, page)):
        events[name].append(event)
    return [
        PropertyDefinition(
            id=row.id,
            name=row.name,
            property_type=_property_type(row.property_type),
            event_names=events[row.name],
        )
        for row in rows
    ]


def _carriers(project_id: int, page: Select[Any]) -> Select[Any]:
    names = page.subquery()
    position = func.row_number().over(partition_by=_carried.property, order_by=_carried.event)
    numbered = (
        select(_carried.property, _carried.event, position.label("place"))
        .where(_carried.project_id == project_id, _carried.property.in_(select(names.c.name)))
        .subquery()
    )
    return (
        select(numbered.c.property, numbered.c.event)
        .where(numbered.c.place <= EVENTS_SHOWN)
        .order_by(numbered.c.property, numbered.c.event)
    )


def _conditions(project_id: int, query: PropertyQuery) -> Iterable[ColumnElement[bool]]:
    name = func.lower(_definition.name)
    yield from (name.contains(word.lower(), autoescape=True) for word in query.words)
    if query.names:
        yield _definition.name.in_(query.names)
    if query.excluded:
        yield _definition.name.not_in(query.excluded)
    if query.events:
        carried = select(_carried.property).where(
            _carried.project_id == project_id, _carried.event.in_(query.events)
        )
        yield _definition.name.in_(carried)
    if query.is_numeric is not None:
        is_numeric = func.coalesce(_definition.property_type, "") == PropertyType.NUMERIC
        yield is_numeric if query.is_numeric else ~is_numeric


def _property_type(text: str | None) -> PropertyType | None:
    return None if text is None else PropertyType(text)
