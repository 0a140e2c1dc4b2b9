"""Event definitions in the records store: one for each event name that a project has stored."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from fanion.activity.model import ActivityRecord, Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.db.schema.events import event_marks
from fanion.db.schema.tables import event_definitions
from fanion.errors import NotFound
from fanion.events.definitions.details import changed_columns, stored_details, user_ids
from fanion.events.definitions.details_store import (
    detail_conditions,
    require_owner,
    write_details,
)
from fanion.events.definitions.model import RECORDED, DefinitionQuery, EventDefinition, Ordering
from fanion.projects.organizations.store import read_user_summaries

_definition = event_definitions.c
_mark = event_marks.c
_with_marks = event_definitions.outerjoin(event_marks, _mark.definition_id == _definition.id)
_COLUMNS = ("id", "project_id", *RECORDED, "last_updated_at")
# Those of the details that are stored beside the definition.
_MARKED = (
    *("description", "owner_id", "hidden", "verified", "verified_at", "verified_by_id"),
    "updated_by_id",
)


@dataclass(frozen=True, slots=True)
class DefinitionStore:
    records: Records

    async def list_definitions(
        self, project_id: int, query: DefinitionQuery
    ) -> tuple[list[EventDefinition], int]:
        """Return one page, and the total number."""
        conditions = [_definition.project_id == project_id, *_conditions(query)]
        page = (
            _select_definitions()
            .where(*conditions)
            .order_by(*map(_order_column, query.order))
            .limit(query.limit)
            .offset(query.offset)
        )
        count = select(func.count()).select_from(_with_marks).where(*conditions)
        async with self.records.read() as connection:
            total = await connection.scalar(count)
            return await connection.run_sync(_read_definitions, page), total or 0

    async def get_definition(self, project_id: int, definition_id: UUID) -> EventDefinition:
        """Return a definition, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(_get_definition, project_id, definition_id)


def add_definition(connection: Connection, project_id: int, values: Mapping[str, Any]) -> UUID:
    """Insert a definition and return its id.

    Args:
        values: By column, with `name`.
    """
    row = new_row(project_id, values)
    connection.execute(insert(event_definitions).values(row))
    definition_id: UUID = row["id"]
    return definition_id


def new_row(project_id: int, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the row of a new definition, with defaults for what `values` does not have."""
    unset: Mapping[str, Any] = {"last_updated_at": None, "tags": [], "post_to_chat": False}
    return {"id": uuid4(), "project_id": project_id, **unset, **values}


def update_definition(
    connection: Connection, author: Author, definition_id: UUID, sent: Mapping[str, Any]
) -> EventDefinition:
    """Set fields of a definition.

    Args:
        sent: By name; `owner` is the id of a user.

    Raises:
        NotFound: There is no such definition.
        Invalid: Both marks are to be set, or the owner is no member of the organization.
        IntegrityError: Another definition has this name.
    """
    before = lock_definition(connection, author.project_id, definition_id)
    values = changed_columns(before, sent, author)
    if not values:
        return before
    require_owner(connection, author, values)
    own = {name: value for name, value in values.items() if name not in _MARKED}
    connection.execute(
        update(event_definitions)
        .where(_definition.project_id == author.project_id, _definition.id == definition_id)
        .values(**own, last_updated_at=author.now)
    )
    marked = {name: value for name, value in values.items() if name in _MARKED}
    write_details(connection, event_marks, {"definition_id": definition_id}, marked)
    after = _get_definition(connection, author.project_id, definition_id)
    _record_change(connection, author, before, after)
    return after


def delete_definition(connection: Connection, author: Author, definition_id: UUID) -> None:
    """Delete a definition, or raise NotFound."""
    before = lock_definition(connection, author.project_id, definition_id)
    connection.execute(delete(event_definitions).where(_definition.id == definition_id))
    record_activity(
        connection,
        ActivityRecord(
            author=author,
            scope="EventDefinition",
            item_id=str(definition_id),
            activity="deleted",
            name=before.name,
        ),
    )


def lock_definition(
    connection: Connection, project_id: int, definition_id: UUID
) -> EventDefinition:
    """Return a definition and lock it until the transaction ends, or raise NotFound."""
    return _get_definition(connection, project_id, definition_id, for_update=True)


def put_details(connection: Connection, definition_id: UUID, values: Mapping[str, Any]) -> None:
    """Set details of a definition, by column, without an entry in the activity log."""
    write_details(connection, event_marks, {"definition_id": definition_id}, values)


def _record_change(
    connection: Connection, author: Author, before: EventDefinition, after: EventDefinition
) -> None:
    former, state = _state(before), _state(after)
    record_activity(connection, item_record(author, "EventDefinition", former, state))


def _state(definition: EventDefinition) -> ItemState:
    return ItemState(str(definition.id), definition.name, definition.recorded_fields())


def _conditions(query: DefinitionQuery) -> Iterable[ColumnElement[bool]]:
    yield from (_contains(word) for word in query.words)
    if query.event_type != "event":
        is_default = _definition.name.startswith("$", autoescape=True)
        yield is_default if query.event_type == "event_posthog" else ~is_default
    if query.excluded:
        yield _definition.name.not_in(query.excluded)
    yield from detail_conditions(event_marks, _definition.tags, query.details)


def _contains(word: str) -> ColumnElement[bool]:
    """Return a condition that the name contains a word, in any case.

    SQLite knows upper and lower case of ASCII letters only. Other words are also searched for in
    capitals, and with a capital first.
    """
    spellings = {word.lower(), _lower_ascii(word.upper()), _lower_ascii(word.capitalize())}
    name = func.lower(_definition.name)
    return or_(*(name.contains(spelling, autoescape=True) for spelling in sorted(spellings)))


def _lower_ascii(word: str) -> str:
    """Return the word in lower case, as SQLite's `lower` does it."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in word)


def _order_column(ordering: Ordering) -> ColumnElement[Any]:
    column: ColumnElement[Any] = _definition[ordering.field]
    if ordering.by_day:
        column = func.date(column)
    return column.desc().nulls_last() if ordering.descending else column.asc().nulls_first()


def _get_definition(
    connection: Connection, project_id: int, definition_id: UUID, *, for_update: bool = False
) -> EventDefinition:
    statement = _select_definitions().where(
        _definition.project_id == project_id, _definition.id == definition_id
    )
    if for_update:
        statement = statement.with_for_update(of=event_definitions)
    definition = next(iter(_read_definitions(connection, statement)), None)
    if definition is None:
        raise NotFound
    return definition


def _select_definitions() -> Select[Any]:
    columns = [_definition[name] for name in (*_COLUMNS, "tags")]
    marks = [_mark[name] for name in _MARKED]
    updated_at = _definition.last_updated_at.label("updated_at")
    return select(*columns, *marks, updated_at).select_from(_with_marks)


def _read_definitions(connection: Connection, statement: Select[Any]) -> list[EventDefinition]:
    rows = connection.execute(statement).all()
    users = read_user_summaries(connection, (user for row in rows for user in user_ids(row)))
    return [
        EventDefinition(
            **{name: getattr(row, name) for name in _COLUMNS}, **stored_details(row, users)
        )
        for row in rows
    ]
