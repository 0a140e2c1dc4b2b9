"""JSON that is read in small pieces gives the same values as JSON that is read at once."""

import json
import tracemalloc
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fanion.errors import AppError, DecodedTooLarge, InvalidPayload
from fanion.wire.decoding import parse_json
from fanion.wire.incremental_json import (
    DECODED_BYTES_MAX,
    WINDOW_BYTES,
    Kind,
    PullParser,
    decoded_bytes,
    parse_large_json,
)
from tests.support.examples import examples

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=25,
)
CLEAN = VALUES.map(msgspec.json.encode)
SPACED = VALUES.map(lambda value: json.dumps(value, indent=1).encode())
ESCAPED = VALUES.map(lambda value: json.dumps(value, ensure_ascii=True).encode())
RAW = st.binary(max_size=40) | st.text('[]{}",:\\ue1 \t', max_size=40).map(str.encode)


@st.composite
def damaged_json(draw: st.DrawFn) -> bytes:
    """Draw JSON with some bytes replaced."""
    text = draw(CLEAN | SPACED | ESCAPED)
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 3)))
    return text[:start] + draw(RAW) + text[end:]


def outcome(read: Any, text: bytes) -> Any:
    try:
        return repr(read(text))
    except AppError as error:
        return error.status, error.code


@settings(max_examples=examples(300))
@given(st.sampled_from([16, 17, 31, 64, 500]), CLEAN | SPACED | ESCAPED | damaged_json() | RAW)
@example(16, b'{"a":1,"a":[2],"b":{"a":NaN}}')
@example(16, b'["\\ud83d\\ude00\\ud83d","\\\\ud83d\\\\","\\u00e9"]')
@example(16, b'["0123456789abc\xed\xa0\xbd\xed\xb8\x80","0123456789ab\xed\xa0\xbd\xed\xb8\x80"]')
@example(16, b'["0123456789abcd\\u00e9","\\ud83d0123456789"]')
@example(16, b"[1,]")
@example(16, b"[1 2]")
@example(16, b'{"a":1,}')
@example(16, b'{"a"}')
@example(16, b"[[[[[[[[[[[[]]]]]]]]]]]]")
@example(31, b"[[[[[[[[[[[[]]]]]]]]]]]],[[[[[[[[[[[1]]]]]]]]]]]]")
def test_pieces_make_the_value_that_is_read_at_once(size: int, text: bytes) -> None:
    in_pieces = outcome(lambda read: parse_large_json(read, window_bytes=size), text)

    at_once = outcome(parse_json, text)
    if isinstance(at_once, str) and isinstance(in_pieces, tuple):
        assert longest_number(text) >= size  # only a number has to fit into a window
    else:
        assert in_pieces == at_once


def longest_number(text: bytes) -> int:
    return max(map(len, text.translate(bytes.maketrans(b'[]{},:" \n', b" " * 9)).split()))


BIG: dict[str, bytes] = {
    "objects": b"[" + b",".join([b"{}"] * 400_000) + b"]",
    "one object": b'{"a":{' + b",".join(b'"%d":[1]' % n for n in range(100_000)) + b"}}",
    "a string": b'{"a":"' + b"x" * 1_000_000 + b'"}',
    "escapes": b'["' + b"\\u00e9" * 200_000 + b'"]',
    "wide characters": b'["' + "é😀".encode() * 200_000 + b'"]',
    "unclean": b"[" + b",".join([b"NaN"] * 200_000) + b"]",
    "deep and many": b"[" + b",".join([b"[" * 12 + b"]" * 12] * 20_000) + b"]",
    "deep and large": b"[" * 700 + b",".join([b"{}"] * 50_000) + b"]" * 700,
    "blanks": b" " * 500_000 + b"[1" + b" " * 500_000 + b",2]" + b" " * 500_000,
}


@pytest.mark.parametrize("name", BIG)
def test_no_piece_is_larger_than_a_window(name: str) -> None:
    read = [value for kind, value in PullParser(BIG[name]) if kind is Kind.RUN]

    assert parse_large_json(BIG[name], 2**30) == parse_json(BIG[name])
    assert max((decoded_bytes(msgspec.json.encode(run)) for run in read), default=0) <= (
        decoded_bytes(b"{}," * (WINDOW_BYTES // 3)) * 1.1
    )


@pytest.mark.parametrize("name", ["objects", "one object", "unclean", "deep and many"])
def test_many_values_are_refused_before_they_are_held(name: str) -> None:
    with pytest.raises(DecodedTooLarge) as refused:
        parse_large_json(BIG[name], 1_000_000)

    assert (refused.value.status, refused.value.code) == (413, "payload_too_large")


@pytest.mark.parametrize("depth", [951, 5_000, 500_000])
@pytest.mark.parametrize("inner", [b"", b"1," * 100_000 + b"1"])
def test_nesting_that_could_not_be_read_again_is_refused(depth: int, inner: bytes) -> None:
    with pytest.raises(InvalidPayload) as refused:
        parse_large_json(b"[" * depth + inner + b"]" * depth)

    assert refused.value.detail == "Malformed request data: nested too deeply."


@pytest.mark.parametrize("name", BIG)
def test_the_estimate_is_no_less_than_what_values_take_up(name: str) -> None:
    tracemalloc.start()
    try:
        value = parse_large_json(BIG[name], 2**30)
        allocated = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert value
    assert allocated <= decoded_bytes(BIG[name]) + DECODED_BYTES_MAX // 64
