"""Capture requests as typed values: where the key is, what is refused, what goes to the log."""

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote_plus

import msgspec
import pytest

from fanion.errors import InvalidPayload, NoData
from fanion.ingest.capture.parsing import Capture, read_capture
from fanion.ingest.items import UNREADABLE_SENT_AT, read_items
from fanion.ingest.timestamps import SentAt
from fanion.server.request import Request

FORM = "application/x-www-form-urlencoded"
UUID = "01890f3c-aaaa-7bbb-8ccc-000000000000"
EVENT = {"event": "paid", "distinct_id": "u1", "properties": {"a": 1}}


def capture(
    body: Any, query: str = "", content_type: str = "application/json", *, engage: bool = False
) -> Capture:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = Request("POST", "/batch/", query, {"content-type": content_type}, "192.0.2.1", raw)
    return read_capture(request, is_engage=engage)


def form(data: Any, **fields: str) -> bytes:
    pairs = {"data": json.dumps(data), **fields}
    return "&".join(f"{name}={quote_plus(value)}" for name, value in pairs.items()).encode()


@pytest.mark.parametrize(
    ("body", "token"),
    [
        ({**EVENT, "api_key": "k"}, "k"),
        ({**EVENT, "token": "k"}, "k"),
        ({**EVENT, "$token": "k"}, "k"),
        ({**EVENT, "properties": {"token": "k"}}, "k"),
        ({"event": "no properties", "api_key": "k"}, "k"),
        ({"api_key": "3", "token": "2", "$token": "1", "properties": {"token": "4"}}, "1"),
        ({"api_key": "3", "token": "2", "properties": {"token": "4"}}, "2"),
        ({"api_key": "3", "token": "", "properties": {"token": "4"}}, "3"),
        ({"api_key": None, "properties": {"token": "4"}}, "4"),
        ([{**EVENT, "token": "k"}, {**EVENT, "token": "other"}], "k"),
        ([{**EVENT, "properties": {"token": "k"}}, EVENT], "k"),
        ({"api_key": "k", "batch": [EVENT]}, "k"),
        ({"token": "k", "batch": [EVENT]}, "k"),
        ({"batch": [{**EVENT, "properties": {"token": "k"}}]}, "k"),
        ({"api_key": "k", "batch": []}, "k"),
        (EVENT, ""),
        ({**EVENT, "api_key": ""}, ""),
        ({**EVENT, "api_key": None}, ""),
        ({**EVENT, "api_key": 17}, "17"),
        ({**EVENT, "api_key": ["k"]}, '["k"]'),
        ([None], ""),
    ],
)
def test_the_key_is_the_first_one_found(body: Any, token: str) -> None:
    assert capture(body).token == token


def test_a_key_in_the_form_comes_first() -> None:
    data = {**EVENT, "token": "json"}

    assert capture(form(data, api_key="a", token="b"), content_type=FORM).token == "a"
    assert capture(form(data, token="b"), content_type=FORM).token == "b"
    assert capture(form(data), content_type=FORM).token == "json"


@pytest.mark.parametrize(
    ("body", "items"),
    [
        ({"api_key": "k", "batch": [EVENT, EVENT]}, 2),
        ([{**EVENT, "token": "k"}, EVENT], 2),
        ({**EVENT, "api_key": "k"}, 1),
        ({**EVENT, "api_key": "k", "batch": None}, 1),
        ({"api_key": "k", "batch": []}, 0),
    ],
)
def test_the_shape_says_how_many_items_there_are(body: Any, items: int) -> None:
    read = capture(body)

    assert read.refusal is None
    assert read.items == items
    assert len(read_items(read.items_json)) == items


@pytest.mark.parametrize(
    "body",
    [
        {"api_key": "k", "batch": [{**EVENT, "uuid": UUID, "type": "capture"}], "sent_at": None},
        {**EVENT, "api_key": "k", "properties": {"deep": {"é": ["😀\ud83d\ude00"]}}},
        [{**EVENT, "properties": {"token": "k"}}],
    ],
)
def test_an_ordinary_body_goes_to_the_log_as_it_came(body: Any) -> None:
    raw = json.dumps(body, indent=1).encode()

    assert capture(raw).items_json is raw


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        (b'{"api_key":"k","event":"e","properties":{"a":NaN}}', {"a": None}),
        (b'{"api_key":"k","event":"e","properties":{"a":"\\ud83d"}}', {"a": "\ufffd"}),
        (b'{"api_key":"k","event":"e","properties":{"a":"\xed\xa0\xbd\xed\xb8\x80"}}', {"a": "😀"}),
        (b'{"api_key":"k","event":"e","properties":null}', None),
    ],
)
def test_an_unclean_body_is_written_anew(raw: bytes, stored: Any) -> None:
    read = capture(raw)

    assert msgspec.json.decode(read.items_json)["properties"] == stored


