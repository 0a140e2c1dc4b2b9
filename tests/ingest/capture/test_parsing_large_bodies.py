"""Large bodies, read window by window, give the same result as when they are read at once."""

import json
import random
import tracemalloc
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fanion.errors import AppError, DecodedTooLarge, InvalidPayload, NoData
from fanion.ingest.capture.parsing import (
    SHALLOW_ON_LOOP_BYTES_MAX,
    Capture,
    LargeCapture,
    read_capture,
    read_large,
    read_small,
    rewrite,
)
from fanion.ingest.capture.v1 import read_items_v1, read_large_v1, read_v1, v1_answer
from fanion.ingest.items import count_usual_items, iter_items, outline_of, read_items
from fanion.server.request import Request
from fanion.wire.decoding import READ_ON_LOOP_BYTES_MAX
from fanion.wire.incremental_json import WINDOW_BYTES, Kind, PullParser, decoded_bytes
from tests.support.examples import examples

UUID = "01890f3c-aaaa-7bbb-8ccc-000000000000"
EVENT = {"event": "paid", "distinct_id": "u1", "properties": {"a": 1}}
NAMES = st.sampled_from(
    ["$token", "token", "api_key", "properties", "uuid", "event", "distinct_id", "options"]
)
SCALARS = st.sampled_from([None, True, 0, 1, 1.5, "", "k", "phx_k", UUID, "é\ud83d", float("nan")])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
ITEMS = st.lists(st.dictionaries(NAMES, VALUES, min_size=1, max_size=5) | VALUES, max_size=4)
ENVELOPES = st.builds(
    lambda top, items, with_batch: {**top, **({"batch": items} if with_batch else {})},
    st.dictionaries(
        NAMES | st.sampled_from(["batch", "project_id", "sent_at", "historical_migration"]),
        VALUES,
        max_size=5,
    ),
    ITEMS,
    st.booleans(),
)
BODIES = ENVELOPES | ITEMS


def stretched(body: Any, seed: int) -> bytes:
    """Insert so much white space into JSON that it must be read window by window."""
    pick = random.Random(seed)
    text = msgspec.json.encode(None) if body is None else json.dumps(body).encode()
    in_string, places, escaped = False, [], False
    for at, character in enumerate(text):
        if in_string:
            in_string, escaped = character != ord('"') or escaped, character == 0x5C and not escaped
        elif character == ord('"'):
            in_string = True
        elif character in b"{[,:":
            places.append(at + 1)
    chosen = [1, *pick.sample(places, min(3, len(places)))] if len(text) > 1 else []
    blanks = b" " * (READ_ON_LOOP_BYTES_MAX + 1)
    for at in sorted(set(chosen), reverse=True):
        text = text[:at] + blanks + text[at:]
    return text


def request(body: bytes, **headers: str) -> Request:
    head = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request("POST", "/batch/", "", head, "192.0.2.1", body)


def read_both_phases(body: bytes, *, engage: bool = False) -> Capture:
    large = read_large(request(body), is_engage=engage)
    return large.capture if large.item_bytes is None else rewrite(large)


def reported(read: Any, body: bytes, engage: bool) -> Any:
    """Return what the client and the log are told."""
    try:
        capture: Capture = read(body, engage)
    except AppError as error:
        return error.status, error.code
    # A key is never an object or array; the content of a large one is discarded.
    key = "no text" if capture.token[:1] in ("[", "{") else capture.token
    project = "no text" if isinstance(capture.project, list | dict) else capture.project
    if capture.refusal is not None:
        return key, project, capture.refusal.detail
    items = read_items(capture.items_json) if capture.items else []
    return key, project, capture.sent_at, capture.historical, repr(items)


@settings(max_examples=examples(120))
@given(BODIES, st.integers(0, 5), st.booleans())
@example({"batch": [{"event": "a"}], "token": "k", "properties": {"token": "x"}}, 0, False)
@example({"batch": [{"token": "phx_k", "properties": {"token": "phx_k"}}]}, 2, False)
@example({"token": "k", "batch": {}}, 1, False)
@example({"token": "k", "batch": [{"event": "a"}, {"event": "b"}], "sent_at": "soon"}, 1, False)
@example({"token": "k", "event": "a", "sent_at": [[1]]}, 1, False)
@example({"token": "k", "batch": []}, 1, False)
@example({"token": "k", "event": "e"}, 1, True)
@example([{}, None], 1, True)
@example({"batch": [{"event": "a"}], "token": "phx_k", "properties": True}, 0, False)
def test_a_large_body_says_what_it_says_at_once(body: Any, seed: int, engage: bool) -> None:
    text = stretched(body, seed)

    in_pieces = reported(lambda raw, engage: read_both_phases(raw, engage=engage), text, engage)

    at_once = reported(
        lambda raw, engage: read_capture(request(raw), is_engage=engage), text, engage
    )
    assert in_pieces == at_once


