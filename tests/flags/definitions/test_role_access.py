"""Flags given to roles, and who may change which flag."""

import asyncio
from uuid import uuid4

import pytest
from sqlalchemy import update

from fanion.db.schema.tables import feature_flags
from fanion.projects.model import Level
from tests.support.management import error, invalid
from tests.support.team import ACCESS, ROLES, Colleague, Json, Team, TeamServer, open_team

NOW_TEXT = "2024-03-01T12:00:00Z"
NOT_FOUND = error("invalid_request", "not_found", "Not found.")
NO_EDIT = error(
    "authentication_error",
    "permission_denied",
    "You don't have edit permissions for this feature flag.",
)
NO_SHARE = error(
    "authentication_error", "permission_denied", "You can't edit roles for this feature flag."
)


def records_of(team: Team, flag: Json) -> str:
    return f"{team.flags}{flag['id']}/role_access/"


async def test_a_flag_is_given_to_a_role_and_taken_back(team: Team) -> None:
    owner = team.owner
    flag, other = await owner.post(team.flags, key="a"), await owner.post(team.flags, key="b")
    role = await team.role("Engineering", 21, await team.add("ada"))
    path = records_of(team, flag)

    made = await owner.post(path, role_id=role["id"])
    listed = await owner.get(path)
    access = await owner.get(f"{path}{made['id']}/")
    elsewhere = await owner.get(records_of(team, other))
    returned = await owner.get(f"{ROLES}{role['id']}/")
    wrong_flag = await owner.client.get(f"{records_of(team, other)}{made['id']}/")
    gone = await owner.client.delete(f"{path}{made['id']}/")

    assert returned["associated_flags"] == [{"id": flag["id"], "key": "a"}]
    assert made == {
        "id": made["id"],
        "feature_flag": flag,
        "role": returned,
        "role_id": role["id"],
        "added_at": NOW_TEXT,
        "updated_at": NOW_TEXT,
    }
    assert listed == {"count": 1, "next": None, "previous": None, "results": [made]}
    assert access == made
    assert elsewhere["results"] == []
    assert wrong_flag.json() == NOT_FOUND
    assert (gone.status_code, gone.content) == (204, b"")
    assert (await owner.get(path))["results"] == []
    assert (await owner.client.get(f"{path}{made['id']}/")).json() == NOT_FOUND
    assert (await owner.client.delete(f"{path}{made['id']}/")).json() == NOT_FOUND


async def test_what_cannot_be_given_is_refused(team: Team, team_server: TeamServer) -> None:
    flag, role = await team.owner.post(team.flags, key="a"), await team.role("Engineering")
    path = records_of(team, flag)
    await team.owner.post(path, role_id=role["id"])
    unknown = str(uuid4())
    async with open_team(team_server) as neighbours:
        foreign = (await neighbours.role("Engineering"))["id"]

    expected = [
        ({}, invalid("required", "This field is required.", "role_id")),
        ({"role_id": None}, invalid("null", "This field may not be null.", "role_id")),
        ({"role_id": "x"}, invalid("invalid_input", "Must be a valid UUID.", "role_id")),
        *(
            (
                {"role_id": role_id},
                invalid(
                    "does_not_exist", f'Invalid pk "{role_id}" - object does not exist.', "role_id"
                ),
            )
            for role_id in (unknown, foreign)
        ),
        (
            {"role_id": role["id"]},
            invalid("unique", "This role already has access to this feature flag.", "role_id"),
        ),
    ]
    answers = [await team.owner.client.post(path, json=sent) for sent, _ in expected]

    assert [answer.json() for answer in answers] == [reported for _, reported in expected]
    assert {answer.status_code for answer in answers} == {400}
    assert (await team.owner.get(path))["count"] == 1


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
async def test_a_record_is_not_changed(team: Team, method: str) -> None:
    flag, role = await team.owner.post(team.flags, key="a"), await team.role("Engineering")
    made = await team.owner.post(records_of(team, flag), role_id=role["id"])

    answer = await team.owner.client.request(
        method, f"{records_of(team, flag)}{made['id']}/", json={"role_id": role["id"]}
    )

    assert answer.status_code == 405
    reported = f'Method "{method}" not allowed.'
    assert answer.json() == error("invalid_request", "method_not_allowed", reported)


@pytest.mark.every_engine
async def test_records_end_with_their_role_and_with_their_flag(team: Team) -> None:
    owner = team.owner
    flag = await owner.post(team.flags, key="a")
    first, second = await team.role("first"), await team.role("second")
    for role in (first, second):
        await owner.post(records_of(team, flag), role_id=role["id"])

    await owner.client.delete(f"{ROLES}{first['id']}/")
    left = (await owner.get(records_of(team, flag)))["results"]
    await owner.patch(f"{team.flags}{flag['id']}/", deleted=True)
    await owner.post(team.flags, key="a")

    assert [record["role"]["name"] for record in left] == ["second"]
    assert (await owner.get(f"{ROLES}{second['id']}/"))["associated_flags"] == []


@pytest.mark.every_engine
async def test_a_flag_given_twice_at_once_is_given_once(team: Team) -> None:
    flag, role = await team.owner.post(team.flags, key="a"), await team.role("Engineering")

    answers = await asyncio.gather(
        *(
            team.owner.client.post(records_of(team, flag), json={"role_id": role["id"]})
            for _ in range(4)
        )
    )

    assert sorted(answer.status_code for answer in answers) == [201, 400, 400, 400]


