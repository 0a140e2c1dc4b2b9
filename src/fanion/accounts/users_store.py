"""The user columns that signing in needs, in the records store."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select

from fanion.db.engine import Records
from fanion.db.schema.tables import users
from fanion.errors import SessionEnded

_user = users.c
_COLUMNS = select(_user.id.label("user_id"), _user.email, _user.password_hash).where(
    _user.is_active
)
_BY_EMAIL = _COLUMNS.where(_user.email == bindparam("email"))
_BY_ID = _COLUMNS.where(_user.id == bindparam("user"))


@dataclass(frozen=True, slots=True)
class Account:
    """The credentials of an active user.

    Attributes:
        password_hash: Empty if no password was set.
    """

    user_id: int
    email: str
    password_hash: str


def _account(rows: Sequence[Any]) -> Account | None:
    return Account(**rows[0]._mapping) if rows else None


@dataclass(frozen=True, slots=True)
class AccountStore:
    """The accounts of active users."""

    records: Records

    async def by_email(self, email: str) -> Account | None:
        """Return the account with this address.

        Args:
            email: In lower case.
        """
        rows = await self.records.fetch(_BY_EMAIL, {"email": email})
        return _account(rows)

    async def by_id(self, user_id: int) -> Account | None:
        rows = await self.records.fetch(_BY_ID, {"user": user_id})
        return _account(rows)


def require_current(connection: Connection, user_id: int, password: str | None) -> None:
    """Raise SessionEnded if the user is inactive or the password has changed since it was read.

    Checking a password takes long, and meanwhile it may have been changed and all sessions ended.
    The row stays locked until the results of the check are stored, so that a later change ends
    them.

    Args:
        password: The stored hash that was checked; None for a sign-in by other means.
    """
    active = select(_user.password_hash).where(_user.id == user_id, _user.is_active)
    stored = connection.scalar(active.with_for_update(read=True))
    if stored is None or password not in (None, stored):
        raise SessionEnded
