"""Leases in the records store, on both engines."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert, update

from fanion.db.engine import Records
from fanion.db.lease import Lease
from fanion.db.schema.tables import log_positions

NOW = datetime(2024, 3, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=30)
LEASE = Lease(log_positions.c.held_until, log_positions.c.holder)


@pytest.fixture
async def row(records: Records) -> None:
    async with records.write() as connection:
        values = {"consumer": "lane", "position": 0, "claimed": 0, "holder": "", "held_until": NOW}
        await connection.execute(insert(log_positions).values(values))


async def take_lease(records: Records, holder: str, now: datetime) -> bool:
    claimed = LEASE.taken(now + timedelta(seconds=30), holder)
    statement = update(log_positions).where(LEASE.is_free(now)).values(**claimed)
    async with records.write() as connection:
        return (await connection.execute(statement)).rowcount == 1


async def renew_lease(records: Records, holder: str, until: datetime) -> bool:
    statement = update(log_positions).where(LEASE.is_held_by(holder)).values(**LEASE.taken(until))
    async with records.write() as connection:
        return (await connection.execute(statement)).rowcount == 1


async def test_one_of_several_servers_takes_a_lease(records: Records, row: None) -> None:
    assert await take_lease(records, "a", NOW)
    assert not await take_lease(records, "b", NOW)


async def test_an_expired_lease_can_be_taken_and_its_former_holder_has_lost_it(
    records: Records, row: None
) -> None:
    await take_lease(records, "a", NOW)

    assert not await take_lease(records, "b", LATER - timedelta(microseconds=1))
    assert await take_lease(records, "b", LATER)
    assert not await renew_lease(records, "a", LATER)


async def test_a_renewed_lease_expires_later(records: Records, row: None) -> None:
    await take_lease(records, "a", NOW)

    assert await renew_lease(records, "a", LATER + timedelta(seconds=30))
    assert not await take_lease(records, "b", LATER)


def test_a_released_lease_names_no_holder() -> None:
    assert LEASE.released() == {"held_until": None, "holder": None}
    assert Lease(log_positions.c.held_until).released() == {"held_until": None}
