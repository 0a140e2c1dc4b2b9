"""Members of an organization, changed and removed by one another."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import select, update

from fanion.db.schema.tables import memberships, personal_api_keys, users
from fanion.projects.model import Level
from tests.projects.roles.test_api import NOT_FOUND, summary
from tests.support.management import error, invalid
from tests.support.team import ORGANIZATION, Colleague, Json, Team, TeamServer, open_team

pytestmark = pytest.mark.every_engine

MEMBERS = f"{ORGANIZATION}/members/"


def denied(detail: str) -> Json:
    return error("authentication_error", "permission_denied", detail)


TOO_LOW = denied("Your organization access level is insufficient.")
NOT_BELOW = denied("You can only manage members whose level is lower than yours.")
OWN_LEVEL = denied("You can't change your own access level.")
NO_CHANGES = denied("Viewers cannot make changes.")


def last_owner(person: Colleague) -> Json:
    email = f"{person.name}@example.com"
    detail = f"{email} is the last active owner. Make another member an owner first."
    return invalid("last_owner", detail)


async def set_level(who: Colleague, whom: Colleague, level: int) -> tuple[int, Any]:
    answer = await who.client.patch(f"{MEMBERS}{whom.uuid}/", json={"level": level})
    return answer.status_code, answer.json()


async def remove(who: Colleague, whom: Colleague) -> tuple[int, Any]:
    answer = await who.client.delete(f"{MEMBERS}{whom.uuid}/")
    return answer.status_code, answer.json() if answer.content else None


async def levels(team: Team) -> dict[str, int]:
    """Return the stored levels by first name."""
    async with team.server.records.read() as connection:
        rows = await connection.execute(
            select(users.c.first_name, memberships.c.level)
            .join(users, users.c.id == memberships.c.user_id)
            .where(memberships.c.organization_id == team.organization_id)
        )
        return {row.first_name: row.level for row in rows}


async def logged(team: Team, scope: str) -> list[tuple[str, str, str]]:
    """Return user, activity and item of the entries, newest first."""
    path = f"/api/projects/{team.project_id}/activity_log/"
    entries = (await team.owner.get(path, scope=scope, limit=50))["results"]
    return [
        (entry["user"]["first_name"], entry["activity"], entry["detail"]["name"])
        for entry in entries
    ]


async def test_a_changed_level_counts_at_once(team: Team) -> None:
    ada = await team.add("ada")
    assert (await ada.client.post(team.flags, json={"key": "before"})).status_code == 201

    changed = await team.owner.patch(f"{MEMBERS}{ada.uuid}/", level=0)
    as_viewer = await ada.client.post(team.flags, json={"key": "after"})
    await team.owner.patch(f"{MEMBERS}{ada.uuid}/", level=8)
    as_administrator = await ada.client.post(f"{ORGANIZATION}/roles/", json={"name": "r"})

    assert changed == {
        "user": summary(ada),
        "level": 0,
        "joined_at": "2024-03-01T12:00:00Z",
        "is_2fa_enabled": False,
    }
    assert (as_viewer.status_code, as_viewer.json()) == (403, NO_CHANGES)
    assert as_administrator.status_code == 201
    assert await logged(team, "OrganizationMembership") == [
        (team.owner.name, "updated", f"{ada.name}@example.com"),
        (team.owner.name, "updated", f"{ada.name}@example.com"),
    ]


async def test_members_manage_those_below_them(team: Team) -> None:
    vera, ada, adam = [
        await team.add("vera", Level.VIEWER),
        await team.add("ada", Level.ADMIN),
        await team.add("adam", Level.ADMIN),
    ]
    bea, mia = await team.add("bea"), await team.add("mia")

    assert await set_level(vera, bea, 0) == (403, NO_CHANGES)
    assert await set_level(bea, vera, 1) == (403, TOO_LOW)
    assert await remove(vera, bea) == (403, TOO_LOW)
    assert await remove(bea, vera) == (403, TOO_LOW)
    assert await set_level(ada, adam, 1) == (403, NOT_BELOW)
    assert await set_level(ada, team.owner, 1) == (403, NOT_BELOW)
    assert await remove(ada, team.owner) == (403, NOT_BELOW)
    assert await set_level(ada, ada, 15) == (403, OWN_LEVEL)
    assert await set_level(ada, bea, 15) == (
        403,
        denied("You can only give levels that are not higher than your own."),
    )
    assert (await set_level(ada, bea, 8))[0] == 200
    assert await remove(ada, mia) == (204, None)
    assert await levels(team) == {
        team.owner.name: 15,
        vera.name: 0,
        ada.name: 8,
        adam.name: 8,
        bea.name: 8,
    }


async def test_a_removed_member_reaches_nothing_any_more(team: Team) -> None:
    ada = await team.add("ada")
    role = await team.role("Makers", 37, ada)

    gone = await remove(team.owner, ada)

    refused = await ada.client.get(f"{ORGANIZATION}/")
    assert gone == (204, None)
    assert (refused.status_code, refused.json()["code"]) == (401, "invalid_personal_api_key")
    assert (await team.owner.get(f"{ORGANIZATION}/roles/{role['id']}/"))["members"] == []
    assert await remove(team.owner, ada) == (404, NOT_FOUND)
    assert await set_level(team.owner, ada, 8) == (404, NOT_FOUND)
    async with team.server.records.read() as connection:
        theirs = personal_api_keys.c.user_id == ada.user_id
        assert (await connection.execute(select(personal_api_keys.c.id).where(theirs))).all() == []
    me = team.owner.name
    assert (await logged(team, "PersonalAPIKey"))[0][:2] == (me, "deleted")
    assert (await logged(team, "Role"))[0] == (me, "updated", "Makers")
    assert (await logged(team, "OrganizationMembership"))[0] == (
        me,
        "deleted",
        f"{ada.name}@example.com",
    )


@pytest.mark.parametrize("level", [Level.VIEWER, Level.MEMBER, Level.ADMIN])
async def test_everybody_may_leave(team: Team, level: Level) -> None:
    ada = await team.add("ada", level)

    assert await remove(ada, ada) == (204, None)

    assert await levels(team) == {team.owner.name: 15}


async def test_the_last_owner_stays(team: Team) -> None:
    owner, ada = team.owner, await team.add("ada", Level.OWNER)
    assert (await set_level(owner, ada, 1))[0] == 200

    assert await remove(owner, owner) == (400, last_owner(owner))
    assert await set_level(owner, owner, 8) == (403, OWN_LEVEL)
    assert await levels(team) == {owner.name: 15, ada.name: 1}


async def test_a_disabled_owner_does_not_count_as_another_one(team: Team) -> None:
    ada = await team.add("ada", Level.OWNER)
    async with team.server.records.write() as connection:
        await connection.execute(
            update(users).where(users.c.id == ada.user_id).values(is_active=False)
        )

    assert await remove(team.owner, team.owner) == (400, last_owner(team.owner))
    assert await remove(team.owner, ada) == (204, None)


@pytest.mark.parametrize("act", ["lower", "remove", "leave"])
async def test_of_owners_who_go_at_the_same_time_one_stays(team: Team, act: str) -> None:
    one, two = team.owner, await team.add("ada", Level.OWNER)
    pairs = [(one, one), (two, two)] if act == "leave" else [(one, two), (two, one)]

    done = await asyncio.gather(
        *(set_level(a, b, 1) if act == "lower" else remove(a, b) for a, b in pairs)
    )

    statuses = sorted(status for status, _ in done)
    left = await levels(team)
    assert sum(level == Level.OWNER for level in left.values()) == 1
    assert statuses[0] in {200, 204}
    # The second caller is no longer an owner, no longer a member, or unknown.
    assert statuses[1] in {400, 401, 403, 404}


async def test_a_right_that_was_taken_meanwhile_does_not_count(team: Team) -> None:
    """The caller's level is read again with the change: a cached one may be 2 s old."""
    ada, bea = await team.add("ada", Level.ADMIN), await team.add("bea")
    await ada.get(MEMBERS)  # caches the key and its rights
    async with team.server.records.write() as connection:
        await connection.execute(
            update(memberships).where(memberships.c.user_id == ada.user_id).values(level=1)
        )

    assert await set_level(ada, bea, 8) == (403, TOO_LOW)
    assert await remove(ada, bea) == (403, TOO_LOW)
    assert (await levels(team))[bea.name] == 1


