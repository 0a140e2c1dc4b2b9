"""Flags limited by device and by kind of client, from the management API to /flags."""

import pytest

from tests.support.application import Json, Tenant

HALF: Json = {"groups": [{"rollout_percentage": 50}]}


async def reported(tenant: Tenant, **fields: object) -> Json:
    body = {"api_key": tenant.token, "distinct_id": "u", **fields}
    answer = await tenant.public.post("/flags/?v=2", json=body)
    assert answer.status_code == 200
    return {key: flag["enabled"] for key, flag in answer.json()["flags"].items()}


async def test_a_flag_by_device_follows_the_device(tenant: Tenant) -> None:
    """Device `4` is included in `beta-feature` at 0.18; device `1` is excluded at 0.59.

    Source: flags.md section 3.
    """
    await tenant.create_flag(key="beta-feature", filters=HALF, bucketing_identifier="device_id")

    inside = await reported(tenant, **{"$device_id": "4", "distinct_id": "1"})
    outside = await reported(tenant, device_id="1", distinct_id="4")
    without = await reported(tenant, device_id=None, distinct_id="4")

    assert [inside, outside, without] == [{"beta-feature": each} for each in (True, False, True)]


async def test_a_client_gets_the_flags_that_are_meant_for_it(tenant: Tenant) -> None:
    await tenant.create_flag(key="all", evaluation_runtime="all")
    await tenant.create_flag(key="web", evaluation_runtime="client")
    await tenant.create_flag(key="docs", evaluation_contexts=[" Docs ", "docs"])

    assert await reported(tenant) == {"all": True, "web": True, "docs": True}
    assert await reported(tenant, evaluation_runtime="server") == {"all": True, "docs": True}
    assert await reported(tenant, evaluation_contexts=["shop"]) == {"all": True, "web": True}
    assert (await tenant.decide("u", evaluation_environments=["shop"]))["featureFlags"] == {
        "all": True,
        "web": True,
    }


async def test_the_fields_are_returned_where_they_are_set(tenant: Tenant) -> None:
    fields: Json = {
        "bucketing_identifier": "device_id",
        "evaluation_runtime": "server",
        "evaluation_contexts": ["docs"],
    }
    flag = await tenant.create_flag(key="f", **fields)
    path = f"/feature_flags/{flag['id']}/"
    none: Json = dict.fromkeys(fields)
    changed = await tenant.api.patch(path, json=none)
    activity = await tenant.get(f"{path}activity/")

    assert {name: flag[name] for name in fields} == fields
    assert not changed.json().keys() & fields.keys()
    reported = [change["field"] for change in activity["results"][0]["detail"]["changes"]]
    assert reported == list(fields)


@pytest.mark.parametrize(
    ("field", "value"),
    [("bucketing_identifier", "moon"), ("evaluation_runtime", ""), ("evaluation_contexts", "a")],
)
async def test_other_words_are_refused(tenant: Tenant, field: str, value: str) -> None:
    answer = await tenant.api.post("/feature_flags/", json={"key": "f", field: value})

    assert answer.status_code == 400
    assert answer.json()["attr"] == field
    assert answer.json()["type"] == "validation_error"


async def test_local_evaluation_sends_them_to_clients_that_know_them(tenant: Tenant) -> None:
    await tenant.create_flag(key="device", filters=HALF, bucketing_identifier="device_id")
    await tenant.create_flag(key="web", evaluation_runtime="client", evaluation_contexts=["docs"])

    newer = (
        await tenant.public.get(
            "/flags/definitions", headers={"authorization": f"Bearer {tenant.key}"}
        )
    ).json()["flags"]
    older = (await tenant.get("/feature_flags/local_evaluation/"))["flags"]

    by_key = {flag["key"]: flag for flag in newer}
    assert by_key["device"]["bucketing_identifier"] == "device_id"
    assert by_key["web"]["evaluation_runtime"] == "client"
    assert by_key["web"]["evaluation_contexts"] == ["docs"]
    assert [flag["key"] for flag in older] == ["web"]
