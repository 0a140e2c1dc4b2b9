"""Capture over HTTP: accepted and refused requests, and their answers."""

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from fanion.projects.model import Level
from tests.support.application import Json, Tenant, error
from tests.support.management import NOW, add_member

PATHS = [
    f"{path}{end}"
    for path in ("/capture", "/batch", "/e", "/i/v0/e", "/track")
    for end in ("", "/")
]

Request = Json  # arguments of httpx: content, headers, params

INVALID_KEY = error(
    "authentication_error",
    "invalid_api_key",
    "Project API key invalid. You can find your project API key in the project settings.",
)
MISSING_KEY = error(
    "authentication_error",
    "invalid_api_key",
    "API key not provided. The project API key is missing: find it in the project settings.",
)
NO_DATA = error(
    "validation_error",
    "no_data",
    "No data found. Make sure to use a POST request when sending the payload "
    "in the body of the request.",
)


def invalid_payload(detail: str) -> Json:
    return error("validation_error", "invalid_payload", detail)


def single(token: str, item: Json) -> Any:
    return {"api_key": token, **item}


def batch(token: str, item: Json) -> Any:
    return {"api_key": token, "batch": [item]}


def array(token: str, item: Json) -> Any:
    properties = item.get("properties", {})
    return [{**item, "properties": {**properties, "token": token}}]


def as_json(text: bytes) -> Request:
    return {"content": text, "headers": {"content-type": "application/json"}}


def as_gzip(text: bytes) -> Request:
    return {"content": gzip.compress(text), "headers": {"content-encoding": "gzip"}}


def as_browser_gzip(text: bytes) -> Request:
    headers = {"content-type": "text/plain"}
    return {
        "content": gzip.compress(text),
        "params": {"compression": "gzip-js"},
        "headers": headers,
    }


def as_form(text: bytes) -> Request:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    return {"content": urlencode({"data": base64.b64encode(text)}), "headers": headers}


SHAPES: tuple[Callable[[str, Json], Any], ...] = (single, batch, array)
ENCODINGS: tuple[Callable[[bytes], Request], ...] = (as_json, as_gzip, as_browser_gzip, as_form)


@pytest.mark.parametrize("path", PATHS)
async def test_every_path_takes_every_shape_in_every_encoding(tenant: Tenant, path: str) -> None:
    sent = []
    for shape in SHAPES:
        for encode in ENCODINGS:
            name = f"{shape.__name__} {encode.__name__}"
            body = shape(tenant.token, {"event": name, "distinct_id": name})
            answer = await tenant.public.post(path, **encode(json.dumps(body).encode()))
            assert (answer.status_code, answer.content) == (200, b'{"status":1}'), name
            assert answer.headers["content-type"] == "application/json"
            sent.append((name, name))
    await tenant.server.ingested()

    stored = await tenant.events()

    assert sorted((event["event"], event["distinct_id"]) for event in stored) == sorted(sent)


REFUSALS: dict[str, tuple[bytes, int, Json]] = {
    "no body": (b"", 400, NO_DATA),
    "an empty object": (b"{}", 400, NO_DATA),
    "an empty array": (b"[]", 400, NO_DATA),
    "not JSON": (
        b"no json",
        400,
        invalid_payload("Malformed request data: Expecting value: line 1 column 1 (char 0)"),
    ),
    "bytes that are no text": (
        b"\xff\xfe",
        400,
        invalid_payload(
            "Malformed request data: 'utf-8' codec can't decode byte 0xff in position 0: "
            "invalid start byte"
        ),
    ),
    **{
        f"the scalar {scalar!r}": (
            scalar,
            400,
            invalid_payload("Invalid payload: the body is neither an object nor an array"),
        )
        for scalar in (b"5", b" -1.5 ", b"0", b"true", b"false", b'"text"', b"NQ==")
    },
    "null": (b"null", 400, NO_DATA),
    "an empty text": (b'""', 400, NO_DATA),
    "a blank key": (b'{"api_key": " ", "event": "a", "distinct_id": "u"}', 401, MISSING_KEY),
    "an empty list as key": (
        b'{"api_key": [], "event": "a", "distinct_id": "u"}',
        401,
        MISSING_KEY,
    ),
    "no key in a batch": (b'{"batch": [{"event": "a", "distinct_id": "u"}]}', 401, MISSING_KEY),
    "no key in an array": (b'[{"event": "a", "distinct_id": "u"}]', 401, MISSING_KEY),
    "no key, and a wrong item": (b'{"batch": [5]}', 401, MISSING_KEY),
    "no key, with a project": (
        b'{"project_id": 1, "event": "a", "distinct_id": "u"}',
        401,
        MISSING_KEY,
    ),
    "no key": (b'{"event": "a", "distinct_id": "u"}', 401, MISSING_KEY),
    "an empty key": (b'{"api_key": "", "event": "a", "distinct_id": "u"}', 401, MISSING_KEY),
    "a null key": (b'{"api_key": null, "event": "a", "distinct_id": "u"}', 401, MISSING_KEY),
    "an unknown key": (b'{"api_key": "phc_x", "event": "a", "distinct_id": "u"}', 401, INVALID_KEY),
    "a number as key": (b'{"api_key": 5, "event": "a", "distinct_id": "u"}', 401, INVALID_KEY),
    "an unknown key in a batch": (
        b'{"api_key": "phc_x", "batch": [{"event": "a"}]}',
        401,
        INVALID_KEY,
    ),
    "a project that is no number": (
        b'{"api_key": "phc_x", "project_id": "abc", "event": "a", "distinct_id": "u"}',
        400,
        error("validation_error", "invalid_project", "Invalid Project ID.", "project_id"),
    ),
    "a project that is a list": (
        b'{"api_key": "phc_x", "project_id": [7], "event": "a", "distinct_id": "u"}',
        400,
        error("validation_error", "invalid_project", "Invalid Project ID.", "project_id"),
    ),
    "a personal key that is none": (
        b'{"api_key": "phx_x", "project_id": 1, "event": "a", "distinct_id": "u"}',
        401,
        error("authentication_error", "invalid_personal_api_key", "Invalid Personal API key."),
    ),
    "a null item": (
        b'{"api_key": "TOKEN", "batch": [{"event": "a", "distinct_id": "u"}, null]}',
        400,
        invalid_payload("Invalid payload: some events are null"),
    ),
    "an empty item": (
        b'{"api_key": "TOKEN", "batch": [{"event": "a", "distinct_id": "u"}, {}]}',
        400,
        invalid_payload("Invalid payload: some events are null"),
    ),
    "a text as batch": (
        b'{"api_key": "TOKEN", "batch": "[]"}',
        400,
        invalid_payload("Invalid payload: an event is not an object"),
    ),
    "properties that are a list": (
        b'{"api_key": "TOKEN", "event": "a", "distinct_id": "u", "properties": [1]}',
        400,
        invalid_payload("Invalid payload: the properties of an event are not an object"),
    ),
    "a uuid that is none": (
        b'{"api_key": "TOKEN", "event": "a", "distinct_id": "u", "uuid": "1"}',
        400,
        invalid_payload("Invalid payload: the uuid of an event is not a valid UUID"),
    ),
}


