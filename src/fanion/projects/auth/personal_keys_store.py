"""Personal keys and their owners, in the records store."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from msgspec.structs import asdict
from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from fanion.activity.model import ItemState, OrganizationAuthor, OrganizationChange
from fanion.activity.store import record_in_organization
from fanion.db.engine import Records
from fanion.db.schema.tables import memberships, personal_api_keys, users
from fanion.errors import Invalid
from fanion.projects.auth.keys import KEY_BYTES, hash_key, mask, personal_key
from fanion.projects.auth.model import PersonalKey, Principal
from fanion.projects.model import User
from fanion.rest.validation import shared_fields

KEYS_PER_USER_MAX = 100
USED_EVERY = timedelta(hours=1)  # last_used_at is written hourly at most (capture.md, section 9.1)

_keys = personal_api_keys.c
_KEYS = select(*(_keys[name] for name in PersonalKey.__struct_fields__))
_OF_USER = _keys.user_id == bindparam("user")
_PAGE = (
    _KEYS.where(_OF_USER)
    .order_by(_keys.created_at.desc(), _keys.id)
    .limit(bindparam("rows"))
    .offset(bindparam("start"))
)
_COUNT = select(func.count()).select_from(personal_api_keys).where(_OF_USER)
# Columns of the owner of a key or a session, for `read_owner`: one row for each membership.
OWNER_COLUMNS = (
    users.c.id,
    users.c.uuid,
    users.c.distinct_id,
    users.c.first_name,
    users.c.email,
    users.c.is_email_verified,
    users.c.current_project_id,
    memberships.c.organization_id,
    memberships.c.level,
)
_OWNERS = (
    select(
        _keys.hash,
        _keys.id.label("key_id"),
        _keys.last_used_at,
        _keys.expires_at,
        _keys.scopes,
        *OWNER_COLUMNS,
    )
    .select_from(personal_api_keys)
    .join(users, users.c.id == _keys.user_id)
    .outerjoin(memberships, memberships.c.user_id == users.c.id)
    .where(_keys.hash.in_(bindparam("hashes", expanding=True)), users.c.is_active)
)
_USED = (
    update(personal_api_keys)
    .where(
        _keys.id == bindparam("key"),
        or_(_keys.last_used_at.is_(None), _keys.last_used_at <= bindparam("before")),
    )
    .values(last_used_at=bindparam("used"))
)


class PersonalKeyStore:
    """The personal keys of users.

    The activity log of each organization of the key's owner records each change.
    """

    def __init__(self, records: Records) -> None:
        self.records = records

    async def principals(self, hashes: Sequence[str]) -> Mapping[str, Principal]:
        """Return owners by the hash of their key, expired keys included.

        Unknown keys and those of inactive users are left out.
        """
        principals: dict[str, Principal] = {}
        levels: dict[str, dict[UUID, int]] = {}
        for row in await self.records.fetch(_OWNERS, {"hashes": hashes}):
            owner_levels = levels.setdefault(row.hash, {})
            if row.organization_id is not None:
                owner_levels[row.organization_id] = row.level
            principals[row.hash] = _principal_of_row(row, owner_levels)
        return principals

    async def list_keys(
        self, user_id: int, limit: int, offset: int
    ) -> tuple[list[PersonalKey], int]:
        """Return one page of the user's keys, newest first, and the number of all."""
        parameters = {"user": user_id}
        [(count,)] = await self.records.fetch(_COUNT, parameters)
        rows = await self.records.fetch(_PAGE, {**parameters, "rows": limit, "start": offset})
        return [_key_of_row(row) for row in rows], count

    async def find_key(self, user_id: int, key_id: UUID) -> PersonalKey | None:
        rows = await self.records.fetch(
            _KEYS.where(_OF_USER, _keys.id == bindparam("key")), {"user": user_id, "key": key_id}
        )
        return _key_of_row(rows[0]) if rows else None

    async def mark_used(self, used: Mapping[UUID, datetime]) -> None:
        if not used:
            return
        async with self.records.write() as connection:
            await connection.execute(
                _USED,
                [
                    {"key": key, "used": time, "before": time - USED_EVERY}
                    for key, time in used.items()
                ],
            )


