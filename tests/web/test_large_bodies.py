"""Small bodies that decode to large ones, on every public route, with and without a key."""

import gzip
import json
from typing import Any

import httpx
import msgspec
import pytest

from fanion.projects.request_api import KEY_BODY_BYTES_MAX
from fanion.wire.offload import DECODING_BYTES_MAX
from tests.support.application import Tenant, error

MANY = 400_000
OBJECTS = b"{}," * MANY + b"{}"
DEEP = b"[" * 100_000 + b"]" * 100_000
TEXT = b'"' + b"\\u00e9" * 1_000_000 + b'"'
EVENT = b'{"event":"many","distinct_id":"u"}'
V1, OFREP = "/i/v1/analytics/events", "/ofrep/v1/evaluate/flags"
WRONG = "phc_nobody-has-this-key"

CAPTURE_PATHS = ("/batch/", "/capture/", "/engage/")


async def send(tenant: Tenant, path: str, body: bytes, key: str) -> httpx.Response:
    """Send a body compressed by gzip, with the key in its place."""
    content = gzip.compress(body.replace(b"KEY", key.encode()), 1)
    assert len(content) < len(body) // 50
    headers = {"authorization": f"Bearer {key}", "content-encoding": "gzip"}
    return await tenant.public.post(path, content=content, headers=headers)


def outcome(answer: httpx.Response) -> tuple[int, Any]:
    body = answer.json()
    return answer.status_code, body.get("code", body.get("error", body.get("errorCode")))


@pytest.mark.parametrize("path", CAPTURE_PATHS)
@pytest.mark.parametrize(
    ("body", "wrong", "right"),
    [
        (b'{"api_key":"KEY","batch":[' + OBJECTS + b"]}", 401, (400, "invalid_payload")),
        (b'{"batch":[' + OBJECTS + b'],"api_key":"KEY"}', 401, (400, "invalid_payload")),
        (b'[{"token":"KEY","event":"e"},' + OBJECTS + b"]", 401, (400, "invalid_payload")),
        (b'{"api_key":"KEY","properties":' + DEEP + b"}", 400, (400, "invalid_payload")),
        (b'{"api_key":"KEY","event":"e","properties":{"a":' + TEXT + b"}}", 401, (200, None)),
        (b'{"api_key":"KEY","batch":[' + OBJECTS, 400, (400, "invalid_payload")),
        (
            b'{"api_key":"KEY","event":"e","properties":{"a":[' + OBJECTS + b"]}}",
            401,
            (413, "payload_too_large"),
        ),
    ],
    ids=["objects", "key last", "array", "deep", "text", "broken", "one item"],
)
async def test_a_large_capture_gets_the_response_of_a_small_one(
    tenant: Tenant, path: str, body: bytes, wrong: int, right: tuple[int, Any]
) -> None:
    assert (await send(tenant, path, body, WRONG)).status_code == wrong
    assert outcome(await send(tenant, path, body, tenant.token)) == right


# It takes seconds: a million items are read.
async def test_a_batch_of_a_million_items_is_stored_unchanged(tenant: Tenant) -> None:
    """Items without a name are dropped, and their number is not limited."""
    body = b'{"batch":[' + b'{"a":1},' * 1_000_000 + EVENT + b'],"api_key":"KEY"}'

    assert outcome(await send(tenant, "/batch/", body, tenant.token)) == (200, None)
    await tenant.server.ingested()

    assert len(await tenant.events(event="many")) == 1


@pytest.mark.every_engine
async def test_a_large_unclean_batch_is_stored_clean(tenant: Tenant) -> None:
    odd = b'{"event":"odd","distinct_id":"u","properties":{"a":NaN,"b":"\\ud83d"}},'
    body = b'{"batch":[' + odd * 2_000 + EVENT + b'],"api_key":"KEY"}'

    assert outcome(await send(tenant, "/batch/", body, tenant.token)) == (200, None)
    await tenant.server.ingested()

    stored = await tenant.events(event="odd", limit=10_000)
    assert len(stored) == 2_000
    assert {"a": None, "b": "\ufffd"}.items() <= stored[0]["properties"].items()


async def test_an_engage_of_a_large_object_is_an_identify(tenant: Tenant) -> None:
    known = json.dumps({"a": "x" * 2_000_000}).encode()
    body = b'{"$token":"KEY","$distinct_id":"large","$set":' + known + b',"properties":{}}'

    assert outcome(await send(tenant, "/engage/", body, tenant.token)) == (200, None)
    await tenant.server.ingested()

    [event] = await tenant.events(distinct_id="large")
    assert event["event"] == "$identify"


