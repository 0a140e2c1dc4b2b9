"""The number of keys that may fail at an address before none is looked up for it."""

import pytest

from fanion.projects.auth.failed_attempts_cache import (
    ADDRESSES_MAX,
    FAILURES_MAX,
    PEER_FAILURES_MAX,
    WINDOW_S,
    FailureLimit,
)
from fanion.server.forwarded import Client
from tests.support.management import Clock

ATTACKER = Client("192.0.2.7")


@pytest.fixture
def clock() -> Clock:
    return Clock()


def fail(limit: FailureLimit, client: Client, times: int) -> list[bool]:
    return [limit.add(client) for _ in range(times)]


def test_past_the_limit_a_client_waits_until_its_window_ends(clock: Clock) -> None:
    limit = FailureLimit(clock.seconds)

    reported = fail(limit, ATTACKER, FAILURES_MAX - 1)
    before = limit.wait_s(ATTACKER)
    clock.move(seconds=10.5)
    reported += fail(limit, ATTACKER, 1)
    waiting = limit.wait_s(ATTACKER)
    clock.move(seconds=WINDOW_S - 10.5)

    assert (before, waiting, limit.wait_s(ATTACKER)) == (0, 50, 0)
    assert reported == [False] * (FAILURES_MAX - 1) + [True]
    assert not limit.add(ATTACKER)


def test_failures_of_a_network_count_together_and_of_others_do_not(clock: Clock) -> None:
    limit = FailureLimit(clock.seconds)

    for number in range(FAILURES_MAX):
        limit.add(Client(f"2001:db8::{number:x}"))

    assert limit.wait_s(Client("2001:db8::ffff:1"))
    assert not limit.wait_s(Client("2001:db8:0:1::1"))
    assert not limit.wait_s(ATTACKER)


def test_clients_of_an_untrusted_proxy_do_not_lock_one_another_out(clock: Clock) -> None:
    limit = FailureLimit(clock.seconds)
    attacker, other = Client("10.0.0.1", "192.0.2.7"), Client("10.0.0.1", "192.0.2.8")

    fail(limit, attacker, FAILURES_MAX)

    assert limit.wait_s(attacker)
    assert not limit.wait_s(other)


def test_a_client_that_makes_names_up_has_a_limit_too(clock: Clock) -> None:
    limit = FailureLimit(clock.seconds)

    for number in range(PEER_FAILURES_MAX):
        limit.add(Client("192.0.2.7", f"10.{number >> 8}.0.{number & 255}"))

    assert limit.wait_s(Client("192.0.2.7", "10.99.99.99"))
    assert not limit.wait_s(Client("192.0.2.8", "10.99.99.99"))


def test_clients_without_an_address_have_no_limit(clock: Clock) -> None:
    limit = FailureLimit(clock.seconds)

    fail(limit, Client(""), FAILURES_MAX * 2)

    assert limit.wait_s(Client("")) == 0
    assert len(limit) == 0


def test_what_is_remembered_of_addresses_has_a_limit(clock: Clock) -> None:
    limit = FailureLimit(clock.seconds)
    fail(limit, ATTACKER, FAILURES_MAX)

    for number in range(ADDRESSES_MAX):
        limit.add(Client(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"))

    assert len(limit) == ADDRESSES_MAX
    assert limit.wait_s(ATTACKER) == 0  # the oldest are dropped
