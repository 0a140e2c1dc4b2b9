"""The endpoints for evaluation reasons and the caller's own flags."""

from typing import Any

import pytest

from tests.support.application import Tenant
from tests.support.management import invalid

Json = dict[str, Any]


async def flags(tenant: Tenant) -> None:
    variants = [
        {"key": f"{name}-variant", "rollout_percentage": share}
        for name, share in (("first", 50), ("second", 25), ("third", 25))
    ]
    await tenant.create_flag(key="alpha-feature", filters={"groups": [{"rollout_percentage": 20}]})
    await tenant.create_flag(
        key="of-groups", filters={"groups": [{}], "aggregation_group_type_index": 0}
    )
    await tenant.create_flag(key="inactive", active=False, filters={"groups": [{}]})
    await tenant.create_flag(
        key="beta-feature", filters={"groups": [{}], "multivariate": {"variants": variants}}
    )
    gone = await tenant.create_flag(key="gone", filters={"groups": [{}]})
    await tenant.api.patch(f"/feature_flags/{gone['id']}/", json={"deleted": True})


async def test_each_flag_says_why(tenant: Tenant) -> None:
    await flags(tenant)

    reasons = await tenant.get("/feature_flags/evaluation_reasons/", distinct_id="test")

    assert reasons == {
        "alpha-feature": {
            "value": False,
            "evaluation": {"reason": "out_of_rollout_bound", "condition_index": 0},
        },
        "of-groups": {
            "value": False,
            "evaluation": {"reason": "no_group_type", "condition_index": None},
        },
        "inactive": {
            "value": False,
            "evaluation": {"reason": "disabled", "condition_index": None},
        },
        "beta-feature": {
            "value": reasons["beta-feature"]["value"],
            "evaluation": {"reason": "condition_match", "condition_index": 0},
        },
    }
    assert reasons["beta-feature"]["value"].endswith("-variant")


async def test_stored_properties_and_groups_take_part(tenant: Tenant) -> None:
    plan = {"key": "plan", "type": "person", "value": "pro"}
    await tenant.create_flag(key="pro", filters={"groups": [{"properties": [plan]}]})
    await tenant.create_flag(
        key="of-groups", filters={"groups": [{}], "aggregation_group_type_index": 0}
    )
    grouped = {"event": "seen", "distinct_id": "ann", "properties": {"$groups": {"org": "o1"}}}
    await tenant.capture(
        {"event": "$identify", "distinct_id": "ann", "$set": {"plan": "pro"}}, grouped
    )

    reasons = await tenant.get(
        "/feature_flags/evaluation_reasons/", distinct_id="ann", groups='{"org": "o1"}'
    )

    assert {key: evaluated["value"] for key, evaluated in reasons.items()} == {
        "pro": True,
        "of-groups": True,
    }


async def test_without_a_distinct_id_the_caller_is_meant(tenant: Tenant) -> None:
    itself = {"key": "distinct_id", "type": "person", "value": tenant.owner["distinct_id"]}
    await tenant.create_flag(key="mine", filters={"groups": [{"properties": [itself]}]})
    address = "/feature_flags/evaluation_reasons/"

    assert (await tenant.get(address))["mine"]["value"] is True
    assert (await tenant.get(address, distinct_id="ann"))["mine"]["value"] is False


async def test_a_distinct_id_is_not_empty(tenant: Tenant) -> None:
    query = {"distinct_id": ""}

    answer = await tenant.api.get("/feature_flags/evaluation_reasons/", params=query)

    assert answer.status_code == 400
    assert answer.json() == invalid("invalid_input", "distinct_id is required", "distinct_id")


async def test_an_empty_list_of_groups_is_none(tenant: Tenant) -> None:
    query = {"distinct_id": "u", "groups": "[]"}

    answer = await tenant.api.get("/feature_flags/evaluation_reasons/", params=query)

    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("groups", ["[1]", "{", "5"])
async def test_groups_must_be_an_object(tenant: Tenant, groups: str) -> None:
    query = {"distinct_id": "u", "groups": groups}

    answer = await tenant.api.get("/feature_flags/evaluation_reasons/", params=query)

    assert answer.status_code == 400
    assert answer.json() == invalid("invalid_input", "groups must be a JSON object", "groups")


@pytest.mark.every_engine
async def test_my_flags_are_the_newest_first(tenant: Tenant) -> None:
    assert await tenant.get("/feature_flags/my_flags/") == []
    await flags(tenant)

    mine: list[Json] = await tenant.get("/feature_flags/my_flags/")

    values = {my_flag["feature_flag"]["key"]: my_flag["value"] for my_flag in mine}
    assert list(values) == ["beta-feature", "inactive", "of-groups", "alpha-feature"]
    assert values["inactive"] is False
    assert str(values["beta-feature"]).endswith("-variant")
    assert mine[1] == {
        "feature_flag": {
            "id": mine[1]["feature_flag"]["id"],
            "team_id": tenant.project_id,
            "name": "",
            "key": "inactive",
            "filters": {"groups": [{}]},
            "deleted": False,
            "active": False,
            "ensure_experience_continuity": False,
        },
        "value": False,
    }
