"""Property definitions in the records store: names, types, details, and events that have them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import (
    ColumnElement,
    Connection,
    Dialect,
    Row,
    Select,
    Table,
    bindparam,
    func,
    null,
    select,
)

from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.schema.events import (
    actor_properties,
    event_properties,
    property_definitions,
    property_marks,
)
from fanion.errors import NotFound
from fanion.events.definitions.details import (
    DetailQuery,
    changed_columns,
    stored_details,
    user_ids,
)
from fanion.events.definitions.details_store import (
    detail_conditions,
    require_owner,
    write_details,
)
from fanion.events.definitions.properties import (
    PERSONS,
    ActorProperties,
    NewProperties,
    ProjectProperties,
    PropertyCache,
    PropertyDefinition,
    PropertyOwner,
    PropertyType,
)
from fanion.projects.organizations.store import read_user_summaries

EVENTS_SHOWN = 100  # events of one property; the first by name
ANY_ACTORS = -2  # persons, and groups of all types

_definition = property_definitions.c
_carried = event_properties.c
_actor, _mark = actor_properties.c, property_marks.c

_TYPES = select(_definition.name, _definition.property_type).where(
    _definition.project_id == bindparam("project_id")
)
_CARRIED = (
    select(_carried.event, _carried.property)
    .where(_carried.project_id == bindparam("project_id"))
    .where(_carried.event.in_(bindparam("events", expanding=True)))
)
_ACTORS = select(_actor.group_type_index, _actor.name, _actor.property_type).where(
    _actor.project_id == bindparam("project_id")
)
# Those of the details that are stored beside the definition.
_DETAILS = (
    *("description", "tags", "owner_id", "hidden", "verified", "verified_at", "verified_by_id"),
    *("updated_at", "updated_by_id"),
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
        actors: `PERSONS` or the index of a group type; None for properties of events.
    """

    words: Sequence[str] = ()
    names: Sequence[str] = ()
    excluded: Sequence[str] = ()
    events: Sequence[str] = ()
    is_numeric: bool | None = None
    actors: int | None = None
    details: DetailQuery = field(default_factory=DetailQuery)
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
        _load_actors(connection, project_id, recorded)
        cache.put_project(project_id, recorded)
    unread = [event for event in events if event not in recorded.carried]
    if unread:
        recorded.carried.update({event: set() for event in unread})
        parameters = {"project_id": project_id, "events": unread}
        for event, name in connection.execute(_CARRIED, parameters):
            if recorded.types.get(name) is not None:
                recorded.carried[event].add(name)
    return recorded


def _load_actors(connection: Connection, project_id: int, recorded: ProjectProperties) -> None:
    for index, name, text in connection.execute(_ACTORS, {"project_id": project_id}):
        known = recorded.actors.setdefault(index, ActorProperties())
        known.types[name] = _property_type(text)
        if text is None:
            known.untyped.add(name)


def record_properties(
    connection: Connection, project_id: int, new: NewProperties, now: datetime
) -> None:
    """Write new properties. A stored type stays.

    Another server may have written the same properties concurrently.
    """
    types = [
        _new_row(project_id, name, property_type, now)
        for name, property_type in sorted(new.types.items())
    ]
    carried = [
        {"project_id": project_id, "event": event, "property": name}
        for event, names in sorted(new.carried.items())
        for name in names
    ]
    if types:
        connection.execute(_put_types(connection.dialect, property_definitions), types)
    if carried:
        put = upsert(connection.dialect, event_properties).on_conflict_do_nothing()
        connection.execute(put, carried)
    actors = [
        {**_new_row(project_id, name, property_type, now), "group_type_index": index}
        for index, of_index in sorted(new.actors.items())
        for name, property_type in sorted(of_index.items())
    ]
    if actors:
        connection.execute(_put_types(connection.dialect, actor_properties), actors)


def _new_row(
    project_id: int, name: str, property_type: PropertyType | None, now: datetime
) -> dict[str, Any]:
    return {
        "id": uuid4(),
        "project_id": project_id,
        "name": name,
        "property_type": property_type,
        "created_at": now,
    }


def _put_types(dialect: Dialect, table: Table) -> Any:
    statement = upsert(dialect, table)
    property_type = func.coalesce(table.c.property_type, statement.excluded.property_type)
    of_actors = ("group_type_index",) if table is actor_properties else ()
    return statement.on_conflict_do_update(
        index_elements=["project_id", *of_actors, "name"], set_={"property_type": property_type}
    )


# ── For the API ───────────────────────────────────────────────────────────────────────────


async def find_properties(
    records: Records, project_id: int, query: PropertyQuery
) -> tuple[list[PropertyDefinition], int]:
    """Return one page by name, and the total number."""
    definitions = _definitions(project_id, query.actors).subquery()
    joined = definitions.outerjoin(property_marks, _mark.definition_id == definitions.c.id)
    conditions = list(_conditions(project_id, query, definitions.c))
    page = (
        select(*definitions.c, *(_mark[name] for name in _DETAILS))
        .select_from(joined)
        .where(*conditions)
        .order_by(definitions.c.name)
        .limit(query.limit)
        .offset(query.offset)
    )
    count = select(func.count()).select_from(joined).where(*conditions)
    async with records.read() as connection:
        total = await connection.scalar(count)
        return await connection.run_sync(_read_page, project_id, page), total or 0


