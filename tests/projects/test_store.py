"""Organizations, projects, users and keys, on both engines."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import func, select, update

from fanion.db.engine import Records
from fanion.db.schema.tables import organizations, personal_api_keys, users
from fanion.errors import Invalid
from fanion.projects import admin_store
from fanion.projects.admin_store import NO_PASSWORD, AlreadySetUp, Installation, SetUp
from fanion.projects.auth import personal_keys_store
from fanion.projects.auth.authentication_service import has_expired
from fanion.projects.auth.keys import hash_key
from fanion.projects.auth.personal_keys_service import PersonalKeyService
from fanion.projects.auth.personal_keys_store import NewPersonalKey, PersonalKeyStore
from fanion.projects.model import Level
from fanion.projects.store import ProjectStore
from tests.support.management import (
    NOW,
    add_key,
    add_member,
    add_neighbour,
    password_matches,
    quick_hash,
)

pytestmark = pytest.mark.every_engine

PASSWORD = "a long password"
WANTED = Installation(email="owner@example.com", first_name="Olga", password=PASSWORD)


async def set_up(records: Records) -> SetUp:
    return await admin_store.set_up(records, WANTED, NOW, quick_hash)


async def test_setup_makes_an_organization_with_its_owner_project_and_key(
    records: Records,
) -> None:
    made = await set_up(records)

    [principal] = (
        await PersonalKeyStore(records).principals([hash_key(made.personal_key)])
    ).values()
    assert principal.user == made.user
    assert principal.scopes is None
    assert principal.levels == {made.project.organization_id: Level.OWNER}
    assert made.user.current_project_id == made.project.id
    assert made.project.api_token.startswith("phc_")
    projects_by_token = await ProjectStore(records).by_tokens([made.project.api_token])
    assert projects_by_token == {made.project.api_token: made.project}
    organization = await ProjectStore(records).organization(made.project.organization_id)
    assert organization is not None
    assert organization.name == WANTED.organization


async def test_setup_takes_the_keys_that_it_is_given(records: Records) -> None:
    installation = Installation(
        email=" A@Example.com",
        first_name="A",
        password="p",
        project_token="phc_mine",
        personal_key="phx_mine",
    )

    made = await admin_store.set_up(records, installation, NOW)

    assert (made.project.api_token, made.personal_key) == ("phc_mine", "phx_mine")
    assert made.user.email == "a@example.com"
    assert await PersonalKeyStore(records).principals([hash_key("phx_mine")])


async def test_a_second_setup_is_refused_and_changes_nothing(records: Records) -> None:
    made = await set_up(records)

    with pytest.raises(AlreadySetUp):
        await set_up(records)

    _, count = await ProjectStore(records).page([made.project.organization_id], 10, 0)
    assert count == 1


async def test_of_setups_at_the_same_time_one_wins(records: Records) -> None:
    outcomes = await asyncio.gather(*(set_up(records) for _ in range(3)), return_exceptions=True)

    assert sorted(type(outcome).__name__ for outcome in outcomes) == [
        "AlreadySetUp",
        "AlreadySetUp",
        "SetUp",
    ]
    [(count,)] = await records.fetch(select(func.count()).select_from(organizations))
    assert count == 1


async def test_a_setup_that_fails_halfway_leaves_nothing(records: Records) -> None:
    unwritable = Installation(email="a@example.com", first_name="\ud800", password="p")

    with pytest.raises(Exception, match="surrogates not allowed"):
        await admin_store.set_up(records, unwritable, NOW)

    [(count,)] = await records.fetch(select(func.count()).select_from(organizations))
    assert count == 0


async def test_a_password_is_stored_as_a_hash_that_only_it_matches(records: Records) -> None:
    await admin_store.set_up(records, WANTED, NOW)

    [(stored,)] = await records.fetch(select(users.c.password_hash))
    assert stored.startswith("$argon2id$")
    assert password_matches(stored, PASSWORD)
    assert not password_matches(stored, "another")
    assert not password_matches(NO_PASSWORD, PASSWORD)


async def test_projects_are_listed_by_organization_oldest_first(records: Records) -> None:
    store = ProjectStore(records)
    made = await set_up(records)
    neighbour = await add_neighbour(records)
    second = await store.create_project(
        made.project.organization_id, "Second", "Europe/Berlin", NOW
    )
    third = await store.create_project(made.project.organization_id, "Third", "UTC", NOW)

    own = [made.project.organization_id]
    assert await store.page(own, 10, 0) == ([made.project, second, third], 3)
    assert await store.page(own, 1, 1) == ([second], 3)
    assert await store.page(own, 10, 5) == ([], 3)
    assert await store.page([], 10, 0) == ([], 0)
    theirs, _ = await store.page([neighbour.organization_id], 10, 0)
    assert [project.id for project in theirs] == [neighbour.project_id]


async def test_a_changed_project_is_returned_as_it_is_stored(records: Records) -> None:
    store = ProjectStore(records)
    project = (await set_up(records)).project

    changed = await store.change_project(project.id, {"name": "Renamed"}, NOW)

    assert changed is not None
    assert (changed.name, changed.timezone) == ("Renamed", "UTC")
    assert await store.by_ids([project.id, 999]) == {project.id: changed}
    assert await store.change_project(project.id, {}, NOW) == changed
    assert await store.change_project(999, {"name": "x"}, NOW) is None


async def test_a_key_of_an_inactive_user_opens_nothing(records: Records) -> None:
    made = await set_up(records)
    async with records.write() as connection:
        await connection.execute(update(users).values(is_active=False))

    assert await PersonalKeyStore(records).principals([hash_key(made.personal_key)]) == {}


async def test_principals_come_with_the_levels_of_all_their_organizations(
    records: Records,
) -> None:
    await set_up(records)
    neighbour = await add_neighbour(records)
    member = await add_member(records, "mia", Level.ADMIN, scopes=["project:read"])
    hashes = [hash_key(member.key), hash_key(neighbour.owner.key), hash_key("phx_unknown")]

    principals = await PersonalKeyStore(records).principals(hashes)

    assert set(principals) == set(hashes[:2])
    assert principals[hashes[0]].scopes == ("project:read",)
    assert principals[hashes[1]].levels == {neighbour.organization_id: Level.OWNER}


async def test_a_key_is_created_found_and_deleted_by_its_owner_only(records: Records) -> None:
    store = PersonalKeyStore(records)
    made = await set_up(records)
    member = await add_member(records, "mia")

    key, text = await PersonalKeyService(store).create_key(
        NewPersonalKey(made.user.id, "Laptop", ["cohort:read"], NOW)
    )

    assert key.mask_value == f"phx_...{text[-4:]}"
    assert await store.find_key(made.user.id, key.id) == key
    assert await store.find_key(member.user_id, key.id) is None
    assert await PersonalKeyService(store).delete_key(key.id, NOW, member.user_id) is None
    assert await PersonalKeyService(store).delete_key(uuid4(), NOW, made.user.id) is None
    assert await PersonalKeyService(store).delete_key(key.id, NOW, made.user.id) == hash_key(text)
    assert await PersonalKeyService(store).delete_key(key.id, NOW, made.user.id) is None


async def test_a_key_is_stored_with_the_time_when_it_expires(records: Records) -> None:
    store = PersonalKeyStore(records)
    made = await set_up(records)
    until = NOW + timedelta(days=1, microseconds=1)

    key, text = await PersonalKeyService(store).create_key(
        NewPersonalKey(made.user.id, "CI", None, NOW, until)
    )
    other, _ = await PersonalKeyService(store).create_key(
        NewPersonalKey(made.user.id, "Laptop", None, NOW)
    )

    [principal] = (await store.principals([hash_key(text)])).values()
    assert (key.expires_at, other.expires_at) == (until, None)
    assert await store.find_key(made.user.id, key.id) == key
    assert principal.key_expires_at == until
    assert [
        has_expired(principal.key_expires_at, until - timedelta(microseconds=1)),
        has_expired(principal.key_expires_at, until),
    ] == [
        False,
        True,
    ]


async def test_no_scopes_at_all_are_not_every_scope(records: Records) -> None:
    store = PersonalKeyStore(records)
    made = await set_up(records)

    _, text = await PersonalKeyService(store).create_key(
        NewPersonalKey(made.user.id, "Nothing", [], NOW)
    )

    [principal] = (await store.principals([hash_key(text)])).values()
    assert principal.scopes == ()
    assert not principal.is_unrestricted


async def test_a_user_has_a_limited_number_of_keys(records: Records) -> None:
    store = PersonalKeyStore(records)
    made = await set_up(records)
    for number in range(personal_keys_store.KEYS_PER_USER_MAX - 1):
        await add_key(records, made.user.id, f"phx_{number}")

    with pytest.raises(Invalid, match="You can only have 100 personal API keys"):
        await PersonalKeyService(store).create_key(
            NewPersonalKey(made.user.id, "One more", None, NOW)
        )


async def test_last_use_moves_hourly_at_most(records: Records) -> None:
    store = PersonalKeyStore(records)
    await set_up(records)
    [(key_id,)] = await records.fetch(select(personal_api_keys.c.id))
    seen = []

    for minutes in (0, 59, 60):
        await store.mark_used({key_id: NOW + timedelta(minutes=minutes), uuid4(): NOW})
        [(used,)] = await records.fetch(select(personal_api_keys.c.last_used_at))
        seen.append(used)

    assert seen == [NOW, NOW, NOW + timedelta(hours=1)]
