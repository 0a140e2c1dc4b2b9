"""The activity of flags, projects and roles: who changed what."""

from typing import Any

import pytest

from tests.support.management import BASE_URL, error
from tests.support.rich_project import NEVER_PAID
from tests.support.team import Colleague, Json, Team, TeamServer, open_team

NOW_TEXT = "2024-03-01T12:00:00Z"
NOT_FOUND = error("invalid_request", "not_found", "Not found.")


def entry(who: Colleague, activity: str, flag: Json, changes: list[Json] | None) -> Json:
    """Return the expected entry of the activity.

    Source: flags.md section 14.
    """
    return {
        "user": {"first_name": who.name, "email": f"{who.name}@example.com"},
        "activity": activity,
        "scope": "FeatureFlag",
        "item_id": str(flag["id"]),
        "detail": {
            "name": flag["key"],
            "changes": changes,
            "short_id": None,
            "trigger": None,
            "type": None,
        },
        "created_at": NOW_TEXT,
    }


def change(field: str, before: Any, after: Any, action: str = "changed") -> Json:
    return {
        "type": "FeatureFlag",
        "action": action,
        "field": field,
        "before": before,
        "after": after,
    }


async def activity_of(team: Team, flag: Json) -> list[Json]:
    entries: list[Json] = (await team.owner.get(f"{team.flags}{flag['id']}/activity/"))["results"]
    return entries


async def test_a_new_flag_is_reported_once(team: Team) -> None:
    flag = await team.owner.post(team.flags, key="a", filters={"groups": [{}]})

    activity = await team.owner.get(f"{team.flags}{flag['id']}/activity/")

    expected = [entry(team.owner, "created", flag, None)]
    assert activity == {"results": expected, "next": None, "previous": None, "total_count": 1}
    assert await team.owner.get(f"{team.flags}activity/") == activity


