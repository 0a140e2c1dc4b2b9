"""Where attempts to sign in are counted: in memory, or, where other servers answer too, in a table
that they share."""

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
_Place = tuple[str, str, str]


class AttemptStore:
    """now: the time of day; clock: seconds that only go forward"""

    def __init__(
        self, records: Records, now: Callable[[], datetime], clock: Callable[[], float]
    ) -> None:
        self._records = records
        self._now = now
        self._memory = SignInAttempts(clock)
        self._is_shared = records.dialect != "sqlite"

    async def begin(self, account: str, address: str, claimed: str = "") -> Attempt:
        """As `SignInAttempts.begin`. raises: Throttled, RecordsUnavailable"""
        if not self._is_shared:
            return self._memory.begin(account, address, claimed)
        client = read_client(account, address, claimed)
        await self._require_turn(client)
        return await self._counted(
            _places(client), lambda attempts: attempts.begin(account, address, claimed)
        )

    async def withdraw(self, attempt: Attempt) -> None:
        """As `SignInAttempts.withdraw`. raises: RecordsUnavailable"""
        if not self._is_shared:
            return self._memory.withdraw(attempt)
        return await self._counted(
            set(attempt.counted), lambda attempts: attempts.withdraw(attempt)
        )

    async def succeeded(self, attempt: Attempt) -> None:
        """As `SignInAttempts.succeeded`. raises: RecordsUnavailable"""
        if not self._is_shared:
            return self._memory.succeeded(attempt)
        known = (_KNOWN_ADDRESS, attempt.account, attempt.network)
        return await self._counted(
            {known, *attempt.counted}, lambda attempts: attempts.succeeded(attempt)
        )

    async def _require_turn(self, client: Client) -> None:
        """Without a transaction: guesses at one account do not delay those who sign in to another.

        raises: Throttled
        """
        now = self._now().timestamp()
        rows = await self._records.fetch(_read(_places(client), now))
        _Loaded(rows, now).attempts.require_turn(client)

    async def _counted(
        self, places: Collection[_Place], work: Callable[[SignInAttempts], _T]
    ) -> _T:
        """One attempt after another, of all servers, by the rules of those in memory."""
        now = self._now().timestamp()
        async with self._records.write() as connection:
            await one_at_a_time(connection, "sign_in_attempts")
            loaded = _Loaded((await connection.execute(_read(places, now))).all(), now)
            result = work(loaded.attempts)
            await loaded.write(connection, places)
        return result


class _Loaded:
    """Rows of the table, as attempts in memory."""

    def __init__(self, rows: Sequence[Row[Any]], now: float) -> None:
        self._now = now
        self._failures: OrderedDict[Key, Failures] = OrderedDict()
        # True for those that have become known now.
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

    async def write(self, connection: AsyncConnection, places: Collection[_Place]) -> None:
        """In place of what there was; what has expired is deleted too."""
        old = _row.expires_at <= self._now
        here = tuple_(_row.kind, _row.account, _row.network).in_(places)
        await connection.execute(delete(sign_in_attempts).where(old | here))
        await connection.run_sync(put_rows, sign_in_attempts, _KEYS, _COLUMNS, self._rows())

    def _rows(self) -> list[tuple[Any, ...]]:
        until = self._known_until
        failures = [
            (*key, one.count, one.last_s, one.until_s, one.last_s + FORGOTTEN_S)
            for key, one in self._failures.items()
        ]
        known = [
            (_KNOWN_ADDRESS, *pair, 0, 0.0, 0.0, self._now + KNOWN_S if is_new else until[pair])
            for pair, is_new in self._known.items()
        ]
        return [*failures, *known]


def _places(client: Client) -> set[_Place]:
    """All that may count for or against an attempt."""
    both = {*client.keys(is_known=True), *client.keys(is_known=False)}
    return {(_KNOWN_ADDRESS, client.account, client.network), *both}


def _read(places: Collection[_Place], now: float) -> Any:
    here = tuple_(_row.kind, _row.account, _row.network).in_(places)
    return select(sign_in_attempts).where(here, _row.expires_at > now)
