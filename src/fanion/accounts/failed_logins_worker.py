"""Failed attempts to sign in, written to the activity log as one entry for many.

Strangers cause these failures, and must not be able to fill the log.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
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


class FailedLogins:
    """A background worker that collects failures by account and writes their entries.

    Args:
        now: Returns the time of day.
        clock: Monotonic clock, in seconds.
    """

    def __init__(
        self,
        records: Records,
        now: Callable[[], datetime],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._records = records
        self._now = now
        self._clock = clock
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
        failures.attempts += 1
        if address and len(failures.addresses) < ADDRESSES_MAX:
            failures.addresses[address] = None
        while len(self._accounts) > ACCOUNTS_MAX:
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
        counted = {user_id: self._accounts[user_id].attempts for user_id in part}
        if part:
            events = [self._event(user_id, now) for user_id in part]
            await write_security_events(self._records, *events)
        for user_id, attempts in counted.items():
            self._note_written(user_id, attempts, now_s)
        self._forget_old(now_s)
        return len(due) > len(part)

    def _event(self, user_id: int, now: datetime) -> SecurityEvent:
        failures = self._accounts[user_id]
        details = {"attempts": failures.attempts, "addresses": list(failures.addresses)}
        return SecurityEvent(
            activity="login_failed", user_id=user_id, by_user=None, now=now, details=details
        )

    def _note_written(self, user_id: int, attempts: int, now_s: float) -> None:
        failures = self._accounts.get(user_id)
        if failures is not None:  # failures counted meanwhile stay for the next entry
            failures.attempts -= attempts
            failures.addresses.clear()
            failures.written_s = now_s

    def _forget_old(self, now_s: float) -> None:
        old = [
            user_id
            for user_id, failures in self._accounts.items()
            if not failures.attempts and _is_due(failures, now_s)
        ]
        for user_id in old:
            del self._accounts[user_id]


def _is_due(failures: _Failures, now_s: float) -> bool:
    return failures.written_s is None or now_s - failures.written_s >= ENTRY_EVERY_S
