"""Feature flags in the records store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.db.engine import Records
from fanion.db.tables import feature_flags, flag_versions, group_types, users
from fanion.errors import Invalid
from fanion.flags.definition import FlagRow
from fanion.projects.flag_version_store import move_flag_version
from fanion.projects.model import UserSummary

_flag = feature_flags.c

_DEFINITION = (
    _flag.id,
    _flag.key,
    _flag.filters,
    _flag.rollout_percentage,
    _flag.active,
    _flag.deleted,
    _flag.ensure_experience_continuity,
    _flag.version,
    _flag.name,
)


@dataclass(frozen=True, slots=True)
class StoredFlag:
    """A flag with everything that the management API shows."""

    definition: FlagRow
    project_id: int
    created_at: datetime
    created_by: UserSummary | None
    rollback_conditions: Any
    performed_rollback: bool | None
    tags: list[str]
    usage_dashboard: int | None
    analytics_dashboards: list[int]
    has_enriched_analytics: bool


@dataclass(frozen=True, slots=True)
class FlagStore:
    """Every change of a project's flags moves its flag version, in the same transaction."""

    records: Records

    async def page(
        self, project_id: int, limit: int, offset: int
    ) -> tuple[Sequence[StoredFlag], int]:
        """Flags that are not deleted, newest first, and their total."""
        shown = (_flag.project_id == project_id) & _flag.deleted.is_(False)
        rows = (
            _flags()
            .where(shown)
            .order_by(_flag.created_at.desc(), _flag.id.desc())
            .limit(limit)
            .offset(offset)
        )
        async with self.records.read() as connection:
            total = await connection.scalar(
                select(func.count()).select_from(feature_flags).where(shown)
            )
            found = await connection.execute(rows)
            return [_stored(row) for row in found], total or 0

    async def get(self, project_id: int, flag_id: int) -> StoredFlag | None:
        """Deleted ones too."""
        async with self.records.read() as connection:
            return await _get(connection, project_id, flag_id)

    async def create(self, project_id: int, values: Mapping[str, Any]) -> StoredFlag:
        """A deleted flag with the same key is removed for good first.

        values: by column, without the project
        raises: Invalid with code `unique` for the key of a flag that is not deleted
        """
        async with _unique_key(), self.records.write() as connection:
            await _free_key(connection, project_id, values["key"])
            statement = insert(feature_flags).values(project_id=project_id, **values)
            created = await connection.execute(statement.returning(_flag.id))
            await connection.run_sync(move_flag_version, project_id)
            flag = await _get(connection, project_id, created.scalar_one())
            assert flag is not None
            return flag

    async def change(
        self, project_id: int, flag_id: int, values: Mapping[str, Any]
    ) -> StoredFlag | None:
        """values: the columns to set; None when there is no such flag

        raises: Invalid with code `unique` for the key of another flag that is not deleted
        """
        async with _unique_key(), self.records.write() as connection:
            if "key" in values:
                await _free_key(connection, project_id, values["key"], but=flag_id)
            await connection.execute(
                update(feature_flags)
                .where(_flag.project_id == project_id, _flag.id == flag_id)
                .values(version=_flag.version + 1, **values)
            )
            await connection.run_sync(move_flag_version, project_id)
            return await _get(connection, project_id, flag_id)

    async def definitions(
        self, project_id: int
    ) -> tuple[Sequence[FlagRow], Mapping[int, str], int]:
        """What evaluation needs: flags that are not deleted in the order in which answers list
        them, group types by index, and the version that both have."""
        live = (
            select(*_DEFINITION)
            .where(_flag.project_id == project_id, _flag.deleted.is_(False))
            .order_by(_flag.id)
        )
        types = select(group_types.c.group_type_index, group_types.c.group_type).where(
            group_types.c.project_id == project_id
        )
        async with self.records.read() as connection:
            version = await connection.scalar(
                select(flag_versions.c.version).where(flag_versions.c.project_id == project_id)
            )
            flags = [FlagRow(*row) for row in await connection.execute(live)]
            names = {row[0]: row[1] for row in await connection.execute(types)}
            return flags, names, version or 0

    async def versions(self, project_ids: Sequence[int]) -> Mapping[int, int]:
        """The flag versions of these projects; a project without flags has none."""
        statement = select(flag_versions.c.project_id, flag_versions.c.version).where(
            flag_versions.c.project_id.in_(project_ids)
        )
        return {row.project_id: row.version for row in await self.records.fetch(statement)}


class _unique_key:  # noqa: N801  # reads as the statement that it is used in
    """The database has the last word on a key; its refusal is told as the API tells it."""

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, IntegrityError):
            raise Invalid(
                "There is already a feature flag with this key.", code="unique", attr="key"
            ) from None


async def _free_key(
    connection: AsyncConnection, project_id: int, key: str, but: int | None = None
) -> None:
    holder = (_flag.project_id == project_id) & (_flag.key == key) & _flag.deleted.is_(True)
    await connection.execute(
        delete(feature_flags).where(holder if but is None else holder & (_flag.id != but))
    )


def _flags() -> Select[Any]:
    return select(
        *_DEFINITION,
        _flag.project_id,
        _flag.created_at,
        _flag.rollback_conditions,
        _flag.performed_rollback,
        _flag.tags,
        _flag.usage_dashboard,
        _flag.analytics_dashboards,
        _flag.has_enriched_analytics,
        users.c.id.label("user_id"),
        users.c.uuid.label("user_uuid"),
        users.c.distinct_id,
        users.c.first_name,
        users.c.email,
        users.c.is_email_verified,
    ).select_from(feature_flags.outerjoin(users, users.c.id == _flag.created_by_id))


async def _get(connection: AsyncConnection, project_id: int, flag_id: int) -> StoredFlag | None:
    statement = _flags().where(_flag.project_id == project_id, _flag.id == flag_id)
    row = (await connection.execute(statement)).first()
    return None if row is None else _stored(row)


def _stored(row: Row[Any]) -> StoredFlag:
    creator = None
    if row.user_id is not None:
        creator = UserSummary(
            row.user_id,
            row.user_uuid,
            row.distinct_id,
            row.first_name,
            row.email,
            row.is_email_verified,
        )
    return StoredFlag(
        FlagRow(*row[: len(_DEFINITION)]),
        row.project_id,
        row.created_at,
        creator,
        row.rollback_conditions,
        row.performed_rollback,
        row.tags,
        row.usage_dashboard,
        row.analytics_dashboards,
        row.has_enriched_analytics,
    )
