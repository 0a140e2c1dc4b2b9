"""Any bytes give a result within the limit, or an error that can be sent to the client."""

import base64
import gzip
import zlib
from urllib.parse import unquote_to_bytes

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fanion.errors import AppError
from fanion.ingest.capture.parsing import read_capture
from fanion.ingest.items import read_items
from fanion.server.request import Request
from fanion.wire.compression import decompress_lz64
from fanion.wire.decoding import decode_body, parse_json, parse_query

BYTES_MAX = 2000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=5)
            | st.sampled_from(["batch", "event", "api_key", "properties", "uuid", "sent_at"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
).map(msgspec.json.encode)
WRAPPED = (st.binary() | JSON).flatmap(
    lambda raw: st.sampled_from(
        [
            raw,
            gzip.compress(raw),
            zlib.compress(raw),
            base64.b64encode(raw),
            b"data=" + raw,
            b"data=" + base64.b64encode(raw),
            gzip.compress(gzip.compress(raw)),
            raw * 50,
        ]
    )
)
TYPES = st.sampled_from(
    [
        *("", "text/plain", "application/json", "application/x-www-form-urlencoded"),
        *("multipart/form-data; boundary=b", "multipart/form-data", "image/png"),
    ]
)
ENCODINGS = st.sampled_from(["", "gzip", "deflate", "zstd", "br", "lz64", "identity", "gzip,br"])
QUERIES = st.sampled_from(["", "compression=gzip", "compression=lz64", "_=17", "_=x", "%%%=%f"])


@settings(max_examples=300)
@given(WRAPPED, TYPES, ENCODINGS, QUERIES)
def test_no_body_crashes_the_decoding(
    body: bytes, content_type: str, encoding: str, query: str
) -> None:
    try:
        form = decode_body(body, content_type, encoding, parse_query(query), BYTES_MAX)
    except AppError:
        return

    assert 0 < len(form.json) <= BYTES_MAX


@settings(max_examples=300)
@given(WRAPPED, TYPES, ENCODINGS, QUERIES)
@example(b'{"api_key":"k","batch":[{"properties":{"a":1e999}}]}', "", "", "")
def test_an_accepted_capture_can_be_decoded_again(
    body: bytes, content_type: str, encoding: str, query: str
) -> None:
    headers = {"content-type": content_type, "content-encoding": encoding}
    request = Request("POST", "/batch/", query, headers, "192.0.2.1", body)
    try:
        capture = read_capture(request, BYTES_MAX)
    except AppError as error:
        assert error.status in (400, 413)
        return

    if capture.refusal is None and capture.items:
        items = read_items(capture.items_json)
        assert len(items) == capture.items
        msgspec.json.encode(items)


@given(st.binary() | JSON)
def test_parsed_json_can_always_be_encoded_again(raw: bytes) -> None:
    try:
        value = parse_json(raw)
    except AppError:
        return

    assert parse_json(msgspec.json.encode(value)) == value


@given(st.text("ABCDEFGHabcdefgh0123456789+/ =", max_size=400))
def test_lz64_never_outgrows_its_limit(text: str) -> None:
    try:
        assert 0 < len(decompress_lz64(text.encode(), 500)) <= 500
    except AppError:
        return


@given(st.binary(max_size=60).filter(lambda raw: b"&" not in raw and b"=" not in raw))
def test_percent_escapes_are_undone_as_the_standard_library_does(raw: bytes) -> None:
    text = raw.decode("latin-1").encode().decode()

    read = parse_query("x=" + text)

    assert read["x"] == unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")
