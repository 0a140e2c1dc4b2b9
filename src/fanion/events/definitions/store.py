"""Event definitions in the records store: one for each event name that a project has stored."""

from collections.abc import Iterable, Mapping, Sequence
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
    delete,
    func,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError

from fanion.activity.model import ActivityRecord, Author, changed_fields
from fanion.activity.store import record_activity
from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.schema.events import event_marks
from fanion.db.schema.tables import event_definitions
from fanion.errors import Invalid
from fanion.events.definitions.model import (
    LOGGED_FIELDS,
    DefinitionQuery,
    EventDefinition,
    Ordering,
)

_definition = event_definitions.c
_mark = event_marks.c
_with_marks = event_definitions.outerjoin(event_marks, _mark.definition_id == _definition.id)


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks that users gave an event; never both."""

    hidden: bool = False
    verified: bool = False


# ── For ingestion ────────────────────────────────────────────────────────────────────────

_UPDATE_FREE = text("""
  WITH named AS (
         SELECT definition.id, definition.project_id, definition.name
           FROM event_definitions AS definition
           JOIN UNNEST(CAST(:projects AS bigint[]), CAST(:names AS text[]))
                AS asked (project_id, name)
          USING (project_id, name)),
       free AS (
         SELECT id
           FROM event_definitions
          WHERE id IN (SELECT id FROM named)
            FOR UPDATE SKIP LOCKED),
       seen AS (
         UPDATE event_definitions
            SET last_seen_at = CAST(:now AS timestamptz)
          WHERE id IN (SELECT id FROM free))
SELECT project_id, name FROM named
""")


def record_seen(connection: Connection, names: Iterable[tuple[int, str]], now: datetime) -> None:
    """Create a definition for each new (project id, name); update last_seen_at of the others.

    Args:
        now: The server's clock, not the events' own times.

    Source: capture.md section 6.
    """
    rows: list[Mapping[str, Any]] = [
        {
            "id": uuid4(),
            "project_id": project_id,
            "name": name,
            "created_at": now,
            "last_seen_at": now,
            "last_updated_at": None,
            "tags": [],
            "post_to_chat": False,
        }
        # Rows have one order, so that two consumers cannot deadlock.
        for project_id, name in sorted(set(names))
    ]
    if connection.dialect.name == "postgresql":
        rows = _update_free(connection, rows, now)
    if rows:
        connection.execute(_upsert(connection.dialect), rows)


def _update_free(
    connection: Connection, rows: Sequence[Mapping[str, Any]], now: datetime
) -> list[Mapping[str, Any]]:
    """Update the definitions that no other transaction has locked; return the rows that are new.

    A server that has locked a definition is storing events of it now, as this one does.
    """
    parameters = {
        "projects": [row["project_id"] for row in rows],
        "names": [row["name"] for row in rows],
        "now": now,
    }
    known = {(row.project_id, row.name) for row in connection.execute(_UPDATE_FREE, parameters)}
    return [row for row in rows if (row["project_id"], row["name"]) not in known]


def _upsert(dialect: Dialect) -> Any:
    statement = upsert(dialect, event_definitions)
    return statement.on_conflict_do_update(
        index_elements=["project_id", "name"],
        set_={"last_seen_at": statement.excluded.last_seen_at},
    )


# ── For the API ───────────────────────────────────────────────────────────────────────────


async def find_definitions(
    records: Records, project_id: int, query: DefinitionQuery
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
    async with records.read() as connection:
        total = await connection.scalar(count)
        return [_definition_of_row(row) for row in await connection.execute(page)], total or 0


async def get_definition(
    records: Records, project_id: int, definition_id: UUID
) -> EventDefinition | None:
    async with records.read() as connection:
        return await connection.run_sync(_load_definition, project_id, definition_id)


async def change_definition(
    records: Records, author: Author, definition_id: UUID, values: Mapping[str, Any]
) -> EventDefinition | None:
    """Set columns of a definition.

    Returns:
        None if there is no such definition.

    Raises:
        Invalid: Another definition has this name.
    """
    try:
        async with records.write() as connection:
            return await connection.run_sync(update_definition, author, definition_id, values)
    except IntegrityError:
        raise Invalid(
            "There is already an event definition with this name.", code="unique", attr="name"
        ) from None


async def remove_definition(records: Records, author: Author, definition_id: UUID) -> bool:
    """Delete a definition and return whether it existed.

    Its events stay. The next event with its name creates a new definition.
    """
    async with records.write() as connection:
        return await connection.run_sync(_delete_definition, author, definition_id)


async def get_marks(records: Records, project_id: int, definition_id: UUID) -> Marks | None:
    """Return the marks of a definition; None if there is no such definition."""
    async with records.read() as connection:
        return await connection.run_sync(_load_marks, project_id, definition_id)


async def change_marks(
    records: Records, author: Author, definition_id: UUID, new_marks: Mapping[str, bool]
) -> Marks | None:
    """Change the marks of a definition.

    Returns:
        None if there is no such definition.

    Raises:
        Invalid: Both marks would be set.
    """
    async with records.write() as connection:
        return await connection.run_sync(update_marks, author, definition_id, new_marks)


def update_definition(
    connection: Connection, author: Author, definition_id: UUID, values: Mapping[str, Any]
) -> EventDefinition | None:
    """Set columns of a definition in the caller's transaction; see `change_definition`."""
    before = _load_definition(connection, author.project_id, definition_id, for_update=True)
    if before is None or not values:
        return before
    connection.execute(
        update(event_definitions)
        .where(_definition.project_id == author.project_id, _definition.id == definition_id)
        .values(**values, last_updated_at=author.now)
    )
    after = _load_definition(connection, author.project_id, definition_id)
    assert after is not None
    _record_change(
        connection, author, after, before.logged_fields(), after.logged_fields(), LOGGED_FIELDS
    )
    return after


