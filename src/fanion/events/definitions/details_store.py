"""The details of event and property definitions in the records store."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    Text,
    exists,
    func,
    or_,
    select,
    type_coerce,
)

from fanion.activity.model import Author
from fanion.db.bulk import upsert
from fanion.db.schema.tables import memberships
from fanion.errors import Invalid
from fanion.events.definitions.details import DetailQuery

_NEW: Mapping[str, Any] = {"hidden": False, "verified": False}


def write_details(
    connection: Connection, table: Table, key: Mapping[str, Any], values: Mapping[str, Any]
) -> None:
    """Set columns of the details of a definition, which may have none yet.

    Args:
        key: The columns that every row has, with `definition_id`.
    """
    statement = upsert(connection.dialect, table).values(**key, **{**_NEW, **values})
    connection.execute(
        statement.on_conflict_do_update(index_elements=["definition_id"], set_=dict(values))
    )


def require_owner(connection: Connection, author: Author, values: Mapping[str, Any]) -> None:
    """Raise Invalid if the owner to set is not a member of the organization."""
    owner_id = values.get("owner_id")
    if owner_id is None:
        return
    member = select(
        exists().where(
            memberships.c.organization_id == author.organization_id,
            memberships.c.user_id == owner_id,
        )
    )
    if not connection.scalar(member):
        raise Invalid(
            f'Invalid pk "{owner_id}" - object does not exist. Use the id of a member of the '
            "organization, or null.",
            code="does_not_exist",
            attr="owner",
        )


def detail_conditions(
    table: Table, tags: ColumnElement[Any], query: DetailQuery
) -> Iterable[ColumnElement[bool]]:
    """Yield the conditions of a list on joined details.

    Args:
        tags: The column with the tags.
    """
    if query.tags:
        yield or_(*(_has_tag(tags, tag) for tag in sorted(query.tags)))
    if query.owner is not None:
        yield table.c.owner_id == query.owner
    if query.hidden is not None:
        yield func.coalesce(table.c.hidden, False).is_(query.hidden)
    if query.verified is not None:
        yield func.coalesce(table.c.verified, False).is_(query.verified)


def _has_tag(tags: ColumnElement[Any], tag: str) -> ColumnElement[bool]:
    """Return a condition that a list of texts, stored as JSON, has this text.

    A quote within a text has a backslash before it, so that `["` and `,"` begin texts only.
    """
    text = msgspec.json.encode(tag).decode()
    column = type_coerce(tags, Text)
    return or_(*(column.contains(f"{before}{text}", autoescape=True) for before in "[,"))
