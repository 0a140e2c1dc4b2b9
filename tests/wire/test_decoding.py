"""Every encoding of JSON that real clients use is decoded; damaged bodies and bombs are refused."""

import base64
import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import brotli  # type: ignore[import-untyped]  # ships no types
import pytest
import zstandard

from fanion.errors import BodyTooLarge, InvalidPayload, NoData
from fanion.wire.compression import LZ64_BYTES_MAX, decompress_lz64
from fanion.wire.decoding import DecodedForm, decode_body, is_utf8, parse_json, parse_query

TEXT = '{"event":"x 😀","properties":{"token":"é +&=%"}}'
JSON = TEXT.encode()
BASE64 = base64.b64encode(JSON).decode()
FORM = "application/x-www-form-urlencoded"
LZ64: list[dict[str, str]] = json.loads(
    (Path(__file__).parent.parent / "cases" / "lz64.json").read_text()
)


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.compress,
    "br": brotli.compress,
}


@pytest.mark.parametrize("encoding", ENCODERS)
def test_a_content_encoding_is_undone(encoding: str) -> None:
    body = ENCODERS[encoding](JSON)

    assert decode_body(body, "application/json", encoding) == DecodedForm(JSON)


def test_deflate_without_its_zlib_wrapping_is_undone() -> None:
    assert decode_body(raw_deflate(JSON), "application/json", "deflate").json == JSON


def test_two_content_encodings_are_undone_from_the_last() -> None:
    body = gzip.compress(zstandard.compress(JSON), mtime=0)

    assert decode_body(body, "application/json", "zstd, gzip").json == JSON


@pytest.mark.parametrize(
    ("content_type", "content_encoding", "query"),
    [
        ("text/plain", "", {}),
        ("text/plain", "", {"compression": "gzip-js"}),
        ("text/plain", "", {"compression": "GZIP"}),
        ("application/json", "gzip", {"compression": "gzip"}),
        ("", "", {}),
        (FORM, "", {}),
    ],
)
def test_gzip_is_known_by_its_first_bytes(
    content_type: str, content_encoding: str, query: dict[str, str]
) -> None:
    body = gzip.compress(JSON, mtime=0)

    assert decode_body(body, content_type, content_encoding, query).json == JSON


def test_gzip_of_several_members_is_undone() -> None:
    body = gzip.compress(JSON[:10], mtime=0) + gzip.compress(JSON[10:], mtime=0)

    assert decode_body(body).json == JSON


@pytest.mark.parametrize(
    ("body", "content_type", "query"),
    [
        (f"data={quote_plus(BASE64)}", FORM, {}),
        (f"data={quote_plus(BASE64)}&compression=base64", FORM + "; charset=UTF-8", {}),
        (f"data={BASE64}", "text/plain", {}),
        (f"data={quote_plus(TEXT)}", FORM, {}),
        (f"ip=1&data={quote_plus(TEXT)}", "application/xml", {}),
        (BASE64, "text/plain", {}),
        (BASE64.rstrip("="), "application/json", {}),
        (BASE64.replace("+", " "), "", {"compression": "base64"}),
        (TEXT, FORM, {}),
        (f"\ufeff \n{TEXT} ", "text/plain", {"compression": "unknown"}),
    ],
)
def test_a_text_body_is_unwrapped(body: str, content_type: str, query: dict[str, str]) -> None:
    assert decode_body(body.encode(), content_type, "", query).json == JSON


def test_the_other_fields_of_a_form_are_returned() -> None:
    body = f"data={quote_plus(TEXT)}&api_key=phc%5f1+x&sent_at=17".encode()

    form = decode_body(body, FORM)

    assert form == DecodedForm(JSON, {"api_key": "phc_1 x", "sent_at": "17"})


def test_a_multipart_form_is_read() -> None:
    body = b"".join(
        [
            b'--b\r\nContent-Disposition: form-data; name="data"\r\n\r\n' + JSON,
            b'\r\n--b\r\nContent-Disposition: form-data; name="token"\r\n\r\nphc_1',
            b"\r\n--b--\r\n",
        ]
    )

    form = decode_body(body, "multipart/form-data; boundary=b")

    assert form == DecodedForm(JSON, {"token": "phc_1"})


def test_surrogates_encoded_one_by_one_in_base64_are_joined() -> None:
    cesu = TEXT.encode("utf-16-le").decode("utf-16-le").encode()
    cesu = cesu.replace("😀".encode(), b"\xed\xa0\xbd\xed\xb8\x80")

    assert decode_body(b"data=" + base64.b64encode(cesu), FORM).json == JSON


@pytest.mark.parametrize("case", LZ64, ids=lambda case: case["base64"][:12])
def test_lz64_of_the_original_library_is_decompressed(case: dict[str, str]) -> None:
    assert decompress_lz64(case["base64"].encode(), 10_000) == case["text"]
    assert decompress_lz64(case["base64"].replace("+", " ").encode(), 10_000) == case["text"]


