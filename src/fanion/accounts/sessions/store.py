"""Sessions in the records store. The value of a cookie is stored as its hash."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

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

from fanion.accounts.model import (
    IDLE_MAX,
    LIFETIME_MAX,
    SESSIONS_PER_USER_MAX,
    USED_EVERY,
    Device,
    ListedSession,
    Method,
    Session,
    rights_of,
)
from fanion.accounts.users_store import require_current
from fanion.db.engine import Records
from fanion.db.schema.accounts import second_factors, sessions, sign_in_links
from fanion.db.schema.tables import memberships, organizations, users
from fanion.projects.auth.model import Principal
from fanion.projects.auth.personal_keys_store import OWNER_COLUMNS, read_owner

_session = sessions.c
_FOUND = (
    select(
        _session.hash,
        _session.id.label("session_id"),
        _session.rights,
        _session.last_used_at,
        _session.expires_at,
        _session.authenticated_at,
        _session.method,
        organizations.c.enforce_2fa,
        second_factors.c.confirmed_at,
        *OWNER_COLUMNS,
    )
    .select_from(sessions)
    .join(users, users.c.id == _session.user_id)
    .outerjoin(memberships, memberships.c.user_id == users.c.id)
    .outerjoin(organizations, organizations.c.id == memberships.c.organization_id)
    .outerjoin(second_factors, second_factors.c.user_id == users.c.id)
    .where(_session.hash.in_(bindparam("hashes", expanding=True)), users.c.is_active)
)
_LISTED = tuple(_session[name] for name in ListedSession.__dataclass_fields__)
_USED = (
    update(sessions)
    .where(_session.id == bindparam("session"), _session.last_used_at <= bindparam("before"))
    .values(last_used_at=bindparam("used"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """A session that is to be stored.

    Attributes:
        hashed: The hash of the cookie's value.
        password: The stored hash of the password that the user has just given; None for a sign-in
            by other means.
    """

    hashed: str
    user_id: int
    method: Method
    device: Device
    now: datetime
    password: str | None = None


@dataclass(frozen=True, slots=True)
class SessionStore:
    records: Records

    async def create_session(self, new: NewSession) -> list[str]:
        """Store a session, and return the hashes of those that ended because the user had too many.

        Raises:
            SessionEnded: The user was disabled or the password has changed meanwhile.
        """
        async with self.records.write() as connection:
            return await connection.run_sync(create_session, new)

    async def find_sessions(self, hashes: Sequence[str]) -> Mapping[str, Session]:
        """Return sessions by hash, expired ones included.

        Sessions of inactive users, and those whose owner's rights have changed, are left out.
        """
        rows: dict[str, Any] = {}
        levels: dict[str, dict[UUID, int]] = {}
        enforced: set[str] = set()
        for row in await self.records.fetch(_FOUND, {"hashes": hashes}):
            owner_levels = levels.setdefault(row.hash, {})
            if row.organization_id is not None:
                owner_levels[row.organization_id] = row.level
            if row.enforce_2fa:
                enforced.add(row.hash)
            rows[row.hash] = row
        return {
            hashed: _session_of(row, levels[hashed], is_enforced=hashed in enforced)
            for hashed, row in rows.items()
            if row.rights == rights_of(levels[hashed])
        }

    async def page(
        self, user_id: int, now: datetime, limit: int, offset: int
    ) -> tuple[list[ListedSession], int]:
        """Return one page of a user's sessions, last used first, and the number of all."""
        mine = (_session.user_id == user_id) & ~_has_ended(now)
        rows = (
            select(*_LISTED)
            .where(mine)
            .order_by(_session.last_used_at.desc(), _session.id)
            .limit(limit)
            .offset(offset)
        )
        async with self.records.read() as connection:
            count = await connection.scalar(select(func.count()).select_from(sessions).where(mine))
            page = await connection.execute(rows)
            return [ListedSession(**row._mapping) for row in page], count or 0

    async def delete_session(self, user_id: int, session_id: UUID) -> list[str]:
        """Delete a session and return its hash, or nothing if the user has no such session."""
        return await self._delete_sessions(
            (_session.user_id == user_id) & (_session.id == session_id)
        )

    async def delete_sessions(self, user_id: int, except_id: UUID | None = None) -> list[str]:
        """Delete the user's sessions and return their hashes.

        Args:
            except_id: A session that is kept.
        """
        which = _session.user_id == user_id
        return await self._delete_sessions(
            which if except_id is None else which & (_session.id != except_id)
        )

    async def renew_session(self, user_id: int, session_id: UUID, hashed: str) -> str | None:
        """Give a session another cookie, and return the former hash.

        Returns:
            None if the session has ended.
        """
        this = (_session.user_id == user_id) & (_session.id == session_id)
        async with self.records.write() as connection:
            locked = select(_session.hash).where(this).with_for_update()
            former: str | None = await connection.scalar(locked)
            await connection.execute(update(sessions).where(this).values(hash=hashed))
            return former

    async def delete_ended(self, now: datetime) -> None:
        """Delete sessions that have ended, and links that have expired."""
        async with self.records.write() as connection:
            await connection.execute(delete(sessions).where(_has_ended(now)))
            await connection.execute(delete(sign_in_links).where(sign_in_links.c.expires_at <= now))

    async def mark_used(self, used: Mapping[UUID, datetime]) -> None:
        if not used:
            return
        async with self.records.write() as connection:
            await connection.execute(
                _USED,
                [
                    {"session": session_id, "used": time, "before": time - USED_EVERY}
                    for session_id, time in used.items()
                ],
            )

    async def _delete_sessions(self, which: ColumnElement[bool]) -> list[str]:
        async with self.records.write() as connection:
            hashes = await connection.scalars(
                delete(sessions).where(which).returning(_session.hash)
            )
            return list(hashes)


