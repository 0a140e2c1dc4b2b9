"""Rules for new passwords, and their hashes."""

import asyncio
import threading
from typing import Literal

import pytest
from argon2 import PasswordHasher

from fanion.accounts.passwords.hashing_service import (
    HASHES_AT_ONCE_MAX,
    HASHES_WAITING_MAX,
    PasswordHashing,
)
from fanion.accounts.passwords.rules import PASSWORD_CHARS_MAX, check_password
from fanion.errors import Invalid, Unavailable
from tests.support.management import QUICK_HASHER

EMAIL = "ada.lovelace@example.com"


@pytest.mark.parametrize(
    "password", ["correct horse battery", "ÄÖÜäöüßßßßßß", "            .", "x y" * 85, "🔑🗝️" * 4]
)
def test_any_composition_is_accepted(password: str) -> None:
    check_password(password, EMAIL)


@pytest.mark.parametrize(
    ("password", "code"),
    [
        ("", "password_too_short"),
        ("elevenchars", "password_too_short"),
        ("x y" * PASSWORD_CHARS_MAX, "max_length"),
        ("qwerty123456", "password_too_common"),
        ("QWERTY123456", "password_too_common"),
        ("1qaz2wsx3edc", "password_too_common"),
        ("aaaaaaaaaaaaaaaa", "password_too_common"),
        (EMAIL.upper(), "password_too_similar"),
    ],
)
def test_what_is_guessed_first_is_refused(password: str, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_password(password, EMAIL, attr="new_password")

    assert (refused.value.code, refused.value.attr) == (code, "new_password")


async def test_a_new_password_is_checked_and_matches_its_hash() -> None:
    passwords = PasswordHashing(QUICK_HASHER)

    hashed = await passwords.hash_new("correct horse battery", EMAIL)

    assert await passwords.verify(hashed, "correct horse battery")
    assert not await passwords.verify(hashed, "correct horse batterie")
    with pytest.raises(Invalid):
        await passwords.hash_new("short")


@pytest.mark.parametrize("stored", [None, "", "not a hash"])
async def test_an_account_without_a_password_matches_none(stored: str | None) -> None:
    passwords = PasswordHashing(QUICK_HASHER)

    assert not await passwords.verify(stored, "")
    assert not await passwords.verify(stored, "A" * 32)


class CountingHasher(PasswordHasher):
    """A hasher that waits for `go`, and records how many threads were in it at once."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.go = threading.Event()
        self.verified: list[str] = []
        self.inside = self.inside_max = 0
        self._lock = threading.Lock()

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002
        with self._lock:
            self.inside += 1
            self.inside_max = max(self.inside, self.inside_max)
        self.go.wait(30)
        with self._lock:
            self.inside -= 1
            self.verified.append(str(hash))
        return super().verify(hash, password)


async def test_an_unknown_account_takes_the_work_of_a_known_one() -> None:
    hasher = CountingHasher()
    hasher.go.set()
    passwords = PasswordHashing(hasher)
    stored = await passwords.hash_new("correct horse battery")

    await passwords.verify(stored, "wrong")
    await passwords.verify(None, "wrong")

    known, unknown = hasher.verified
    assert not hasher.check_needs_rehash(unknown)
    assert known.split("$")[:4] == unknown.split("$")[:4]
    assert len(known) == len(unknown)


async def test_few_hashes_run_at_a_time_and_few_wait() -> None:
    hasher = CountingHasher()
    passwords = PasswordHashing(hasher)
    room = HASHES_AT_ONCE_MAX + HASHES_WAITING_MAX
    guesses = [asyncio.ensure_future(passwords.verify(None, "x")) for _ in range(room)]
    await asyncio.sleep(0)

    with pytest.raises(Unavailable):
        await passwords.verify(None, "x")
    guesses[-1].cancel()  # the client has disconnected
    hasher.go.set()
    results = await asyncio.gather(*guesses[:-1])

    assert results == [False] * (room - 1)
    assert hasher.inside_max == HASHES_AT_ONCE_MAX
    assert not await passwords.verify(None, "x")
