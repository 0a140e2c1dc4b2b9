"""Members of an organization, as an operator adds, changes and removes them, on both engines."""

import asyncio
from collections.abc import Awaitable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import insert, select

from fanion.activity.model import OrganizationAuthor
from fanion.activity.store import page
from fanion.db.engine import Records
from fanion.db.schema.tables import memberships, organizations, personal_api_keys, projects, users
from fanion.errors import Invalid, NotFound
from fanion.flags.definitions.role_access.store import revoke_flags_of_role
from fanion.projects.admin_store import FIRST_ORGANIZATION, user_id_of
from fanion.projects.auth.keys import hash_key
from fanion.projects.auth.personal_keys_service import PersonalKeyService
from fanion.projects.auth.personal_keys_store import NewPersonalKey, PersonalKeyStore
from fanion.projects.members.model import NewMember
from fanion.projects.members.service import MemberService
from fanion.projects.members.store import MemberStore, first_organization
from fanion.projects.model import Level
from fanion.projects.roles.service import RoleService
from fanion.projects.roles.store import RoleStore
from tests.projects.test_store import set_up
from tests.support.management import NOW, add_member, password_matches

pytestmark = pytest.mark.every_engine

OWNER = "owner@example.com"
HERE = FIRST_ORGANIZATION
LATER = NOW + timedelta(hours=1)
ELSEWHERE = UUID(int=7)


def ada(level: Level = Level.MEMBER) -> NewMember:
    return NewMember("ada@example.com", "Ada", level, "Laptop")


async def opens(records: Records, key: str) -> bool:
    return bool(await PersonalKeyStore(records).principals([hash_key(key)]))


async def logged_by(records: Records, work: Awaitable[object]) -> list[tuple[str, str, str, Any]]:
    """Return the kind, name, activity and changed fields of the entries that the work adds."""
    [(project_id,)] = await records.fetch(
        select(projects.c.id).where(projects.c.organization_id == HERE)
    )
    _, count = await page(records, project_id, 1, 0)
    await work
    entries, total = await page(records, project_id, 100, 0)
    return [
        (
            entry.scope,
            entry.name,
            entry.activity,
            None
            if entry.changes is None
            else [(change.field, change.before, change.after) for change in entry.changes],
        )
        for entry in reversed(entries[: total - count])
    ]


async def join_elsewhere(records: Records, user_id: int, level: Level, now: datetime) -> None:
    """Create a second organization, with the user as its only member."""
    async with records.write() as connection:
        await connection.execute(
            insert(organizations).values(id=ELSEWHERE, name="Elsewhere", created_at=now)
        )
        await connection.execute(
            insert(memberships).values(
                organization_id=ELSEWHERE, user_id=user_id, level=level, joined_at=now
            )
        )


async def test_a_member_has_a_key_and_no_password(records: Records) -> None:
    owner = (await set_up(records)).user
    service = MemberService(MemberStore(records))

    made, key, text = await service.add_member(HERE, ada(Level.ADMIN), LATER)

    [principal] = (await PersonalKeyStore(records).principals([hash_key(text)])).values()
    assert (principal.user.id, principal.levels) == (made.user_id, {HERE: Level.ADMIN})
    assert (principal.key_id, principal.scopes, key.label) == (key.id, None, "Laptop")
    assert [
        (member.email, member.level, member.is_active, member.keys)
        for member in await service.store.all_members(HERE)
    ] == [
        (owner.email, Level.OWNER, True, 1),
        ("ada@example.com", Level.ADMIN, True, 1),
    ]
    async with records.read() as connection:
        stored = await connection.scalar(
            select(users.c.password_hash).where(users.c.id == made.user_id)
        )
    assert not password_matches(stored or "", "")


async def test_an_address_belongs_to_one_user(records: Records) -> None:
    await set_up(records)
    service = MemberService(MemberStore(records))
    await service.add_member(HERE, ada(), LATER)

    with pytest.raises(Invalid) as refused:
        await service.add_member(HERE, ada(), LATER)

    assert (refused.value.code, refused.value.attr) == ("unique", "email")
    assert len(await service.store.all_members(HERE)) == 2


async def test_two_that_add_the_same_address_at_once_add_one(records: Records) -> None:
    await set_up(records)
    service = MemberService(MemberStore(records))

    done = await asyncio.gather(
        *(service.add_member(HERE, ada(), LATER) for _ in range(4)), return_exceptions=True
    )

    assert sum(isinstance(result, Invalid) for result in done) == 3
    assert len(await service.store.all_members(HERE)) == 2


async def test_keys_of_a_disabled_user_open_nothing_until_enabled(records: Records) -> None:
    await set_up(records)
    service = MemberService(MemberStore(records))
    made, _, text = await service.add_member(HERE, ada(), LATER)

    disabled = await service.set_active(HERE, made.email, False, LATER)
    assert not disabled.is_active
    assert not await opens(records, text)
    assert await user_id_of(records, made.email) is None

    assert (await service.set_active(HERE, made.email, True, LATER)).is_active
    assert await opens(records, text)
    assert await user_id_of(records, made.email) == made.user_id


async def test_a_removed_user_is_in_no_role_and_has_no_key(records: Records) -> None:
    await set_up(records)
    service, roles = (
        MemberService(MemberStore(records)),
        RoleService(RoleStore(records), revoke_flags_of_role),
    )
    made, _, text = await service.add_member(HERE, ada(), LATER)
    operator = OrganizationAuthor(HERE, None, LATER)
    role = await roles.create_role(operator, "Makers", None)
    await roles.add_member(operator, role.id, made.uuid)

    await service.remove_member(HERE, made.email, LATER)

    assert [member.level for member in await service.store.all_members(HERE)] == [Level.OWNER]
    assert (await roles.store.get_role(HERE, role.id)).members == []
    assert not await opens(records, text)
    for change in (
        service.remove_member(HERE, made.email, LATER),
        service.set_active(HERE, made.email, True, LATER),
        service.set_level(HERE, made.email, Level.OWNER, LATER),
    ):
        with pytest.raises(NotFound):
            await change


