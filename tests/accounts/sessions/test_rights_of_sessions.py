"""A change of a user's rights ends the user's sessions, whoever makes it."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from fanion.accounts.model import Device
from fanion.accounts.sessions.store import NewSession, SessionStore
from fanion.db.engine import Records
from fanion.db.schema.accounts import sessions
from fanion.projects.admin_store import FIRST_ORGANIZATION
from fanion.projects.auth.keys import hash_key
from fanion.projects.members.service import MemberService
from fanion.projects.members.store import MemberStore
from fanion.projects.model import Level
from tests.projects.test_store import set_up
from tests.support.application import Tenant
from tests.support.management import NOW, add_member

LATER = NOW + timedelta(hours=1)
HERE = FIRST_ORGANIZATION


async def begin(records: Records, user_id: int, name: str) -> str:
    """Store a new session and return its hash."""
    hashed = hash_key(name)
    await SessionStore(records).create_session(
        NewSession(
            hashed=hashed, user_id=user_id, method="password", device=Device("", ""), now=NOW
        )
    )
    return hashed


async def stored(records: Records) -> set[str]:
    async with records.read() as connection:
        return set(await connection.scalars(select(sessions.c.hash)))


@pytest.mark.every_engine
@pytest.mark.parametrize("act", ["set_level", "disable", "remove"])
async def test_the_operator_ends_the_sessions_of_one_user(records: Records, act: str) -> None:
    owner = (await set_up(records)).user
    ada = await add_member(records, "ada", Level.ADMIN)
    store, email = MemberService(MemberStore(records)), "ada@example.com"
    hers, other = await begin(records, ada.user_id, "a"), await begin(records, owner.id, "b")
    assert await stored(records) == {hers, other}

    if act == "set_level":
        await store.set_level(HERE, email, Level.VIEWER, LATER)
        await store.set_level(HERE, email, Level.ADMIN, LATER)
    elif act == "disable":
        await store.set_active(HERE, email, False, LATER)
    else:
        await store.remove_member(HERE, email, LATER)

    assert await stored(records) == {other}


async def test_the_same_level_again_ends_no_session(records: Records) -> None:
    await set_up(records)
    ada = await add_member(records, "ada")
    hers = await begin(records, ada.user_id, "a")

    await MemberService(MemberStore(records)).set_level(
        HERE, "ada@example.com", Level.MEMBER, LATER
    )

    assert await stored(records) == {hers}


@pytest.mark.parametrize("act", ["lowered", "raised", "removed", "left"])
async def test_a_changed_member_signs_in_again(tenant: Tenant, act: str) -> None:
    ada = await add_member(
        tenant.server.records, f"ada-{tenant.project_id:x}", Level.MEMBER, tenant.organization_id
    )
    members = f"/api/organizations/{tenant.organization_id}/members/"
    async with (
        await tenant.server.browser(ada.user_id) as browser,
        tenant.server.client(tenant.key) as owner,
    ):
        me = (await browser.get("/api/users/@me/")).json()
        path = f"{members}{me['uuid']}/"
        if act == "removed":
            changed = await owner.delete(path)
        elif act == "left":
            changed = await browser.delete(path)
        else:
            changed = await owner.patch(path, json={"level": 0 if act == "lowered" else 8})
            await owner.patch(path, json={"level": 1})  # does not bring a session back

        answer = await browser.get("/api/users/@me/")

    assert changed.status_code < 300
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")


async def test_members_are_changed_after_a_fresh_sign_in_only(tenant: Tenant) -> None:
    ada = await add_member(
        tenant.server.records, f"ada-{tenant.project_id:x}", Level.MEMBER, tenant.organization_id
    )
    async with await tenant.server.browser(ada.user_id) as browser:
        uuid = (await browser.get("/api/users/@me/")).json()["uuid"]
    path = f"/api/organizations/{tenant.organization_id}/members/{uuid}/"
    async with await tenant.server.browser(tenant.user_id) as browser:
        tenant.server.clock.move(minutes=11)
        answers = [await browser.patch(path, json={"level": 0}), await browser.delete(path)]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [
        (403, "fresh_sign_in_required")
    ] * 2