def _delete_definition(connection: Connection, author: Author, definition_id: UUID) -> bool:
    before = _load_definition(connection, author.project_id, definition_id, for_update=True)
    if before is None:
        return False
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
    return True


def update_marks(
    connection: Connection, author: Author, definition_id: UUID, new_marks: Mapping[str, bool]
) -> Marks | None:
    """Change the marks of a definition in the caller's transaction; see `change_marks`."""
    definition = _load_definition(connection, author.project_id, definition_id, for_update=True)
    before = _load_marks(connection, author.project_id, definition_id)
    if definition is None or before is None:
        return None
    old = {"hidden": before.hidden, "verified": before.verified}
    new = {**old, **new_marks}
    if new["hidden"] and new["verified"]:
        raise Invalid("An event cannot be both hidden and verified.")
    statement = upsert(connection.dialect, event_marks).values(definition_id=definition_id, **new)
    connection.execute(statement.on_conflict_do_update(index_elements=["definition_id"], set_=new))
    _record_change(connection, author, definition, old, new, ("hidden", "verified"))
    return Marks(**new)


def _record_change(
    connection: Connection,
    author: Author,
    definition: EventDefinition,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    fields: Sequence[str],
) -> None:
    record_activity(
        connection,
        ActivityRecord(
            author=author,
            scope="EventDefinition",
            item_id=str(definition.id),
            activity="updated",
            name=definition.name,
            changes=changed_fields("EventDefinition", before, after, fields),
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


def _load_definition(
    connection: Connection, project_id: int, definition_id: UUID, *, for_update: bool = False
) -> EventDefinition | None:
    statement = _select_definitions().where(
        _definition.project_id == project_id, _definition.id == definition_id
    )
    if for_update:
        statement = statement.with_for_update(of=event_definitions)
    row = connection.execute(statement).first()
    return None if row is None else _definition_of_row(row)


def _load_marks(connection: Connection, project_id: int, definition_id: UUID) -> Marks | None:
    statement = (
        select(_mark.hidden, _mark.verified)
        .select_from(_with_marks)
        .where(_definition.project_id == project_id, _definition.id == definition_id)
    )
    row = connection.execute(statement).first()
    return None if row is None else Marks(bool(row.hidden), bool(row.verified))


def _select_definitions() -> Select[Any]:
    return select(
        _definition.id,
        _definition.project_id,
        _definition.name,
        _definition.created_at,
        _definition.last_seen_at,
        _definition.last_updated_at,
        _definition.tags,
        _definition.post_to_chat,
    ).select_from(_with_marks)


def _definition_of_row(row: Row[Any]) -> EventDefinition:
    return EventDefinition(
        row.id,
        row.project_id,
        row.name,
        row.created_at,
        row.last_seen_at,
        row.last_updated_at,
        row.tags,
        row.post_to_chat,
    )