@settings(max_examples=examples(80))
@given(ITEMS, st.integers(0, 5), st.booleans())
@example([{**EVENT, "uuid": UUID, "options": {"cookieless_mode": 1}, "session_id": "s"}], 1, True)
@example([{**EVENT, "uuid": "17"}, {**EVENT, "uuid": UUID}], 3, True)
def test_capture_v1_says_of_a_large_body_what_it_says_at_once(
    batch: Any, seed: int, historical: bool
) -> None:
    text = stretched({"batch": batch, "historical_migration": historical}, seed)
    v1_request = request(text, authorization="Bearer phc_1", posthog_sdk_info="a/1")

    try:
        capture, answer = read_items_v1(v1_request, read_large_v1(v1_request))
    except AppError as error:
        with pytest.raises(type(error)):
            read_v1(v1_request)
        return

    whole = read_v1(v1_request)
    assert repr(read_items(capture.items_json)) == repr(read_items(whole.capture.items_json))
    assert msgspec.structs.replace(capture, items_json=b"") == msgspec.structs.replace(
        whole.capture, items_json=b""
    )
    assert msgspec.json.decode(answer) == msgspec.json.decode(v1_answer(whole.results))


@settings(max_examples=examples(60))
@given(BODIES, st.integers(0, 5))
def test_items_in_pieces_are_the_items(body: Any, seed: int) -> None:
    text = stretched(body, seed)
    whole = read_items(text)
    if not all(isinstance(item, dict) for item in whole):
        return

    assert repr([item for some in iter_items(text) for item in some]) == repr(whole)


def test_a_million_items_come_in_pieces_of_a_window() -> None:
    body = b'{"batch":[' + b",".join([b'{"event":"a"}'] * 1_000_000) + b'],"api_key":"k"}'

    sizes = [len(items) for items in iter_items(body)]
    capture = read_both_phases(body)

    assert sum(sizes) == capture.items == 1_000_000
    assert max(sizes) <= WINDOW_BYTES // len(b'{"event":"a"},') + 1
    assert (capture.token, capture.refusal) == ("k", None)
    assert capture.items_json is body


USUAL = json.dumps({**EVENT, "uuid": UUID}).encode()
ODD_ITEMS = [
    b"{}",
    b"null",
    b"7",
    b"[]",
    b'{"event":"a"}',
    b'{"properties":[]}',
    b'{"properties":{"a":"\\ud83d"}}',
    b'{"properties":{"a":NaN}}',
    b'{"properties":{"a":"\xed\xa0\xbd"}}',
    b'{"uuid":"no uuid"}',
    b'{"uuid":"{01890f3c-aaaa-7bbb-8ccc-000000000000}"}',
    b'{"properties":{"a":[' + b"[" * 300 + b"]" * 300 + b"]}}",
    b'{"properties":{"list":[' + b'{"properties":{}},' * WINDOW_BYTES + b"{}]}}",
]


@pytest.mark.parametrize("odd", ODD_ITEMS, ids=lambda odd: str(odd[:30]))
@pytest.mark.parametrize("at", [0, 700, 1399])
def test_an_odd_item_among_counted_ones_is_judged_as_when_read_at_once(odd: bytes, at: int) -> None:
    items = [USUAL] * 1400
    items[at] = odd
    body = b'{"batch":[' + b",".join(items) + b'],"api_key":"k"}'

    in_pieces = reported(lambda raw, _: read_both_phases(raw), body, False)

    assert in_pieces == reported(lambda raw, _: read_capture(request(raw)), body, False)


def test_usual_items_are_counted_and_not_decoded() -> None:
    body = b'{"api_key":"k","batch":[' + b",".join([USUAL] * 1400) + b"]}"
    pieces = PullParser(body)
    counted = decoded = 0

    for kind, value in pieces:
        if kind is Kind.COUNTED:
            counted += value
        elif kind is Kind.RUN and isinstance(value, list):
            decoded += len(value)
            pieces.count_elements(count_usual_items)

    window = WINDOW_BYTES // len(USUAL) + 1
    assert counted + decoded == 1400
    assert decoded <= window + 1  # the first window, which may hold the key, and the last item