def create_session(connection: Connection, new: NewSession) -> list[str]:
    """Store a session in the caller's transaction.

    Returns:
        The hashes of sessions that ended because the user had too many.

    Raises:
        SessionEnded: The user was disabled or the password has changed meanwhile.
    """
    require_current(connection, new.user_id, new.password)
    member = memberships.c
    memberships_of_user = select(member.organization_id, member.level).where(
        member.user_id == new.user_id
    )
    levels = {row.organization_id: row.level for row in connection.execute(memberships_of_user)}
    connection.execute(
        insert(sessions).values(
            id=uuid4(),
            hash=new.hashed,
            user_id=new.user_id,
            method=new.method,
            rights=rights_of(levels),
            user_agent=new.device.user_agent,
            address=new.device.address,
            created_at=new.now,
            last_used_at=new.now,
            expires_at=new.now + LIFETIME_MAX,
            authenticated_at=new.now,
        )
    )
    return _end_superfluous(connection, new)


def _end_superfluous(connection: Connection, new: NewSession) -> list[str]:
    kept = (
        select(_session.hash)
        .where(_session.user_id == new.user_id, _session.hash != new.hashed)
        .order_by(_session.last_used_at.desc(), _session.id)
        .limit(SESSIONS_PER_USER_MAX - 1)
    )
    which = (
        (_session.user_id == new.user_id)
        & (_session.hash != new.hashed)
        & _session.hash.not_in(list(connection.scalars(kept)))
    )
    return list(connection.scalars(delete(sessions).where(which).returning(_session.hash)))


def _has_ended(now: datetime) -> ColumnElement[bool]:
    return or_(_session.expires_at <= now, _session.last_used_at <= now - IDLE_MAX)


def _session_of(row: Any, levels: Mapping[UUID, int], *, is_enforced: bool) -> Session:
    """Build the session of a row.

    Args:
        is_enforced: Whether one of the organizations requires a second factor. It does not apply to
            a session by OpenID Connect, whose provider is responsible for its own factors.
    """
    has_none = row.method != "oidc" and row.confirmed_at is None
    principal = Principal(
        read_owner(row),
        None,
        None,
        None,
        levels,
        session_id=row.session_id,
        authenticated_at=row.authenticated_at,
        lacks_second_factor=is_enforced and has_none,
    )
    return Session(principal, row.last_used_at, row.expires_at)
