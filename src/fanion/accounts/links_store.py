"""One-time sign-in links. Each holds a random token, whose hash is stored."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from fanion.accounts.model import SESSION_BYTES, Purpose
from fanion.db.engine import Records
from fanion.db.schema.accounts import sign_in_links
from fanion.projects.auth.keys import KEY_CHARS_MAX, hash_key

# For each purpose. A new link replaces the oldest.
LINKS_PER_USER_MAX = 5
# Links for a new password work alike, whether printed or mailed.
RESETS = (Purpose.RESET, Purpose.MAILED_RESET)

_link = sign_in_links.c


@dataclass(frozen=True, slots=True)
class LinkStore:
    records: Records

    async def create_link(
        self, purpose: Purpose, user_id: int, now: datetime, lasts: timedelta
    ) -> str:
        """Create a link and return its token, which cannot be read later."""
        async with self.records.write() as connection:
            return await connection.run_sync(create_link, purpose, user_id, now, lasts)

    async def find_user(self, token: str, purpose: Purpose, now: datetime) -> int | None:
        """Return the user of a link that can still be used, without using it up."""
        if len(token) > KEY_CHARS_MAX:
            return None
        rows = await self.records.fetch(
            select(_link.user_id).where(_is_usable(token, purpose, now))
        )
        return rows[0].user_id if rows else None

    async def consume_link(self, token: str, purpose: Purpose, now: datetime) -> int | None:
        """Use a link up and return its user. Of several concurrent requests, one gets the user.

        Returns:
            None for a link that is unknown, used or expired, or has another purpose.
        """
        async with self.records.write() as connection:
            link = await connection.run_sync(consume_link, token, purpose, now)
        return None if link is None else link.user_id


def create_link(
    connection: Connection, purpose: Purpose, user_id: int, now: datetime, lasts: timedelta
) -> str:
    """Create a link in the caller's transaction, and return its token."""
    token = secrets.token_urlsafe(SESSION_BYTES)
    mine = (_link.user_id == user_id) & (_link.purpose == purpose)
    newest_first = select(_link.id).where(mine).order_by(_link.created_at.desc(), _link.id)
    superfluous = list(connection.scalars(newest_first))[LINKS_PER_USER_MAX - 1 :]
    connection.execute(delete(sign_in_links).where(_link.id.in_(superfluous)))
    connection.execute(
        insert(sign_in_links).values(
            id=uuid4(),
            hash=hash_key(token),
            purpose=purpose,
            user_id=user_id,
            created_at=now,
            expires_at=now + lasts,
        )
    )
    return token


class ConsumedLink(NamedTuple):
    user_id: int
    purpose: Purpose


def consume_link(
    connection: Connection, token: str, purpose: Purpose, now: datetime
) -> ConsumedLink | None:
    """Use a link up in the caller's transaction, which undoes it if it fails.

    Returns:
        None for a link that is unknown, used or expired, or has another purpose.
    """
    if len(token) > KEY_CHARS_MAX:
        return None
    used = delete(sign_in_links).where(_is_usable(token, purpose, now))
    row = connection.execute(used.returning(_link.user_id, _link.purpose)).one_or_none()
    return None if row is None else ConsumedLink(row.user_id, Purpose(row.purpose))


def _is_usable(token: str, purpose: Purpose, now: datetime) -> ColumnElement[bool]:
    purposes = RESETS if purpose in RESETS else (purpose,)
    return (_link.hash == hash_key(token)) & _link.purpose.in_(purposes) & (_link.expires_at > now)
