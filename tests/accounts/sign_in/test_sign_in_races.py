"""Sign-ins while their account changes: a password that was checked may no longer be valid."""

import asyncio

import pytest
from sqlalchemy import delete, func, insert, select, update

from fanion.accounts.model import Device
from fanion.accounts.own_account.store import AccountChange, change_account
from fanion.accounts.second_factor.store import SecondFactorStore
from fanion.accounts.sessions.service import SessionService
from fanion.accounts.sessions.store import SessionStore
from fanion.db.engine import Records
from fanion.db.schema.accounts import sessions
from fanion.db.schema.tables import organizations, users
from fanion.errors import SessionEnded
from fanion.projects.admin_store import FIRST_ORGANIZATION
from tests.support.management import NOW, Clock, add_member

pytestmark = pytest.mark.every_engine

FORMER, NEW = "the hash that was checked", "another hash"
DEVICE = Device("", "")


@pytest.fixture
async def user_id(records: Records) -> int:
    first = {"id": FIRST_ORGANIZATION, "name": "First", "created_at": NOW}
    async with records.write() as connection:
        await connection.execute(insert(organizations).values(**first))
    user_id = (await add_member(records, "olga")).user_id
    async with records.write() as connection:
        await connection.execute(update(users).values(password_hash=FORMER))
    return user_id


def service(records: Records) -> SessionService:
    clock = Clock()
    return SessionService(SessionStore(records), clock.now, clock.seconds)


async def stored(records: Records) -> int:
    async with records.read() as connection:
        return await connection.scalar(select(func.count()).select_from(sessions)) or 0


async def test_a_password_that_was_replaced_after_it_was_checked_begins_nothing(
    records: Records, user_id: int
) -> None:
    begun = service(records)
    async with records.write() as connection:
        await connection.execute(update(users).values(password_hash=NEW))

    with pytest.raises(SessionEnded):
        await begun.start_session(user_id, "password", DEVICE, FORMER)

    assert await stored(records) == 0
    await begun.start_session(user_id, "password", DEVICE, NEW)
    await begun.start_session(user_id, "link", DEVICE)
    assert await stored(records) == 2


async def test_a_session_that_begins_during_the_change_does_not_outlive_it(
    records: Records, user_id: int
) -> None:
    """The change ends all sessions, and cannot see one that is stored a moment later."""
    begun = service(records)

    async with records.write() as connection:
        await connection.execute(update(users).values(password_hash=NEW))
        await connection.execute(delete(sessions).where(sessions.c.user_id == user_id))
        starting = asyncio.create_task(begun.start_session(user_id, "password", DEVICE, FORMER))
        await asyncio.wait({starting}, timeout=0.2)
        assert not starting.done()

    with pytest.raises(SessionEnded):
        await starting
    assert await stored(records) == 0


async def test_a_new_password_ends_what_waits_for_a_code(records: Records, user_id: int) -> None:
    factors = SecondFactorStore(records)
    await factors.wait_for_code(user_id, "token", "password", NOW, FORMER)

    change = AccountChange(user_id=user_id, now=NOW, by_user=user_id, password_hash=NEW)
    await change_account(records, change)

    assert await factors.waiting("token", NOW) is None
    with pytest.raises(SessionEnded):
        await factors.wait_for_code(user_id, "later", "password", NOW, FORMER)
    assert await factors.waiting("later", NOW) is None
    # The code was checked just before the change, and the session is to begin after it.
    with pytest.raises(SessionEnded):
        await service(records).start_session(user_id, "password", DEVICE, FORMER)


async def test_a_user_who_was_disabled_meanwhile_gets_no_session(
    records: Records, user_id: int
) -> None:
    async with records.write() as connection:
        await connection.execute(update(users).values(is_active=False))

    for password in (FORMER, None):
        with pytest.raises(SessionEnded):
            await service(records).start_session(user_id, "password", DEVICE, password)

    assert await stored(records) == 0
