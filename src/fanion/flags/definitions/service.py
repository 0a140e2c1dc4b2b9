"""Changes of the flags of a project by people: each is one transaction, which is then published.

Source: api.md, "Feature flags"; flags.md sections 11 to 13.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from msgspec import UNSET
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.activity.model import Author
from fanion.errors import Invalid, NotFound
from fanion.flags.definitions.access_store import access_of
from fanion.flags.definitions.changes_store import change_flag, create_flag, unique_key
from fanion.flags.definitions.list_query import STALE_DAYS_MAX, FlagQuery, Staleness
from fanion.flags.definitions.model import FlagAccess
from fanion.flags.definitions.schemas import FlagChanges, StaleFlag, changed_columns, flag_body
from fanion.flags.definitions.store import FlagStore, StoredFlag, lock_flag
from fanion.projects.auth.model import Principal
from fanion.projects.model import Project
from fanion.runtime.change_bus import ChangeBus, Topic

# Takes the project id and the current time; returns flag key → time of the last evaluation.
LastEvaluated = Callable[[int, datetime], Awaitable[Mapping[str, datetime]]]


async def never_evaluated(project_id: int, now: datetime) -> Mapping[str, datetime]:
    return {}


@dataclass(frozen=True, slots=True)
class LockedFlag:
    """A flag that no other transaction changes, within the transaction that locked it."""

    connection: AsyncConnection
    author: Author
    flag: StoredFlag

    async def change_columns(self, values: Mapping[str, Any]) -> StoredFlag:
        """Change columns of the flag.

        Raises:
            Invalid: The flag cannot be changed like this.
        """
        return await self.connection.run_sync(change_flag, self.author, self.flag, values)


@dataclass(frozen=True, slots=True)
class FlagService:
    """The stored flags; every change is published."""

    store: FlagStore
    bus: ChangeBus
    last_evaluated: LastEvaluated = never_evaluated

    async def access(self, principal: Principal, project: Project) -> FlagAccess:
        return await access_of(self.store.records, principal, project)

    async def get_flag(self, project_id: int, flag_id: int) -> StoredFlag:
        """Return a flag, even if it is deleted.

        Raises:
            NotFound: There is no such flag.
        """
        flag = await self.store.get_flag(project_id, flag_id)
        if flag is None:
            raise NotFound
        return flag

    async def get_editable_flag(
        self, principal: Principal, project: Project, flag_id: int
    ) -> StoredFlag:
        """Return a flag that the caller may edit, for operations on a flag by POST.

        Raises:
            NotFound: There is no such flag.
            PermissionDenied: The caller may not edit it.
        """
        flag = await self.get_flag(project.id, flag_id)
        (await self.access(principal, project)).require_edit(flag_id, flag.creator_id)
        return flag

    async def create_flag(self, author: Author, values: dict[str, Any]) -> StoredFlag:
        """Create a flag.

        Args:
            values: By column, from `created_columns`.

        Raises:
            Invalid: The flag would not be valid.
        """
        with unique_key():
            async with self.store.records.write() as connection:
                flag = await connection.run_sync(create_flag, author, values)
        self.bus.publish(Topic.FLAGS, author.project_id)
        return flag

    async def change_flag(
        self, author: Author, access: FlagAccess, flag_id: int, changes: FlagChanges
    ) -> StoredFlag:
        """Change a flag that the caller may edit.

        Raises:
            NotFound: There is no such flag.
            PermissionDenied: The caller may not edit it.
            StaleFlag: It no longer has the version that the change is based on.
            Invalid: The flag would not be valid.
        """
        async with self.locked_flag(author, flag_id) as locked:
            flag = locked.flag
            access.require_edit(flag_id, flag.creator_id)
            if changes.version not in {UNSET, None, flag.definition.version}:
                raise StaleFlag(flag_body(flag, access), flag.definition.version)
            return await locked.change_columns(changed_columns(changes, flag))

    @asynccontextmanager
    async def locked_flag(self, author: Author, flag_id: int) -> AsyncGenerator[LockedFlag]:
        """Yield a flag that no other transaction changes before the end of the block.

        Raises:
            NotFound: There is no such flag.
        """
        with unique_key():
            async with self.store.records.write() as connection:
                flag = await connection.run_sync(lock_flag, author.project_id, flag_id)
                if flag is None:
                    raise NotFound
                yield LockedFlag(connection, author, flag)
        self.bus.publish(Topic.FLAGS, author.project_id)

    async def find_stale_flags(
        self,
        project_id: int,
        query: FlagQuery,
        days: int,
        now: datetime,
        limit: int,
        offset: int,
    ) -> tuple[Sequence[StoredFlag], int, Staleness]:
        """Return a page of the stale flags that match the query, in its order.

        Args:
            days: An older flag with no evaluation for this many days counts as unused.

        Returns:
            The flags, the total number of stale flags, and what says why each is stale.

        Raises:
            Invalid: `days` is too small or too large.
        """
        if not 1 <= days <= STALE_DAYS_MAX:
            raise Invalid(
                f"Ensure this value is between 1 and {STALE_DAYS_MAX}.", attr="stale_days"
            )
        staleness = Staleness(await self.last_evaluated(project_id, now), days)
        query = replace(query, staleness=staleness)
        flags, count = await self.store.find_flags(project_id, query, now, limit, offset)
        return flags, count, staleness