# (Caller, what the organization allows all members) → may edit, may share.
# Source: flags.md section 16.
RIGHTS: dict[tuple[str, int | None], tuple[bool, bool]] = {
    ("owner", 21): (True, True),
    ("admin", 21): (True, True),
    ("creator", 21): (True, True),
    ("member", None): (True, True),
    ("member", 37): (True, True),
    ("member", 21): (False, False),
    ("editor", 21): (True, True),
    ("viewer", 21): (False, False),
    ("viewer", 37): (True, True),
    ("viewer", None): (True, True),
    ("viewer of the flag", 21): (True, False),
    ("viewer of another flag", 21): (False, False),
    ("viewer and editor", 21): (True, True),
}


@pytest.mark.parametrize("setting", [21, 37, None])
async def test_rights_over_a_flag(team: Team, setting: int | None) -> None:
    persons = {"owner": team.owner, "admin": await team.add("admin", Level.ADMIN)}
    for name in ("creator", "member", "editor", "viewer", "of flag", "of other", "both"):
        persons[name] = await team.add(name.replace(" ", "-"))
    flag = await persons["creator"].post(team.flags, key="a")
    other = await persons["owner"].post(team.flags, key="b")
    await team.role("editors", 37, persons["editor"], persons["both"])
    await team.role("viewers", 21, persons["viewer"], persons["both"])
    for name, given in (("of flag", flag), ("of other", other)):
        role = await team.role(name, 21, persons[name])
        await team.owner.post(records_of(team, given), role_id=role["id"])
    if setting is not None:
        await team.allow_all_members(setting)
    called = {
        "viewer of the flag": "of flag",
        "viewer of another flag": "of other",
        "viewer and editor": "both",
    }

    for (whom, allowed), (edits, shares) in RIGHTS.items():
        if allowed == setting:
            await _check(team, flag, persons[called.get(whom, whom)], edits, shares)


async def _check(team: Team, flag: Json, who: Colleague, edits: bool, shares: bool) -> None:
    path = f"{team.flags}{flag['id']}/"
    role = await team.role(f"for {who.name}")

    seen = await who.get(path)
    listed = {flag["id"]: flag for flag in (await who.get(team.flags))["results"]}
    records = await who.get(records_of(team, flag))
    patched = await who.client.patch(path, json={"name": who.name})
    given = await who.client.post(records_of(team, flag), json={"role_id": role["id"]})

    assert (seen["can_edit"], listed[flag["id"]]["can_edit"]) == (edits, edits), who.name
    assert {record["feature_flag"]["can_edit"] for record in records["results"]} == {edits}
    if edits:
        assert (patched.status_code, patched.json()["name"]) == (200, who.name)
    else:
        assert (patched.status_code, patched.json()) == (403, NO_EDIT), who.name
    if shares:
        assert given.status_code == 201, who.name
    else:
        assert (given.status_code, given.json()) == (403, NO_SHARE), who.name
    access_path = f"{records_of(team, flag)}{records['results'][0]['id']}/"
    if not shares:
        assert (await who.client.delete(access_path)).json() == NO_SHARE


@pytest.mark.parametrize("action", ["dashboard", "enrich_usage_dashboard"])
async def test_what_is_done_to_a_flag_needs_the_right_to_edit_it(team: Team, action: str) -> None:
    flag = await team.owner.post(team.flags, key="a")
    await team.allow_all_members(21)
    ada = await team.add("ada")

    answer = await ada.client.post(f"{team.flags}{flag['id']}/{action}/", json={})

    assert (answer.status_code, answer.json()) == (403, NO_EDIT)
    assert await team.owner.get(f"{team.flags}{flag['id']}/") == flag


async def test_every_member_creates_flags_and_edits_them(team: Team) -> None:
    await team.allow_all_members(21)
    ada = await team.add("ada")

    flag = await ada.post(team.flags, key="a")

    assert flag["can_edit"] is True
    assert (await ada.patch(f"{team.flags}{flag['id']}/", name="mine"))["name"] == "mine"


async def test_a_creator_who_is_gone_gives_no_right(team: Team) -> None:
    await team.allow_all_members(21)
    ada = await team.add("ada")
    flag = await ada.post(team.flags, key="a")
    async with team.server.records.write() as connection:
        await connection.execute(
            update(feature_flags).where(feature_flags.c.id == flag["id"]).values(created_by_id=None)
        )

    seen = await ada.get(f"{team.flags}{flag['id']}/")

    assert (seen["created_by"], seen["can_edit"]) == (None, False)


async def test_a_right_ends_when_it_is_taken(team: Team) -> None:
    setting = await team.allow_all_members(21)
    ada = await team.add("ada")
    role = await team.role("editors", 37, ada)
    flag = await team.owner.post(team.flags, key="a")
    path = f"{team.flags}{flag['id']}/"

    async def edits() -> bool:
        return bool((await ada.get(path))["can_edit"])

    before = await edits()
    await team.owner.patch(f"{ROLES}{role['id']}/", feature_flags_access_level=21)
    lowered = await edits()
    made = await team.owner.post(records_of(team, flag), role_id=role["id"])
    given = await edits()
    await team.owner.client.delete(f"{records_of(team, flag)}{made['id']}/")
    taken = await edits()
    await team.owner.client.delete(f"{ACCESS}{setting['id']}/")
    allowed = await edits()

    assert [before, lowered, given, taken, allowed] == [True, False, True, False, True]