@dataclass(frozen=True, slots=True)
class NewPersonalKey:
    """A key that is to be created.

    Attributes:
        by_operator: Whether the operator creates it, not its owner.
    """

    user_id: int
    label: str
    scopes: Sequence[str] | None
    now: datetime
    expires_at: datetime | None = None
    by_operator: bool = False


def create_key(connection: Connection, new: NewPersonalKey) -> tuple[PersonalKey, str]:
    """Create a key in the caller's transaction, and return it with its text.

    Raises:
        Invalid: The user already has KEYS_PER_USER_MAX keys.
    """
    count = connection.execute(_COUNT, {"user": new.user_id}).scalar_one()
    if count >= KEYS_PER_USER_MAX:
        raise Invalid(
            f"You can only have {KEYS_PER_USER_MAX} personal API keys. "
            "Remove an existing key before creating a new one."
        )
    text = personal_key(secrets.token_bytes(KEY_BYTES))
    key = PersonalKey(
        id=uuid4(),
        label=new.label,
        mask_value=mask(text),
        scopes=None if new.scopes is None else list(new.scopes),
        created_at=new.now,
        last_used_at=None,
        user_id=new.user_id,
        expires_at=new.expires_at,
    )
    connection.execute(insert(personal_api_keys).values(hash=hash_key(text), **asdict(key)))
    by = None if new.by_operator else key.user_id
    _record_key(connection, key.user_id, None, ItemState(str(key.id), key.label, {}), new.now, by)
    return key, text


def delete_key(
    connection: Connection, key_id: UUID, now: datetime, user_id: int | None = None
) -> str | None:
    """Delete a key and return its hash, or None if there is no such key.

    Args:
        user_id: The owner, who deletes it; None for the operator, who deletes keys of any user.
    """
    which = _keys.id == key_id
    if user_id is not None:
        which &= _keys.user_id == user_id
    return next(iter(_delete_keys(connection, which, now, user_id)), None)


def revoke_keys_of(connection: Connection, user_id: int, now: datetime, by: int | None) -> None:
    """Delete all keys of a user who is still a member, in the caller's transaction.

    Args:
        by: The user who makes the change; None for the operator.
    """
    _delete_keys(connection, _keys.user_id == user_id, now, by)


def _delete_keys(
    connection: Connection,
    which: ColumnElement[bool],
    now: datetime,
    by: int | None,
) -> list[str]:
    """Delete keys and return their hashes."""
    deletion = delete(personal_api_keys).where(which)
    rows = connection.execute(
        deletion.returning(_keys.id, _keys.user_id, _keys.hash, _keys.label)
    ).all()
    for row in rows:
        deleted = ItemState(str(row.id), row.label, {})
        _record_key(connection, row.user_id, deleted, None, now, by)
    return [row.hash for row in rows]


def _record_key(
    connection: Connection,
    owner_id: int,
    before: ItemState | None,
    after: ItemState | None,
    now: datetime,
    by: int | None,
) -> None:
    """Record the change in the activity log of each organization of the key's owner."""
    member = memberships.c
    organizations_of_owner = select(member.organization_id).where(member.user_id == owner_id)
    for organization_id in list(connection.scalars(organizations_of_owner)):
        author = OrganizationAuthor(organization_id, by, now)
        change = OrganizationChange(scope="PersonalAPIKey", before=before, after=after)
        record_in_organization(connection, author, change)


def _principal_of_row(row: Any, levels: Mapping[UUID, int]) -> Principal:
    scopes = None if row.scopes is None else tuple(row.scopes)
    return Principal(read_owner(row), row.key_id, row.last_used_at, scopes, levels, row.expires_at)


def read_owner(row: Any) -> User:
    """Build the user of a row with OWNER_COLUMNS."""
    return User(
        row.id,
        row.uuid,
        row.distinct_id,
        row.first_name,
        row.email,
        row.is_email_verified,
        row.current_project_id,
    )


def _key_of_row(row: Any) -> PersonalKey:
    return PersonalKey(**shared_fields(row, PersonalKey))
