"""Capture v1: the envelope of new SDKs, and the result of each event."""

import gzip
import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from fanion.errors import InvalidApiKey, InvalidPayload, NoData
from fanion.ingest.capture.v1 import SDK_INFO_CHARS_MAX, CaptureV1, read_v1, v1_answer, v1_error
from fanion.ingest.items import UNREADABLE_SENT_AT, read_items
from fanion.ingest.timestamps import SentAt
from fanion.server.request import Request

UUID = "01890f3c-aaaa-7bbb-8ccc-000000000000"
EVENT = {"event": "paid", "uuid": UUID, "distinct_id": "u1", "properties": {"amount": 3}}
HEADERS = {
    "authorization": "Bearer phc_1",
    "content-type": "application/json",
    "posthog-sdk-info": "posthog-python/7.22.0",
    "posthog-request-timestamp": "2024-03-01T12:00:05Z",
}


def read(body: Any, **headers: str) -> CaptureV1:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    all_headers = HEADERS | {name.replace("_", "-"): value for name, value in headers.items()}
    return read_v1(Request("POST", "/i/v1/analytics/events", "", all_headers, "192.0.2.1", raw))


def properties_of(event: dict[str, Any]) -> dict[str, Any]:
    [item] = read_items(read({"batch": [event]}).capture.items_json)
    properties: dict[str, Any] = item["properties"]
    return properties


def test_the_envelope_is_read() -> None:
    capture = read({"created_at": "x", "batch": [EVENT], "historical_migration": True}).capture

    assert capture.token == "phc_1"
    assert capture.sent_at.moment == datetime(2024, 3, 1, 12, 0, 5, tzinfo=UTC)
    assert capture.historical
    assert capture.items == 1
    assert capture.refusal is None


def test_the_body_may_be_compressed() -> None:
    body = gzip.compress(json.dumps({"batch": [EVENT]}).encode())

    assert read(body, content_encoding="gzip").capture.items == 1


def test_the_library_comes_from_its_header() -> None:
    assert properties_of(EVENT) == {
        "$lib": "posthog-python",
        "$lib_version": "7.22.0",
        "amount": 3,
    }


def test_a_long_library_name_is_cut() -> None:
    capture = read({"batch": [EVENT] * 3}, posthog_sdk_info="a/" + "b" * 60_000).capture

    for item in read_items(capture.items_json):
        assert len(item["properties"]["$lib_version"]) == SDK_INFO_CHARS_MAX - len("a/")


def test_options_and_ids_stand_for_properties() -> None:
    options = {
        "process_person_profile": False,
        "disable_skew_correction": True,
        "cookieless_mode": None,
        "product_tour_id": "t",
        "unknown": 1,
    }

    properties = properties_of({**EVENT, "session_id": "s", "window_id": "w", "options": options})

    assert properties == {
        "$lib": "posthog-python",
        "$lib_version": "7.22.0",
        "$process_person_profile": False,
        "$ignore_sent_at": True,
        "$product_tour_id": "t",
        "$session_id": "s",
        "$window_id": "w",
        "amount": 3,
    }


def test_what_properties_say_already_stays() -> None:
    event = {**EVENT, "session_id": "s", "properties": {"$lib": "mine", "$session_id": "own"}}

    properties = properties_of(event)

    assert (properties["$lib"], properties["$session_id"]) == ("mine", "own")


@pytest.mark.parametrize(
    ("event", "details"),
    [
        ({**EVENT, "event": ""}, "the event has no name"),
        ({**EVENT, "distinct_id": ""}, "the event has no distinct_id"),
        (
            {**EVENT, "properties": []},
            "Invalid payload: the properties of an event are not an object",
        ),
        ({**EVENT, "uuid": "17"}, "Invalid payload: the uuid of an event is not a valid UUID"),
    ],
)
def test_a_faulty_event_is_dropped_alone(event: dict[str, Any], details: str) -> None:
    good = {**EVENT, "uuid": UUID.replace("0000", "1111")}

    answer = read({"batch": [event, good]})

    assert answer.capture.items == 1
    assert msgspec.json.decode(v1_answer(answer.results)) == {
        "results": {
            event["uuid"]: {"result": "drop", "details": details},
            good["uuid"]: {"result": "ok"},
        }
    }


def test_items_that_are_no_objects_are_left_out() -> None:
    answer = read({"batch": [None, 17, {}, EVENT]})

    assert answer.capture.items == 1
    assert list(answer.results) == [UUID]


@pytest.mark.parametrize("body", [[EVENT], {"batch": "x"}, {"api_key": "k"}])
def test_another_shape_is_refused(body: Any) -> None:
    with pytest.raises(InvalidPayload):
        read(body)


def test_an_empty_body_is_no_data() -> None:
    with pytest.raises(NoData):
        read(b"")


@pytest.mark.parametrize("header", ["", "soon"])
def test_an_unreadable_send_time_corrects_nothing(header: str) -> None:
    answer = read({"batch": [EVENT]}, posthog_request_timestamp=header)

    assert answer.capture.sent_at == SentAt(None, header)
    [item] = read_items(answer.capture.items_json)
    assert item.get(UNREADABLE_SENT_AT, "") == header


@pytest.mark.parametrize("header", ["bearer phc_1", "BEARER   phc_1 ", "phc_1"])
def test_the_scheme_of_the_key_may_be_written_in_any_case(header: str) -> None:
    assert read({"batch": [EVENT]}, authorization=header).capture.token == "phc_1"


def test_an_error_has_the_fields_of_the_protocol_and_the_common_ones() -> None:
    assert msgspec.json.decode(v1_error(InvalidApiKey("Wrong key."))) == {
        "type": "authentication_error",
        "code": "invalid_api_key",
        "detail": "Wrong key.",
        "attr": None,
        "error": "invalid_api_key",
        "error_description": "Wrong key.",
    }


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("bearer phc_1", "phc_1"),
        ("BEARER   phc_1 ", "phc_1"),
        ("Bearer", ""),
        ("Basic phc_1", ""),
        ("phc_1", "phc_1"),
        ("", ""),
    ],
)
def test_the_key_is_a_bearer_token_in_any_case_of_letters(header: str, token: str) -> None:
    assert read({"batch": [EVENT]}, authorization=header).capture.token == token
