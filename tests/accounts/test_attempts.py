"""Delays between attempts to sign in."""

from collections.abc import Callable

import pytest

from fanion.accounts.attempts_cache import (
    ACCOUNT_DELAY_S_MAX,
    ACCOUNT_FREE,
    ADDRESS_DELAY_S_MAX,
    ADDRESS_FREE,
    COUNTED_MAX,
    FORGOTTEN_S,
    PEER_FREE,
    SignInAttempts,
)
from fanion.errors import Throttled
from tests.support.management import Clock

GUESSES = 1_000
HERE, THERE = "192.0.2.1", "198.51.100.7"


def guess_as_fast_as_allowed(
    account: Callable[[int], str], address: Callable[[int], str]
) -> tuple[float, int]:
    """Return the hours that the guesses take, and how many of them were refused."""
    clock, refused = Clock(), 0
    attempts, begun = SignInAttempts(clock.seconds), clock.seconds()
    for number in range(GUESSES):
        while True:
            try:
                attempts.begin(account(number), address(number))
                break
            except Throttled as error:
                refused += 1
                clock.move(seconds=error.retry_after_s)
    return (clock.seconds() - begun) / 3600, refused


def test_a_thousand_guesses_of_one_account_take_most_of_a_day() -> None:
    hours, refused = guess_as_fast_as_allowed(lambda _: "ada@example.com", lambda _: HERE)

    assert hours > 200  # the address has longer delays than the account
    assert refused == GUESSES - ACCOUNT_FREE


def test_guesses_from_a_thousand_addresses_wait_for_the_account() -> None:
    hours, refused = guess_as_fast_as_allowed(
        lambda _: "ada@example.com", lambda number: f"10.0.{number // 250}.{number % 250}"
    )

    assert hours > 16
    assert refused == GUESSES - ACCOUNT_FREE


def test_one_password_for_a_thousand_accounts_waits_for_the_address() -> None:
    hours, refused = guess_as_fast_as_allowed("{}@example.com".format, lambda _: HERE)

    assert hours > 200
    assert refused == GUESSES - ADDRESS_FREE


def test_the_delay_doubles_up_to_a_maximum() -> None:
    clock = Clock()
    attempts, waits = SignInAttempts(clock.seconds), []
    for _ in range(ACCOUNT_FREE + 20):
        try:
            attempts.begin("ada", "")
        except Throttled as error:
            waits.append(error.retry_after_s)
            clock.move(seconds=error.retry_after_s)

    assert waits[:7] == [1, 2, 4, 8, 16, 32, 60]
    assert set(waits[7:]) == {int(ACCOUNT_DELAY_S_MAX)}


def test_attempts_at_the_same_time_count_each() -> None:
    attempts = SignInAttempts(Clock().seconds)

    for _ in range(ACCOUNT_FREE):
        attempts.begin("ada", HERE)

    with pytest.raises(Throttled):
        attempts.begin("ada", HERE)
    attempts.begin("bob", HERE)


def test_others_cannot_lock_who_signed_in_from_there_before() -> None:
    clock = Clock()
    attempts = SignInAttempts(clock.seconds)
    attempts.succeeded(attempts.begin("ada", HERE))
    for _ in range(ACCOUNT_FREE + 20):
        try:
            attempts.begin("ada", THERE)
        except Throttled as error:
            clock.move(seconds=error.retry_after_s)
            attempts.begin("ada", THERE)

    with pytest.raises(Throttled):
        attempts.begin("ada", THERE)
    attempts.succeeded(attempts.begin("ada", HERE))


def test_a_known_address_has_a_delay_of_its_own() -> None:
    attempts = SignInAttempts(Clock().seconds)
    attempts.succeeded(attempts.begin("ada", HERE))

    for _ in range(ACCOUNT_FREE):
        attempts.begin("ada", HERE)

    with pytest.raises(Throttled):
        attempts.begin("ada", HERE)


def test_success_forgives_the_account_and_not_the_address() -> None:
    """A user with one account could otherwise guess all others without a delay."""
    clock = Clock()
    attempts = SignInAttempts(clock.seconds)
    for number in range(ADDRESS_FREE - 1):
        attempts.begin(f"{number}", HERE)
        attempts.succeeded(attempts.begin("own", HERE))
    attempts.begin("last", HERE)

    with pytest.raises(Throttled):
        attempts.begin("ada", HERE)
    attempts.begin("own", HERE)


def test_an_attempt_that_was_not_looked_at_does_not_count() -> None:
    attempts = SignInAttempts(Clock().seconds)

    for _ in range(10 * ADDRESS_FREE):
        attempts.withdraw(attempts.begin("ada", HERE, THERE))

    attempts.begin("ada", HERE, THERE)


def test_failures_are_forgotten_in_time() -> None:
    clock = Clock()
    attempts = SignInAttempts(clock.seconds)
    for _ in range(ACCOUNT_FREE):
        attempts.begin("ada", HERE)

    clock.move(seconds=FORGOTTEN_S)

    for _ in range(ACCOUNT_FREE):
        attempts.begin("ada", THERE)


def test_one_network_of_ipv6_is_one_address() -> None:
    clock = Clock()
    attempts = SignInAttempts(clock.seconds)
    for number in range(ADDRESS_FREE):
        attempts.begin(str(number), f"2001:db8::{number + 1:x}")

    with pytest.raises(Throttled):
        attempts.begin("ada", "2001:db8::ffff")
    attempts.begin("ada", "2001:db8:0:1::1")


def test_clients_of_an_unknown_proxy_do_not_hold_up_one_another() -> None:
    attempts = SignInAttempts(Clock().seconds)
    for number in range(ADDRESS_FREE):
        attempts.begin(f"{number}@example.com", HERE, THERE)

    with pytest.raises(Throttled):
        attempts.begin("ada", HERE, THERE)
    attempts.begin("ada", HERE, "198.51.100.8")


def test_invented_addresses_count_together() -> None:
    attempts = SignInAttempts(Clock().seconds)
    for number in range(PEER_FREE):
        attempts.begin(f"{number}@example.com", HERE, f"10.0.0.{number}")

    with pytest.raises(Throttled):
        attempts.begin("ada", HERE, THERE)
    attempts.begin("ada", THERE)


def test_few_are_counted_at_a_time() -> None:
    attempts = SignInAttempts(Clock().seconds)

    for number in range(COUNTED_MAX):
        attempts.begin(f"{number}@example.com", f"10.0.{number // 250}.{number % 250}")

    assert len(attempts) == COUNTED_MAX
    assert ADDRESS_DELAY_S_MAX > ACCOUNT_DELAY_S_MAX
