"""One-time sign-in links."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import select

from fanion.accounts.links_store import LINKS_PER_USER_MAX, LinkStore
from fanion.accounts.model import Purpose
from fanion.accounts.sessions.store import SessionStore
from fanion.db.engine import Records
from fanion.db.schema.accounts import sign_in_links
from tests.support.management import NOW, add_member, insert_project

HOUR = timedelta(hours=1)
RESET = Purpose.RESET


@pytest.fixture
async def user_id(records: Records) -> int:
    async with records.write() as connection:
        organization_id, _ = await insert_project(connection, "Links", "Links", "phc_links")
    return (await add_member(records, "lena", organization_id=organization_id)).user_id


async def stored(records: Records) -> list[str]:
    return [row.hash for row in await records.fetch(select(sign_in_links.c.hash))]


@pytest.mark.every_engine
async def test_a_link_works_once(records: Records, user_id: int) -> None:
    links = LinkStore(records)
    token = await links.create_link(RESET, user_id, NOW, HOUR)

    known = await links.find_user(token, RESET, NOW)
    taken = await links.consume_link(token, RESET, NOW)
    again = await links.consume_link(token, RESET, NOW)

    assert (known, taken, again) == (user_id, user_id, None)
    assert await links.find_user(token, RESET, NOW) is None


@pytest.mark.every_engine
async def test_of_requests_at_the_same_time_one_gets_it(records: Records, user_id: int) -> None:
    links = LinkStore(records)
    token = await links.create_link(RESET, user_id, NOW, HOUR)

    taken = await asyncio.gather(*(links.consume_link(token, RESET, NOW) for _ in range(10)))

    assert sorted(taken, key=str) == [user_id, *[None] * 9]


@pytest.mark.every_engine
async def test_a_link_expires_and_is_deleted(records: Records, user_id: int) -> None:
    links = LinkStore(records)
    token = await links.create_link(RESET, user_id, NOW, HOUR)

    late = await links.consume_link(token, RESET, NOW + HOUR)
    before = await stored(records)
    await SessionStore(records).delete_ended(NOW + HOUR)

    assert late is None
    assert len(before) == 1 and await stored(records) == []


async def test_a_link_has_one_purpose_and_is_stored_hashed(records: Records, user_id: int) -> None:
    links = LinkStore(records)
    token = await links.create_link(RESET, user_id, NOW, HOUR)

    assert await links.consume_link(token, Purpose.FIRST_START, NOW) is None
    assert await links.consume_link("x" * 10_000, RESET, NOW) is None
    assert token not in str(await stored(records))
    assert await links.consume_link(token, RESET, NOW) == user_id


@pytest.mark.every_engine
async def test_the_oldest_links_of_a_user_are_given_up(records: Records, user_id: int) -> None:
    links = LinkStore(records)
    tokens = [
        await links.create_link(RESET, user_id, NOW + number * timedelta(seconds=1), HOUR)
        for number in range(LINKS_PER_USER_MAX + 2)
    ]
    other = await links.create_link(Purpose.FIRST_START, user_id, NOW, HOUR)

    user_ids = [await links.find_user(token, RESET, NOW) for token in tokens]

    assert user_ids == [None, None, *[user_id] * LINKS_PER_USER_MAX]
    assert await links.consume_link(other, Purpose.FIRST_START, NOW) == user_id