async def test_members_of_others_are_not_there(team: Team, team_server: TeamServer) -> None:
    async with open_team(team_server) as neighbours:
        theirs = neighbours.owner
        path = f"/api/organizations/{neighbours.organization_id}/members/{theirs.uuid}/"
        answers = [
            await set_level(team.owner, theirs, 1),
            await remove(team.owner, theirs),
        ]
        by_name = await team.owner.client.patch(path, json={"level": 1})
        assert await levels(neighbours) == {theirs.name: 15}

    assert answers == [(404, NOT_FOUND), (404, NOT_FOUND)]
    assert (by_name.status_code, by_name.json()) == (404, NOT_FOUND)


@pytest.mark.parametrize(
    ("sent", "reported"),
    [
        ({}, invalid("required", "This field is required.", "level")),
        (
            {"level": 2},
            invalid(
                "invalid_choice", '"2" is not a valid choice. Allowed are: 0, 1, 15, 8.', "level"
            ),
        ),
        (
            {"level": True},
            invalid(
                "invalid_choice",
                '"True" is not a valid choice. Allowed are: 0, 1, 15, 8.',
                "level",
            ),
        ),
    ],
    ids=["nothing", "no level", "a boolean"],
)
async def test_what_is_no_level_is_refused(team: Team, sent: Json, reported: Json) -> None:
    ada = await team.add("ada")

    answer = await team.owner.client.patch(f"{MEMBERS}{ada.uuid}/", json=sent)

    assert (answer.status_code, answer.json()) == (400, reported)
    assert (await levels(team))[ada.name] == 1