async def test_a_refusal_says_why_and_stores_nothing(tenant: Tenant) -> None:
    for name, (body, status, expected) in REFUSALS.items():
        sent = body.replace(b"TOKEN", tenant.token.encode())
        answer = await tenant.public.post("/batch/", content=sent)
        assert (answer.status_code, answer.json()) == (status, expected), name
    await tenant.capture({"event": "good", "distinct_id": "u"})

    assert [event["event"] for event in await tenant.events()] == ["good"]


@pytest.mark.parametrize(
    "encoding",
    [
        {"headers": {"content-encoding": "gzip"}},
        {"params": {"compression": "gzip-js"}},
        {"params": {"compression": "lz64"}},
    ],
)
async def test_what_cannot_be_decompressed_is_an_invalid_payload(
    tenant: Tenant, encoding: Json
) -> None:
    answer = await tenant.public.post("/e/", content=b"undefined", **encoding)

    body = answer.json()
    assert answer.status_code == 400
    assert body == invalid_payload(body["detail"])
    assert body["detail"].startswith("Malformed request data: ")


async def test_only_post_captures(tenant: Tenant) -> None:
    for path in PATHS:
        for method in ("GET", "PUT", "DELETE"):
            answer = await tenant.public.request(method, path, params={"data": "{}"})

            assert answer.status_code == 405, path
            assert answer.headers["allow"] == "POST, OPTIONS"
            assert answer.json() == error(
                "invalid_request", "method_not_allowed", f'Method "{method}" not allowed.'
            )


async def test_events_without_name_or_distinct_id_are_dropped_and_the_rest_is_stored(
    tenant: Tenant,
) -> None:
    unnamed: list[Json] = [
        {"distinct_id": "u"},
        {"event": "", "distinct_id": "u"},
        {"event": None, "distinct_id": "u"},
    ]
    unknown_events: list[Json] = [
        {"event": "x"},
        {"event": "x", "distinct_id": ""},
        {"event": "x", "distinct_id": None},
    ]
    names_before = await tenant.server.metric("fanion_items_dropped_total", reason="no_name")
    ids_before = await tenant.server.metric("fanion_items_dropped_total", reason="no_distinct_id")

    await tenant.capture(
        {"event": "first", "distinct_id": "u"},
        *unnamed,
        {"event": "middle", "properties": {"distinct_id": "u"}},
        *unknown_events,
        {"event": "last", "distinct_id": "u"},
    )

    assert {event["event"] for event in await tenant.events()} == {"first", "middle", "last"}
    assert (await tenant.get("/event_definitions/"))["count"] == 3
    assert (
        await tenant.server.metric("fanion_items_dropped_total", reason="no_name")
        == names_before + 3
    )
    assert (
        await tenant.server.metric("fanion_items_dropped_total", reason="no_distinct_id")
        == ids_before + 3
    )


