"""Argon2 in its own threads, so that guesses take neither all memory nor all processors."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from fanion.accounts.passwords.rules import check_password
from fanion.errors import Unavailable

# Each hash takes 64 MiB and some 50 ms of a processor.
HASHES_AT_ONCE_MAX = 2
# Further requests are answered 503: they would wait for seconds.
HASHES_WAITING_MAX = 64

T = TypeVar("T")


class PasswordHashing:
    """Hashing and checking of passwords in a limited number of threads.

    Args:
        hasher: Hashes new passwords; by default as the library recommends.
    """

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._threads = ThreadPoolExecutor(HASHES_AT_ONCE_MAX, thread_name_prefix="passwords")
        self._running: set[Future[Any]] = set()
        # No password has this hash. It is compared if an account has none, at the same cost.
        own_hasher = self._hasher
        cost = f"m={own_hasher.memory_cost},t={own_hasher.time_cost},p={own_hasher.parallelism}"
        self._no_password = f"$argon2id$v=19${cost}${'A' * 22}${'A' * 43}"

    async def hash_new(self, password: str, email: str = "", attr: str = "password") -> str:
        """Check and hash a password that a user has chosen.

        Args:
            email: The address of the account, which must not be its password.
            attr: The name of the field, for errors.

        Raises:
            Invalid: The password is too short, too long or too common.
            Unavailable: Too many passwords are being checked.
        """

        def check_and_hash() -> str:
            check_password(password, email, attr)
            return self._hasher.hash(password)

        return await self._run(check_and_hash)

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Return whether the password has this hash.

        Args:
            password_hash: None or empty for an account that does not exist or has no password. The
                check then takes as long as any other.

        Raises:
            Unavailable: Too many passwords are being checked.
        """

        def matches() -> bool:
            try:
                self._hasher.verify(password_hash or self._no_password, password)
            except (InvalidHashError, VerificationError):
                return False
            return bool(password_hash)

        return await self._run(matches)

    async def _run(self, work: Callable[[], T]) -> T:
        if len(self._running) >= HASHES_AT_ONCE_MAX + HASHES_WAITING_MAX:
            raise Unavailable("Too many passwords are being checked. Please retry.")
        running = self._threads.submit(work)
        # If the client disconnects, a running thread goes on to its end, and counts until then.
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return await asyncio.wrap_future(running)
