"""The rows of what a project names, such as its actions and segments, and each change of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    func,
    insert,
    select,
    update,
)

from fanion.activity.model import Author, ItemState, Scope, item_record
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.db.schema.tables import projects, users
from fanion.errors import Invalid, NotFound
from fanion.projects.model import user_summary
from fanion.projects.organizations.store import USER_SUMMARY


class NamedItem(Protocol):
    """Item whose name no other of its kind in a project has; it can be deleted and restored."""

    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def deleted(self) -> bool: ...
    @property
    def updated_at(self) -> datetime: ...


Item = TypeVar("Item", bound=NamedItem)


@dataclass(frozen=True, slots=True)
class ItemSelection:
    """The items to list.

    Attributes:
        search: Part of the name, regardless of the case of ASCII letters.
        deleted: Whether to list the deleted items, and not the others.
    """

    search: str = ""
    deleted: bool = False


@dataclass(slots=True)
class NamedItems(Generic[Item]):
    """The items of one kind: where they are stored, and how they are called.

    Attributes:
        columns: Those of a record, besides who created it.
        recorded: The columns whose changes the activity log has.
        read: Makes a record of its columns and `created_by`.
        article: Before `noun`, in texts for users.
        count_max: How many a project may have.
    """

    table: Table
    columns: Sequence[str]
    recorded: Sequence[str]
    read: Callable[[Mapping[str, Any]], Item]
    scope: Scope
    article: str
    noun: str
    count_max: int

    async def page(
        self, records: Records, project_id: int, query: ItemSelection, limit: int, offset: int
    ) -> tuple[Sequence[Item], int]:
        """Return a page of the project's items, ordered by name, and their total number."""
        conditions = self.conditions(project_id, query)
        count = select(func.count()).select_from(self.table).where(*conditions)
        rows = self._select().where(*conditions).order_by(self.table.c.name, self.table.c.id)
        async with records.read() as connection:
            total = await connection.scalar(count)
            page = await connection.execute(rows.limit(limit).offset(offset))
            return [self._item_of(row) for row in page], total or 0

    def all(self, connection: Connection, project_id: int) -> Sequence[Item]:
        """Return the items of a project that are not deleted, in the order of their ids."""
        rows = self._select().where(*self.conditions(project_id)).order_by(self.table.c.id)
        return [self._item_of(row) for row in connection.execute(rows)]

    def some(self, connection: Connection, project_id: int, ids: Collection[int]) -> Sequence[Item]:
        """Return the items with these ids that are not deleted."""
        rows = self._select().where(*self.conditions(project_id), self.table.c.id.in_(ids))
        return [self._item_of(row) for row in connection.execute(rows)]

    def get(
        self, connection: Connection, project_id: int, item_id: int, *, for_update: bool = False
    ) -> Item:
        """Return an item, deleted or not, or raise NotFound."""
        this = (self.table.c.project_id == project_id) & (self.table.c.id == item_id)
        if for_update:
            connection.execute(select(self.table.c.id).where(this).with_for_update())
        row = connection.execute(self._select().where(this)).first()
        if row is None:
            raise NotFound
        return self._item_of(row)

    def create(self, connection: Connection, author: Author, values: Mapping[str, Any]) -> Item:
        """Create an item.

        Args:
            values: The fields that users set.

        Raises:
            Invalid: There is an item with this name, or the project has too many of them.
        """
        self._require_free_name(connection, author.project_id, values["name"])
        live = self.conditions(author.project_id)
        count = connection.scalar(select(func.count()).select_from(self.table).where(*live))
        if (count or 0) >= self.count_max:
            raise Invalid(f"A project can have at most {self.count_max} {self.noun}s.")
        statement = insert(self.table).values(
            project_id=author.project_id,
            created_by_id=author.user_id,
            created_at=author.now,
            updated_at=author.now,
            **_stored({"deleted": False, **values}),
        )
        item_id = connection.execute(statement.returning(self.table.c.id)).scalar_one()
        created = self.get(connection, author.project_id, item_id)
        self._record(connection, author, None, created)
        return created

    def write(
        self, connection: Connection, author: Author, before: Item, values: Mapping[str, Any]
    ) -> Item:
        """Change a locked item.

        Raises:
            Invalid: Another item has the new name, or that of an item to restore.
        """
        differing = {name: new for name, new in values.items() if getattr(before, name) != new}
        if not differing:
            return before
        is_live = not differing.get("deleted", before.deleted)
        if is_live and ("name" in differing or before.deleted):
            name = differing.get("name", before.name)
            self._require_free_name(connection, author.project_id, name)
        this = update(self.table).where(self.table.c.id == before.id)
        connection.execute(this.values(**_stored(differing), updated_at=author.now))
        after = self.get(connection, author.project_id, before.id)
        self._record(connection, author, before, after)
        return after

    def conditions(
        self, project_id: int, query: ItemSelection = ItemSelection()
    ) -> list[ColumnElement[bool]]:
        """Return the conditions on the rows of a project's items."""
        of = self.table.c
        conditions: list[ColumnElement[bool]] = [
            of.project_id == project_id,
            of.deleted.is_(query.deleted),
        ]
        if query.search:
            name = func.lower(of.name)
            conditions.append(name.contains(query.search.lower(), autoescape=True))
        return conditions

    def _require_free_name(self, connection: Connection, project_id: int, name: str) -> None:
        """Raise Invalid if an item has this name; until the transaction ends, none is given it."""
        this = projects.c.id == project_id
        connection.execute(select(projects.c.id).where(this).with_for_update())
        of = self.table.c
        taken = connection.scalar(
            select(of.id).where(*self.conditions(project_id), of.name == name)
        )
        if taken is not None:
            named = f"{self.article} {self.noun}"
            detail = f"This project already has {named} with this name, ID {taken}"
            raise Invalid(detail, code="unique", attr="name")

    def _record(
        self, connection: Connection, author: Author, before: Item | None, after: Item
    ) -> None:
        former = None if before is None else self._state(before)
        record_activity(connection, item_record(author, self.scope, former, self._state(after)))

    def _state(self, item: Item) -> ItemState:
        fields = {name: msgspec.to_builtins(getattr(item, name)) for name in self.recorded}
        return ItemState(str(item.id), item.name, fields)

    def _select(self) -> Select[Any]:
        of = self.table.c
        return select(*(of[name] for name in self.columns), *USER_SUMMARY).select_from(
            self.table.outerjoin(users, users.c.id == of.created_by_id)
        )

    def _item_of(self, row: Row[Any]) -> Item:
        values = {name: getattr(row, name) for name in self.columns}
        return self.read({**values, "created_by": user_summary(row)})


def _stored(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: msgspec.to_builtins(value) for name, value in values.items()}
