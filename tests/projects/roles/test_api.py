"""Roles of an organization, their members, and the access that is given to all members."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from fanion.projects.model import Level
from tests.support.management import error, invalid
from tests.support.team import (
    ACCESS,
    ORGANIZATION,
    ROLES,
    Colleague,
    Json,
    Team,
    TeamServer,
    open_team,
)

pytestmark = pytest.mark.every_engine

NOW_TEXT = "2024-03-01T12:00:00Z"
JOINED = {"joined_at": NOW_TEXT, "is_2fa_enabled": False}
NOT_FOUND = error("invalid_request", "not_found", "Not found.")
NAME_TAKEN = invalid("unique", "There is already a role with this name.", "name")


def summary(person: Colleague) -> Json:
    return {
        "id": person.user_id,
        "uuid": person.uuid,
        "distinct_id": f"distinct-{person.name}",
        "first_name": person.name,
        "email": f"{person.name}@example.com",
        "is_email_verified": True,
    }


async def test_a_role_is_created_listed_changed_and_deleted(team: Team) -> None:
    owner = team.owner
    made = await owner.post(ROLES, name=" Engineering ")
    path = f"{ROLES}{made['id']}/"

    listed = await owner.get(ROLES)
    changed = await owner.patch(path, name="Builders", feature_flags_access_level=21)
    retrieved = await owner.get(path)
    gone = await owner.client.delete(path)

    assert made == {
        "id": made["id"],
        "name": "Engineering",
        "feature_flags_access_level": 37,
        "created_at": NOW_TEXT,
        "created_by": summary(owner),
        "members": [],
        "associated_flags": [],
    }
    assert listed == {"count": 1, "next": None, "previous": None, "results": [made]}
    assert changed == made | {"name": "Builders", "feature_flags_access_level": 21}
    assert retrieved == changed
    assert (gone.status_code, gone.content) == (204, b"")
    assert (await owner.client.get(path)).json() == NOT_FOUND
    assert (await owner.get(ROLES))["count"] == 0


async def test_roles_are_listed_by_name_in_pages(team: Team) -> None:
    for name in ("beta", "Alpha", "gamma"):
        await team.role(name)

    first = await team.owner.get(ROLES, limit=2)
    second = (await team.owner.client.get(first["next"])).json()

    assert [role["name"] for role in first["results"]] == ["Alpha", "beta"]
    assert [role["name"] for role in second["results"]] == ["gamma"]
    assert (first["count"], second["next"]) == (3, None)


REFUSED: dict[str, tuple[Json, Json]] = {
    "no name": ({}, invalid("required", "This field is required.", "name")),
    "a blank name": ({"name": " "}, invalid("blank", "This field may not be blank.", "name")),
    "a long name": (
        {"name": "n" * 201},
        invalid("max_length", "Ensure this field has no more than 200 characters.", "name"),
    ),
    "another level": (
        {"name": "n", "feature_flags_access_level": 22},
        invalid(
            "invalid_choice",
            '"22" is not a valid choice. Allowed are: 21, 37.',
            "feature_flags_access_level",
        ),
    ),
    "the name of another": ({"name": "Taken"}, NAME_TAKEN),
    "a name that differs in case": ({"name": " tAKEN"}, NAME_TAKEN),
}


async def test_what_is_no_role_is_refused(team: Team) -> None:
    await team.role("taken")
    other = await team.role("other")
    path = f"{ROLES}{other['id']}/"

    for name, (sent, reported) in REFUSED.items():
        created = await team.owner.client.post(ROLES, json=sent)
        changed = await team.owner.client.patch(path, json=sent)

        assert (created.status_code, created.json()) == (400, reported), name
        if sent:
            assert (changed.status_code, changed.json()) == (400, reported), name

    assert await team.owner.get(path) == other
    assert (await team.owner.get(ROLES))["count"] == 2


async def test_a_role_may_be_saved_with_its_own_name(team: Team) -> None:
    role = await team.role("taken")

    changed = await team.owner.patch(f"{ROLES}{role['id']}/", name="TAKEN")

    assert changed == role | {"name": "TAKEN"}


async def test_of_roles_created_together_one_gets_the_name(team: Team) -> None:
    answers = await asyncio.gather(
        *(team.owner.client.post(ROLES, json={"name": name}) for name in ("x", "X", "x", "X"))
    )

    assert sorted(answer.status_code for answer in answers) == [201, 400, 400, 400]


async def test_members_are_added_to_a_role_and_removed(team: Team) -> None:
    owner, ada = team.owner, await team.add("ada")
    role = await team.role("Engineering")
    path = f"{ROLES}{role['id']}/role_memberships/"

    member = await owner.post(path, user_uuid=ada.uuid)
    again = await owner.client.post(path, json={"user_uuid": ada.uuid})
    listed = await owner.get(path)
    returned = await owner.get(f"{ROLES}{role['id']}/")
    retrieved = await owner.get(f"{path}{member['id']}/")
    gone = await owner.client.delete(f"{path}{member['id']}/")

    assert member == {
        "id": member["id"],
        "role_id": role["id"],
        "user": summary(ada),
        "joined_at": NOW_TEXT,
        "updated_at": NOW_TEXT,
    }
    assert again.status_code == 400
    assert again.json() == invalid("invalid_input", "User is already part of the role.")
    assert listed == {"count": 1, "next": None, "previous": None, "results": [member]}
    assert (returned["members"], retrieved) == ([member], member)
    assert (gone.status_code, gone.content) == (204, b"")
    assert (await owner.get(path))["results"] == []
    assert (await owner.client.delete(f"{path}{member['id']}/")).json() == NOT_FOUND


async def test_a_deleted_role_takes_its_memberships_along(team: Team) -> None:
    role = await team.role("Engineering", 37, await team.add("ada"))

    gone = await team.owner.client.delete(f"{ROLES}{role['id']}/")

    assert gone.status_code == 204
    assert (await team.role("Engineering"))["members"] == []


async def test_only_members_of_the_organization_get_its_roles(
    team: Team, team_server: TeamServer
) -> None:
    role = await team.role("Engineering")
    path = f"{ROLES}{role['id']}/role_memberships/"
    async with open_team(team_server) as neighbours:
        theirs = neighbours.owner.uuid

    answers = {
        uuid: (await team.owner.client.post(path, json={"user_uuid": uuid})).json()
        for uuid in (theirs, str(uuid4()), "nonsense")
    }

    unknown = invalid("invalid_input", "User does not exist.")
    wrong = invalid("invalid_input", "Must be a valid UUID.", "user_uuid")
    assert list(answers.values()) == [unknown, unknown, wrong]


async def test_the_setting_of_the_organization_is_the_level_of_new_roles(team: Team) -> None:
    owner = team.owner
    setting = await team.allow_all_members(21)
    path = f"{ACCESS}{setting['id']}/"

    below = await owner.post(ROLES, name="viewers")
    given = await owner.post(ROLES, name="editors", feature_flags_access_level=37)
    team.server.clock.move(minutes=1)
    changed = await owner.patch(path, access_level=37)
    above = await owner.post(ROLES, name="others")

    assert setting == {
        "id": setting["id"],
        "resource": "feature flags",
        "access_level": 21,
        "organization": str(team.organization_id),
        "created_at": NOW_TEXT,
        "updated_at": NOW_TEXT,
        "created_by": summary(owner),
    }
    levels = [role["feature_flags_access_level"] for role in (below, given, above)]
    assert levels == [21, 37, 37]
    assert changed == setting | {"access_level": 37, "updated_at": "2024-03-01T12:01:00Z"}
    assert await owner.get(path) == changed
    assert (await owner.get(ACCESS))["results"] == [changed]
    assert (await owner.client.delete(path)).status_code == 204
    assert (await owner.client.get(path)).json() == NOT_FOUND


NO_SETTING: list[tuple[Any, Json]] = [
    ({"access_level": 21}, invalid("required", "This field is required.", "resource")),
    (
        {"resource": "cohorts", "access_level": 21},
        invalid(
            "invalid_choice",
            '"cohorts" is not a valid choice. Allowed are: feature flags.',
            "resource",
        ),
    ),
    (
        {"resource": "feature flags", "access_level": 1},
        invalid(
            "invalid_choice", '"1" is not a valid choice. Allowed are: 21, 37.', "access_level"
        ),
    ),
    (
        {"resource": "feature flags", "access_level": 37},
        invalid("unique", "This resource access already exists.", "resource"),
    ),
]


async def test_what_is_no_setting_is_refused(team: Team) -> None:
    setting = await team.allow_all_members(21)

    answers = [await team.owner.client.post(ACCESS, json=sent) for sent, _ in NO_SETTING]

    assert [answer.json() for answer in answers] == [reported for _, reported in NO_SETTING]
    assert {answer.status_code for answer in answers} == {400}
    assert (await team.owner.get(ACCESS))["results"] == [setting]


async def test_an_organization_lists_its_members(team: Team) -> None:
    ada = await team.add("ada", Level.ADMIN)

    organization = await ada.get(f"{ORGANIZATION}/")
    by_id = await ada.get(f"/api/organizations/{team.organization_id}/")
    members = await ada.get(f"{ORGANIZATION}/members/")

    assert organization == by_id
    assert organization == {
        "id": str(team.organization_id),
        "name": "Team",
        "membership_level": 8,
        "enforce_2fa": False,
        "activity_kept_days": None,
    }
    assert members["results"] == [
        {"user": summary(team.owner), "level": 15, **JOINED},
        {"user": summary(ada), "level": 8, **JOINED},
    ]
    assert members["count"] == 2


async def test_another_organization_does_not_exist_for_strangers(
    team: Team, team_server: TeamServer
) -> None:
    role, setting = await team.role("Engineering"), await team.allow_all_members(21)
    ours = f"/api/organizations/{team.organization_id}/"

    async with open_team(team_server) as neighbours:
        stranger = neighbours.owner.client
        answers = [
            await stranger.get(ours),
            await stranger.get(f"{ours}roles/"),
            await stranger.get(f"{ROLES}{role['id']}/"),
            await stranger.delete(f"{ROLES}{role['id']}/"),
            await stranger.delete(f"{ACCESS}{setting['id']}/"),
            await team.owner.client.get(f"/api/organizations/{neighbours.organization_id}/roles/"),
            await team.owner.client.get("/api/organizations/nonsense/roles/"),
            await team.owner.client.get(f"{ROLES}nonsense/"),
        ]

    assert [(answer.status_code, answer.json()) for answer in answers] == [(404, NOT_FOUND)] * 8
