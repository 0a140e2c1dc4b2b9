"""Rights that a personal key lacks cannot be given with it: invites, levels, roles, secret keys."""

from datetime import timedelta

import httpx
import pytest

from fanion.projects.model import Level
from tests.projects.invites.test_api import INVITES, count
from tests.projects.members.test_api import MEMBERS, levels
from tests.support.management import NOW, add_key, error
from tests.support.team import ACCESS, ROLES, Json, Team

NOT_GIVEN = error(
    "authentication_error",
    "fresh_sign_in_required",
    "The user could do more than this key. Sign in to do this, or use a personal API key that has "
    "neither scopes nor an expiry.",
)
NO_FLAGS = error(
    "authentication_error",
    "permission_denied",
    "API key missing required scope 'feature_flag:write'",
)
ORGANIZATION_SCOPES = ["organization:write"]
ALL_BUT_ONE = ["organization:write", "project:write", "feature_flag:write", "person:write"]


async def key_of_owner(team: Team, scopes: list[str] | None, *, expires: bool) -> str:
    key = f"phx_{team.project_id}_{'_'.join(scopes or ['all'])}_{expires}"
    expires_at = NOW + timedelta(days=1) if expires else None
    return await add_key(team.server.records, team.owner.user_id, key, scopes, expires_at)


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize(
    ("scopes", "expires"),
    [(ORGANIZATION_SCOPES, False), (ALL_BUT_ONE, False), (None, True), (["*"], True)],
)
async def test_a_key_invites_nobody_who_could_do_more_than_the_key(
    team: Team, scopes: list[str] | None, expires: bool, level: Level
) -> None:
    key = await key_of_owner(team, scopes, expires=expires)

    async with team.server.client(key) as client:
        sent = {"target_email": "own@example.com", "level": int(level)}
        answer = await client.post(INVITES, json=sent)
        several = await client.post(f"{INVITES}bulk/", json=[sent])

    for refused in (answer, several):
        assert (refused.status_code, refused.json()) == (403, NOT_GIVEN)
    assert await count(team) == 0


@pytest.mark.parametrize("scopes", [None, ["*"]])
async def test_a_key_that_may_do_everything_invites(team: Team, scopes: list[str] | None) -> None:
    key = await key_of_owner(team, scopes, expires=False)

    async with team.server.client(key) as client:
        sent = {"target_email": "new@example.com", "level": 15}
        assert (await client.post(INVITES, json=sent)).status_code == 201


async def test_a_key_with_scopes_deletes_invites(team: Team) -> None:
    made = await team.owner.post(INVITES, target_email="new@example.com")
    key = await key_of_owner(team, ORGANIZATION_SCOPES, expires=False)

    async with team.server.client(key) as client:
        assert (await client.delete(f"{INVITES}{made['id']}/")).status_code == 204


async def test_a_key_with_scopes_lowers_levels_and_raises_none(team: Team) -> None:
    mia = await team.add("mia", Level.MEMBER)
    key = await key_of_owner(team, ORGANIZATION_SCOPES, expires=False)

    async with team.server.client(key) as client:

        async def give(level: int) -> httpx.Response:
            return await client.patch(f"{MEMBERS}{mia.uuid}/", json={"level": level})

        raised = [await give(Level.OWNER), await give(Level.ADMIN)]
        kept, lowered = await give(Level.MEMBER), await give(Level.VIEWER)
        raised.append(await give(Level.MEMBER))

    for refused in raised:
        assert (refused.status_code, refused.json()) == (403, NOT_GIVEN)
    assert (kept.status_code, lowered.status_code) == (200, 200)
    assert (await levels(team))[mia.name] == Level.VIEWER


async def test_a_key_that_edits_no_flags_lets_nobody_edit_them(team: Team) -> None:
    mia = await team.add("mia", Level.MEMBER)
    setting = await team.allow_all_members(21)
    role = await team.role("Readers", 21)
    members = f"{ROLES}{role['id']}/role_memberships/"
    key = await key_of_owner(team, ORGANIZATION_SCOPES, expires=False)

    async with team.server.client(key) as client:
        refused = [
            await client.post(members, json={"user_uuid": mia.uuid}),
            await client.patch(
                f"{ROLES}{role['id']}/", json={"feature_flags_access_level": 37, "name": "Makers"}
            ),
            await client.patch(f"{ACCESS}{setting['id']}/", json={"access_level": 37}),
            await client.delete(f"{ACCESS}{setting['id']}/"),
        ]
        taken = await client.patch(f"{ROLES}{role['id']}/", json={"feature_flags_access_level": 21})

    for answer in refused:
        assert (answer.status_code, answer.json()) == (403, NO_FLAGS)
    assert taken.status_code == 200
    present: Json = await team.owner.get(f"{ROLES}{role['id']}/")
    assert (present["name"], present["members"]) == ("Readers", [])
    assert (await team.owner.get(f"{ACCESS}{setting['id']}/"))["access_level"] == 21


async def test_a_key_that_edits_flags_lets_others_edit_them(team: Team) -> None:
    mia = await team.add("mia", Level.MEMBER)
    role = await team.role("Makers", 21)
    scopes = [*ORGANIZATION_SCOPES, "feature_flag:write"]
    key = await key_of_owner(team, scopes, expires=False)

    async with team.server.client(key) as client:
        path = f"{ROLES}{role['id']}/"
        given = await client.patch(path, json={"feature_flags_access_level": 37})
        added = await client.post(f"{path}role_memberships/", json={"user_uuid": mia.uuid})

    assert (given.status_code, added.status_code) == (200, 201)
