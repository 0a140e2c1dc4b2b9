"""Requests to /decide and /flags: what is read from them, and how they are refused."""

import base64
import gzip
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.support.application import Tenant, open_tenant
from tests.support.events_engine import next_project
from tests.support.management import NOW, add_key, error

Json = dict[str, Any]
NO_PROJECT = error("validation_error", "invalid_project", "Invalid Project ID.", "project_id")


async def post(
    tenant: Tenant, body: Any, path: str = "/decide?v=3", **request: Any
) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await tenant.public.post(path, content=content, **request)


@pytest.mark.parametrize(
    "located",
    [
        lambda token: {"api_key": token},
        lambda token: {"token": token},
        lambda token: {"$token": token},
        lambda token: {"properties": {"token": token}},
        lambda token: {"token": token, "api_key": "phc_other"},
        lambda token: {"$token": token, "token": "phc_other"},
        lambda token: {"api_key": token, "properties": {"token": "phc_other"}},
        lambda token: {"token": "", "api_key": token},
    ],
)
async def test_the_key_is_found_where_clients_put_it(tenant: Tenant, located: Any) -> None:
    answer = await post(tenant, {**located(tenant.token), "distinct_id": "u"})

    assert answer.status_code == 200


async def test_every_encoding_of_the_body_is_read(tenant: Tenant) -> None:
    await tenant.create_flag(key="on", filters={"groups": [{}]})
    body = json.dumps({"token": tenant.token, "distinct_id": "ümlaut"})
    raw, encoded = body.encode(), base64.b64encode(body.encode()).decode()
    form = {"content-type": "application/x-www-form-urlencoded"}
    requests: list[tuple[str, bytes, dict[str, str]]] = [
        ("/decide?v=3", raw, {"content-type": "application/json"}),
        ("/decide/?v=3", raw, {"content-type": "text/plain"}),
        ("/decide?v=3", raw, form),
        ("/decide?v=3", gzip.compress(raw), {"content-encoding": "gzip"}),
        ("/decide?v=3&compression=gzip", gzip.compress(raw), {}),
        ("/decide?v=3&compression=gzip-js", gzip.compress(raw), {"content-type": "text/plain"}),
        ("/decide?v=3", gzip.compress(raw), {"content-type": "text/plain"}),
        ("/decide?v=3&compression=base64", f"data={quote(encoded)}".encode(), form),
        ("/decide?v=3", f"data={quote(encoded)}".encode(), form),
    ]

    for path, content, headers in requests:
        answer = await tenant.public.post(path, content=content, headers=headers)

        assert answer.status_code == 200, (path, headers, answer.text)
        assert answer.json()["featureFlags"] == {"on": True}


@pytest.mark.parametrize("path", ["/decide?v=3", "/flags/?v=2"])
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'"text"', b"5", b"\x1f\x8bbroken", b'{"api_key"', b"\xff\xfe"],
)
async def test_a_body_that_cannot_be_read_is_an_invalid_payload(
    tenant: Tenant, path: str, body: bytes
) -> None:
    answer = await post(tenant, body, path)

    detail = answer.json()["detail"]
    assert answer.status_code == 400
    assert detail.startswith("Malformed request data")
    assert answer.json() == error("validation_error", "invalid_payload", detail)


@pytest.mark.parametrize("field", ["groups", "person_properties", "group_properties"])
async def test_a_field_of_the_wrong_kind_is_an_invalid_payload(tenant: Tenant, field: str) -> None:
    answer = await post(tenant, {"api_key": tenant.token, "distinct_id": "u", field: ["x"]})

    detail = f"Malformed request data: {field} must be an object."
    assert answer.status_code == 400
    assert answer.json() == error("validation_error", "invalid_payload", detail)


@pytest.mark.parametrize("body", [{}, {"api_key": None}, {"token": ""}, {"properties": {}}])
async def test_without_a_key_no_store_is_read(tenant: Tenant, body: Json) -> None:
    answer = await post(tenant, {**body, "distinct_id": "u"})

    assert answer.status_code == 401
    assert answer.json() == error(
        "authentication_error",
        "invalid_api_key",
        "API key not provided. The project API key is missing: find it in the project settings.",
    )


@pytest.mark.every_engine
@pytest.mark.parametrize("token", ["phc_unknown", 5, ["x"], "a\0b", "ü" * 300])
async def test_an_unknown_key_is_refused_before_the_distinct_id_is_missed(
    tenant: Tenant, token: Any
) -> None:
    answer = await post(tenant, {"api_key": token})

    assert answer.status_code == 401
    assert answer.json() == error(
        "authentication_error",
        "invalid_api_key",
        "Project API key invalid. You can find your project API key in the project settings.",
    )


