"""Setup of an installation, and queries of the command line across all organizations."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

from argon2 import PasswordHasher
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.db.engine import Records
from fanion.db.schema.tables import memberships, organizations, personal_api_keys, projects, users
from fanion.projects.auth.keys import KEY_BYTES, hash_key, mask, personal_key
from fanion.projects.model import Level, Project, User
from fanion.projects.store import add_project

# The first organization of every installation has this id. If two servers set up the same store
# at the same time, one of them fails on the primary key.
FIRST_ORGANIZATION = uuid5(NAMESPACE_URL, "fanion:first-organization")
NO_PASSWORD = ""  # instead of a hash; no password matches it


_ANY_ORGANIZATION = select(organizations.c.id).limit(1)


class AlreadySetUp(Exception):
    """The store already has an organization."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """The objects that setup creates.

    A token or key that is not given is generated. Without a password the owner has none.
    """

    organization: str = "My organization"
    project: str = "Default project"
    timezone: str = "UTC"
    email: str
    first_name: str
    password: str | None = None
    project_token: str | None = None
    personal_key: str | None = None
    key_label: str = "Setup"


@dataclass(frozen=True, slots=True)
class SetUp:
    """The objects that setup has created.

    Attributes:
        personal_key: It cannot be read later; only its hash is stored.
    """

    project: Project
    user: User
    personal_key: str


@dataclass(frozen=True, slots=True)
class ListedKey:
    id: UUID
    email: str
    label: str
    mask_value: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None


async def hash_password(password: str) -> str:
    """Hash a password with Argon2 in a thread, as one hash takes tens of milliseconds."""
    return await asyncio.to_thread(PasswordHasher().hash, password)


async def set_up(
    records: Records,
    installation: Installation,
    now: datetime,
    hash_password: Callable[[str], Awaitable[str]] = hash_password,
) -> SetUp:
    """Create the first organization with its owner, project and key, in one transaction.

    The activity log does not record it.

    Raises:
        AlreadySetUp: The store already has an organization.
    """
    password = installation.password
    password_hash = NO_PASSWORD if password is None else await hash_password(password)
    try:
        async with records.write() as connection:
            if (await connection.execute(_ANY_ORGANIZATION)).first() is not None:
                raise AlreadySetUp
            return await _install(connection, installation, password_hash, now)
    except IntegrityError:
        raise AlreadySetUp from None


async def is_set_up(records: Records) -> bool:
    return bool(await records.fetch(_ANY_ORGANIZATION))


async def _install(
    connection: AsyncConnection, installation: Installation, password_hash: str, now: datetime
) -> SetUp:
    organization = FIRST_ORGANIZATION
    await connection.execute(
        insert(organizations).values(
            id=organization, name=installation.organization, created_at=now
        )
    )
    project = await add_project(
        connection,
        organization,
        installation.project,
        installation.timezone,
        now,
        installation.project_token,
    )
    user = await _add_user(connection, installation, password_hash, project.id, now)
    await connection.execute(
        insert(memberships).values(
            organization_id=organization, user_id=user.id, level=Level.OWNER, joined_at=now
        )
    )
    key = installation.personal_key or personal_key(secrets.token_bytes(KEY_BYTES))
    await connection.execute(
        insert(personal_api_keys).values(
            id=uuid4(),
            user_id=user.id,
            label=installation.key_label,
            hash=hash_key(key),
            mask_value=mask(key),
            scopes=None,
            created_at=now,
            last_used_at=None,
        )
    )
    return SetUp(project, user, key)


async def _add_user(
    connection: AsyncConnection,
    installation: Installation,
    password_hash: str,
    project_id: int,
    now: datetime,
) -> User:
    values: dict[str, Any] = {
        "uuid": uuid4(),
        "distinct_id": secrets.token_urlsafe(KEY_BYTES),
        "first_name": installation.first_name,
        "email": installation.email.strip().lower(),
        "is_email_verified": False,
        "current_project_id": project_id,
    }
    added = await connection.execute(
        insert(users)
        .values(password_hash=password_hash, is_active=True, created_at=now, **values)
        .returning(users.c.id)
    )
    return User(id=added.scalar_one(), **values)


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
    """Return an active user who is in an organization.

    Args:
        email: None for the first such user.
    """
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