def test_bytes_that_are_no_utf8_are_refused_even_inside_properties() -> None:
    with pytest.raises(InvalidPayload):
        capture(b'{"api_key":"k","event":"e","properties":{"a":"\xff"}}')


@pytest.mark.parametrize(
    ("items", "detail"),
    [
        ([EVENT, None], "Invalid payload: some events are null"),
        ([EVENT, {}], "Invalid payload: some events are null"),
        ([EVENT, 17], "Invalid payload: an event is not an object"),
        ("[]", "Invalid payload: an event is not an object"),
        ({"a": 1}, "Invalid payload: an event is not an object"),
        (
            [EVENT, {**EVENT, "properties": "text"}],
            "Invalid payload: the properties of an event are not an object",
        ),
        (
            [{**EVENT, "properties": []}],
            "Invalid payload: the properties of an event are not an object",
        ),
        ([{**EVENT, "uuid": "17"}], "Invalid payload: the uuid of an event is not a valid UUID"),
        ([{**EVENT, "uuid": 17}], "Invalid payload: the uuid of an event is not a valid UUID"),
    ],
)
def test_one_fault_refuses_the_whole_request_once_the_key_is_known(items: Any, detail: str) -> None:
    read = capture({"api_key": "k", "batch": items})

    assert read.token == "k"
    assert read.refusal is not None
    assert msgspec.json.decode(read.refusal.body()) == {
        "type": "validation_error",
        "code": "invalid_payload",
        "detail": detail,
        "attr": None,
    }


@pytest.mark.parametrize("uuid", ["", None, UUID, UUID.upper(), UUID.replace("-", "")])
def test_an_empty_uuid_or_a_good_one_refuses_nothing(uuid: str | None) -> None:
    assert capture({"api_key": "k", "batch": [{**EVENT, "uuid": uuid}]}).refusal is None


def test_items_without_name_or_distinct_id_refuse_nothing() -> None:
    assert capture({"api_key": "k", "batch": [{"x": 1}, {"event": None}]}).refusal is None


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"null", b'""'])
def test_no_data_is_reported(raw: bytes) -> None:
    with pytest.raises(NoData) as refused:
        capture(raw)

    assert (refused.value.status, refused.value.code) == (400, "no_data")


@pytest.mark.parametrize(
    "raw", [b"17", b"0", b"false", b'"text"', b"MTc=", b"\xff\xfe", b"\x80" * 9]
)
def test_what_is_neither_an_object_nor_an_array_is_refused_before_its_key(raw: bytes) -> None:
    with pytest.raises(InvalidPayload) as refused:
        capture(raw)

    assert (refused.value.status, refused.value.code) == (400, "invalid_payload")


@pytest.mark.parametrize(
    ("body", "query", "sent_at"),
    [
        ({**EVENT, "api_key": "k"}, "", None),
        ({**EVENT, "api_key": "k"}, "ip=1&_=1709294400000", 0),
        ({**EVENT, "api_key": "k"}, "_=1709294400", 0),
        ({**EVENT, "api_key": "k"}, "sent_at=1709294400000", 0),
        ({**EVENT, "api_key": "k"}, "_=", None),
        ({"api_key": "k", "batch": [EVENT], "sent_at": "2024-03-01T12:00:05Z"}, "", 5),
        ({**EVENT, "api_key": "k", "sent_at": "2024-03-01T13:00:05+01:00"}, "", 5),
        ({"api_key": "k", "batch": [EVENT], "sent_at": 1709294405000}, "", 5),
        ({**EVENT, "api_key": "k", "sent_at": "2024-03-01T12:00:05Z"}, "_=1709294400000", 0),
        ({"api_key": "k", "batch": [EVENT], "sentAt": "2024-03-01T12:00:05Z"}, "", None),
        ([{**EVENT, "api_key": "k", "sent_at": "2024-03-01T12:00:05Z"}], "", None),
    ],
)
def test_the_send_time_is_read(body: Any, query: str, sent_at: int | None) -> None:
    expected = None if sent_at is None else datetime(2024, 3, 1, 12, 0, sent_at, tzinfo=UTC)

    assert capture(body, query).sent_at == SentAt(expected)


