"""Unfinished sign-ins are taken up once, by their own browser, within ten minutes."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import func, insert, select

from fanion.accounts.oidc.states_store import STATE_LASTS, STATES_MAX, BegunSignIn, StateStore
from fanion.db.engine import Records
from fanion.db.schema.accounts import oidc_states
from tests.support.management import NOW, add_member, insert_project

pytestmark = pytest.mark.every_engine

BEGUN = BegunSignIn("/flags")


async def test_a_state_is_taken_once_by_its_browser(records: Records) -> None:
    store = StateStore(records)
    await store.add_state("state", "browser", BEGUN, NOW)

    results = [
        await store.consume_state(state, browser, NOW)
        for state, browser in (
            ("another", "browser"),
            ("state", "another"),
            ("state", "browser"),
            ("state", "browser"),
        )
    ]

    assert results == [None, None, BEGUN, None]


async def test_of_callbacks_at_the_same_time_one_gets_it(records: Records) -> None:
    store = StateStore(records)
    await store.add_state("state", "browser", BEGUN, NOW)

    results = await asyncio.gather(
        *(store.consume_state("state", "browser", NOW) for _ in range(4))
    )

    assert sorted(result is not None for result in results) == [False, False, False, True]


@pytest.mark.parametrize(("before_s", "is_valid"), [(1, True), (0, False)])
async def test_a_state_lasts_ten_minutes(records: Records, before_s: float, is_valid: bool) -> None:
    store = StateStore(records)
    await store.add_state("state", "browser", BEGUN, NOW)
    now = NOW + STATE_LASTS - timedelta(seconds=before_s)

    assert (await store.consume_state("state", "browser", now) == BEGUN) == is_valid
    assert STATE_LASTS.total_seconds() == 600


async def test_who_has_to_sign_in_afresh_is_kept(records: Records) -> None:
    async with records.write() as connection:
        organization_id, _ = await insert_project(connection, "Team", "Project", "phc_team")
    ada = await add_member(records, "ada", organization_id=organization_id)
    begun = BegunSignIn("/settings", ada.user_id)
    store = StateStore(records)

    await store.add_state("state", "browser", begun, NOW)

    assert await store.consume_state("state", "browser", NOW) == begun


async def test_states_are_bounded(records: Records) -> None:
    store = StateStore(records)
    rows = [
        {
            "hash": f"hash {n}",
            "browser_hash": "x",
            "return_path": "/",
            "expires_at": NOW + timedelta(seconds=60 + n / 1000),
        }
        for n in range(STATES_MAX)
    ]
    async with records.write() as connection:
        await connection.execute(insert(oidc_states), rows)

    await store.add_state("first", "browser", BEGUN, NOW)
    await store.add_state("second", "browser", BEGUN, NOW)
    count = await number(records)
    oldest = await records.fetch(select(oidc_states.c.hash).where(oidc_states.c.hash == "hash 1"))

    assert (count, oldest) == (STATES_MAX, [])
    assert await store.consume_state("first", "browser", NOW) == BEGUN
    await store.add_state("third", "browser", BEGUN, NOW + timedelta(minutes=5))
    assert await number(records) == 2  # the second and the third; the others have expired


async def number(records: Records) -> int:
    rows = await records.fetch(select(func.count()).select_from(oidc_states))
    count: int = rows[0][0]
    return count
