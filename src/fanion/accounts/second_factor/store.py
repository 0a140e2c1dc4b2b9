"""Second factors of users, and sign-ins that wait for one, in the records store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from fanion.accounts.model import Method
from fanion.accounts.second_factor.codes import (
    hash_recovery_code,
    is_recovery_code,
    is_totp_code,
    matching_step,
    plain_code,
    wait_s,
)
from fanion.accounts.security_events_store import (
    SecurityActivity,
    SecurityEvent,
    record_security_event,
)
from fanion.accounts.users_store import require_current
from fanion.db.engine import Records
from fanion.db.schema.accounts import pending_sign_ins, recovery_codes, second_factors
from fanion.db.schema.tables import memberships, organizations, users
from fanion.projects.auth.keys import hash_key

# From the creation of the secret to the code that confirms it.
SETUP_LASTS = timedelta(minutes=15)
# From the password to the code.
PENDING_LASTS = timedelta(minutes=10)
PENDING_PER_USER_MAX = 5
ATTEMPTS_MAX = 10  # wrong codes of one sign-in; then the password is needed again

_factor, _recovery, _pending = second_factors.c, recovery_codes.c, pending_sign_ins.c
_organization = organizations.c


@dataclass(frozen=True, slots=True)
class SecondFactorStatus:
    """The second factor of a user.

    Attributes:
        confirmed_at: None if the user has no second factor.
        recovery_codes: The number of unused recovery codes.
    """

    confirmed_at: datetime | None
    recovery_codes: int


@dataclass(frozen=True, slots=True)
class CheckedCode:
    """The result of checking a code.

    Attributes:
        wait_s: More than 0 for a code that was not checked, because of earlier wrong codes.
        by_recovery_code: Whether a recovery code has been used up.
    """

    is_valid: bool
    wait_s: int = 0
    by_recovery_code: bool = False


@dataclass(frozen=True, slots=True)
class CheckedSignIn:
    """The result of completing a sign-in with a code.

    Attributes:
        user_id: None if no sign-in waits under the token.
        method: The method of the first factor.
        password: The password hash that was stored while the sign-in waited. A new password ends
            the wait.
    """

    user_id: int | None
    method: Method = "password"
    code: CheckedCode = CheckedCode(False)
    password: str | None = None


@dataclass(frozen=True, slots=True)
class SecondFactorStore:
    """Second factors, and sign-ins that wait for a code.

    Wrong codes are counted, and used codes consumed, in the transaction that checks them, so that
    concurrent requests and servers cannot exceed the limits.
    """

    records: Records

    async def status(self, user_id: int) -> SecondFactorStatus:
        codes = select(func.count()).where(_recovery.user_id == user_id).scalar_subquery()
        rows = await self.records.fetch(
            select(_factor.confirmed_at, codes.label("codes")).where(_factor.user_id == user_id)
        )
        if not rows:
            return SecondFactorStatus(None, 0)
        return SecondFactorStatus(rows[0].confirmed_at, rows[0].codes)

    async def is_enabled(self, user_id: int) -> bool:
        return (await self.status(user_id)).confirmed_at is not None

    async def begin_setup(self, user_id: int, secret: str, now: datetime) -> datetime:
        """Store a secret until a code confirms it, and return when it expires."""
        async with self.records.write() as connection:
            return await connection.run_sync(_begin_setup, user_id, secret, now)

    async def confirm(
        self, user_id: int, code: str, new: Sequence[str], now: datetime, address: str = ""
    ) -> bool:
        """Make the secret that is being set up the second factor, if the code belongs to it.

        A former second factor is replaced.

        Args:
            new: Recovery codes, which replace former ones.
            address: The client's address, for the activity log.

        Returns:
            Whether the code is valid.
        """
        async with self.records.write() as connection:
            return await connection.run_sync(_confirm_setup, user_id, code, new, now, address)

    async def replace_recovery_codes(
        self, user_id: int, new: Sequence[str], now: datetime, address: str = ""
    ) -> bool:
        """Replace the recovery codes. Return False for a user without a second factor."""
        async with self.records.write() as connection:
            return await connection.run_sync(_replace_codes_and_record, user_id, new, now, address)

    async def remove(
        self, user_id: int, by_user: int | None, now: datetime, address: str = ""
    ) -> bool:
        """Remove the second factor with its recovery codes. Return False if there is none.

        Args:
            by_user: None for the operator.
        """
        async with self.records.write() as connection:
            return await connection.run_sync(_remove_factor, user_id, by_user, now, address)

    async def is_required(self, user_id: int) -> bool:
        """Return whether an organization of the user requires a second factor."""
        rows = await self.records.fetch(
            select(_organization.id)
            .join(memberships, memberships.c.organization_id == _organization.id)
            .where(memberships.c.user_id == user_id, _organization.enforce_2fa)
            .limit(1)
        )
        return bool(rows)

    async def check(self, user_id: int, code: str, now: datetime, address: str = "") -> CheckedCode:
        """Check a code of a user who is signed in, and use it up.

        Args:
            address: The client's address, for the activity log.
        """
        async with self.records.write() as connection:
            return await connection.run_sync(_check_code_and_record, user_id, code, now, address)

    async def wait_for_code(
        self, user_id: int, token: str, method: Method, now: datetime, password: str | None = None
    ) -> None:
        """Store a sign-in whose first factor is accepted. A code completes it with this token.

        Args:
            password: The stored hash that was checked; None for a sign-in by other means.

        Raises:
            SessionEnded: The password has changed meanwhile, or the user is inactive.
        """
        async with self.records.write() as connection:
            await connection.run_sync(require_current, user_id, password)
            await connection.run_sync(_insert_pending_sign_in, user_id, token, method, now)

    async def waiting(self, token: str, now: datetime) -> int | None:
        """Return the user whose sign-in waits under this token."""
        rows = await self.records.fetch(
            select(_pending.user_id).where(
                _pending.hash == hash_key(token), _pending.expires_at > now
            )
        )
        return rows[0].user_id if rows else None

    async def complete(
        self, token: str, code: str, now: datetime, address: str = ""
    ) -> CheckedSignIn:
        """Check the code of a waiting sign-in. A valid code ends the wait.

        Of several concurrent requests only one succeeds.
        """
        async with self.records.write() as connection:
            return await connection.run_sync(_complete_sign_in, token, code, now, address)


def _remove_factor(
    connection: Connection, user_id: int, by_user: int | None, now: datetime, address: str
) -> bool:
    if not remove_second_factor(connection, user_id):
        return False
    _record_event(connection, "second_factor_removed", user_id, by_user, now, address)
    return True


def remove_second_factor(connection: Connection, user_id: int) -> bool:
    """Remove the second factor, and sign-ins that wait for its codes.

    Returns:
        False if there was no confirmed second factor.
    """
    _lock_factor(connection, user_id)
    connection.execute(delete(pending_sign_ins).where(_pending.user_id == user_id))
    connection.execute(delete(recovery_codes).where(_recovery.user_id == user_id))
    deletion = (
        delete(second_factors).where(_factor.user_id == user_id).returning(_factor.confirmed_at)
    )
    confirmed = connection.execute(deletion).first()
    return confirmed is not None and confirmed.confirmed_at is not None


def _lock_factor(connection: Connection, user_id: int) -> Row[Any] | None:
    statement = select(second_factors).where(_factor.user_id == user_id)
    return connection.execute(statement.with_for_update()).first()


def _begin_setup(connection: Connection, user_id: int, secret: str, now: datetime) -> datetime:
    # The factor's row may not exist yet, so concurrent requests wait for the user's row.
    connection.execute(select(users.c.id).where(users.c.id == user_id).with_for_update())
    until = now + SETUP_LASTS
    pending = {"pending_secret": secret, "pending_until": until}
    if _lock_factor(connection, user_id) is None:
        connection.execute(
            insert(second_factors).values(user_id=user_id, last_step=0, failures=0, **pending)
        )
    else:
        connection.execute(
            update(second_factors).where(_factor.user_id == user_id).values(**pending)
        )
    return until


def _confirm_setup(
    connection: Connection,
    user_id: int,
    code: str,
    new: Sequence[str],
    now: datetime,
    address: str,
) -> bool:
    row = _lock_factor(connection, user_id)
    if row is None or row.pending_secret is None or row.pending_until <= now:
        return False
    step = matching_step(row.pending_secret, plain_code(code), now, after=0)
    if step is None:
        return False
    connection.execute(
        update(second_factors)
        .where(_factor.user_id == user_id)
        .values(
            secret=row.pending_secret,
            confirmed_at=now,
            last_step=step,
            failures=0,
            failed_at=None,
            pending_secret=None,
            pending_until=None,
        )
    )
    connection.execute(delete(pending_sign_ins).where(_pending.user_id == user_id))
    _replace_codes(connection, user_id, new)
    _record_event(connection, "second_factor_added", user_id, user_id, now, address)
    return True


def _replace_codes_and_record(
    connection: Connection, user_id: int, new: Sequence[str], now: datetime, address: str
) -> bool:
    row = _lock_factor(connection, user_id)
    if row is None or row.secret is None:
        return False
    _replace_codes(connection, user_id, new)
    _record_event(connection, "recovery_codes_replaced", user_id, user_id, now, address)
    return True


def _replace_codes(connection: Connection, user_id: int, new: Sequence[str]) -> None:
    connection.execute(delete(recovery_codes).where(_recovery.user_id == user_id))
    rows = [{"user_id": user_id, "hash": hash_recovery_code(plain_code(code))} for code in new]
    connection.execute(insert(recovery_codes), rows)


def _check_code_and_record(
    connection: Connection, user_id: int, code: str, now: datetime, address: str
) -> CheckedCode:
    checked = _check_code(connection, user_id, code, now)
    if checked.by_recovery_code:
        _record_event(connection, "recovery_code_used", user_id, user_id, now, address)
    return checked


def _check_code(connection: Connection, user_id: int, text: str, now: datetime) -> CheckedCode:
    """Check a code, with a delay only for codes that can be guessed.

    A user who has to wait because of a stranger's guesses can sign in with a recovery code.
    """
    row, code = _lock_factor(connection, user_id), plain_code(text)
    if row is None or row.secret is None:
        return CheckedCode(False)
    if is_recovery_code(code):
        return _use_recovery_code(connection, user_id, code)
    if not is_totp_code(code):
        return CheckedCode(False)
    wait = wait_s(row.failures, row.failed_at, now)
    if wait:
        return CheckedCode(False, wait)
    step = matching_step(row.secret, code, now, row.last_step)
    values: dict[str, Any] = (
        {"failures": row.failures + 1, "failed_at": now}
        if step is None
        else {"failures": 0, "failed_at": None, "last_step": step}
    )
    connection.execute(update(second_factors).where(_factor.user_id == user_id).values(**values))
    return CheckedCode(step is not None)


def _use_recovery_code(connection: Connection, user_id: int, code: str) -> CheckedCode:
    used = connection.execute(
        delete(recovery_codes).where(
            _recovery.user_id == user_id, _recovery.hash == hash_recovery_code(code)
        )
    )
    is_valid = bool(used.rowcount)
    return CheckedCode(is_valid, by_recovery_code=is_valid)


def _insert_pending_sign_in(
    connection: Connection, user_id: int, token: str, method: str, now: datetime
) -> None:
    connection.execute(delete(pending_sign_ins).where(_pending.expires_at <= now))
    newest = (
        select(_pending.hash)
        .where(_pending.user_id == user_id)
        .order_by(_pending.created_at.desc(), _pending.hash)
        .limit(PENDING_PER_USER_MAX - 1)
    )
    kept = list(connection.scalars(newest))
    connection.execute(
        delete(pending_sign_ins).where(_pending.user_id == user_id, _pending.hash.not_in(kept))
    )
    connection.execute(
        insert(pending_sign_ins).values(
            hash=hash_key(token),
            user_id=user_id,
            method=method,
            attempts=0,
            created_at=now,
            expires_at=now + PENDING_LASTS,
        )
    )


def _complete_sign_in(
    connection: Connection, token: str, code: str, now: datetime, address: str
) -> CheckedSignIn:
    this = _pending.hash == hash_key(token)
    user_id = connection.scalar(select(_pending.user_id).where(this))
    if user_id is None:
        return CheckedSignIn(None)
    # A new password ends the wait, so while it lasts, this is the password that was given.
    password = _password_hash(connection, user_id)
    # Whatever else ends a wait locks the factor first, so the next reads stay true until commit.
    _lock_factor(connection, user_id)
    waiting = connection.execute(select(pending_sign_ins).where(this)).first()
    if waiting is None or waiting.expires_at <= now or password is None:
        return CheckedSignIn(None)
    checked, attempts = _check_code(connection, user_id, code, now), waiting.attempts + 1
    if checked.is_valid or (attempts >= ATTEMPTS_MAX and not checked.wait_s):
        connection.execute(delete(pending_sign_ins).where(this))
        if checked.by_recovery_code:
            _record_event(connection, "recovery_code_used", user_id, user_id, now, address)
    elif not checked.wait_s:
        connection.execute(update(pending_sign_ins).where(this).values(attempts=attempts))
    return CheckedSignIn(user_id, waiting.method, checked, password)


def _record_event(
    connection: Connection,
    activity: SecurityActivity,
    user_id: int,
    by_user: int | None,
    now: datetime,
    address: str,
) -> None:
    details = {"address": address} if address else {}
    event = SecurityEvent(
        activity=activity, user_id=user_id, by_user=by_user, now=now, details=details
    )
    record_security_event(connection, event)


def _password_hash(connection: Connection, user_id: int) -> str | None:
    """Return the stored hash, which is empty without a password; None for an inactive user."""
    active = select(users.c.password_hash).where(users.c.id == user_id, users.c.is_active)
    password_hash: str | None = connection.scalar(active)
    return password_hash
