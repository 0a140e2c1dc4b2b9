"""Counts of attempts to sign in: in memory on SQLite, in a shared table on PostgreSQL."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

from sqlalchemy import Row, delete, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.accounts.attempts_cache import (
    FORGOTTEN_S,
    KNOWN_S,
    Attempt,
    Client,
    Failures,
    Key,
    SignInAttempts,
    read_client,
)
from fanion.db.bulk import put_rows
from fanion.db.engine import Records
from fanion.db.lease import one_at_a_time
from fanion.db.schema.servers import sign_in_attempts

_KNOWN_ADDRESS: Final = "known address"
_KEYS: Final = ("kind", "account", "network")
_COLUMNS: Final = ("failures", "last_at", "until_at", "expires_at")

_row = sign_in_attempts.c
_T = TypeVar("_T")
_RowKey = tuple[str, str, str]


class AttemptStore:
    """Attempts to sign in, counted across all servers that share the records store.

    Args:
        now: Returns the time of day.
        clock: Monotonic clock, in seconds.
    """

    def __init__(
        self, records: Records, now: Callable[[], datetime], clock: Callable[[], float]
    ) -> None:
        self._records = records
        self._now = now
        self._memory = SignInAttempts(clock)
        self._is_shared = records.dialect != "sqlite"

    async def begin(self, account: str, address: str, claimed: str = "") -> Attempt:
        """Admit an attempt, which counts as a failure until it succeeds or is withdrawn.

        Args:
            account: The e-mail address that was sent, known or not, or `code` and a user id.
            address: The client's address; "" if it is unknown.
            claimed: The address that an untrusted peer forwards for its client; "" for none.

        Raises:
            Throttled: The client has to wait.
            RecordsUnavailable: The records store does not answer.
        """
        if not self._is_shared:
            return self._memory.begin(account, address, claimed)
        client = read_client(account, address, claimed)
        await self._require_turn(client)
        return await self._apply(
            _row_keys(client), lambda attempts: attempts.begin(account, address, claimed)
        )

    async def withdraw(self, attempt: Attempt) -> None:
        """Uncount an attempt whose password was not checked.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        if not self._is_shared:
            return self._memory.withdraw(attempt)
        return await self._apply(set(attempt.counted), lambda attempts: attempts.withdraw(attempt))

    async def succeeded(self, attempt: Attempt) -> None:
        """Forgive the account its earlier failures, and uncount this attempt for the address.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        if not self._is_shared:
            return self._memory.succeeded(attempt)
        known = (_KNOWN_ADDRESS, attempt.account, attempt.network)
        return await self._apply(
            {known, *attempt.counted}, lambda attempts: attempts.succeeded(attempt)
        )

    async def _require_turn(self, client: Client) -> None:
        """Raise Throttled if the client has to wait.

        This needs no transaction, so guesses at one account do not delay sign-ins to another.
        """
        now = self._now().timestamp()
        rows = await self._records.fetch(_select_rows(_row_keys(client), now))
        _LoadedAttempts(rows, now).attempts.require_turn(client)

    async def _apply(
        self, row_keys: Collection[_RowKey], work: Callable[[SignInAttempts], _T]
    ) -> _T:
        """Apply `work` to the stored counts, one attempt of all servers after another."""
        now = self._now().timestamp()
        async with self._records.write() as connection:
            await one_at_a_time(connection, "sign_in_attempts")
            loaded = _LoadedAttempts(
                (await connection.execute(_select_rows(row_keys, now))).all(), now
            )
            result = work(loaded.attempts)
            await loaded.write(connection, row_keys)
        return result


class _LoadedAttempts:
    """Rows of the table, as attempts in memory."""

    def __init__(self, rows: Sequence[Row[Any]], now: float) -> None:
        self._now = now
        self._failures: OrderedDict[Key, Failures] = OrderedDict()
        # True for addresses that have become known in this transaction.
        self._known: dict[tuple[str, str], bool] = {}
        self._known_until: dict[tuple[str, str], float] = {}
        for row in rows:
            if row.kind == _KNOWN_ADDRESS:
                self._known[row.account, row.network] = False
                self._known_until[row.account, row.network] = row.expires_at
            else:
                key: Key = (row.kind, row.account, row.network)
                self._failures[key] = Failures(row.failures, row.last_at, row.until_at)
        self.attempts = SignInAttempts(lambda: now, self._failures, self._known)

    async def write(self, connection: AsyncConnection, row_keys: Collection[_RowKey]) -> None:
        """Replace the stored rows of these keys, and delete all expired rows."""
        old = _row.expires_at <= self._now
        here = tuple_(_row.kind, _row.account, _row.network).in_(row_keys)
        await connection.execute(delete(sign_in_attempts).where(old | here))
        await connection.run_sync(put_rows, sign_in_attempts, _KEYS, _COLUMNS, self._rows())

    def _rows(self) -> list[tuple[Any, ...]]:
        until = self._known_until
        failures = [
            (*key, failed.count, failed.last_s, failed.until_s, failed.last_s + FORGOTTEN_S)
            for key, failed in self._failures.items()
        ]
        known = [
            (_KNOWN_ADDRESS, *pair, 0, 0.0, 0.0, self._now + KNOWN_S if is_new else until[pair])
            for pair, is_new in self._known.items()
        ]
        return [*failures, *known]


def _row_keys(client: Client) -> set[_RowKey]:
    """Return the keys of all rows that may count for or against an attempt."""
    both = {*client.keys(is_known=True), *client.keys(is_known=False)}
    return {(_KNOWN_ADDRESS, client.account, client.network), *both}


def _select_rows(row_keys: Collection[_RowKey], now: float) -> Any:
    here = tuple_(_row.kind, _row.account, _row.network).in_(row_keys)
    return select(sign_in_attempts).where(here, _row.expires_at > now)