@pytest.mark.parametrize("fields", [{}, {"distinct_id": None}])
async def test_a_distinct_id_is_required(tenant: Tenant, fields: Json) -> None:
    answer = await post(tenant, {"api_key": tenant.token, **fields})

    assert answer.status_code == 400
    assert answer.json() == error(
        "validation_error", "missing_distinct_id", "Decide requires a distinct_id."
    )


@pytest.mark.every_engine
@pytest.mark.parametrize(
    ("distinct_id", "as_text"),
    [
        *(("", ""), (12345, "12345"), (1.5, "1.5"), (True, "true"), ({"x": "y"}, '{"x":"y"}')),
        *(("nul\0in it", "nul\ufffdin it"), ("ü", "ü")),
    ],
)
async def test_anything_but_null_is_a_distinct_id(
    tenant: Tenant, distinct_id: Any, as_text: str
) -> None:
    """A value that is not text is converted to text as capture stores it."""
    same = {"key": "distinct_id", "type": "person", "value": as_text}
    await tenant.create_flag(key="same", filters={"groups": [{"properties": [same]}]})
    staff = {"key": "staff", "type": "person", "operator": "is_not_set"}
    await tenant.create_flag(key="stored", filters={"groups": [{"properties": [staff]}]})

    decided = await tenant.decide(distinct_id)

    assert decided["featureFlags"] == {"same": True, "stored": True}


async def test_a_personal_key_evaluates_for_the_project_that_is_named(tenant: Tenant) -> None:
    await tenant.create_flag(key="on", filters={"groups": [{}]})
    named = {"api_key": tenant.key, "distinct_id": "u", "project_id": tenant.project_id}

    as_number = await post(tenant, named)
    as_text = await post(tenant, {**named, "project_id": str(tenant.project_id)})
    unnamed = await post(tenant, {"api_key": tenant.key, "distinct_id": "u"})

    assert as_number.json()["featureFlags"] == as_text.json()["featureFlags"] == {"on": True}
    assert (unnamed.status_code, unnamed.json()["code"]) == (401, "invalid_api_key")


SCOPES_OF_PATHS = {
    "/decide?v=3": "feature_flag:read",
    "/flags?v=2": "feature_flag:read",
    "/capture/": "event:write",
    "/batch/": "event:write",
    "/engage/": "event:write",
}


@pytest.mark.parametrize(("path", "scope"), SCOPES_OF_PATHS.items())
async def test_a_restricted_personal_key_needs_a_scope(
    tenant: Tenant, path: str, scope: str
) -> None:
    granted: dict[str, Sequence[str]] = {
        "right": [scope],
        "more": [scope.replace(":read", ":write")],
        "all": ["*"],
        "none": [],
        "another": ["feature_flag:read", "event:read", "person:write"]
        if scope == "event:write"
        else ["event:write", "cohort:write"],
    }
    answers = {}

    for name, scopes in granted.items():
        text = f"phx_{tenant.project_id}_{name}"
        key = await add_key(tenant.server.records, tenant.user_id, text, scopes)
        body = {"event": "a", "distinct_id": "u", "project_id": tenant.project_id, "api_key": key}
        answers[name] = await post(tenant, body, path)

    missing = f"API key missing required scope '{scope}'"
    denied = error("authentication_error", "permission_denied", missing)
    for name in ("right", "more", "all"):
        assert answers[name].status_code == 200, name
    for name in ("none", "another"):
        assert (answers[name].status_code, answers[name].json()) == (403, denied), name


async def test_a_scope_opens_no_project_out_of_reach(tenant: Tenant) -> None:
    text = f"phx_{tenant.project_id}_far"
    key = await add_key(tenant.server.records, tenant.user_id, text, ["feature_flag:read"])

    for number in (2**40, 0, -1, 2**63, 10**30):
        for project_id in (number, str(number)):
            body = {"api_key": key, "distinct_id": "u", "project_id": project_id}
            answer = await post(tenant, body)

            assert (answer.status_code, answer.json()) == (400, NO_PROJECT), project_id


async def test_a_personal_key_that_has_expired_is_reported(tenant: Tenant) -> None:
    until = NOW + timedelta(seconds=1)
    key = await add_key(
        tenant.server.records, tenant.user_id, f"phx_{tenant.project_id}_old", expires_at=until
    )
    named = {"api_key": key, "distinct_id": "u", "project_id": tenant.project_id}

    before = await post(tenant, named)
    tenant.server.clock.time = until
    after = [
        await post(tenant, named),
        await tenant.public.post("/capture/", json={**named, "event": "a"}),
    ]

    detail = "Personal API key has expired."
    refused = error("authentication_error", "invalid_personal_api_key", detail)
    assert before.status_code == 200
    for answer in after:
        assert (answer.status_code, answer.json()) == (401, refused)


