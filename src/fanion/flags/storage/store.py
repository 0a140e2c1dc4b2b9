"""Feature flags in the records store."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select
from sqlalchemy.exc import IntegrityError

from fanion.activity.model import Author
from fanion.db.engine import Records
from fanion.db.schema.tables import feature_flags, flag_versions
from fanion.errors import Invalid
from fanion.flags.engine.definition import FlagDefinitions, FlagRow, grouped_filters
from fanion.flags.management.list_query import EVERYTHING, Candidate, FlagQuery
from fanion.flags.storage.changes import Decide, change_flag, create_flag
from fanion.flags.storage.rows import (
    READ_ROWS,
    StoredFlag,
    flag_rows,
    flag_version,
    get_flag,
    live_flags,
    made_of,
    stored_flag,
)

__all__ = ["FlagStore", "StoredFlag"]

READ_IDS_MAX = 1_000  # in one statement: both engines limit its parameters

_flag = feature_flags.c
# What a query looks at. Filters are long: they are read when it asks for them.
_CANDIDATE = (
    _flag.id,
    _flag.key,
    _flag.name,
    _flag.active,
    _flag.tags,
    _flag.created_by_id,
    _flag.created_at,
    _flag.evaluation_runtime,
)


@dataclass(frozen=True, slots=True)
class FlagStore:
    """Every change of a project's flags moves its flag version, in the same transaction."""

    records: Records

    async def page(
        self, project_id: int, limit: int, offset: int
    ) -> tuple[Sequence[StoredFlag], int]:
        """Flags that are not deleted, newest first, and their total."""
        not_deleted = (_flag.project_id == project_id) & _flag.deleted.is_(False)
        rows = (
            flag_rows()
            .where(not_deleted)
            .order_by(_flag.created_at.desc(), _flag.id.desc())
            .limit(limit)
            .offset(offset)
        )
        async with self.records.read() as connection:
            total = await connection.scalar(
                select(func.count()).select_from(feature_flags).where(not_deleted)
            )
            found = await connection.execute(rows)
            return [stored_flag(row) for row in found], total or 0

    async def find(
        self, project_id: int, query: FlagQuery, now: datetime, limit: int, offset: int
    ) -> tuple[Sequence[StoredFlag], int]:
        """The flags that a query asks for, in its order, and their total."""
        if query == EVERYTHING:
            return await self.page(project_id, limit, offset)
        columns = (*_CANDIDATE, *((_flag.filters,) if query.looks_at_filters else ()))
        live = select(*columns).where(_flag.project_id == project_id, _flag.deleted.is_(False))
        async with self.records.read() as connection:
            ids = query.choose(map(_candidate, await connection.execute(live)), now)
            wanted = ids[offset : offset + limit]
            return await connection.run_sync(_in_order, wanted), len(ids)

    async def get(self, project_id: int, flag_id: int) -> StoredFlag | None:
        """Deleted ones too."""
        async with self.records.read() as connection:
            return await connection.run_sync(get_flag, project_id, flag_id)

    async def create(self, author: Author, values: Mapping[str, Any]) -> StoredFlag:
        """A deleted flag with the same key is removed for good first. The flag is given a
        dashboard that shows how it is used.

        values: by column, without project, creator and version
        raises: Invalid with code `unique` for the key of a flag that is not deleted
        """
        async with _unique_key(), self.records.write() as connection:
            return await connection.run_sync(create_flag, author, values)

    async def change(self, author: Author, flag_id: int, decide: Decide) -> StoredFlag | None:
        """None when there is no such flag

        raises: what `decide` does, and changes nothing; Invalid with code `unique` for the key
                of another flag that is not deleted
        """
        async with _unique_key(), self.records.write() as connection:
            return await connection.run_sync(change_flag, author, flag_id, decide)

    async def definitions(self, project_id: int) -> FlagDefinitions:
        """What evaluation needs, all from one snapshot of the store."""
        async with self.records.read() as connection:
            version = await connection.run_sync(flag_version, project_id)
            flags: list[FlagRow] = []
            for part in (await connection.execute(live_flags(project_id))).partitions(READ_ROWS):
                flags += [FlagRow(*row) for row in part]
                await asyncio.sleep(0)
            return await connection.run_sync(made_of, project_id, flags, version)

    async def newest_first(self, project_id: int) -> Sequence[str]:
        """The keys of all flags that are not deleted."""
        statement = (
            select(_flag.key)
            .where(_flag.project_id == project_id, _flag.deleted.is_(False))
            .order_by(_flag.created_at.desc(), _flag.id.desc())
        )
        return [row.key for row in await self.records.fetch(statement)]

    async def versions(self, project_ids: Sequence[int]) -> Mapping[int, int]:
        """The flag versions of these projects; a project without flags has none."""
        statement = select(flag_versions.c.project_id, flag_versions.c.version).where(
            flag_versions.c.project_id.in_(project_ids)
        )
        return {row.project_id: row.version for row in await self.records.fetch(statement)}


class _unique_key:  # noqa: N801  # reads as the statement that it is used in
    """The database decides whether a key is free; its refusal becomes the API's error."""

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, IntegrityError):
            raise Invalid(
                "There is already a feature flag with this key.", code="unique", attr="key"
            ) from None


def _in_order(connection: Connection, ids: Sequence[int]) -> Sequence[StoredFlag]:
    found = {}
    for start in range(0, len(ids), READ_IDS_MAX):
        some = ids[start : start + READ_IDS_MAX]
        for row in connection.execute(flag_rows().where(_flag.id.in_(some))):
            found[row.id] = stored_flag(row)
    return [found[flag_id] for flag_id in ids]


def _candidate(row: Row[Any]) -> Candidate:
    *plain, creator_id, created_at, runtime = row[: len(_CANDIDATE)]
    flag_id, key, name, active, tags = plain
    filters = grouped_filters(FlagRow(flag_id, key, row[-1])) if len(row) > len(_CANDIDATE) else {}
    return Candidate(flag_id, key, name, active, filters, tags, creator_id, created_at, runtime)
