"""The first day of a project's weeks, and its rules for paths: which are stored or refused."""

from typing import Any

import pytest

from fanion.projects.path_cleaning import CHARS_MAX, RULES_MAX
from tests.support.application import Json, Tenant
from tests.support.team import Team

USERS: Json = {"regex": "/user/[0-9]+", "alias": "/user/<id>"}


@pytest.mark.every_engine
@pytest.mark.parametrize(
    ("field", "sent", "without"),
    [
        ("week_start_day", 1, 0),
        ("path_cleaning_filters", [USERS, {"regex": "\\?.*", "alias": "", "order": 2}], []),
    ],
)
async def test_a_setting_is_stored_as_sent(
    tenant: Tenant, field: str, sent: Any, without: Any
) -> None:
    assert (await tenant.get("/"))[field] == without

    answer = await tenant.api.patch("/", json={field: sent})

    assert (answer.status_code, answer.json()[field]) == (200, sent), answer.text
    tenant.server.running.public.flags.projects.forget(tenant.project_id)
    assert (await tenant.get("/"))[field] == sent
    assert (await tenant.api.patch("/", json={"name": "Shop"})).json()[field] == sent
    assert (await tenant.api.patch("/", json={field: without})).json()[field] == without


async def test_weeks_begin_on_sunday_when_the_day_is_taken_back(tenant: Tenant) -> None:
    await tenant.api.patch("/", json={"week_start_day": 1})

    answer = await tenant.api.patch("/", json={"week_start_day": None})

    assert answer.json()["week_start_day"] == 0


@pytest.mark.parametrize("day", [-1, 2, 1.5, "monday"])
async def test_weeks_begin_on_sunday_or_monday(tenant: Tenant, day: Any) -> None:
    answer = await tenant.api.patch("/", json={"week_start_day": day})

    assert (answer.status_code, answer.json()["attr"]) == (400, "week_start_day"), answer.text


@pytest.mark.parametrize(
    ("rule", "at", "detail"),
    [
        ({"regexp": "a", "alias": "b"}, "__regexp", '"regex"'),
        ({"alias": "b"}, "__regex", "valid string"),
        ({"regex": "a"}, "__alias", "valid string"),
        ({"regex": "a", "alias": None}, "__alias", "valid string"),
        ({"regex": "", "alias": "b"}, "__regex", "regular expression"),
        ({"regex": "(", "alias": "b"}, "__regex", "regular expression"),
        ({"regex": "(?=a)", "alias": "b"}, "__regex", "regular expression"),
        ({"regex": "a", "alias": "b" * (CHARS_MAX + 1)}, "__alias", f"more than {CHARS_MAX}"),
        ({"regex": "a", "alias": "b", "order": "1"}, "__order", "integer"),
        ("a", "", "dictionary"),
    ],
)
async def test_a_rule_that_no_path_can_use_is_refused(
    tenant: Tenant, rule: Any, at: str, detail: str
) -> None:
    answer = await tenant.api.patch("/", json={"path_cleaning_filters": [USERS, rule]})

    assert answer.status_code == 400, answer.text
    assert answer.json()["attr"] == f"path_cleaning_filters__1{at}"
    assert detail in answer.json()["detail"]
    assert (await tenant.get("/"))["path_cleaning_filters"] == []


async def test_rules_are_sorted_by_their_order(tenant: Tenant) -> None:
    rules = [{**USERS, "order": 2}, {**USERS, "order": 1}]

    answer = await tenant.api.patch("/", json={"path_cleaning_filters": rules})

    assert (answer.status_code, answer.json()["attr"]) == (400, "path_cleaning_filters")


async def test_the_number_of_rules_is_limited(tenant: Tenant) -> None:
    most = await tenant.api.patch("/", json={"path_cleaning_filters": [USERS] * RULES_MAX})
    more = await tenant.api.patch("/", json={"path_cleaning_filters": [USERS] * (RULES_MAX + 1)})

    assert (most.status_code, more.status_code) == (200, 400)
    assert (more.json()["attr"], more.json()["code"]) == ("path_cleaning_filters", "max_length")


async def test_a_change_is_in_the_activity_of_the_project(team: Team) -> None:
    path = f"/api/projects/{team.project_id}/"
    await team.owner.patch(path, week_start_day=1, path_cleaning_filters=[USERS])

    [entry] = (await team.owner.get(f"{path}activity_log/", scope="Project"))["results"]

    changes = {
        change["field"]: (change["before"], change["after"])
        for change in entry["detail"]["changes"]
    }
    assert changes == {"week_start_day": (0, 1), "path_cleaning_filters": ([], [USERS])}