async def test_who_was_removed_and_is_added_again_is_the_same_user(records: Records) -> None:
    await set_up(records)
    service = MemberService(MemberStore(records))
    before, _, former = await service.add_member(HERE, ada(Level.OWNER), LATER)
    await service.remove_member(HERE, before.email, LATER)

    after, _, text = await service.add_member(HERE, ada(), LATER)

    assert (after.user_id, after.level, after.keys) == (before.user_id, Level.MEMBER, 1)
    assert await opens(records, text)
    assert not await opens(records, former)


@pytest.mark.parametrize("change", ["remove", "disable", "member", "admin"])
async def test_the_last_active_owner_stays_one(records: Records, change: str) -> None:
    owner = (await set_up(records)).user
    service = MemberService(MemberStore(records))
    await service.add_member(HERE, ada(Level.OWNER), LATER)
    await service.set_active(HERE, "ada@example.com", False, LATER)

    async def work() -> object:
        if change == "remove":
            await service.remove_member(HERE, owner.email, LATER)
            return None
        if change == "disable":
            return await service.set_active(HERE, owner.email, False, LATER)
        return await service.set_level(HERE, owner.email, Level[change.upper()], LATER)

    with pytest.raises(Invalid) as refused:
        await work()
    assert refused.value.code == "last_owner"
    assert refused.value.detail == (
        f"{owner.email} is the last active owner. Make another member an owner first."
    )
    [still, _] = await service.store.all_members(HERE)
    assert (still.level, still.is_active, still.keys) == (Level.OWNER, True, 1)

    await service.set_active(HERE, "ada@example.com", True, LATER)
    await work()


async def test_of_two_owners_who_leave_at_once_one_stays(records: Records) -> None:
    owner = (await set_up(records)).user
    service = MemberService(MemberStore(records))
    await service.add_member(HERE, ada(Level.OWNER), LATER)

    done = await asyncio.gather(
        *(
            service.set_level(HERE, email, Level.MEMBER, LATER)
            for email in (owner.email, "ada@example.com")
        ),
        return_exceptions=True,
    )

    assert sum(isinstance(result, Invalid) for result in done) == 1
    assert sorted(result.level for result in await service.store.all_members(HERE)) == [
        Level.MEMBER,
        Level.OWNER,
    ]


async def test_a_user_of_two_organizations_leaves_one(records: Records) -> None:
    await set_up(records)
    service = MemberService(MemberStore(records))
    made, _, text = await service.add_member(HERE, ada(), LATER)
    await join_elsewhere(records, made.user_id, Level.OWNER, LATER)

    with pytest.raises(Invalid):  # the user is the last owner of the other organization
        await service.set_active(HERE, made.email, False, LATER)
    await service.remove_member(HERE, made.email, LATER)

    [principal] = (await PersonalKeyStore(records).principals([hash_key(text)])).values()
    assert principal.levels == {ELSEWHERE: Level.OWNER}


async def test_each_change_is_logged(records: Records) -> None:
    await set_up(records)
    service, email = MemberService(MemberStore(records)), "ada@example.com"
    scope = "OrganizationMembership"

    assert await logged_by(records, service.add_member(HERE, ada(), LATER)) == [
        (scope, email, "created", None),
        ("PersonalAPIKey", "Laptop", "created", None),
    ]
    assert await logged_by(records, service.set_level(HERE, email, Level.ADMIN, LATER)) == [
        (scope, email, "updated", [("level", 1, 8)])
    ]
    assert await logged_by(records, service.set_level(HERE, email, Level.ADMIN, LATER)) == []
    assert await logged_by(records, service.set_active(HERE, email, False, LATER)) == [
        (scope, email, "updated", [("is_active", True, False)])
    ]
    assert await logged_by(records, service.remove_member(HERE, email, LATER)) == [
        ("PersonalAPIKey", "Laptop", "deleted", None),
        (scope, email, "deleted", None),
    ]


async def test_the_first_user_of_a_command_is_one_who_may_do_something(records: Records) -> None:
    owner = (await set_up(records)).user
    second = await add_member(records, "mia", Level.OWNER)
    await MemberService(MemberStore(records)).set_active(HERE, owner.email, False, LATER)

    assert await user_id_of(records, None) == second.user_id


async def test_the_oldest_organization_is_the_one_of_commands(records: Records) -> None:
    assert await first_organization(records) is None
    owner = (await set_up(records)).user
    await join_elsewhere(records, owner.id, Level.OWNER, LATER)

    assert await first_organization(records) == HERE


async def test_a_member_is_listed_with_the_last_use_of_any_key(records: Records) -> None:
    owner = (await set_up(records)).user
    service, keys = MemberService(MemberStore(records)), PersonalKeyStore(records)
    second, _ = await PersonalKeyService(keys).create_key(NewPersonalKey(owner.id, "CI", None, NOW))
    await keys.mark_used({second.id: LATER})
    async with records.read() as connection:
        count = len((await connection.execute(select(personal_api_keys.c.id))).all())

    [listed] = await service.store.all_members(HERE)

    assert (listed.keys, count, listed.last_used_at) == (2, 2, LATER)
