"""The OpenFeature Remote Evaluation Protocol."""

from typing import Any

import httpx
import pytest

from tests.support.application import Tenant, error

Json = dict[str, Any]
PATH = "/ofrep/v1/evaluate/flags"


async def ask(
    tenant: Tenant, key: str | None = None, body: Any = None, **headers: str
) -> httpx.Response:
    path = PATH if key is None else f"{PATH}/{key}"
    body = {"context": {"targetingKey": "u"}} if body is None else body
    headers = {"authorization": f"Bearer {tenant.token}", **headers}
    return await tenant.public.post(path, json=body, headers=headers)


def prop(key: str, value: Any) -> Json:
    return {"key": key, "type": "person", "operator": "exact", "value": value}


async def flags(tenant: Tenant) -> None:
    variants = [{"key": "blue", "rollout_percentage": 100}]
    await tenant.create_flag(
        key="everyone", filters={"groups": [{}], "payloads": {"true": {"n": 1}}}
    )
    await tenant.create_flag(key="part", filters={"groups": [{"rollout_percentage": 99.99}]})
    await tenant.create_flag(
        key="staff", filters={"groups": [{"properties": [prop("plan", "pro")]}]}
    )
    await tenant.create_flag_for_no_person("nobody")
    await tenant.create_flag(key="inactive", active=False, filters={"groups": [{}]})
    await tenant.create_flag(
        key="color", filters={"groups": [{}], "multivariate": {"variants": variants}}
    )
    await tenant.create_flag_for_no_person("color-off", multivariate={"variants": variants})
    await tenant.create_flag(
        key="forced",
        filters={
            "groups": [{"properties": [prop("plan", "pro")], "variant": "blue"}],
            "multivariate": {"variants": variants},
        },
    )


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("everyone", {"value": True, "variant": "on", "reason": "STATIC"}),
        ("part", {"value": True, "variant": "on", "reason": "SPLIT"}),
        ("staff", {"value": True, "variant": "on", "reason": "TARGETING_MATCH"}),
        ("nobody", {"value": False, "variant": "off", "reason": "DEFAULT"}),
        ("inactive", {"value": False, "variant": "off", "reason": "DISABLED"}),
        ("color", {"value": "blue", "variant": "blue", "reason": "SPLIT"}),
        ("color-off", {"variant": "off", "reason": "DEFAULT"}),
        ("forced", {"value": "blue", "variant": "blue", "reason": "TARGETING_MATCH"}),
    ],
)
async def test_one_flag_is_returned_in_terms_of_openfeature(
    tenant: Tenant, key: str, answer: Json
) -> None:
    await flags(tenant)

    evaluated = await ask(tenant, key, {"context": {"targetingKey": "u", "plan": "pro"}})

    metadata = evaluated.json().pop("metadata")
    assert evaluated.status_code == 200
    assert evaluated.headers["content-type"] == "application/json"
    assert {k: v for k, v in evaluated.json().items() if k != "metadata"} == {"key": key, **answer}
    assert isinstance(metadata["id"], int) and metadata["version"] == 1
    assert metadata.get("payload") == ('{"n":1}' if key == "everyone" else None)


async def test_all_flags_come_with_a_tag_of_the_outcome(tenant: Tenant) -> None:
    await flags(tenant)

    first = await ask(tenant)
    tag = first.headers["etag"]
    same = await ask(tenant, **{"if-none-match": tag})
    other = await ask(
        tenant, None, {"context": {"targetingKey": "u", "plan": "pro"}}, **{"if-none-match": tag}
    )

    assert {flag["key"] for flag in first.json()["flags"]} == {
        "everyone", "part", "staff", "nobody", "inactive", "color", "color-off", "forced",
    }  # fmt: skip
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert other.status_code == 200


async def test_groups_and_their_properties_are_read_from_the_context(tenant: Tenant) -> None:
    await tenant.capture(
        {"event": "seen", "distinct_id": "u", "properties": {"$groups": {"org": "o1"}}}
    )
    leaf = {"key": "size", "type": "group", "group_type_index": 0, "value": "big"}
    await tenant.create_flag(
        key="big", filters={"groups": [{"properties": [leaf]}], "aggregation_group_type_index": 0}
    )

    for name in ("group_properties", "groupProperties"):
        context = {"targetingKey": "u", "groups": {"org": "o1"}, name: {"org": {"size": "big"}}}
        evaluated = await ask(tenant, "big", {"context": context})

        assert evaluated.json()["value"] is True


