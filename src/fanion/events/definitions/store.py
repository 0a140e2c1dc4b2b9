"""Event definitions in the records store: one for each event name that a project has stored."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from msgspec.structs import asdict, replace
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from fanion.activity.model import ActivityRecord, Author, changed_fields
from fanion.activity.store import record_activity
from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.schema.events import event_marks
from fanion.db.schema.tables import event_definitions
from fanion.errors import NotFound
from fanion.events.definitions.model import (
    DefinitionQuery,
    EventDefinition,
    Marks,
    Ordering,
    check_marks,
)
from fanion.rest.validation import shared_fields

_definition = event_definitions.c
_mark = event_marks.c
_with_marks = event_definitions.outerjoin(event_marks, _mark.definition_id == _definition.id)


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
            return [_definition_of_row(row) for row in await connection.execute(page)], total or 0

    async def get_definition(self, project_id: int, definition_id: UUID) -> EventDefinition:
        """Return a definition, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(_get_definition, project_id, definition_id)

    async def get_marks(self, project_id: int, definition_id: UUID) -> Marks:
        """Return the marks of a definition; raise NotFound if there is no such definition."""
        async with self.records.read() as connection:
            return await connection.run_sync(get_marks, project_id, definition_id)


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
    connection: Connection, author: Author, definition_id: UUID, values: Mapping[str, Any]
) -> EventDefinition:
    """Set columns of a definition.

    Raises:
        NotFound: There is no such definition.
        IntegrityError: Another definition has this name.
    """
    before = lock_definition(connection, author.project_id, definition_id)
    if not values:
        return before
    connection.execute(
        update(event_definitions)
        .where(_definition.project_id == author.project_id, _definition.id == definition_id)
        .values(**values, last_updated_at=author.now)
    )
    after = _get_definition(connection, author.project_id, definition_id)
    _record_change(connection, author, after, before.recorded_fields(), after.recorded_fields())
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


def get_marks(connection: Connection, project_id: int, definition_id: UUID) -> Marks:
    """Return the marks of a definition; raise NotFound if there is no such definition."""
    statement = (
        select(_mark.hidden, _mark.verified)
        .select_from(_with_marks)
        .where(_definition.project_id == project_id, _definition.id == definition_id)
    )
    row = connection.execute(statement).first()
    if row is None:
        raise NotFound
    return Marks(hidden=bool(row.hidden), verified=bool(row.verified))


def put_marks(connection: Connection, definition_id: UUID, marks: Marks) -> None:
    """Set the marks of a definition, without an entry in the activity log."""
    new = asdict(marks)
    statement = upsert(connection.dialect, event_marks).values(definition_id=definition_id, **new)
    connection.execute(statement.on_conflict_do_update(index_elements=["definition_id"], set_=new))


def update_marks(
    connection: Connection, author: Author, definition_id: UUID, changes: Mapping[str, bool]
) -> Marks:
    """Change the marks of a definition.

    Raises:
        NotFound: There is no such definition.
        Invalid: Both marks would be set.
    """
    definition = lock_definition(connection, author.project_id, definition_id)
    before = get_marks(connection, author.project_id, definition_id)
    after = replace(before, **changes)
    check_marks(after)
    put_marks(connection, definition_id, after)
    _record_change(connection, author, definition, asdict(before), asdict(after))
    return after


def _record_change(
    connection: Connection,
    author: Author,
    definition: EventDefinition,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> None:
    record_activity(
        connection,
        ActivityRecord(
            author=author,
            scope="EventDefinition",
            item_id=str(definition.id),
            activity="updated",
            name=definition.name,
            changes=changed_fields("EventDefinition", before, after, before),
        ),
    )


def _conditions(query: DefinitionQuery) -> Iterable[ColumnElement[bool]]:
    yield from (_contains(word) for word in query.words)
    if query.event_type != "event":
        is_default = _definition.name.startswith("$", autoescape=True)
        yield is_default if query.event_type == "event_posthog" else ~is_default
    if query.excluded:
        yield _definition.name.not_in(query.excluded)
    if query.hidden is not None:
        yield func.coalesce(_mark.hidden, False).is_(query.hidden)
    if query.verified is not None:
        yield func.coalesce(_mark.verified, False).is_(query.verified)


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
    row = connection.execute(statement).first()
    if row is None:
        raise NotFound
    return _definition_of_row(row)


def _select_definitions() -> Select[Any]:
    columns = (_definition[name] for name in EventDefinition.__struct_fields__)
    return select(*columns).select_from(_with_marks)


def _definition_of_row(row: Row[Any]) -> EventDefinition:
    return EventDefinition(**shared_fields(row, EventDefinition))
