"""Failed attempts to sign in, written to the activity log as one entry for many.

Strangers cause these failures, and must not be able to fill the log.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Never

from fanion.accounts.security_events_store import SecurityEvent, write_security_events
from fanion.db.engine import Records, RecordsUnavailable
from fanion.runtime.background import run_loop

WRITE_S = 60.0  # at most, from the first failure to its entry
ENTRY_EVERY_S = 3600.0  # between two entries of one account
ACCOUNTS_MAX = 10_000  # 5 MB; beyond that, the account whose last failure is oldest is forgotten
ADDRESSES_MAX = 5  # an entry names no more
WRITTEN_AT_ONCE_MAX = 100  # entries per transaction


@dataclass(slots=True)
class _Failures:
    """The failures of one account since its last entry.

    Attributes:
        written_s: The time of the last entry; None if there is none yet.
    """

    attempts: int = 0
    addresses: dict[str, None] = field(default_factory=dict)
    written_s: float | None = None

    def add(self, attempts: int, addresses: Iterable[str]) -> None:
        self.attempts += attempts
        for address in addresses:
            if len(self.addresses) < ADDRESSES_MAX:
                self.addresses[address] = None

    def take(self) -> "_Failures":
        """Move the failures to a new object, so that later ones are for the next entry."""
        taken = _Failures(self.attempts, self.addresses, self.written_s)
        self.attempts, self.addresses = 0, {}
        return taken

    def put_back(self, taken: "_Failures") -> None:
        """Restore failures whose entry was not written, before those that were counted since."""
        later, self.addresses = self.addresses, taken.addresses
        self.add(taken.attempts, later)


class FailedLogins:
    """A background worker that collects failures by account and writes their entries.

    Args:
        now: Returns the time of day.
        clock: Monotonic clock, in seconds.
        accounts_max: The most accounts whose failures are kept.
    """

    def __init__(
        self,
        records: Records,
        now: Callable[[], datetime],
        clock: Callable[[], float] = time.monotonic,
        accounts_max: int = ACCOUNTS_MAX,
    ) -> None:
        self._records = records
        self._now = now
        self._clock = clock
        self._accounts_max = accounts_max
        self._accounts: OrderedDict[int, _Failures] = OrderedDict()

    def __len__(self) -> int:
        return len(self._accounts)

    def count_failure(self, user_id: int, address: str) -> None:
        """Count a wrong password or code for an account.

        Args:
            address: The client's address; "" if it is unknown.
        """
        failures = self._accounts.setdefault(user_id, _Failures())
        self._accounts.move_to_end(user_id)
        failures.add(1, [address] if address else [])
        while len(self._accounts) > self._accounts_max:
            self._accounts.popitem(last=False)

    async def run(self) -> Never:
        await run_loop(
            self.write_due,
            WRITE_S,
            "failed_logins_not_written",
            (RecordsUnavailable,),
            initial_delay_s=WRITE_S,
        )

    async def write_due(self) -> bool:
        """Write the entries that are due, and return whether more are due.

        Raises:
            RecordsUnavailable: The records store does not answer. The next call writes the entries.
        """
        now_s, now = self._clock(), self._now()
        due = [
            user_id
            for user_id, failures in self._accounts.items()
            if failures.attempts and _is_due(failures, now_s)
        ]
        part = due[:WRITTEN_AT_ONCE_MAX]
        if part:
            await self._write_entries(part, now)
        for user_id in part:
            if user_id in self._accounts:  # not forgotten meanwhile
                self._accounts[user_id].written_s = now_s
        self._forget_old(now_s)
        return len(due) > len(part)

    async def _write_entries(self, user_ids: Sequence[int], now: datetime) -> None:
        taken = {user_id: self._accounts[user_id].take() for user_id in user_ids}
        events = [_event_of(user_id, failures, now) for user_id, failures in taken.items()]
        try:
            await write_security_events(self._records, *events)
        except BaseException:
            for user_id, failures in taken.items():
                if user_id in self._accounts:
                    self._accounts[user_id].put_back(failures)
            raise

    def _forget_old(self, now_s: float) -> None:
        old = [
            user_id
            for user_id, failures in self._accounts.items()
            if not failures.attempts and _is_due(failures, now_s)
        ]
        for user_id in old:
            del self._accounts[user_id]


def _event_of(user_id: int, failures: _Failures, now: datetime) -> SecurityEvent:
    details = {"attempts": failures.attempts, "addresses": list(failures.addresses)}
    return SecurityEvent(
        activity="login_failed", user_id=user_id, by_user=None, now=now, details=details
    )


def _is_due(failures: _Failures, now_s: float) -> bool:
    return failures.written_s is None or now_s - failures.written_s >= ENTRY_EVERY_S