async def get_property(
    records: Records, project_id: int, definition_id: UUID
) -> PropertyDefinition:
    """Return a definition, or raise NotFound."""
    async with records.read() as connection:
        return await connection.run_sync(_get_property, project_id, definition_id)


def update_property(
    connection: Connection, author: Author, definition_id: UUID, sent: Mapping[str, Any]
) -> PropertyDefinition:
    """Set details of a definition.

    Args:
        sent: By name; `owner` is the id of a user.

    Raises:
        NotFound: There is no such definition.
        Invalid: Both marks are to be set, or the owner is no member of the organization.
    """
    before = _lock_property(connection, author.project_id, definition_id)
    values = changed_columns(before, sent, author)
    if not values:
        return before
    require_owner(connection, author, values)
    put_property_details(
        connection, author.project_id, definition_id, {**values, "updated_at": author.now}
    )
    after = _get_property(connection, author.project_id, definition_id)
    former, state = _state(before), _state(after)
    record_activity(connection, item_record(author, "PropertyDefinition", former, state))
    return after


def _state(definition: PropertyDefinition) -> ItemState:
    return ItemState(str(definition.id), definition.name, definition.recorded_details)


def put_property_details(
    connection: Connection, project_id: int, definition_id: UUID, values: Mapping[str, Any]
) -> None:
    """Set details of a definition, by column, without an entry in the activity log."""
    key = {"definition_id": definition_id, "project_id": project_id}
    write_details(connection, property_marks, key, values)


def _lock_property(
    connection: Connection, project_id: int, definition_id: UUID
) -> PropertyDefinition:
    """Return a definition and lock it until the transaction ends, or raise NotFound."""
    for table in (property_definitions, actor_properties):
        connection.execute(
            select(table.c.id)
            .where(table.c.project_id == project_id, table.c.id == definition_id)
            .with_for_update()
        )
    return _get_property(connection, project_id, definition_id)


def _get_property(
    connection: Connection, project_id: int, definition_id: UUID
) -> PropertyDefinition:
    for actors in (None, ANY_ACTORS):
        definitions = _definitions(project_id, actors).subquery()
        joined = definitions.outerjoin(property_marks, _mark.definition_id == definitions.c.id)
        page = select(*definitions.c, *(_mark[name] for name in _DETAILS)).select_from(joined)
        found = _read_page(connection, project_id, page.where(definitions.c.id == definition_id))
        if found:
            return found[0]
    raise NotFound


def _definitions(project_id: int, actors: int | None) -> Select[Any]:
    """Return id, name, type and group type of the definitions of one kind."""
    if actors is None:
        return select(
            _definition.id, _definition.name, _definition.property_type, null().label("actors")
        ).where(_definition.project_id == project_id)
    statement = select(
        _actor.id, _actor.name, _actor.property_type, _actor.group_type_index.label("actors")
    ).where(_actor.project_id == project_id)
    if actors == ANY_ACTORS:
        return statement
    return statement.where(_actor.group_type_index == actors)


def _read_page(
    connection: Connection, project_id: int, page: Select[Any]
) -> list[PropertyDefinition]:
    rows: Sequence[Row[Any]] = connection.execute(page).all()
    events: dict[str, list[str]] = {row.name: [] for row in rows if row.actors is None}
    if events:
        for name, event in connection.execute(_carriers(project_id, page)):
            events[name].append(event)
    users = read_user_summaries(connection, (user for row in rows for user in user_ids(row)))
    return [
        PropertyDefinition(
            id=row.id,
            name=row.name,
            type=_owner(row.actors),
            group_type_index=None if row.actors in (None, PERSONS) else row.actors,
            property_type=_property_type(row.property_type),
            event_names=events.get(row.name, []),
            **stored_details(row, users),
        )
        for row in rows
    ]


def _owner(actors: int | None) -> PropertyOwner:
    if actors is None:
        return "event"
    return "person" if actors == PERSONS else "group"


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


def _conditions(
    project_id: int, query: PropertyQuery, definition: Any
) -> Iterable[ColumnElement[bool]]:
    name = func.lower(definition.name)
    yield from (name.contains(word.lower(), autoescape=True) for word in query.words)
    if query.names:
        yield definition.name.in_(query.names)
    if query.excluded:
        yield definition.name.not_in(query.excluded)
    if query.events:
        carried = select(_carried.property).where(
            _carried.project_id == project_id, _carried.event.in_(query.events)
        )
        yield definition.name.in_(carried)
    if query.is_numeric is not None:
        is_numeric = func.coalesce(definition.property_type, "") == PropertyType.NUMERIC
        yield is_numeric if query.is_numeric else ~is_numeric
    yield from detail_conditions(property_marks, _mark.tags, query.details)


def _property_type(text: str | None) -> PropertyType | None:
    return None if text is None else PropertyType(text)