GROUPS = {"groups": [{"rollout_percentage": 5}]}
# Changes of a flag that was created with only a key, and what is recorded.
CHANGES: dict[str, tuple[Json, list[Json]]] = {
    "name": ({"name": "n"}, [change("name", "", "n")]),
    "key": ({"key": "b"}, [change("key", "a", "b")]),
    "filters, before as they are stored": ({"filters": GROUPS}, [change("filters", {}, GROUPS)]),
    "deletion": ({"deleted": True}, [change("deleted", False, True)]),
    "several, in the order of the fields": (
        {"ensure_experience_continuity": True, "tags": ["X"], "active": False, "key": "b"},
        [
            change("key", "a", "b"),
            change("active", True, False),
            change("ensure_experience_continuity", False, True),
            change("tags", [], ["x"]),
        ],
    ),
    "from nothing": (
        {"rollback_conditions": [NEVER_PAID]},
        [change("rollback_conditions", None, [NEVER_PAID], "created")],
    ),
    "to nothing": (
        {"ensure_experience_continuity": None},
        [change("ensure_experience_continuity", False, None, "deleted")],
    ),
    "a rollback that is over": (
        {"active": True},
        [change("performed_rollback", None, False, "created")],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_reports_the_fields_that_differ(team: Team, name: str) -> None:
    sent, reported = CHANGES[name]
    flag = await team.owner.post(team.flags, key="a")

    changed = await team.owner.patch(f"{team.flags}{flag['id']}/", **sent)

    assert (await activity_of(team, flag))[0] == entry(team.owner, "updated", changed, reported)


SAME: list[Json] = [
    {},
    {"name": "n", "key": "a", "deleted": False, "tags": ["x"], "filters": GROUPS},
    {"active": True, "performed_rollback": None},
    {"created_at": "2020-01-01T00:00:00Z"},
    {"can_edit": False, "id": 5, "_create_in_folder": "x"},
]


async def test_a_change_of_nothing_is_not_reported(team: Team) -> None:
    flag = await team.owner.post(team.flags, key="a", name="n", tags=["x"], filters=GROUPS)

    for sent in SAME:
        await team.owner.patch(f"{team.flags}{flag['id']}/", **sent)

    assert [item["activity"] for item in await activity_of(team, flag)] == ["created"]


async def test_what_is_refused_is_not_reported(team: Team) -> None:
    await team.owner.post(team.flags, key="taken")
    flag = await team.owner.post(team.flags, key="a")

    refused = [
        await team.owner.client.post(team.flags, json={"key": "taken"}),
        await team.owner.client.patch(f"{team.flags}{flag['id']}/", json={"key": "taken"}),
    ]

    assert [answer.status_code for answer in refused] == [400, 400]
    assert [item["activity"] for item in await activity_of(team, flag)] == ["created"]
    assert (await team.owner.get(f"{team.flags}activity/"))["total_count"] == 2


@pytest.mark.every_engine
async def test_activity_comes_in_pages_the_newest_first(team: Team) -> None:
    flag = await team.owner.post(team.flags, key="a")
    for number in range(24):
        await team.owner.patch(f"{team.flags}{flag['id']}/", name=str(number))
    path = f"{BASE_URL}{team.flags}{flag['id']}/activity/"

    first = await team.owner.get(path)
    second = (await team.owner.client.get(first["next"])).json()
    third = (await team.owner.client.get(second["next"])).json()
    beyond = await team.owner.get(path, page=9)

    after = [item["detail"]["changes"][0]["after"] for item in first["results"]]
    assert after == [str(number) for number in range(23, 13, -1)]
    pages = (first, second, third, beyond)
    assert [len(page["results"]) for page in pages] == [10, 10, 5, 0]
    assert {page["total_count"] for page in pages} == {25}
    assert [(page["next"], page["previous"]) for page in (first, second, third)] == [
        (f"{path}?page=2&limit=10", None),
        (f"{path}?page=3&limit=10", f"{path}?page=1&limit=10"),
        (None, f"{path}?page=2&limit=10"),
    ]


async def test_flags_keep_their_activity_apart(team: Team) -> None:
    first, second = [await team.owner.post(team.flags, key=key) for key in "ab"]
    ada = await team.add("ada")

    changed = await ada.patch(f"{team.flags}{first['id']}/", name="n")

    assert await activity_of(team, first) == [
        entry(ada, "updated", changed, [change("name", "", "n")]),
        entry(team.owner, "created", first, None),
    ]
    assert await activity_of(team, second) == [entry(team.owner, "created", second, None)]


async def test_the_activity_of_an_unknown_flag_is_not_found(
    team: Team, team_server: TeamServer
) -> None:
    async with open_team(team_server) as neighbours:
        foreign = await neighbours.owner.post(neighbours.flags, key="a")

    for flag_id in (foreign["id"], 999999999, "x"):
        answer = await team.owner.client.get(f"{team.flags}{flag_id}/activity/")
        assert (answer.status_code, answer.json()) == (404, NOT_FOUND)


async def test_a_deleted_flag_still_tells(team: Team) -> None:
    flag = await team.owner.post(team.flags, key="a")
    await team.owner.patch(f"{team.flags}{flag['id']}/", deleted=True)

    assert [item["activity"] for item in await activity_of(team, flag)] == ["updated", "created"]


async def test_roles_that_get_a_flag_or_lose_it_are_reported(team: Team) -> None:
    flag = await team.owner.post(team.flags, key="a")
    role = await team.role("Engineering")
    path = f"{team.flags}{flag['id']}/role_access/"
    reported = {"id": role["id"], "name": "Engineering"}

    made = await team.owner.post(path, role_id=role["id"])
    await team.owner.client.post(path, json={"role_id": role["id"]})
    await team.owner.client.delete(f"{path}{made['id']}/")

    assert await activity_of(team, flag) == [
        entry(team.owner, "updated", flag, [change("role_access", reported, None, "deleted")]),
        entry(team.owner, "updated", flag, [change("role_access", None, reported, "created")]),
        entry(team.owner, "created", flag, None),
    ]


async def test_changes_of_a_project_are_reported(team: Team) -> None:
    path = f"/api/projects/{team.project_id}/"
    await team.owner.patch(path, name="Shop", ingestion={"anonymize_ips": True})
    await team.owner.patch(path, name="Shop")

    activity = await team.owner.get(f"{path}activity_log/", scope="Project")

    [reported] = activity["results"]
    assert (reported["activity"], reported["item_id"]) == ("updated", str(team.project_id))
    assert reported["detail"]["name"] == "Shop"
    assert reported["detail"]["changes"] == [
        {
            "type": "Project",
            "action": "changed",
            "field": "name",
            "before": "Project",
            "after": "Shop",
        },
        {
            "type": "Project",
            "action": "changed",
            "field": "ingestion",
            "before": {},
            "after": {"anonymize_ips": True},
        },
    ]
