"""Changes of accounts in the records store.

Each change ends what depends on it: sessions, sign-ins that wait for a code, and unused links.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.exc import IntegrityError

from fanion.accounts.model import Purpose
from fanion.accounts.security_events_store import (
    SecurityActivity,
    SecurityEvent,
    record_security_event,
)
from fanion.db.engine import Records
from fanion.db.schema.accounts import pending_sign_ins, sessions, sign_in_links
from fanion.db.schema.tables import organizations, personal_api_keys, users
from fanion.errors import Invalid

# Links that set a password. A new password or address ends them.
PASSWORD_LINKS = (Purpose.FIRST_START, Purpose.RESET, Purpose.MAILED_RESET)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountChange:
    """A change of an account. Fields that are None stay as they are.

    Attributes:
        by_user: The user who makes the change, also by a link; None for the operator.
        details: Circumstances, for the activity log.
    """

    user_id: int
    now: datetime
    by_user: int | None
    first_name: str | None = None
    email: str | None = None
    current_project_id: int | None = None
    password_hash: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CredentialHashes:
    """The hashes of all keys and sessions that the account had before a change.

    The sessions end with a new password.
    """

    keys: Sequence[str]
    sessions: Sequence[str]


async def change_account(records: Records, change: AccountChange) -> CredentialHashes:
    """Write a change in its own transaction.

    Raises:
        Invalid: Another user has the e-mail address (code `unique`).
    """
    try:
        async with records.write() as connection:
            return await connection.run_sync(write_change, change)
    except IntegrityError:
        raise Invalid(
            "There is already a user with this e-mail address.", code="unique", attr="email"
        ) from None


def write_change(connection: Connection, change: AccountChange) -> CredentialHashes:
    """Write a change in the caller's transaction.

    Raises:
        IntegrityError: Another user has the e-mail address.
    """
    user_id = change.user_id
    of_user = users.c.id == user_id
    former = connection.execute(select(users.c.email).where(of_user)).scalar_one()
    if values := _columns(change):
        connection.execute(update(users).where(of_user).values(values))
    hashes = CredentialHashes(
        *(
            list(connection.scalars(select(table.c.hash).where(table.c.user_id == user_id)))
            for table in (personal_api_keys, sessions)
        )
    )
    if change.email is not None:
        _record_event(connection, change, "email_changed", former_email=former)
    if change.password_hash is not None:
        for table in (sessions, pending_sign_ins):
            connection.execute(delete(table).where(table.c.user_id == user_id))
        _record_event(connection, change, "password_changed")
    if change.email is not None or change.password_hash is not None:
        delete_password_links(connection, user_id)
    return hashes


def delete_password_links(connection: Connection, user_id: int) -> None:
    link = sign_in_links.c
    connection.execute(
        delete(sign_in_links).where(link.user_id == user_id, link.purpose.in_(PASSWORD_LINKS))
    )


async def organization_names(records: Records, ids: Sequence[Any]) -> list[tuple[Any, str]]:
    """Return the ids and names of these organizations, by name."""
    organization = organizations.c
    statement = select(organization.id, organization.name).where(organization.id.in_(ids))
    rows = await records.fetch(statement.order_by(organization.name, organization.id))
    return [(row.id, row.name) for row in rows]


def _columns(change: AccountChange) -> dict[str, Any]:
    named = {
        "first_name": change.first_name,
        "email": change.email,
        "current_project_id": change.current_project_id,
        "password_hash": change.password_hash,
    }
    values = {name: value for name, value in named.items() if value is not None}
    if change.email is not None:
        values["is_email_verified"] = False
        values["email_chosen_by_owner"] = change.by_user == change.user_id
    return values


def _record_event(
    connection: Connection, change: AccountChange, activity: SecurityActivity, **more: Any
) -> None:
    event = SecurityEvent(
        activity=activity,
        user_id=change.user_id,
        by_user=change.by_user,
        now=change.now,
        details={**more, **change.details},
    )
    record_security_event(connection, event)