def test_the_send_time_of_a_form_comes_last() -> None:
    body = form({**EVENT, "token": "k"}, sent_at="1709294405000")

    sent_at = capture(body, content_type=FORM).sent_at.moment

    assert sent_at == datetime(2024, 3, 1, 12, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("body", "query", "kept"),
    [
        ({**EVENT, "api_key": "k"}, "_=soon", "soon"),
        ({**EVENT, "api_key": "k"}, "_=9999999999999999999999", "9999999999999999999999"),
        ({**EVENT, "api_key": "k", "sent_at": "soon"}, "", "soon"),
        ({"api_key": "k", "batch": [EVENT, EVENT], "sent_at": "soon"}, "", "soon"),
        ([{**EVENT, "api_key": "k"}, EVENT], "sent_at=soon", "soon"),
        ({**EVENT, "api_key": "k", "sent_at": [1]}, "", "[…]"),
        ({**EVENT, "api_key": "k", "sent_at": "s" * 5_000}, "", "s" * 32),
    ],
)
def test_an_unreadable_send_time_is_kept_with_each_item(body: Any, query: str, kept: str) -> None:
    accepted = capture(body, query)

    items = read_items(accepted.items_json)
    assert accepted.sent_at == SentAt(None, kept)
    assert (accepted.refusal, len(items)) == (None, accepted.items)
    assert {item[UNREADABLE_SENT_AT] for item in items} == {kept}


def test_a_send_time_that_can_be_read_makes_up_for_others() -> None:
    body = {**EVENT, "api_key": "k", "sent_at": "2024-03-01T12:00:05Z"}

    accepted = capture(body, "_=soon")

    assert accepted.sent_at == SentAt(datetime(2024, 3, 1, 12, 0, 5, tzinfo=UTC))
    assert UNREADABLE_SENT_AT not in read_items(accepted.items_json)[0]


def test_a_project_id_is_read_from_the_form_and_from_the_first_item() -> None:
    assert capture(form(EVENT, token="k", project_id="7"), content_type=FORM).project == "7"
    assert capture([{**EVENT, "api_key": "k", "project_id": 7}, EVENT]).project == 7


@pytest.mark.parametrize(
    "body",
    [
        {**EVENT, "api_key": "phx_secret", "project_id": 7},
        {"token": "phx_secret", "batch": [EVENT], "project_id": 7},
        [{**EVENT, "project_id": 7, "properties": {"token": "phx_secret"}}],
        {**EVENT, "$token": "phx_secret"},
        {**EVENT, "api_key": "old style secret", "project_id": 7},
    ],
)
def test_a_personal_key_does_not_reach_the_log(body: Any) -> None:
    read = capture(body)

    assert "secret" in read.token
    assert b"secret" not in read.items_json
    assert read.items == 1


@pytest.mark.parametrize(
    ("given", "historical"), [(True, True), (False, False), (None, False), ("yes", False)]
)
def test_a_historical_migration_is_known(given: Any, historical: bool) -> None:
    body = {"api_key": "k", "batch": [EVENT], "historical_migration": given}

    assert capture(body).historical is historical


def test_an_object_sent_to_engage_is_an_identify() -> None:
    read = capture({"$set": {"a": 1}, "$token": "k", "$distinct_id": "u1"}, engage=True)

    assert read.token == "k"
    assert read_items(read.items_json) == [
        {"$set": {"a": 1}, "$token": "k", "$distinct_id": "u1", "event": "$identify"}
    ]


def test_an_array_sent_to_engage_keeps_its_names() -> None:
    read = capture([{**EVENT, "token": "k"}], engage=True)

    assert read_items(read.items_json)[0]["event"] == "paid"


def test_nesting_that_could_not_be_read_again_is_refused() -> None:
    deep = b'{"api_key":"k","event":"e","properties":{"a":' + b"[" * 5000 + b"]" * 5000 + b"}}"

    with pytest.raises(InvalidPayload) as refused:
        capture(deep)

    assert refused.value.detail == "Malformed request data: nested too deeply."
