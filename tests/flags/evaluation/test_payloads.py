"""A payload may be any JSON value except null, for every client."""

from typing import Any

import msgspec
import pytest

from tests.support.application import Json, Tenant

PAYLOADS: list[Any] = [0, False, [], {}, 0.0, "0", '""', {"a": 0}]


def filters(payload: Any) -> Json:
    return {"groups": [{"properties": []}], "payloads": {"true": payload}}


def as_text(payload: Any) -> str:
    return payload if isinstance(payload, str) else msgspec.json.encode(payload).decode()


@pytest.mark.parametrize("payload", PAYLOADS, ids=as_text)
async def test_a_payload_is_served_by_each_endpoint(tenant: Tenant, payload: Any) -> None:
    await tenant.create_flag(key="holds", filters=filters(payload))
    body = {"api_key": tenant.token, "distinct_id": "ann"}
    stored = msgspec.json.encode(payload)

    for path in ("/decide?v=3", "/flags?v=1"):
        answer = (await tenant.public.post(path, json=body)).json()
        assert msgspec.json.encode(answer["featureFlagPayloads"]["holds"]) == stored
    for path in ("/decide?v=4", "/flags?v=2"):
        answer = (await tenant.public.post(path, json=body)).json()
        assert answer["flags"]["holds"]["metadata"]["payload"] == as_text(payload)
    context = {"context": {"targetingKey": "ann"}}
    for path in ("/ofrep/v1/evaluate/flags", "/ofrep/v1/evaluate/flags/holds"):
        ofrep_answer = await tenant.public.post(
            path, json=context, headers={"x-api-key": tenant.token}
        )
        record = ofrep_answer.json()
        record = record["flags"][0] if "flags" in record else record
        assert record["metadata"]["payload"] == as_text(payload)
    assert await tenant.get("/feature_flags/holds/remote_config/") == as_text(payload)
    [local] = (await tenant.get("/feature_flags/local_evaluation/"))["flags"]
    assert local["filters"]["payloads"]["true"] == as_text(payload)
    [listed] = (await tenant.get("/feature_flags/"))["results"]
    assert msgspec.json.encode(listed["filters"]["payloads"]["true"]) == stored


@pytest.mark.parametrize("payload", [None, ""])
async def test_null_and_an_empty_text_are_none(tenant: Tenant, payload: Any) -> None:
    flag = await tenant.create_flag(key="holds", filters={"groups": [{"properties": []}]})
    await tenant.store_flag(flag, filters=filters(payload))

    answer = await tenant.decide("ann")

    assert answer["featureFlagPayloads"] == {}
    path = "/feature_flags/holds/remote_config/"
    assert (await tenant.api.get(path)).status_code == 404
