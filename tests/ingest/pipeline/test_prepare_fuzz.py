"""Whatever a client sends, the outcome is an event, a drop or an error for the client.

This holds however it was damaged on the way.
"""

import base64
import gzip
import json
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote_from_bytes

import brotli  # type: ignore[import-untyped]  # ships no types
import msgspec
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.accept_log.port import Envelope, LogEntry
from fanion.errors import AppError
from fanion.ingest.capture.parsing import Capture, read_capture
from fanion.ingest.capture.v1 import read_v1, v1_answer
from fanion.ingest.pipeline.batch import PreparedBatch, prepare_batch
from fanion.ingest.pipeline.resolve import ProjectState, Resolution
from fanion.projects.model import IngestionSettings
from fanion.server.request import Request
from tests.support.examples import examples
from tests.support.lz64 import compress_to_base64

BYTES_MAX = 1_000_000
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RULES = IngestionSettings(
    anonymize_ips=True, dropped_user_agents=("bot",), removed_properties=("secret",)
)

NAMES = st.sampled_from(
    [
        *("$identify", "$create_alias", "$merge_dangerously", "$groupidentify", "$autocapture"),
        *("seen", "", "$performance_event", "$set", "$snapshot"),
    ]
)
TEXTS = st.sampled_from(["a", "b", "null", "", "\0", "\ud800", "é" * 300, "2024-01-01", "1e999"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
PROPERTIES = st.dictionaries(
    st.sampled_from(
        [
            *("$set", "$set_once", "$unset", "$groups", "$group_type", "$group_key", "$group_set"),
            *("$anon_distinct_id", "alias", "distinct_id", "$ip", "$elements", "$sent_at", "token"),
            *("$process_person_profile", "$ignore_sent_at", "utm_source", "$user_agent", "secret"),
        ]
    ),
    ANYTHING,
    max_size=6,
)
ITEMS = st.fixed_dictionaries(
    {"event": NAMES | ANYTHING, "distinct_id": TEXTS | ANYTHING},
    optional={
        "properties": PROPERTIES | ANYTHING,
        "timestamp": TEXTS | ANYTHING,
        "offset": ANYTHING,
        "uuid": ANYTHING,
        "$set": ANYTHING,
        "$set_once": ANYTHING,
        "$distinct_id": ANYTHING,
        "options": ANYTHING,
    },
)
HEADERS = st.text(st.characters(max_codepoint=255), max_size=30) | st.sampled_from(
    ["posthog-python/7.22.0", "2026-03-01T12:00:00Z", "9" * 30]
)
BATCHES = st.lists(ITEMS, min_size=1, max_size=3)

VALID = msgspec.json.encode(
    {
        "api_key": "phc_key",
        "sent_at": "2026-03-01T12:00:00Z",
        "batch": [
            {
                "event": "$identify",
                "distinct_id": "ann",
                "timestamp": "2026-03-01T11:59:00+00:00",
                "uuid": "0190d0a6-0000-7000-8000-0000000000aa",
                "properties": {"$anon_distinct_id": "v", "$set": {"plan": "é😀"}, "n": 1.5},
            },
            {"event": "seen", "distinct_id": 17, "properties": {"$groups": {"org": "o"}}},
        ],
    }
)
Wire = tuple[bytes, dict[str, str], str]  # body, headers and query
FORM = {"content-type": "application/x-www-form-urlencoded"}
MULTIPART = b'--b\r\nContent-Disposition: form-data; name="data"\r\n\r\n' + VALID + b"\r\n--b--\r\n"
ENCODED: Mapping[str, Wire] = {
    "json": (VALID, {"content-type": "application/json"}, ""),
    "gzip header": (gzip.compress(VALID), {"content-encoding": "gzip"}, ""),
    "gzip unannounced": (gzip.compress(VALID), {"content-type": "text/plain"}, ""),
    "gzip-js": (gzip.compress(VALID), {"content-type": "text/plain"}, "compression=gzip-js"),
    "deflate": (zlib.compress(VALID), {"content-encoding": "deflate"}, ""),
    "zstd": (zstandard.compress(VALID), {"content-encoding": "zstd"}, ""),
    "br": (brotli.compress(VALID), {"content-encoding": "br"}, ""),
    "base64": (base64.b64encode(VALID), {}, "compression=base64"),
    "form": (b"data=" + quote_from_bytes(VALID).encode(), FORM, ""),
    "form base64": (b"data=" + quote_from_bytes(base64.b64encode(VALID)).encode(), FORM, "_=17"),
    "form gzip": (
        b"data=" + quote_from_bytes(base64.b64encode(gzip.compress(VALID))).encode(),
        FORM,
        "compression=gzip",
    ),
    "form lz64": (
        b"data=" + quote_from_bytes(compress_to_base64(VALID.decode())).encode(),
        FORM,
        "compression=lz64",
    ),
    "multipart": (MULTIPART, {"content-type": "multipart/form-data; boundary=b"}, ""),
}


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Draw one to four changes of bytes, as a fuzzer makes them."""
    steps = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["flip", "set", "cut", "drop", "double", "insert"]),
                st.floats(0, 1, exclude_max=True),
                st.integers(0, 255),
            ),
            min_size=1,
            max_size=4,
        )
    )

    def damage(raw: bytes) -> bytes:
        for kind, place, byte in steps:
            at = int(place * len(raw))
            raw = _changed(raw, kind, at, byte)
        return raw

    return damage


def _changed(raw: bytes, kind: str, at: int, byte: int) -> bytes:
    some = 1 + byte % 16
    return {
        "flip": raw[:at] + bytes([raw[at] ^ 1 << byte % 8]) + raw[at + 1 :] if raw else raw,
        "set": raw[:at] + bytes([byte]) + raw[at + 1 :],
        "cut": raw[:at],
        "drop": raw[:at] + raw[at + some :],
        "double": raw[: at + some] + raw[at:],
        "insert": raw[:at] + bytes([byte]) * some + raw[at:],
    }[kind]


@pytest.mark.parametrize("name", ENCODED)
def test_a_body_in_any_encoding_is_read(name: str) -> None:
    body, headers, query = ENCODED[name]

    capture = read_capture(request(body, headers, query), BYTES_MAX)

    assert (capture.token, capture.items, capture.refusal) == ("phc_key", 2, None)
    assert ingested(capture).events == 2


@pytest.mark.parametrize("name", ENCODED)
@settings(max_examples=examples(40))
@given(damage=damages())
def test_a_damaged_body_is_ingested_or_refused(name: str, damage: Callable[[bytes], bytes]) -> None:
    body, headers, query = ENCODED[name]
    try:
        capture = read_capture(request(damage(body), headers, query), BYTES_MAX)
    except AppError as error:
        assert error.status in (400, 413)
        return

    if capture.refusal is None and capture.items:
        ingested(capture)


@settings(max_examples=examples(150))
@given(BATCHES)
def test_any_items_are_ingested_dropped_or_refused(batch: list[Mapping[str, Any]]) -> None:
    raw = as_json({"api_key": "k", "batch": batch})

    capture = read_capture(request(raw, {}, ""), BYTES_MAX)

    if capture.refusal is None:
        prepared = ingested(capture)
        assert prepared.events + sum(prepared.dropped.values()) == len(batch) == capture.items


@settings(max_examples=examples(100))
@given(BATCHES, HEADERS, HEADERS)
def test_any_items_of_capture_v1_are_answered(
    batch: list[Mapping[str, Any]], sdk_info: str, sent_at: str
) -> None:
    headers = {"posthog-sdk-info": sdk_info, "posthog-request-timestamp": sent_at}
    parsed = read_v1(request(as_json({"batch": batch}), headers, ""), BYTES_MAX)

    msgspec.json.decode(v1_answer(parsed.results))
    if parsed.capture.items:
        ingested(parsed.capture)


def request(body: bytes, headers: dict[str, str], query: str) -> Request:
    return Request("POST", "/batch/", query, headers, "192.0.2.1", body)


def as_json(value: Any) -> bytes:
    """Encode lone surrogates and infinities as clients write them."""
    return json.dumps(value).encode()


def ingested(capture: Capture) -> PreparedBatch:
    """Do what the consumer does up to the point of storing."""
    envelope = Envelope(1, NOW, "192.0.2.1", "curl", capture.sent_at.moment, capture.items_json)
    batch = prepare_batch([LogEntry(1, envelope)], lambda _: RULES)
    for project_id, arrived in batch.arrived.items():
        resolution = Resolution(project_id, arrived, ProjectState({}, {}, {}))
        list(resolution.events())
        resolution.outcome()
    return batch
