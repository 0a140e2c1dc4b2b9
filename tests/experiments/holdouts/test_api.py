"""Holdouts over HTTP, and what they do to the flags of experiments."""

import pytest

from tests.support.application import Json, Tenant
from tests.support.experiments import create, invalid, take

pytestmark = pytest.mark.every_engine

FILTERS: list[Json] = [{"properties": [], "rollout_percentage": 20, "variant": "anything"}]


async def hold_out(tenant: Tenant, share: float = 20) -> Json:
    filters = [{"properties": [], "rollout_percentage": share, "variant": "anything"}]
    answer = await tenant.api.post(
        "/experiment_holdouts/", json={"name": "Everyone", "filters": filters}
    )
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def filters_of(tenant: Tenant, experiment: Json) -> Json:
    flag = await tenant.get(f"/feature_flags/{experiment['feature_flag']['id']}/")
    filters: Json = flag["filters"]
    return filters


async def test_a_holdout_from_creation_to_deletion(tenant: Tenant) -> None:
    made = await hold_out(tenant)
    place = f"/experiment_holdouts/{made['id']}/"

    changed = await tenant.api.patch(place, json={**made, "name": "Some"})
    listed = await tenant.get("/experiment_holdouts/")
    removed = await tenant.api.delete(place)
    gone = await tenant.api.get(place)

    assert made == {
        "id": made["id"],
        "name": "Everyone",
        "description": None,
        "filters": [
            {"properties": [], "rollout_percentage": 20, "variant": f"holdout-{made['id']}"}
        ],
        "created_by": tenant.owner,
        "created_at": "2024-03-01T12:00:00Z",
        "updated_at": "2024-03-01T12:00:00Z",
    }
    assert changed.json() == {**made, "name": "Some"}
    assert listed["results"] == [changed.json()]
    assert (removed.status_code, gone.status_code) == (204, 404)
    entries = (await tenant.get("/activity_log/", scope="ExperimentHoldout"))["results"]
    assert [entry["activity"] for entry in entries] == ["deleted", "updated", "created"]


@pytest.mark.parametrize(
    ("filters", "detail"),
    [
        (None, "Filters are required to create an holdout group"),
        ([], "Filters are required to create an holdout group"),
        ([{}], "Rollout percentage must be present."),
        ([{"rollout_percentage": None}], "Rollout percentage must be present."),
        ([{"rollout_percentage": 101}], "Rollout percentage must be between 0 and 100."),
        ([{"rollout_percentage": -1}], "Rollout percentage must be between 0 and 100."),
        (FILTERS * 2, "A holdout has one condition set: only the first is used."),
    ],
)
async def test_filters_of_a_holdout_are_checked(
    tenant: Tenant, filters: list[Json] | None, detail: str
) -> None:
    body = {"name": "Everyone", "filters": filters}

    answer = await tenant.api.post("/experiment_holdouts/", json=body)

    assert (answer.status_code, answer.json()) == invalid(detail, "filters")


async def test_a_holdout_is_written_into_the_flag_and_followed(tenant: Tenant) -> None:
    holdout = await hold_out(tenant)
    place = f"/experiment_holdouts/{holdout['id']}/"
    made = await create(tenant, holdout_id=holdout["id"])
    before = await filters_of(tenant, made)

    await tenant.api.patch(place, json={"filters": [{"rollout_percentage": 30}]})
    changed = await filters_of(tenant, made)
    removed = await tenant.api.delete(place)
    after = await filters_of(tenant, made)
    experiment = await tenant.get(f"/experiments/{made['id']}/")

    assert (made["holdout"], made["holdout_id"]) == (holdout, holdout["id"])
    assert before["holdout_groups"] == holdout["filters"]
    assert changed == {
        **before,
        "holdout_groups": [{**holdout["filters"][0], "rollout_percentage": 30}],
    }
    assert removed.status_code == 204
    assert after == {name: value for name, value in before.items() if name != "holdout_groups"}
    assert (experiment["holdout"], experiment["holdout_id"]) == (None, None)


async def test_a_person_in_a_holdout_gets_its_value(tenant: Tenant) -> None:
    """The hash of `holdout-some_distinct_id` is 0.727, of `holdout-example_id` 0.940."""
    holdout = await hold_out(tenant, 80)
    made = await create(tenant, holdout_id=holdout["id"])
    await take(tenant, made, "launch")

    inside = await tenant.decide("some_distinct_id")
    outside = await tenant.decide("example_id")

    assert inside["featureFlags"]["button"] == f"holdout-{holdout['id']}"
    assert outside["featureFlags"]["button"] in ("control", "test")


async def test_a_draft_changes_its_holdout_and_a_running_experiment_does_not(
    tenant: Tenant,
) -> None:
    first, second = await hold_out(tenant, 10), await hold_out(tenant, 20)
    made = await create(tenant, holdout_id=first["id"])
    place = f"/experiments/{made['id']}/"

    changed = await tenant.api.patch(place, json={"holdout_id": second["id"]})
    without = await tenant.api.patch(place, json={"holdout_id": None})
    unknown = await tenant.api.patch(place, json={"holdout_id": 123456})
    await take(tenant, made, "launch")
    late = await tenant.api.patch(place, json={"holdout_id": first["id"]})

    groups = changed.json()["feature_flag"]["filters"]["holdout_groups"]
    assert groups == second["filters"]
    assert "holdout_groups" not in without.json()["feature_flag"]["filters"]
    detail = 'Invalid pk "123456" - object does not exist.'
    assert (unknown.status_code, unknown.json()) == invalid(detail, "holdout_id", "does_not_exist")
    refusal = "Can't update holdout on running Experiment"
    assert (late.status_code, late.json()) == invalid(refusal, "holdout_id")


async def test_a_holdout_is_deleted_while_its_experiment_runs(tenant: Tenant) -> None:
    """The hash of `holdout-some_distinct_id` is 0.727: it is inside, and gets a variant then."""
    holdout = await hold_out(tenant, 80)
    made = await create(tenant, holdout_id=holdout["id"])
    await take(tenant, made, "launch")

    removed = await tenant.api.delete(f"/experiment_holdouts/{holdout['id']}/")
    experiment = await tenant.get(f"/experiments/{made['id']}/")
    decided = await tenant.decide("some_distinct_id")

    assert removed.status_code == 204
    assert (experiment["status"], experiment["holdout"]) == ("running", None)
    assert "holdout_groups" not in experiment["feature_flag"]["filters"]
    assert decided["featureFlags"]["button"] in ("control", "test")


async def test_a_holdout_is_that_of_one_project(tenant: Tenant) -> None:
    for method in ("GET", "PATCH", "DELETE"):
        answer = await tenant.api.request(method, "/experiment_holdouts/999999/", json={})
        assert answer.status_code == 404