async def test_a_personal_key_opens_only_projects_of_its_owner(tenant: Tenant) -> None:
    """Flags and capture refuse another organization's project like one that does not exist."""
    refused = error("authentication_error", "invalid_personal_api_key", "Invalid Personal API key.")
    item = {"api_key": tenant.key, "distinct_id": "u", "event": "a"}

    async with open_tenant(tenant.server, next_project()) as elsewhere:
        for project_id in (elsewhere.project_id, 2**40):
            for path in ("/decide/?v=3", "/flags/?v=2", "/capture/"):
                named = {**item, "project_id": project_id}
                answer = await tenant.public.post(path, json=named)

                assert (answer.status_code, answer.json()) == (400, NO_PROJECT), (path, project_id)
        assert await elsewhere.events() == []
    unknown = await post(
        tenant, {"api_key": "phx_none", "distinct_id": "u", "project_id": tenant.project_id}
    )
    no_number = await post(tenant, {"api_key": "phx_none", "distinct_id": "u", "project_id": "x"})

    assert (unknown.status_code, unknown.json()) == (401, refused)
    assert (no_number.status_code, no_number.json()["code"]) == (400, "invalid_project")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_only_post_evaluates(tenant: Tenant, method: str) -> None:
    answer = await tenant.public.request(method, "/decide", params={"token": tenant.token})

    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST, OPTIONS"


@pytest.mark.parametrize("truthy", [True, "true", "Yes", "1", "on", "T"])
async def test_with_flags_disabled_the_configuration_is_answered(
    tenant: Tenant, truthy: Any
) -> None:
    await tenant.create_flag(key="on", filters={"groups": [{}]})

    decide = await post(tenant, {"api_key": tenant.token, "disable_flags": truthy})
    flags = await post(tenant, {"api_key": tenant.token, "disable_flags": truthy}, "/flags?v=2")

    assert decide.json()["featureFlags"] == {}
    assert decide.json()["supportedCompression"] == ["gzip", "gzip-js", "lz64"]
    assert flags.json() == {"flags": {}, "featureFlags": {}}


@pytest.mark.parametrize("falsy", [False, "false", "0", 0, 1, None, "maybe"])
async def test_other_values_do_not_disable_flags(tenant: Tenant, falsy: Any) -> None:
    await tenant.create_flag(key="on", filters={"groups": [{}]})

    decided = await tenant.decide("u", disable_flags=falsy)

    assert decided["featureFlags"] == {"on": True}


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ({"flag_keys_to_evaluate": ["a", "none"]}, {"a"}),
        ({"flag_keys": ["b"]}, {"b"}),
        ({"flag_keys_to_evaluate": None, "flag_keys": ["b"]}, {"b"}),
        ({"flag_keys_to_evaluate": []}, set()),
        ({"flag_keys_to_evaluate": None}, {"a", "b"}),
    ],
)
async def test_only_the_flags_asked_for_are_answered(
    tenant: Tenant, fields: Json, keys: Any
) -> None:
    await tenant.create_flag(key="a", filters={"groups": [{}]})
    await tenant.create_flag(key="b", filters={"groups": [{}]})

    decided = await tenant.decide("u", **fields)

    assert decided["featureFlags"].keys() == keys


async def test_null_fields_count_as_absent(tenant: Tenant) -> None:
    await tenant.create_flag(key="on", filters={"groups": [{}]})

    absent: dict[str, Any] = {"$anon_distinct_id": None}

    decided = await tenant.decide(
        "u",
        groups=None,
        person_properties=None,
        group_properties=None,
        **absent,
    )

    assert decided["featureFlags"] == {"on": True}


async def flags_of_each_kind(tenant: Tenant) -> None:
    await tenant.create_flag(
        key="color",
        filters={
            "groups": [{}],
            "multivariate": {"variants": [{"key": "blue", "rollout_percentage": 100}]},
            "payloads": {"blue": {"hex": "#00f"}},
        },
    )
    await tenant.create_flag(
        key="on", name="Shown", filters={"groups": [{}], "payloads": {"true": "1"}}
    )
    await tenant.create_flag_for_no_person("off")
    await tenant.create_flag(key="inactive", active=False, filters={"groups": [{}]})