@pytest.mark.parametrize(
    "item", [{"distinct_id": "u"}, {"event": "x"}, {"event": "x", "distinct_id": ""}]
)
async def test_a_single_event_without_name_or_distinct_id_is_answered_with_200(
    tenant: Tenant, item: Json
) -> None:
    answer = await tenant.public.post("/capture/", json={"api_key": tenant.token, **item})
    await tenant.server.ingested()

    assert (answer.status_code, answer.json()) == (200, {"status": 1})
    assert await tenant.events() == []


async def test_a_captured_event_is_listed_whole(tenant: Tenant) -> None:
    uuid = "0190d0a6-1111-7000-8000-000000000001"

    await tenant.capture(
        {
            "event": "paid",
            "uuid": uuid,
            "timestamp": "2024-02-29 10:20:30.5+01:00",
            "properties": {
                "distinct_id": "ann",
                "amount": 12.5,
                "items": [1, {"a": None}],
                "$set": {"email": "ann@example.com"},
            },
        }
    )

    assert await tenant.events() == [
        {
            "id": uuid,
            "event": "paid",
            "distinct_id": "ann",
            "properties": {
                "distinct_id": "ann",
                "amount": 12.5,
                "items": [1, {"a": None}],
                "$set": {"email": "ann@example.com"},
                "$ip": "127.0.0.1",
            },
            "timestamp": "2024-02-29T09:20:30.500000+00:00",
            "person": {
                "is_identified": False,
                "distinct_ids": ["ann"],
                "properties": {"email": "ann@example.com"},
            },
            "elements": [],
            "elements_chain": "",
        }
    ]


async def test_without_a_timestamp_an_event_happened_on_arrival(tenant: Tenant) -> None:
    await tenant.capture({"event": "a", "distinct_id": "u"})

    [event] = await tenant.events()
    assert event["timestamp"] == tenant.server.clock.now().isoformat()
    assert tenant.server.clock.now() >= NOW


async def test_an_import_is_stored_with_its_own_times(tenant: Tenant) -> None:
    item = {"event": "old", "distinct_id": "u", "timestamp": "2012-05-06T07:08:09Z"}

    await tenant.capture(item, historical_migration=True)

    [event] = await tenant.events()
    assert event["timestamp"] == "2012-05-06T07:08:09+00:00"


async def test_the_same_uuid_twice_is_one_event(tenant: Tenant) -> None:
    item = {"event": "a", "distinct_id": "u", "uuid": "0190d0a6-2222-7000-8000-000000000001"}

    await tenant.capture(item)
    await tenant.capture(item)

    assert len(await tenant.events()) == 1


async def test_a_personal_key_captures_into_a_project_within_reach(tenant: Tenant) -> None:
    item = {"event": "a", "distinct_id": "u", "project_id": tenant.project_id}

    answer = await tenant.public.post("/capture/", json={"api_key": tenant.key, **item})
    await tenant.server.ingested()

    assert (answer.status_code, answer.json()) == (200, {"status": 1})
    [event] = await tenant.events()
    assert tenant.key not in json.dumps(event)


async def test_the_key_of_a_viewer_captures_nothing(tenant: Tenant) -> None:
    person = f"vera-{tenant.project_id:x}"
    viewer = await add_member(tenant.server.records, person, Level.VIEWER, tenant.organization_id)
    item = {"event": "a", "distinct_id": "u", "project_id": tenant.project_id}

    answer = await tenant.public.post("/capture/", json={"api_key": viewer.key, **item})
    flags = await tenant.public.post(
        "/decide/?v=3",
        json={"api_key": viewer.key, "distinct_id": "u", "project_id": tenant.project_id},
    )

    refused = error("authentication_error", "permission_denied", "Viewers cannot make changes.")
    assert (answer.status_code, answer.json()) == (403, refused)
    assert flags.status_code == 200
    assert await tenant.events() == []


async def test_a_batch_is_smaller_than_20_mib(tenant: Tenant) -> None:
    def body(size: int) -> bytes:
        start, end = b'{"api_key":"' + tenant.token.encode() + b'","batch":[],"pad":"', b'"}'
        return start + b"x" * (size - len(start) - len(end)) + end

    largest = await tenant.public.post("/batch/", content=body(20 * 1024**2 - 1))
    too_large = [
        await tenant.public.post("/batch/", content=body(20 * 1024**2)),
        await tenant.public.post(
            "/batch/",
            content=gzip.compress(body(20 * 1024**2)),
            headers={"content-encoding": "gzip"},
        ),
    ]

    assert (largest.status_code, largest.json()) == (200, {"status": 1})
    detail = "The request body is larger than 20971519 bytes."
    for answer in too_large:
        assert answer.status_code == 413
        assert answer.json() == error("invalid_request", "payload_too_large", detail)


async def test_a_browser_reads_every_answer(tenant: Tenant) -> None:
    origin = {"origin": "https://shop.example"}

    preflight = await tenant.public.options("/e/", headers=origin)
    refused = await tenant.public.post("/e/", headers=origin, content=b"{}")

    assert preflight.status_code == 200
    for answer in (preflight, refused):
        assert answer.headers["access-control-allow-origin"] == "https://shop.example"
        assert answer.headers["access-control-allow-credentials"] == "true"
