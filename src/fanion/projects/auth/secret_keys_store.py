"""Secret keys of projects, for servers that read flag definitions, in the records store.

Source: sdk-wire.md, section 5.1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BindParameter,
    Connection,
    bindparam,
    delete,
    func,
    insert,
    null,
    select,
    type_coerce,
    union_all,
)

from fanion.activity.model import changed_fields
from fanion.db.columns import UtcDateTime
from fanion.db.engine import Records
from fanion.db.schema.flags import former_secret_keys, project_secret_keys
from fanion.db.schema.tables import projects
from fanion.projects.model import FORMER_KEYS_MAX
from fanion.projects.store import load_projects, record_project_change, too_many_former

_key, _former = project_secret_keys.c, former_secret_keys.c
_HASHES: BindParameter[Any] = bindparam("hashes", expanding=True)
_OWNERS = union_all(
    select(_key.hash, _key.project_id, type_coerce(null(), UtcDateTime).label("valid_until")).where(
        _key.hash.in_(_HASHES)
    ),
    select(_former.hash, _former.project_id, _former.valid_until).where(_former.hash.in_(_HASHES)),
)


@dataclass(frozen=True, slots=True)
class SecretKeyOwner:
    """The project of a secret key.

    Attributes:
        valid_until: The expiry of a former key; None for the current one.
    """

    project_id: int
    valid_until: datetime | None


@dataclass(frozen=True, slots=True)
class SecretKeyState:
    """The current secret key of a project, as far as it can be shown.

    Attributes:
        mask_value: The masked form of the key; None without a key.
        created_at: When the key was made; None without a key.
    """

    mask_value: str | None
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class SecretKeyReset:
    """The replacement of a secret key.

    Attributes:
        hashed: The hash of the new key.
        mask_value: The masked form of the new key.
        former_valid_s: How long the current key stays valid. With 0, it and all former ones expire
            at once.
        user_id: The user who makes the change; None for the operator.
    """

    project_id: int
    hashed: str
    mask_value: str
    former_valid_s: int
    now: datetime
    user_id: int | None = None


class SecretKeyStore:
    """The secret keys of projects. The activity log of the project records each change."""

    def __init__(self, records: Records) -> None:
        self.records = records

    async def owners(self, hashes: Sequence[str]) -> Mapping[str, SecretKeyOwner]:
        """Return projects by the hash of the key, with expired and without unknown keys."""
        rows = await self.records.fetch(_OWNERS, {"hashes": hashes})
        return {row.hash: SecretKeyOwner(row.project_id, row.valid_until) for row in rows}

    async def key_state(self, project_id: int) -> SecretKeyState:
        """Return the masked form of the project's current key and when it was made."""
        statement = select(_key.mask_value, _key.created_at).where(_key.project_id == project_id)
        rows = await self.records.fetch(statement)
        key = rows[0] if rows else None
        return SecretKeyState(key and key.mask_value, key and key.created_at)


def replace_key(connection: Connection, reset: SecretKeyReset) -> None:
    """Replace the key of a project.

    Raises:
        Invalid: FORMER_KEYS_MAX former keys are still valid.
    """
    before = _retire_key(connection, reset)
    connection.execute(
        insert(project_secret_keys).values(
            project_id=reset.project_id,
            hash=reset.hashed,
            mask_value=reset.mask_value,
            created_at=reset.now,
        )
    )
    _record_change(connection, reset.project_id, before, reset.mask_value, reset.user_id, reset.now)


def remove_keys(
    connection: Connection, project_id: int, now: datetime, user_id: int | None
) -> bool:
    """Delete the key of a project and all former ones, and return whether any was valid.

    Args:
        user_id: The user who makes the change; None for the operator.
    """
    present, former = _delete_keys(connection, project_id, now)
    if present is None and former is None:
        return False
    _record_change(connection, project_id, present or former, None, user_id, now)
    return True


def _retire_key(connection: Connection, reset: SecretKeyReset) -> str | None:
    """Make the current key a former one and return its masked form, or None if there is none."""
    project_id, now = reset.project_id, reset.now
    # Concurrent replacements wait for each other, so that the second one sees the first one's key.
    connection.execute(select(projects.c.id).where(projects.c.id == project_id).with_for_update())
    of_project = _former.project_id == project_id
    ended = of_project & (_former.valid_until <= now) if reset.former_valid_s else of_project
    connection.execute(delete(former_secret_keys).where(ended))
    deletion = delete(project_secret_keys).where(_key.project_id == project_id)
    present = connection.execute(deletion.returning(_key.hash, _key.mask_value)).one_or_none()
    if present is None:
        return None
    if reset.former_valid_s:
        count = select(func.count()).select_from(former_secret_keys).where(of_project)
        if (connection.scalar(count) or 0) >= FORMER_KEYS_MAX:
            raise too_many_former()
        connection.execute(
            insert(former_secret_keys).values(
                hash=present.hash,
                project_id=project_id,
                mask_value=present.mask_value,
                valid_until=now + timedelta(seconds=reset.former_valid_s),
            )
        )
    return str(present.mask_value)


def _delete_keys(
    connection: Connection, project_id: int, now: datetime
) -> tuple[str | None, str | None]:
    """Delete all keys, and return the masked current one and the former one that expires last."""
    deletion = delete(project_secret_keys).where(_key.project_id == project_id)
    present = connection.execute(deletion.returning(_key.mask_value)).scalar_one_or_none()
    former = delete(former_secret_keys).where(_former.project_id == project_id)
    rows = connection.execute(former.returning(_former.mask_value, _former.valid_until)).all()
    valid = [row for row in rows if row.valid_until > now]
    longest = max(valid, key=lambda row: row.valid_until, default=None)
    return present, None if longest is None else longest.mask_value


def _record_change(
    connection: Connection,
    project_id: int,
    before: str | None,
    after: str | None,
    user_id: int | None,
    now: datetime,
) -> None:
    """Record the change in the activity log.

    Args:
        before: The masked key; None without one.
        after: The masked key; None without one.
    """
    project = load_projects(connection, [project_id]).get(project_id)
    if project is None:
        return
    differing = changed_fields(
        "Project", {"secret_key": before}, {"secret_key": after}, ["secret_key"]
    )
    record_project_change(connection, project, differing, user_id, now)