def test_an_ordinary_body_needs_no_thread_up_to_its_limit() -> None:
    items = [USUAL] * (SHALLOW_ON_LOOP_BYTES_MAX // (len(USUAL) + 1) - 1)
    body = b'{"api_key":"k","batch":[' + b",".join(items) + b"]}"

    capture = read_small(request(body))

    assert capture is not None
    assert (capture.token, capture.items, capture.items_json) == ("k", len(items), body)
    assert read_small(request(body + b" " * len(USUAL) * 2)) is None
    assert read_small(request(body, content_encoding="br")) is None
    assert read_small(request(body), is_engage=True) is None
    assert read_small(request(body), len(body) - 1) is None


def big(members: bytes) -> bytes:
    return members * (READ_ON_LOOP_BYTES_MAX // len(members) + 1)


@pytest.mark.parametrize(
    ("body", "token"),
    [
        (b'{"api_key":"k","properties":{"a":[' + big(b"[],") + b"1]}}", "k"),
        (b'{"properties":{"a":[' + big(b"[],") + b'1],"token":"k"}}', "k"),
        (b'{"properties":{"token":"k","a":{"token":[' + big(b"[],") + b"1]}}}", "k"),
        (b'{"batch":[{"properties":{"token":"k","b":[' + big(b"[],") + b"1]}}]}", "k"),
        (b'[{"token":"k","properties":{"token":"x","b":[' + big(b"[],") + b"1]}},{}]", "k"),
        (b'{"api_key":"' + big(b"k") + b'"}', big(b"k").decode()),
        (b'{"api_key":[' + big(b"[],") + b"1]}", '["\u2026"]'),
    ],
)
def test_the_key_is_found_among_values_that_are_discarded(body: bytes, token: str) -> None:
    assert read_large(request(body)).capture.token == token


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"[" + big(b"{},") + b"{}]", "some events are null"),
        (b"[" + big(b'{"a":1},') + b"[" + big(b"1,") + b"1]]", "an event is not an object"),
        (
            b'[{"properties":[' + big(b"1,") + b"1]}]",
            "the properties of an event are not an object",
        ),
        (
            b'[{"uuid":"' + big(b"1") + b'"}]',
            "the uuid of an event is not a valid UUID",
        ),
        (b'{"batch":"' + big(b"a") + b'"}', "an event is not an object"),
    ],
)
def test_a_fault_of_a_large_body_is_reported(body: bytes, detail: str) -> None:
    refusal = read_large(request(body)).capture.refusal

    assert refusal is not None
    assert refusal.detail == f"Invalid payload: {detail}"


@pytest.mark.parametrize(
    "broken",
    [
        b"[" + big(b'{"a":1},') + b"]",
        b"[" + big(b"[],"),
        big(b"x"),
        b'"' + big(b"a") + b'"',
        big(b"\xff"),
    ],
)
def test_a_large_body_that_is_broken_is_refused(broken: bytes) -> None:
    with pytest.raises(InvalidPayload):
        read_large(request(broken))


def test_a_large_body_that_holds_nothing_is_no_data() -> None:
    for text in (b"{" + big(b" ") + b"}", b"[" + big(b" ") + b"]"):
        with pytest.raises(NoData):
            read_large(request(text))


def test_one_item_that_is_to_be_written_anew_has_a_limit() -> None:
    body = b'{"api_key":"phx_k","properties":{"a":[' + big(b"{},") + b"1]}}"
    large: LargeCapture = read_large(request(body))

    assert large.item_bytes is not None
    assert rewrite(large).items == 1
    with pytest.raises(DecodedTooLarge):
        rewrite(large, large.item_bytes // 2)


def test_what_is_passed_over_takes_no_memory() -> None:
    body = b'{"api_key":"k","properties":{"a":[' + b"{}," * 1_000_000 + b"1]}}"

    tracemalloc.start()
    try:
        outline = outline_of(body)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert most < 2 * decoded_bytes(b"{}," * (WINDOW_BYTES // 3)) < decoded_bytes(body) // 20
    assert outline.top["properties"] == {"\u2026": None}
