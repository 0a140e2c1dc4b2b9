"""What an organization allows everybody to do with a kind of thing, in the records store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Select, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from fanion.db.engine import Records
from fanion.db.role_tables import resource_access
from fanion.db.tables import users
from fanion.errors import Invalid, NotFound
from fanion.projects.model import UserSummary
from fanion.projects.roles import FEATURE_FLAGS, AccessLevel, ResourceAccess
from fanion.projects.summary_store import USER_SUMMARY

_access = resource_access.c


@dataclass(frozen=True, slots=True)
class ResourceAccessStore:
    records: Records

    async def all(self, organization_id: UUID) -> Sequence[ResourceAccess]:
        """At most one for each kind of thing."""
        async with self.records.read() as connection:
            rows = await connection.execute(_settings(organization_id))
            return [_setting(row) for row in rows]

    async def get(self, organization_id: UUID, setting_id: int) -> ResourceAccess:
        """raises: NotFound"""
        async with self.records.read() as connection:
            return await connection.run_sync(_get, organization_id, setting_id)

    async def create(
        self, organization_id: UUID, creator_id: int, level: int, now: datetime
    ) -> ResourceAccess:
        """raises: Invalid with code `unique`"""
        statement = insert(resource_access).values(
            organization_id=organization_id,
            resource=FEATURE_FLAGS,
            access_level=level,
            created_by_id=creator_id,
            created_at=now,
            updated_at=now,
        )
        try:
            async with self.records.write() as connection:
                made = await connection.execute(statement.returning(_access.id))
                return await connection.run_sync(_get, organization_id, made.scalar_one())
        except IntegrityError:
            raise Invalid(
                "This resource access already exists.", code="unique", attr="resource"
            ) from None

    async def change(
        self, organization_id: UUID, setting_id: int, level: int, now: datetime
    ) -> ResourceAccess:
        """raises: NotFound"""
        statement = (
            update(resource_access)
            .where(_access.organization_id == organization_id, _access.id == setting_id)
            .values(access_level=level, updated_at=now)
        )
        async with self.records.write() as connection:
            await connection.execute(statement)
            return await connection.run_sync(_get, organization_id, setting_id)

    async def remove(self, organization_id: UUID, setting_id: int) -> None:
        """raises: NotFound"""
        statement = delete(resource_access).where(
            _access.organization_id == organization_id, _access.id == setting_id
        )
        async with self.records.write() as connection:
            if not (await connection.execute(statement)).rowcount:
                raise NotFound


def setting_of(connection: Connection, organization_id: UUID) -> AccessLevel | None:
    """For feature flags; None when the organization has not set it."""
    level = connection.scalar(
        select(_access.access_level).where(
            _access.organization_id == organization_id, _access.resource == FEATURE_FLAGS
        )
    )
    return None if level is None else AccessLevel(level)


def _settings(organization_id: UUID) -> Select[Any]:
    return (
        select(
            _access.id,
            _access.resource,
            _access.access_level,
            _access.organization_id,
            _access.created_at,
            _access.updated_at,
            *USER_SUMMARY,
        )
        .select_from(resource_access.outerjoin(users, users.c.id == _access.created_by_id))
        .where(_access.organization_id == organization_id)
        .order_by(_access.id)
    )


def _get(connection: Connection, organization_id: UUID, setting_id: int) -> ResourceAccess:
    row = connection.execute(
        _settings(organization_id).where(_access.id == setting_id)
    ).one_or_none()
    if row is None:
        raise NotFound
    return _setting(row)


def _setting(row: Any) -> ResourceAccess:
    return ResourceAccess(
        id=row[0],
        resource=row[1],
        access_level=row[2],
        organization=row[3],
        created_at=row[4],
        updated_at=row[5],
        created_by=None if row[6] is None else UserSummary(*row[6:]),
    )