@pytest.mark.parametrize("version", ["", "?v=1", "?v=0", "?v="])
async def test_the_first_version_lists_what_is_on(tenant: Tenant, version: str) -> None:
    await flags_of_each_kind(tenant)

    decided = await tenant.decide("u", version)

    assert decided["featureFlags"] == ["color", "on"]
    assert "featureFlagPayloads" not in decided


@pytest.mark.parametrize("version", ["?v=2", "?v=1.19.0", "?v=abc"])
async def test_the_second_version_returns_values_of_what_is_on(
    tenant: Tenant, version: str
) -> None:
    await flags_of_each_kind(tenant)

    decided = await tenant.decide("u", version)

    assert decided["featureFlags"] == {"color": "blue", "on": True}


async def test_the_third_version_returns_everything(tenant: Tenant) -> None:
    await flags_of_each_kind(tenant)

    decided = await tenant.decide("u")

    assert decided == {
        "config": {"enable_collect_everything": True},
        "editorParams": {},
        "toolbarParams": {},
        "isAuthenticated": False,
        "supportedCompression": ["gzip", "gzip-js", "lz64"],
        "analytics": {"endpoint": "/i/v0/e/"},
        "elementsChainAsString": True,
        "featureFlags": {"color": "blue", "on": True, "off": False},
        "featureFlagPayloads": {"color": {"hex": "#00f"}, "on": "1"},
        "errorComputingFlags": False,
        "errorsWhileComputingFlags": False,
        "sessionRecording": False,
        "capturePerformance": False,
        "autocapture_opt_out": False,
        "autocaptureExceptions": False,
        "surveys": False,
        "heatmaps": False,
        "hasFeatureFlags": True,
        "defaultIdentifiedOnly": True,
        "siteApps": [],
    }


@pytest.mark.parametrize("version", ["?v=4", "?v=9"])
async def test_the_fourth_version_returns_records(tenant: Tenant, version: str) -> None:
    await flags_of_each_kind(tenant)

    decided = await tenant.decide("u", version)

    assert "featureFlags" not in decided
    assert len(decided["requestId"]) == 36
    assert decided["flags"].keys() == {"color", "on", "off"}
    assert decided["flags"]["off"]["enabled"] is False
    assert decided["flags"]["off"]["variant"] is None
    assert decided["flags"]["on"] == {
        "key": "on",
        "enabled": True,
        "variant": None,
        "reason": {
            "code": "condition_match",
            "condition_index": 0,
            "description": "Matched condition set 1",
        },
        "metadata": {
            "id": decided["flags"]["on"]["metadata"]["id"],
            "version": 1,
            "description": "Shown",
            "payload": "1",
            "has_experiment": False,
        },
    }


async def test_flags_answers_without_configuration_unless_asked(tenant: Tenant) -> None:
    await flags_of_each_kind(tenant)
    body = {"token": tenant.token, "distinct_id": "u"}

    first = (await post(tenant, body, "/flags")).json()
    second = (await post(tenant, body, "/flags/?v=2")).json()
    fourth = (await post(tenant, body, "/flags/?v=4")).json()
    configured = (await post(tenant, body, "/flags/?v=2&config=true")).json()

    assert first["featureFlags"] == {"color": "blue", "on": True, "off": False}
    assert first["featureFlagPayloads"] == {"color": {"hex": "#00f"}, "on": "1"}
    assert "flags" not in first and "config" not in first
    assert second["flags"]["color"]["metadata"]["payload"] == '{"hex":"#00f"}'
    assert "value" not in second["flags"]["color"] and "config" not in second
    assert fourth["flags"]["color"]["value"] == "blue"
    assert fourth["flags"]["off"]["value"] is False
    assert configured["hasFeatureFlags"] is True and configured["surveys"] is False
    for answer in (first, second, fourth):
        assert isinstance(answer["evaluatedAt"], int)
        assert answer["errorsWhileComputingFlags"] is False


async def test_a_change_is_seen_by_the_next_request(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="f", filters={"groups": [{}]})
    path = f"/feature_flags/{flag['id']}/"

    assert (await tenant.decide("u"))["featureFlags"] == {"f": True}
    await tenant.api.patch(path, json={"filters": {"groups": []}})
    assert (await tenant.decide("u"))["featureFlags"] == {"f": False}
    await tenant.api.patch(path, json={"active": False})
    assert (await tenant.decide("u"))["featureFlags"] == {}
    await tenant.api.patch(path, json={"active": True, "deleted": True})
    assert (await tenant.decide("u"))["featureFlags"] == {}
    await tenant.api.patch(path, json={"deleted": False})
    assert (await tenant.decide("u"))["featureFlags"] == {"f": False}