async def test_stored_properties_are_used(tenant: Tenant) -> None:
    await flags(tenant)
    await tenant.capture({"event": "$identify", "distinct_id": "ann", "$set": {"plan": "pro"}})

    evaluated = await ask(tenant, "staff", {"context": {"targetingKey": "ann"}})

    assert evaluated.json()["value"] is True


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "TARGETING_KEY_MISSING"),
        ({"context": {}}, "TARGETING_KEY_MISSING"),
        ({"context": None}, "TARGETING_KEY_MISSING"),
        ({"context": {"targetingKey": ""}}, "TARGETING_KEY_MISSING"),
        ({"context": {"targetingKey": ["x"]}}, "TARGETING_KEY_MISSING"),
        ({"context": []}, "INVALID_CONTEXT"),
        ({"context": {"targetingKey": "u", "groups": "x"}}, "INVALID_CONTEXT"),
        ([], "PARSE_ERROR"),
    ],
)
async def test_a_wrong_context_is_reported_by_its_code(
    tenant: Tenant, body: Any, code: str
) -> None:
    await flags(tenant)

    single, bulk = await ask(tenant, "everyone", body), await ask(tenant, None, body)

    details = single.json()["errorDetails"]
    assert (single.status_code, bulk.status_code) == (400, 400)
    reported = {
        **error("validation_error", code.lower(), details),
        "errorCode": code,
        "errorDetails": details,
    }
    assert single.json() == {"key": "everyone", **reported}
    assert bulk.json() == reported


async def test_a_body_that_is_no_json_is_a_parse_error(tenant: Tenant) -> None:
    headers = {"authorization": f"Bearer {tenant.token}"}

    for content in (b"", b"{", b"\xff"):
        answer = await tenant.public.post(f"{PATH}/f", content=content, headers=headers)

        assert answer.status_code == 400
        assert answer.json()["errorCode"] == "PARSE_ERROR"


@pytest.mark.parametrize("key", ["none", "deleted", "a%2Fb"])
async def test_an_unknown_flag_is_not_found(tenant: Tenant, key: str) -> None:
    gone = await tenant.create_flag(key="deleted", filters={"groups": [{}]})
    await tenant.api.patch(f"/feature_flags/{gone['id']}/", json={"deleted": True})

    answer = await ask(tenant, key)

    named = key.replace("%2F", "/")
    assert answer.status_code == 404
    assert answer.json() == {
        **error("invalid_request", "flag_not_found", f"There is no flag {named}."),
        "key": named,
        "errorCode": "FLAG_NOT_FOUND",
        "errorDetails": f"There is no flag {named}.",
    }


async def test_either_header_carries_the_project_key(tenant: Tenant) -> None:
    await flags(tenant)
    body = {"context": {"targetingKey": "u"}}

    other = await tenant.public.post(PATH, json=body, headers={"x-api-key": tenant.token})
    anonymous = await tenant.public.post(PATH, json=body)
    unknown = await tenant.public.post(f"{PATH}/f", json=body, headers={"x-api-key": "phc_none"})

    lower = {"authorization": f"bearer {tenant.token}"}
    assert other.status_code == 200
    assert (await tenant.public.post(PATH, json=body, headers=lower)).status_code == 200
    assert (anonymous.status_code, anonymous.json()["code"]) == (401, "invalid_api_key")
    assert (unknown.status_code, unknown.json()["code"]) == (401, "invalid_api_key")
    assert unknown.json()["key"] == "f"


async def test_a_browser_is_let_in_with_any_header_that_it_names(tenant: Tenant) -> None:
    header_names = "authorization,content-type,if-none-match"
    preflight = await tenant.public.options(
        f"{PATH}/f",
        headers={
            "origin": "https://app.example",
            "access-control-request-method": "POST",
            "access-control-request-headers": header_names,
        },
    )
    refused = await tenant.public.post(PATH, json={}, headers={"origin": "https://app.example"})

    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-headers"] == header_names
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == "https://app.example"
    assert "ETag" in refused.headers["access-control-expose-headers"]
