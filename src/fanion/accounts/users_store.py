"""What signing in needs of a user, in the records store."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select

from fanion.db.engine import Records
from fanion.db.schema.tables import users

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