@pytest.mark.parametrize("place", ["query", "form", "header"])
def test_lz64_may_be_named_in_three_places(place: str) -> None:
    case = LZ64[4]
    in_form = "&compression=lz64" if place == "form" else ""
    body = f"data={quote_plus(case['base64'])}{in_form}".encode()

    form = decode_body(
        body,
        FORM,
        "lz64" if place == "header" else "",
        {"compression": "lz64"} if place == "query" else {},
    )

    assert form.json.decode() == case["text"]


@pytest.mark.parametrize(
    ("body", "content_type", "encoding", "query"),
    [
        (b"undefined", "text/plain", "", {"compression": "gzip"}),
        (JSON, "text/plain", "", {"compression": "gzip-js"}),
        (JSON, "application/json", "gzip", {}),
        (JSON, "application/json", "zstd", {}),
        (JSON, "application/json", "br", {}),
        (b"\xff\xff", "application/json", "deflate", {}),
        (gzip.compress(JSON, mtime=0)[:-4], "text/plain", "", {}),
        (brotli.compress(JSON * 9)[:-4] + b"\xff" * 9, "", "br", {}),
        (gzip.compress(b"", mtime=0) * 17, "text/plain", "", {}),
        (JSON, "", "gzip, gzip, gzip, gzip", {}),
        (b"not base64!", "text/plain", "", {"compression": "lz64"}),
        (b"Q===", "text/plain", "", {"compression": "lz64"}),
        (b"", "text/plain", "", {"compression": "lz64"}),
        (b"data=1&" + b"a=1&" * 200, FORM, "", {}),
        (b"data=" + b"%" * 2000, FORM, "", {}),
        (b"--b\r\nnothing", "multipart/form-data; boundary=b", "", {}),
        (b"nothing", "multipart/form-data", "", {}),
    ],
)
def test_a_damaged_body_is_refused(
    body: bytes, content_type: str, encoding: str, query: dict[str, str]
) -> None:
    with pytest.raises(InvalidPayload) as refused:
        decode_body(body, content_type, encoding, query)

    assert refused.value.detail.startswith("Malformed request data: ")
    assert (refused.value.status, refused.value.code, refused.value.attr) == (
        400,
        "invalid_payload",
        None,
    )


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", "application/json"),
        (b" \n", "application/json"),
        (b"x=1", FORM),
        (b"data=", FORM),
        (gzip.compress(b"", mtime=0), "text/plain"),
    ],
)
def test_an_empty_body_is_no_data(body: bytes, content_type: str) -> None:
    with pytest.raises(NoData):
        decode_body(body, content_type)


@pytest.mark.parametrize("encoding", ENCODERS)
def test_a_bomb_stops_at_the_limit(encoding: str) -> None:
    bomb = ENCODERS[encoding](b"a" * 3_000_000)

    with pytest.raises(BodyTooLarge) as refused:
        decode_body(bomb, "application/json", encoding, bytes_max=1_000_000)

    assert refused.value.status == 413


def test_a_bomb_of_many_members_stops_at_the_limit() -> None:
    bomb = gzip.compress(b"a" * 600_000, mtime=0) * 2

    with pytest.raises(BodyTooLarge):
        decode_body(bomb, bytes_max=1_000_000)


def test_a_body_over_the_limit_is_refused_as_received() -> None:
    assert decode_body(b"[1]", bytes_max=3).json == b"[1]"
    with pytest.raises(BodyTooLarge):
        decode_body(b"[12]", bytes_max=3)


def test_lz64_stops_at_its_limits() -> None:
    with pytest.raises(BodyTooLarge):
        decompress_lz64(LZ64[3]["base64"].encode(), 100)
    with pytest.raises(BodyTooLarge):
        decompress_lz64(b"A" * (LZ64_BYTES_MAX + 1), 10_000)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'{"a":[NaN,Infinity,-Infinity,1e999]}', {"a": [None] * 4}),
        (b'{"b":NaN,"c":"\\ud83d\\ude00"}', {"b": None, "c": "😀"}),
        (b'"\\ud83d"', "\ufffd"),
        (b'"a\\udc00b"', "a\ufffdb"),
        (b'"\xed\xa0\xbd\xed\xb8\x80"', "😀"),
        (b'"\xed\xa0\xbd"', "\ufffd"),
        (b'"a\\u0000b"', "a\0b"),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (b"1" * 5000, None),
        (b'{"a":1,"a":2}', {"a": 2}),
    ],
)
def test_json_is_read_as_clients_write_it(raw: bytes, value: Any) -> None:
    assert parse_json(raw) == value


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"undefined",
        b"{",
        b"{'a':1}",
        b'"\xff"',
        b'{"a":1}}',
        b"[" * 100_000,
        b'{"a":NaN,"b":' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
def test_what_is_not_json_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidPayload) as refused:
        parse_json(raw)

    assert refused.value.detail.startswith("Malformed request data: ")


def test_a_query_is_read_and_the_last_of_a_repeated_field_counts() -> None:
    query = parse_query("compression=gzip-js&_=17&v=&x=a%20b+c&_=18")

    assert query == {"compression": "gzip-js", "_": "18", "v": "", "x": "a b c"}
    assert parse_query("") == {}


def test_utf8_is_checked() -> None:
    assert is_utf8("aé😀".encode())
    assert not is_utf8(b"a\xff")
