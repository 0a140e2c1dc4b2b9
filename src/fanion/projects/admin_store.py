"""Queries of the command line, across all organizations."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import select

from fanion.db.engine import Records
from fanion.db.schema.tables import memberships, organizations, personal_api_keys, projects, users
from fanion.projects.model import Project


@dataclass(frozen=True, slots=True)
class ListedKey:
    id: UUID
    email: str
    label: str
    mask_value: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None


async def is_set_up(records: Records) -> bool:
    return bool(await records.fetch(select(organizations.c.id).limit(1)))


async def all_projects(records: Records) -> list[Project]:
    rows = await records.fetch(select(projects).order_by(projects.c.id))
    return [
        Project(
            row.id,
            row.uuid,
            row.organization_id,
            row.name,
            row.api_token,
            row.timezone,
            row.created_at,
        )
        for row in rows
    ]


async def all_keys(records: Records) -> list[ListedKey]:
    statement = (
        select(
            personal_api_keys.c.id,
            users.c.email,
            personal_api_keys.c.label,
            personal_api_keys.c.mask_value,
            personal_api_keys.c.created_at,
            personal_api_keys.c.last_used_at,
            personal_api_keys.c.expires_at,
        )
        .join(users, users.c.id == personal_api_keys.c.user_id)
        .order_by(personal_api_keys.c.created_at)
    )
    return [
        ListedKey(
            row.id,
            row.email,
            row.label,
            row.mask_value,
            row.created_at,
            row.last_used_at,
            row.expires_at,
        )
        for row in await records.fetch(statement)
    ]


async def user_id_of(records: Records, email: str | None) -> int | None:
    """Of a user who is active and in an organization. email: None means the first one"""
    member = select(memberships.c.user_id).where(memberships.c.user_id == users.c.id).exists()
    statement = select(users.c.id).where(users.c.is_active, member).order_by(users.c.id).limit(1)
    if email is not None:
        statement = statement.where(users.c.email == email.strip().lower())
    rows = await records.fetch(statement)
    return rows[0].id if rows else None


async def organization_of(records: Records, user_id: int) -> UUID | None:
    statement = (
        select(memberships.c.organization_id)
        .where(memberships.c.user_id == user_id)
        .order_by(memberships.c.joined_at)
        .limit(1)
    )
    rows = await records.fetch(statement)
    return rows[0].organization_id if rows else None
