"""Changes of what a project names, such as its actions and segments, each in one transaction."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.db.engine import Records
from fanion.errors import AppError, NotFound
from fanion.projects.named_items.store import Item, ItemSelection, NamedItems
from fanion.rest.uses import in_use

# Returns the names of what uses an item of a project, such as `insight "Sign-ups"`.
UsesOf = Callable[[Connection, int, int], Sequence[str]]
# Returns the fields to store of those that a user of a project has sent, or raises Invalid.
Check = Callable[[int, Mapping[str, Any]], Awaitable[dict[str, Any]]]


class StaleItem(AppError):
    """The item has changed since the caller read it."""

    status, type, default_code = 409, "invalid_request", "conflict"


@dataclass(frozen=True, slots=True)
class NamedItemService(Generic[Item]):
    """The items of one kind, read and changed for users.

    Attributes:
        uses_of: Find what uses an item, which is not deleted then. Their packages are built on that
            of the item.
    """

    records: Records
    items: NamedItems[Item]
    check: Check
    uses_of: Sequence[UsesOf] = ()

    async def page(
        self, project_id: int, query: ItemSelection, limit: int, offset: int
    ) -> tuple[Sequence[Item], int]:
        """Return a page of the project's items, ordered by name, and their total number."""
        return await self.items.page(self.records, project_id, query, limit, offset)

    async def get(self, project_id: int, item_id: int) -> Item:
        """Return an item, deleted or not, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(self.items.get, project_id, item_id)

    async def create(self, author: Author, sent: Mapping[str, Any]) -> Item:
        """Create an item.

        Raises:
            Invalid: A field is not valid, the name is taken, or the project has too many.
        """
        values = await self.check(author.project_id, sent)
        async with self.records.write() as connection:
            return await connection.run_sync(self.items.create, author, values)

    async def change(self, author: Author, item_id: int, sent: Mapping[str, Any]) -> Item:
        """Change an item, in everything that uses it; a deleted one only accepts its restoration.

        Raises:
            NotFound: There is no such item.
            Invalid: A field is not valid, the name is taken, or an item to be deleted is used.
            StaleItem: It was changed since `expected_updated_at`.
        """
        values = await self.check(author.project_id, sent)
        expected = values.pop("expected_updated_at", None)
        async with self.records.write() as connection:
            return await connection.run_sync(self._change, author, item_id, values, expected)

    def _change(
        self,
        connection: Connection,
        author: Author,
        item_id: int,
        values: Mapping[str, Any],
        expected: object,
    ) -> Item:
        before = self.items.get(connection, author.project_id, item_id, for_update=True)
        if before.deleted and values.get("deleted") is not False:
            raise NotFound
        if expected is not None and before.updated_at != expected:
            raise self._stale()
        if values.get("deleted"):
            self._require_unused(connection, author.project_id, item_id)
        return self.items.write(connection, author, before, values)

    def _stale(self) -> StaleItem:
        detail = (
            f"The {self.items.noun} was changed since you read it. "
            "Review the current version and try again."
        )
        return StaleItem(detail, attr="expected_updated_at")

    def _require_unused(self, connection: Connection, project_id: int, item_id: int) -> None:
        """Raise Invalid if something uses the item."""
        uses = [use for find in self.uses_of for use in find(connection, project_id, item_id)]
        if uses:
            raise in_use(self.items.noun, uses)
