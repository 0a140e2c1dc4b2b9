"""Attempts to sign in at several servers on one PostgreSQL are counted together."""

import asyncio

import pytest
from sqlalchemy import func, select

from fanion.accounts.attempts_cache import ACCOUNT_FREE, ADDRESS_FREE, FORGOTTEN_S, KNOWN_S
from fanion.accounts.attempts_store import AttemptStore
from fanion.db.engine import Records
from fanion.db.schema.servers import sign_in_attempts
from fanion.errors import Throttled
from tests.support.management import Clock

pytestmark = pytest.mark.postgresql

HERE, THERE = "192.0.2.1", "198.51.100.7"


def two_servers(records: Records) -> tuple[AttemptStore, AttemptStore, Clock]:
    clock = Clock()
    first, second = (AttemptStore(records, clock.now, clock.seconds) for _ in range(2))
    return first, second, clock


async def fail(store: AttemptStore, times: int, account: str = "ada", address: str = HERE) -> None:
    for _ in range(times):
        await store.begin(account, address)


async def test_failures_at_one_server_delay_attempts_at_the_other(records: Records) -> None:
    one, other, clock = two_servers(records)
    await fail(one, ACCOUNT_FREE)

    with pytest.raises(Throttled) as refused:
        await other.begin("ada", THERE)
    await other.begin("bob", THERE)
    clock.move(seconds=refused.value.retry_after_s)
    await other.begin("ada", THERE)

    with pytest.raises(Throttled) as again:
        await one.begin("ada", HERE)
    assert (refused.value.retry_after_s, again.value.retry_after_s) == (1, 2)


async def test_an_address_that_guesses_at_both_has_to_wait(records: Records) -> None:
    one, other, _ = two_servers(records)
    for number in range(ADDRESS_FREE):
        await fail((one, other)[number % 2], 1, str(number))

    for server in (one, other):
        with pytest.raises(Throttled):
            await server.begin("another", HERE)


async def test_attempts_at_the_same_time_wait_for_one_another(records: Records) -> None:
    one, other, _ = two_servers(records)

    found = await asyncio.gather(
        *(server.begin("ada", HERE) for server in (one, other) * ACCOUNT_FREE),
        return_exceptions=True,
    )

    assert sum(isinstance(row, Throttled) for row in found) == ACCOUNT_FREE


async def test_a_sign_in_at_one_server_is_known_to_the_other(records: Records) -> None:
    one, other, _ = two_servers(records)
    await one.succeeded(await one.begin("ada", HERE))
    await fail(one, ACCOUNT_FREE, address=THERE)

    with pytest.raises(Throttled):
        await other.begin("ada", THERE)
    await other.succeeded(await other.begin("ada", HERE))


async def test_what_was_not_looked_at_does_not_count(records: Records) -> None:
    one, other, _ = two_servers(records)
    for _ in range(2 * ACCOUNT_FREE):
        await one.withdraw(await other.begin("ada", HERE))

    await one.begin("ada", HERE)


async def test_failures_do_not_keep_an_address_known(records: Records) -> None:
    one, other, clock = two_servers(records)
    await one.succeeded(await one.begin("ada", HERE))
    clock.move(seconds=KNOWN_S - 10)
    await fail(one, 1)
    clock.move(seconds=10)
    await fail(one, ACCOUNT_FREE, address=THERE)

    with pytest.raises(Throttled):
        await other.begin("ada", HERE)


async def test_rows_are_deleted_once_they_have_expired(records: Records) -> None:
    one, _, clock = two_servers(records)
    for number in range(3):
        await fail(one, 1, str(number), f"10.0.0.{number}")
    clock.move(seconds=FORGOTTEN_S)

    await fail(one, 1)

    [counted] = await records.fetch(select(func.count()).select_from(sign_in_attempts))
    assert counted[0] == 2  # one row of the account, and one of the address
