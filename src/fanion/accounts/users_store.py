"""What signing in needs of a user, in the records store."""

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
    """password_hash: empty where no password was set"""

    user_id: int
    email: str
    password_hash: str


def _account(rows: Sequence[Any]) -> Account | None:
    """rows: one at most"""
    return Account(**rows[0]._mapping) if rows else None


@dataclass(frozen=True, slots=True)
class AccountStore:
    """Active users only."""

    records: Records

    async def by_email(self, email: str) -> Account | None:
        """email: in lower case"""
        rows = await self.records.fetch(_BY_EMAIL, {"email": email})
        return _account(rows)

    async def by_id(self, user_id: int) -> Account | None:
        rows = await self.records.fetch(_BY_ID, {"user": user_id})
        return _account(rows)


def require_current(connection: Connection, user_id: int, password: str | None) -> None:
    """To check a password takes long: it may have been changed, with all sessions ended, since it
    was read. The lock is until what follows from it is stored, which a later change then ends.

    password: the stored hash that was checked; None for a sign-in by other means
    raises:   SessionEnded, for an inactive user too
    """
    active = select(_user.password_hash).where(_user.id == user_id, _user.is_active)
    stored = connection.scalar(active.with_for_update(read=True))
    if stored is None or password not in (None, stored):
        raise SessionEnded
