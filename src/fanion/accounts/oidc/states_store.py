"""Unfinished sign-ins at the provider, in the records store."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, func, insert, select

from fanion.db.engine import Records
from fanion.db.schema.accounts import oidc_states
from fanion.projects.auth.keys import hash_key

STATE_LASTS = timedelta(minutes=10)
# Beyond that the oldest ones are deleted. Each has a path of at most 2,000 characters.
STATES_MAX = 10_000

_state = oidc_states.c


@dataclass(frozen=True, slots=True)
class BegunSignIn:
    """A sign-in at the provider that was begun.

    Attributes:
        return_path: The path of this server to which the browser comes back.
        user_id: The user who has to sign in again; None for any user.
    """

    return_path: str
    user_id: int | None = None


@dataclass(frozen=True, slots=True)
class StateStore:
    records: Records

    async def add_state(self, state: str, browser: str, begun: BegunSignIn, now: datetime) -> None:
        """Store an unfinished sign-in.

        Args:
            browser: The secret in the browser's cookie.
        """
        async with self.records.write() as connection:
            await connection.run_sync(_insert_state, state, browser, begun, now)

    async def consume_state(self, state: str, browser: str, now: datetime) -> BegunSignIn | None:
        """Remove and return an unfinished sign-in. Of concurrent requests only one gets it.

        Returns:
            None for a state that was taken, has expired, or belongs to another browser.
        """
        statement = delete(oidc_states).where(
            _state.hash == hash_key(state), _state.browser_hash == hash_key(browser)
        )
        columns = (_state.return_path, _state.user_id, _state.expires_at)
        async with self.records.write() as connection:
            row = (await connection.execute(statement.returning(*columns))).first()
        if row is None or row.expires_at <= now:
            return None
        return BegunSignIn(row.return_path, row.user_id)


def _insert_state(
    connection: Connection, state: str, browser: str, begun: BegunSignIn, now: datetime
) -> None:
    connection.execute(delete(oidc_states).where(_state.expires_at <= now))
    count = connection.scalar(select(func.count()).select_from(oidc_states)) or 0
    if count >= STATES_MAX:
        oldest = select(_state.hash).order_by(_state.expires_at).limit(count - STATES_MAX + 1)
        connection.execute(delete(oidc_states).where(_state.hash.in_(oldest)))
    connection.execute(
        insert(oidc_states).values(
            hash=hash_key(state),
            browser_hash=hash_key(browser),
            return_path=begun.return_path,
            user_id=begun.user_id,
            expires_at=now + STATE_LASTS,
        )
    )