async def test_capture_v1_answers_for_each_of_many_events(tenant: Tenant) -> None:
    uuids = [f"01890f3c-aaaa-7bbb-8ccc-{number:012x}" for number in range(5_000)]
    items = [{"event": "v1", "distinct_id": "u", "uuid": uuid} for uuid in uuids]
    body = msgspec.json.encode({"batch": [*items, {"uuid": "x"}, None, 17]})
    content = gzip.compress(body)
    headers = {"content-encoding": "gzip", "posthog-sdk-info": "posthog-python/7"}

    wrong = await tenant.public.post(
        V1, content=content, headers={**headers, "authorization": f"Bearer {WRONG}"}
    )
    right = await tenant.public.post(
        V1, content=content, headers={**headers, "authorization": f"Bearer {tenant.token}"}
    )
    await tenant.server.ingested()

    assert outcome(wrong) == (401, "invalid_api_key")
    results = right.json()["results"]
    assert results.pop("x")["result"] == "drop"
    assert results == {uuid: {"result": "ok"} for uuid in uuids}
    stored = await tenant.events(event="v1", limit=10_000)
    assert len(stored) == len(uuids)
    assert stored[0]["properties"]["$lib"] == "posthog-python"


@pytest.mark.parametrize(
    ("members", "status"),
    [(OBJECTS, 413), (DEEP, 400), (TEXT, 200)],
    ids=["objects", "deep", "text"],
)
async def test_flags_check_the_key_first(tenant: Tenant, members: bytes, status: int) -> None:
    await tenant.create_flag(key="on", filters={"groups": [{}]})
    sent = b'{"a":[' + members + b"]}"
    body = b'{"person_properties":' + sent + b',"distinct_id":"u","api_key":"KEY"}'
    wrong_status = 400 if members is DEEP else 401

    for path in ("/decide?v=3", "/flags?v=2"):
        assert (await send(tenant, path, body, WRONG)).status_code == wrong_status
        assert (await send(tenant, path, body, tenant.token)).status_code == status
    context = b'{"context":{"targetingKey":"u","plan":' + sent + b"}}"
    for path in (OFREP, f"{OFREP}/on"):
        assert (await send(tenant, path, context, WRONG)).status_code == 401
        assert (await send(tenant, path, context, tenant.token)).status_code == status


async def test_a_large_request_gets_the_flags_that_a_small_one_gets(tenant: Tenant) -> None:
    plan = {"key": "plan", "type": "person", "operator": "exact", "value": "pro"}
    await tenant.create_flag(key="pro", filters={"groups": [{"properties": [plan]}]})
    ballast = {f"p{number}": "x" * 100 for number in range(2_000)}
    properties = {**ballast, "plan": "pro"}

    decided = await tenant.decide("u", person_properties=properties)
    told_ofrep = await tenant.public.post(
        f"{OFREP}/pro",
        json={"context": {"targetingKey": "u", **properties}},
        headers={"authorization": f"Bearer {tenant.token}"},
    )

    assert decided["featureFlags"]["pro"] is True
    assert told_ofrep.json()["value"] is True


KINDS = {
    "application/json": (b'{"name":"n","description":"', b'","personal_api_key":"KEY"}'),
    "application/x-www-form-urlencoded": (b"name=n&description=", b"&personal_api_key=KEY"),
    "multipart/form-data; boundary=b": (
        b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nn\r\n'
        b'--b\r\nContent-Disposition: form-data; name="description"\r\n\r\n',
        b'\r\n--b\r\nContent-Disposition: form-data; name="personal_api_key"\r\n\r\nKEY'
        b"\r\n--b--\r\n",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_key_is_sought_in_a_small_body_only(tenant: Tenant, kind: str) -> None:
    path, headers = f"/api/projects/{tenant.project_id}/cohorts/", {"content-type": kind}
    start, end = KINDS[kind]

    async def answer(key: str, size: int, query: str = "") -> httpx.Response:
        ends = end.replace(b"KEY", key.encode())
        content = start + b"x" * (size - len(start) - len(ends)) + ends
        return await tenant.public.post(path + query, content=content, headers=headers)

    small, wrong = await answer(tenant.key, 1_000), await answer("phx_none", 1_000)
    largest = await answer(tenant.key, KEY_BODY_BYTES_MAX)
    larger = await answer(tenant.key, KEY_BODY_BYTES_MAX + 1)
    in_query = await answer("phx_none", KEY_BODY_BYTES_MAX + 1, f"?personal_api_key={tenant.key}")

    assert small.status_code == 201, small.text
    assert (wrong.status_code, wrong.json()["code"]) == (401, "invalid_personal_api_key")
    assert largest.status_code != 401
    assert larger.json() == error(
        "authentication_error",
        "not_authenticated",
        "Authentication credentials were not provided. Send the key in the Authorization header: a "
        "body of more than 65536 bytes is not searched for one.",
    )
    assert in_query.status_code == largest.status_code


def test_the_budget_has_room_for_several_of_the_largest_bodies() -> None:
    assert DECODING_BYTES_MAX >= 3 * 3 * 20_971_520
