"""Flags limited by device and by kind of client, from the management API to /flags."""

import pytest

from tests.support.application import Home, Json

HALF: Json = {"groups": [{"rollout_percentage": 50}]}


async def reported(home: Home, **fields: object) -> Json:
    body = {"api_key": home.token, "distinct_id": "u", **fields}
    answer = await home.public.post("/flags/?v=2", json=body)
    assert answer.status_code == 200
    return {key: flag["enabled"] for key, flag in answer.json()["flags"].items()}


async def test_a_flag_by_device_follows_the_device(home: Home) -> None:
    """Device `4` is included in `beta-feature` at 0.18; device `1` is excluded at 0.59.

    Source: flags.md section 3.
    """
    await home.create_flag(key="beta-feature", filters=HALF, bucketing_identifier="device_id")

    inside = await reported(home, **{"$device_id": "4", "distinct_id": "1"})
    outside = await reported(home, device_id="1", distinct_id="4")
    without = await reported(home, device_id=None, distinct_id="4")

    assert [inside, outside, without] == [{"beta-feature": each} for each in (True, False, True)]


async def test_a_client_gets_the_flags_that_are_meant_for_it(home: Home) -> None:
    await home.create_flag(key="all", evaluation_runtime="all")
    await home.create_flag(key="web", evaluation_runtime="client")
    await home.create_flag(key="docs", evaluation_contexts=[" Docs ", "docs"])

    assert await reported(home) == {"all": True, "web": True, "docs": True}
    assert await reported(home, evaluation_runtime="server") == {"all": True, "docs": True}
    assert await reported(home, evaluation_contexts=["shop"]) == {"all": True, "web": True}
    assert (await home.decide("u", evaluation_environments=["shop"]))["featureFlags"] == {
        "all": True,
        "web": True,
    }


async def test_the_fields_are_returned_where_they_are_set(home: Home) -> None:
    fields: Json = {
        "bucketing_identifier": "device_id",
        "evaluation_runtime": "server",
        "evaluation_contexts": ["docs"],
    }
    flag = await home.create_flag(key="f", **fields)
    path = f"/feature_flags/{flag['id']}/"
    none: Json = dict.fromkeys(fields)
    changed = await home.api.patch(path, json=none)
    activity = await home.get(f"{path}activity/")

    assert {name: flag[name] for name in fields} == fields
    assert not changed.json().keys() & fields.keys()
    reported = [change["field"] for change in activity["results"][0]["detail"]["changes"]]
    assert reported == list(fields)


@pytest.mark.parametrize(
    ("field", "value"),
    [("bucketing_identifier", "moon"), ("evaluation_runtime", ""), ("evaluation_contexts", "a")],
)
async def test_other_words_are_refused(home: Home, field: str, value: str) -> None:
    answer = await home.api.post("/feature_flags/", json={"key": "f", field: value})

    assert answer.status_code == 400
    assert answer.json()["attr"] == field
    assert answer.json()["type"] == "validation_error"


async def test_local_evaluation_sends_them_to_clients_that_know_them(home: Home) -> None:
    await home.create_flag(key="device", filters=HALF, bucketing_identifier="device_id")
    await home.create_flag(key="web", evaluation_runtime="client", evaluation_contexts=["docs"])

    newer = (
        await home.public.get("/flags/definitions", headers={"authorization": f"Bearer {home.key}"})
    ).json()["flags"]
    older = (await home.get("/feature_flags/local_evaluation/"))["flags"]

    by_key = {flag["key"]: flag for flag in newer}
    assert by_key["device"]["bucketing_identifier"] == "device_id"
    assert by_key["web"]["evaluation_runtime"] == "client"
    assert by_key["web"]["evaluation_contexts"] == ["docs"]
    assert [flag["key"] for flag in older] == ["web"]
