"""Users who change the same flag do not overwrite each other's changes."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.support.rich_project import NEVER_PAID
from tests.support.team import Json, Team

pytestmark = pytest.mark.every_engine

HEADER = "x-flag-version"
DETAIL = "The feature flag was changed since you read it. Review the current version and try again."


async def test_the_version_stands_in_a_header_and_not_in_the_flag(team: Team) -> None:
    client = team.owner.client
    created = await client.post(team.flags, json={"key": "a"})
    path = f"{team.flags}{created.json()['id']}/"

    read = await client.get(path)
    changed = await client.patch(path, json={"name": "n"})
    again = await client.patch(path, json={"name": "n"})
    deleted = await client.patch(path, json={"deleted": True})

    answers = [created, read, changed, again, deleted]
    assert [answer.headers[HEADER] for answer in answers] == ["1", "1", "2", "2", "3"]
    assert all("version" not in answer.json() for answer in answers)


@pytest.mark.parametrize("version", [1, 3, 0])
async def test_a_change_of_another_version_is_refused_with_what_the_flag_is_now(
    team: Team, version: int
) -> None:
    flag = await team.owner.post(team.flags, key="a")
    path = f"{team.flags}{flag['id']}/"
    current = await team.owner.patch(path, name="first", version=1)

    answer = await team.owner.client.patch(path, json={"name": "second", "version": version})

    assert (answer.status_code, answer.headers[HEADER]) == (409, "2")
    assert answer.json() == {
        "type": "invalid_request",
        "code": "conflict",
        "detail": DETAIL,
        "attr": "version",
        "version": 2,
        "current": current,
    }
    assert await team.owner.get(path) == current


@pytest.mark.parametrize("sent", [{"version": 2}, {"version": "2"}, {"version": None}, {}])
async def test_a_change_of_the_version_at_hand_or_of_none_is_made(team: Team, sent: Json) -> None:
    flag = await team.owner.post(team.flags, key="a")
    path = f"{team.flags}{flag['id']}/"
    await team.owner.patch(path, name="first")

    changed = await team.owner.patch(path, name="second", **sent)

    assert changed == flag | {"name": "second"}


async def test_the_version_is_a_number(team: Team) -> None:
    flag = await team.owner.post(team.flags, key="a")

    answer = await team.owner.client.patch(f"{team.flags}{flag['id']}/", json={"version": "x"})

    assert answer.status_code == 400
    assert answer.json()["attr"] == "version"


async def test_changes_of_different_fields_at_once_all_stay(team: Team) -> None:
    flag = await team.owner.post(team.flags, key="a")
    path = f"{team.flags}{flag['id']}/"
    sent: list[Json] = [
        {"name": "n"},
        {"tags": ["t"]},
        {"filters": {"groups": [{"rollout_percentage": 7}]}},
        {"ensure_experience_continuity": True},
        {"rollback_conditions": [NEVER_PAID]},
        {"has_enriched_analytics": True},
    ]

    await asyncio.gather(*(team.owner.patch(path, **change) for change in sent))

    expected: Json = {name: value for change in sent for name, value in change.items()}
    after = await team.owner.get(path)
    assert after == flag | expected | {"rollout_percentage": 7}
    activity = (await team.owner.get(f"{path}activity/"))["results"]
    reported = [change["detail"]["changes"][0]["field"] for change in activity[:-1]]
    assert sorted(reported) == sorted(expected)


async def test_who_retries_with_the_version_loses_nothing(team: Team) -> None:
    """Eight users each add a condition at the same time, based on what they have read."""
    flag = await team.owner.post(team.flags, key="a")
    path = f"{team.flags}{flag['id']}/"
    await team.owner.patch(path, filters={"groups": []})
    conflicts = 0

    async def add(percentage: int) -> None:
        nonlocal conflicts
        read = await team.owner.client.get(path)
        while not await _added(team, path, read, percentage):
            conflicts += 1
            read = await team.owner.client.get(path)

    await asyncio.gather(*(add(percentage) for percentage in range(8)))

    groups = (await team.owner.get(path))["filters"]["groups"]
    assert sorted(group["rollout_percentage"] for group in groups) == list(range(8))
    assert conflicts > 0
    assert (await team.owner.get(f"{path}activity/"))["total_count"] == 10


async def _added(team: Team, path: str, read: httpx.Response, percentage: int) -> bool:
    groups: list[Any] = read.json()["filters"]["groups"]
    sent = {
        "filters": {"groups": [*groups, {"rollout_percentage": percentage}]},
        "version": int(read.headers[HEADER]),
    }
    answer = await team.owner.client.patch(path, json=sent)
    assert answer.status_code in {200, 409}, answer.text
    return answer.status_code == 200


async def test_of_flags_that_take_the_same_key_at_once_one_gets_it(team: Team) -> None:
    flags = [await team.owner.post(team.flags, key=key) for key in "abcd"]

    answers = await asyncio.gather(
        *(
            team.owner.client.patch(f"{team.flags}{flag['id']}/", json={"key": "z"})
            for flag in flags
        )
    )

    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
