"""Conditions of a project on test accounts: which are stored, and which are refused."""

from typing import Any

import pytest

from fanion.projects.account_filters import ACCOUNT_FILTERS_MAX
from fanion.properties.operators import VALUES_MAX
from tests.support.application import Json, Tenant
from tests.support.cohorts import create_cohort
from tests.support.team import Team

STAFF: Json = {"key": "email", "type": "person", "operator": "not_icontains", "value": "@our.org"}
GROUP = "__group_type_index"
LOCAL: Json = {"key": "$host", "type": "event", "operator": "is_not", "value": ["localhost"]}


async def change(tenant: Tenant, conditions: Any) -> Any:
    return await tenant.api.patch("/", json={"test_account_filters": conditions})


@pytest.mark.every_engine
async def test_conditions_are_stored_as_sent(tenant: Tenant) -> None:
    members = await create_cohort(tenant, name="Staff")
    outside = {"key": "id", "type": "cohort", "operator": "not_in", "value": members["id"]}
    ours = {
        "key": "name",
        "type": "group",
        "group_type_index": 0,
        "operator": "is_not",
        "value": "x",
    }
    sent = [STAFF, LOCAL, outside, ours, {"key": "plan", "value": "test", "negation": True}]
    assert (await tenant.get("/"))["test_account_filters"] == []

    answer = await change(tenant, sent)

    assert (answer.status_code, answer.json()["test_account_filters"]) == (200, sent), answer.text
    tenant.server.running.public.flags.projects.forget(tenant.project_id)
    assert (await tenant.get("/"))["test_account_filters"] == sent
    assert (await tenant.api.patch("/", json={"name": "Shop"})).json()[
        "test_account_filters"
    ] == sent
    assert (await change(tenant, [])).json()["test_account_filters"] == []


@pytest.mark.parametrize(
    ("condition", "at", "detail"),
    [
        ({"key": "a", "valeu": 1}, "__valeu", 'Did you mean "value"?'),
        ({"key": "a", "value": 1, "operator": "less"}, "__operator", "Unknown operator"),
        ({"key": "a", "value": "b", "operator": "gt"}, "__value", "a number"),
        ({"key": "a", "value": ["b"] * (VALUES_MAX + 1)}, "__value", f"more than {VALUES_MAX}"),
        ({"key": "a", "value": 1, "type": "persn"}, "__type", 'Did you mean "person"?'),
        ({"key": "a", "value": 1, "type": "group"}, GROUP, "is required"),
        ({"key": "a", "value": 1, "type": "group", "group_type_index": 5}, GROUP, "0 to 4"),
        ({"key": "a", "value": 1, "type": ["person"]}, "__type", "not a valid choice"),
        ({"type": "behavioral", "value": "performed_event"}, "__type", "not a valid choice"),
        ({"value": 1}, "", "must have a text key"),
        ({"type": "cohort", "value": 5151}, "__value", "Cohort with id 5151 does not exist"),
        ("a", "", "dictionary"),
    ],
)
async def test_a_condition_that_trends_cannot_calculate_is_refused(
    tenant: Tenant, condition: Any, at: str, detail: str
) -> None:
    answer = await change(tenant, [STAFF, condition])

    assert answer.status_code == 400, answer.text
    assert answer.json()["attr"] == f"test_account_filters__1{at}"
    assert detail in answer.json()["detail"]
    assert (await tenant.get("/"))["test_account_filters"] == []


async def test_the_number_of_conditions_is_limited(tenant: Tenant) -> None:
    most = await change(tenant, [STAFF] * ACCOUNT_FILTERS_MAX)
    more = await change(tenant, [STAFF] * (ACCOUNT_FILTERS_MAX + 1))

    assert (most.status_code, more.status_code) == (200, 400)
    assert (more.json()["attr"], more.json()["code"]) == ("test_account_filters", "max_length")


async def test_conditions_on_a_cohort_that_was_deleted_since_can_be_sent_back(
    tenant: Tenant,
) -> None:
    members = await create_cohort(tenant, name="Staff")
    outside = {"key": "id", "type": "cohort", "operator": "not_in", "value": members["id"]}
    assert (await change(tenant, [outside])).status_code == 200
    gone = await tenant.api.patch(f"/cohorts/{members['id']}/", json={"deleted": True})
    assert gone.status_code == 200

    kept = await change(tenant, [outside, STAFF])
    left_out = await change(tenant, [STAFF])
    anew = await change(tenant, [outside])

    assert (kept.status_code, left_out.status_code, anew.status_code) == (200, 200, 400)


async def test_a_change_is_in_the_activity_of_the_project(team: Team) -> None:
    path = f"/api/projects/{team.project_id}/"
    await team.owner.patch(path, test_account_filters=[STAFF])
    await team.owner.patch(path, test_account_filters=[STAFF])

    [entry] = (await team.owner.get(f"{path}activity_log/", scope="Project"))["results"]

    [reported] = entry["detail"]["changes"]
    assert (reported["field"], reported["before"], reported["after"]) == (
        "test_account_filters",
        [],
        [STAFF],
    )


async def test_only_administrators_change_them(team: Team) -> None:
    member = await team.add("mia")

    answer = await member.client.patch(
        f"/api/projects/{team.project_id}/", json={"test_account_filters": [STAFF]}
    )

    assert answer.status_code == 403
