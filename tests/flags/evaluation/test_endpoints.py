"""Flag evaluation over HTTP."""

import base64
import gzip
import json
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pytest

from tests.support.application import Json, Tenant, error

EVERYONE = {"groups": [{"properties": [], "rollout_percentage": 100}]}

# Source: flags.md section 10; the fields for newer clients: sdk-wire.md section 8.
CONFIGURATION = {
    "config": {"enable_collect_everything": True},
    "editorParams": {},
    "toolbarParams": {},
    "isAuthenticated": False,
    "supportedCompression": ["gzip", "gzip-js", "lz64"],
    "analytics": {"endpoint": "/i/v0/e/"},
    "elementsChainAsString": True,
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
NO_ERRORS = {"errorComputingFlags": False, "errorsWhileComputingFlags": False}


def multivariate(**rest: Any) -> Json:
    shares = {"first": 50, "second": 25, "third": 25}
    variants = [{"key": key, "rollout_percentage": share} for key, share in shares.items()]
    return {"groups": [{}], "multivariate": {"variants": variants}, **rest}


def when(key: str, value: Any, operator: str = "exact", **rest: Any) -> Json:
    leaf = {"key": key, "value": value, "operator": operator, "type": "person"}
    return {"groups": [{"properties": [leaf]}], **rest}


@pytest.fixture
async def three_flags(tenant: Tenant) -> Tenant:
    """Create flags that are on, off and multivariate, and an inactive and a deleted one."""
    await tenant.create_flag(key="on", filters=EVERYONE | {"payloads": {"true": {"a": 1}}})
    await tenant.create_flag_for_no_person("off")
    await tenant.create_flag(
        key="beta-feature", name="Beta", filters=multivariate(payloads={"first": '"x"'})
    )
    await tenant.create_flag(key="inactive", active=False)
    await tenant.create_flag(key="deleted", deleted=True)
    return tenant


ANSWERS: dict[str, Json] = {
    "?v=3": {
        "featureFlags": {"on": True, "off": False, "beta-feature": "first"},
        "featureFlagPayloads": {"on": {"a": 1}, "beta-feature": '"x"'},
        **NO_ERRORS,
    },
    "?v=2": {"featureFlags": {"on": True, "beta-feature": "first"}},
    "?v=1": {"featureFlags": ["on", "beta-feature"]},
    "": {"featureFlags": ["on", "beta-feature"]},
    "?v=1.19.0": {"featureFlags": {"on": True, "beta-feature": "first"}},
}


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize("query", ANSWERS)
async def test_each_version_answers_in_its_shape(
    three_flags: Tenant, query: str, slash: str
) -> None:
    body = {"api_key": three_flags.token, "distinct_id": "11"}

    answer = await three_flags.public.post(f"/decide{slash}{query}", json=body)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == CONFIGURATION | ANSWERS[query]


@pytest.mark.parametrize("query", ["?v=4", "/?v=4", "/?v=9"])
async def test_version_4_gives_a_record_for_each_flag(three_flags: Tenant, query: str) -> None:
    answer = await three_flags.decide("11", query)

    def record(
        key: str, enabled: bool, variant: str | None, code: str, text: str, payload: Any
    ) -> Json:
        reason = {"code": code, "condition_index": 0, "description": text}
        known = answer["flags"][key]["metadata"]
        name = "Beta" if key == "beta-feature" else None
        metadata = {"id": known["id"], "version": 1, "description": name, "payload": payload}
        return {
            "key": key,
            "enabled": enabled,
            "variant": variant,
            "reason": reason,
            "metadata": metadata | {"has_experiment": False},
        }

    matched = ("condition_match", "Matched condition set 1")
    UUID(answer.pop("requestId"))
    assert answer == {
        **CONFIGURATION,
        **NO_ERRORS,
        "flags": {
            "on": record("on", True, None, *matched, '{"a":1}'),
            "off": record(
                "off", False, None, "no_condition_match", "No matching condition set", None
            ),
            "beta-feature": record("beta-feature", True, "first", *matched, '"x"'),
        },
    }


async def test_rollouts_and_variants_follow_the_hash(tenant: Tenant) -> None:
    """The examples are asserted by tests of PostHog or its clients.

    Source: flags.md section 3.
    """
    await tenant.create_flag(key="beta-feature", filters={"groups": [{"rollout_percentage": 50}]})
    await tenant.create_flag(key="multivariate-flag", filters=multivariate())
    await tenant.create_flag(key="simple-flag", filters={"groups": [{"rollout_percentage": 45}]})

    async def flags(distinct_id: str) -> Json:
        values: Json = (await tenant.decide(distinct_id))["featureFlags"]
        return values

    assert [(await flags(i))["beta-feature"] for i in ("example_id", "another_id", "4", "1")] == [
        True,
        False,
        True,
        False,
    ]
    assert [(await flags(i))["multivariate-flag"] for i in ("example_id", "other_id")] == [
        "first",
        "third",
    ]
    users = [(await flags(f"distinct_id_{n}"))["simple-flag"] for n in range(40)]
    drawn = "".join("T" if user else "F" for user in users)
    assert drawn == "FTTFTFFTFTFTTFTFFFTTFTFFTFTTFFFTTTTFFFFF"


@pytest.mark.every_engine
async def test_stored_and_sent_properties_count_one_by_one(tenant: Tenant) -> None:
    """Sent properties hide stored ones name by name.

    Source: flags.md section 6.
    """
    await tenant.create_flag(key="stored", filters=when("name", "foo.inc"))
    await tenant.create_flag(key="sent", filters=when("mail", "a@b", "icontains"))
    both = [
        {**leaf, "type": "person"}
        for leaf in ({"key": "name", "value": "foo.inc"}, {"key": "mail", "value": "a@b"})
    ]
    await tenant.create_flag(key="both", filters={"groups": [{"properties": both}]})
    await tenant.create_flag(key="implied", filters=when("distinct_id", "ann"))
    await tenant.create_flag(key="unset", filters=when("nothing", "x", "is_not"))
    await tenant.capture({"event": "a", "distinct_id": "ann", "$set": {"name": "foo.inc"}})

    async def flags(distinct_id: str, **properties: Any) -> list[str]:
        answer = await tenant.decide(distinct_id, person_properties=properties)
        return sorted(key for key, value in answer["featureFlags"].items() if value)

    assert await flags("ann") == ["implied", "stored", "unset"]
    assert await flags("ann", mail="a@b") == ["both", "implied", "sent", "stored", "unset"]
    assert await flags("ann", name="other") == ["implied", "unset"]
    assert await flags("nobody", mail="A@B", name="foo.inc") == ["both", "sent", "stored", "unset"]
    assert await flags("nobody") == ["unset"]


async def test_evaluating_stores_nothing(tenant: Tenant) -> None:
    await tenant.create_flag(key="a", filters=when("email", "x"))

    await tenant.decide("ann", person_properties={"email": "x"})

    assert (await tenant.get("/persons/"))["results"] == []
    assert await tenant.events() == []
    assert (await tenant.decide("ann"))["featureFlags"] == {"a": False}


@pytest.mark.every_engine
async def test_group_flags_go_by_the_group(tenant: Tenant) -> None:
    groups = {"organization": "x", "project": "x"}
    await tenant.capture({"event": "a", "distinct_id": "u", "properties": {"$groups": groups}})
    half = {"aggregation_group_type_index": 1, "groups": [{"rollout_percentage": 50}]}
    await tenant.create_flag(key="beta-feature", filters=half)

    async def value(**fields: Any) -> Any:
        return (await tenant.decide("u", **fields))["featureFlags"]["beta-feature"]

    assert await value(groups={"project": "4"}) is True
    assert await value(groups={"project": "1"}) is False
    assert await value(groups={"project": 4}) is True
    assert await value(groups={"organization": "4"}) is False
    assert await value() is False


async def test_a_sent_group_property_hides_the_stored_one(tenant: Tenant) -> None:
    group = {"$group_type": "organization", "$group_key": "o", "$group_set": {"plan": "pro"}}
    await tenant.capture({"event": "$groupidentify", "distinct_id": "u", "properties": group})
    leaf = {"key": "plan", "value": "pro", "type": "group", "group_type_index": 0}
    filters = {"aggregation_group_type_index": 0, "groups": [{"properties": [leaf]}]}
    await tenant.create_flag(key="pro", filters=filters)

    async def value(**sent: Any) -> Any:
        context: Json = {
            "groups": {"organization": "o"},
            "group_properties": {"organization": sent},
        }
        return (await tenant.decide("u", **context))["featureFlags"]["pro"]

    assert await value() is True
    assert await value(plan="free") is False
    assert await value(other="x") is True


async def test_a_change_is_visible_to_the_very_next_request(tenant: Tenant) -> None:
    assert (await tenant.decide("u"))["featureFlags"] == {}

    flag = await tenant.create_flag(key="f")
    seen = [(await tenant.decide("u"))["featureFlags"]]
    changes: list[Json] = [
        {"filters": {"groups": []}},
        {"key": "g", "filters": EVERYONE},
        {"active": False},
        {"active": True},
        {"deleted": True},
        {"deleted": False},
    ]
    for change in changes:
        answer = await tenant.api.patch(f"/feature_flags/{flag['id']}/", json=change)
        assert answer.status_code == 200
        seen.append((await tenant.decide("u"))["featureFlags"])

    assert seen == [{"f": True}, {"f": False}, {"g": True}, {}, {"g": True}, {}, {"g": True}]


def as_form(text: bytes) -> Json:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    return {"content": urlencode({"data": base64.b64encode(text)}), "headers": headers}


async def test_bodies_are_decoded_as_for_capture(three_flags: Tenant) -> None:
    text = json.dumps({"token": three_flags.token, "distinct_id": 11}).encode()
    requests: list[Json] = [
        {"content": text},
        {"content": text, "headers": {"content-type": "text/plain"}},
        {"content": gzip.compress(text), "headers": {"content-encoding": "gzip"}},
        {"content": gzip.compress(text), "params": {"v": "3", "compression": "gzip-js"}},
        as_form(text),
    ]

    for request in requests:
        arguments: Json = {"params": {"v": "3"}} | request
        answer = await three_flags.public.post("/decide/", **arguments)

        assert answer.status_code == 200, answer.text
        assert answer.json() == CONFIGURATION | ANSWERS["?v=3"]


async def test_disabled_flags_need_no_distinct_id(three_flags: Tenant) -> None:
    body = {"api_key": three_flags.token, "disable_flags": True}

    answer = await three_flags.public.post("/decide?v=3", json=body)

    assert answer.json() == CONFIGURATION | {"featureFlags": {}}


NO_KEY = error(
    "authentication_error",
    "invalid_api_key",
    "API key not provided. The project API key is missing: find it in the project settings.",
)
INVALID_KEY = error(
    "authentication_error",
    "invalid_api_key",
    "Project API key invalid. You can find your project API key in the project settings.",
)
NO_ID = error("validation_error", "missing_distinct_id", "Decide requires a distinct_id.")

REFUSALS: dict[str, tuple[bytes, int, Json]] = {
    "no key": (b'{"distinct_id": "u"}', 401, NO_KEY),
    "an empty key": (b'{"api_key": "", "distinct_id": "u"}', 401, NO_KEY),
    "a null key": (b'{"api_key": null, "distinct_id": "u"}', 401, NO_KEY),
    "an unknown key": (b'{"api_key": "phc_x", "distinct_id": "u"}', 401, INVALID_KEY),
    "a personal key": (b'{"api_key": "PERSONAL", "distinct_id": "u"}', 401, INVALID_KEY),
    "a list as key": (b'{"api_key": ["phc_x"], "distinct_id": "u"}', 401, INVALID_KEY),
    "no key before no distinct id": (b'{"a": 1}', 401, NO_KEY),
    "no distinct id": (b'{"api_key": "TOKEN"}', 400, NO_ID),
    "a null distinct id": (b'{"api_key": "TOKEN", "distinct_id": null}', 400, NO_ID),
    "no JSON": (
        b"no json",
        400,
        error(
            "validation_error",
            "invalid_payload",
            "Malformed request data: Expecting value: line 1 column 1 (char 0)",
        ),
    ),
    "an array": (
        b"[1]",
        400,
        error(
            "validation_error", "invalid_payload", "Malformed request data: an object was expected."
        ),
    ),
    "groups as a list": (
        b'{"api_key": "TOKEN", "distinct_id": "u", "groups": [1]}',
        400,
        error(
            "validation_error",
            "invalid_payload",
            "Malformed request data: groups must be an object.",
        ),
    ),
}


@pytest.mark.parametrize("path", ["/decide?v=3", "/decide/?v=1"])
async def test_a_refusal_says_why(three_flags: Tenant, path: str) -> None:
    for name, (body, status, expected) in REFUSALS.items():
        sent = body.replace(b"TOKEN", three_flags.token.encode())
        sent = sent.replace(b"PERSONAL", three_flags.key.encode())

        answer = await three_flags.public.post(path, content=sent)

        assert (answer.status_code, answer.json()) == (status, expected), name


async def test_an_empty_distinct_id_is_one(three_flags: Tenant) -> None:
    assert (await three_flags.decide(""))["featureFlags"]["on"] is True


async def test_a_get_never_evaluates(three_flags: Tenant) -> None:
    answer = await three_flags.public.get("/decide?v=3", params={"api_key": three_flags.token})

    assert answer.status_code == 405
    assert answer.json() == error(
        "invalid_request", "method_not_allowed", 'Method "GET" not allowed.'
    )
