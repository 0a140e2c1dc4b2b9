"""Requests parsed from bytes, with cached heads and without."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanion.server.errors import HttpError
from fanion.server.head import RequestHead
from fanion.server.parser import (
    CACHED_HEAD_BYTES_MAX,
    CACHED_HEADS_MAX,
    CachedHead,
    HeadCache,
    RequestParser,
)

Read = tuple[str, str, str, dict[str, str], bool, bytes]

GET = b"GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /capture/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"
CHUNKED = b"POST /e HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"GET /z HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

# What is sent, and the part of it that is a request.
MESSAGES = st.sampled_from(
    [
        (GET, b""),
        (POST, b"hello"),
        (POST, b"GET /"),
        (POST, b"\r\n\r\n!"),
        (POST.replace(b"5", b"0"), b""),
        (b"\r\n" + POST, b"world"),
        (b"POST /e HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n", b"{}"),
    ]
)


@dataclass
class Reader:
    """The requests that a parser has read so far."""

    cache: HeadCache
    heads: list[RequestHead] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    ended: int = 0

    def __post_init__(self) -> None:
        self.parser = RequestParser(self.cache)

    def feed(self, data: bytes) -> bytes:
        """Parse data and return the unread bytes."""
        begun, body, is_last, rest = self.parser.feed(data)
        if begun is not None:
            self._begin(begun.head if isinstance(begun, CachedHead) else begun)
        if body:
            self._add(body)
        if is_last:
            self._end()
        return self.feed(rest) if isinstance(begun, RequestHead) else rest

    def _begin(self, head: RequestHead) -> None:
        assert self.ended == len(self.heads)
        self.heads.append(head)
        self.bodies.append(b"")

    def _add(self, data: bytes) -> None:
        assert self.ended == len(self.heads) - 1
        self.bodies[-1] += data

    def _end(self) -> None:
        assert self.ended == len(self.heads) - 1
        self.ended += 1

    def requests(self) -> list[Read]:
        assert self.ended == len(self.heads)
        return [
            (h.method, h.path, h.query, dict(h.headers), h.keep_alive, body)
            for h, body in zip(self.heads, self.bodies, strict=True)
        ]


def read(pieces: Iterable[bytes], known: HeadCache) -> list[Read]:
    reader = Reader(known)
    for piece in pieces:
        feed(reader, piece)
    assert not reader.parser.is_in_message
    return reader.requests()


def feed(reader: Reader, data: bytes) -> None:
    """Parse all data, of however many requests."""
    while data:
        data = reader.feed(data)


def cut(data: bytes, places: list[int]) -> Iterator[bytes]:
    bounds = [0, *sorted(cut_at % (len(data) + 1) for cut_at in places), len(data)]
    return (data[a:b] for a, b in pairwise(bounds) if a < b)


@given(messages=st.lists(MESSAGES, min_size=1, max_size=6), places=st.lists(st.integers(0, 2000)))
def test_cached_heads_change_nothing(
    messages: list[tuple[bytes, bytes]], places: list[int]
) -> None:
    stream = b"".join(head + body for head, body in messages)
    known = HeadCache()
    expected = read((bytes([byte]) for byte in stream), known)
    assert [request[-1] for request in expected] == [body for _, body in messages]
    for head, body in messages:
        read([head + body], known)
    assert read(cut(stream, places), known) == expected
    assert read([stream], known) == expected


def test_a_head_is_parsed_once() -> None:
    known = HeadCache()
    reader, other = Reader(known), Reader(known)
    reader.feed(POST + b"first")
    other.feed(POST + b"other")  # on another connection too
    reader.feed(POST)
    assert reader.parser.is_in_message
    assert not reader.parser.is_in_head
    reader.feed(b"sec")
    feed(reader, b"nd" + POST + b"third" + GET)
    assert reader.bodies == [b"first", b"secnd", b"third", b""]
    assert other.bodies == [b"other"]
    assert len({id(head) for head in reader.heads + other.heads}) == 2


@pytest.mark.parametrize(
    "request_bytes",
    [
        CHUNKED + b"2\r\nhi\r\n0\r\n\r\n",
        LAST,
        b"\r\n\r\n" + GET,
        POST.replace(b"Host: x", b"Host: x\r\nExpect: 100-continue") + b"hello",
        b"GET /" + b"a" * CACHED_HEAD_BYTES_MAX + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_other_heads_are_not_cached(request_bytes: bytes) -> None:
    known = HeadCache()
    assert len(read([request_bytes], known)) == 1
    assert known.find(request_bytes) is None
    assert known.find(b"\r\n\r\n") is None
    if request_bytes != LAST:
        assert len(read([request_bytes, request_bytes], known)) == 2


def test_a_request_with_an_upgrade_is_read_as_http() -> None:
    upgrade = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    known = HeadCache()
    for _ in range(2):
        assert [request[1] for request in read([upgrade + GET], known)] == ["/", "/a"]


def test_a_head_that_is_refused_is_not_cached() -> None:
    known = HeadCache()
    for wrong in (
        b"GET / HTTP/3.0\r\n\r\n",
        b"GET /\r\n\r\n",
        b"G\0T / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\n\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nA: b\n\r\n\r\n",
    ):
        for _ in range(2):
            with pytest.raises(HttpError):
                feed(Reader(known), wrong)
        assert known.find(wrong) is None


def test_two_lengths_are_refused() -> None:
    known = HeadCache()
    twice = POST.replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\n") + b"hello"
    for _ in range(2):
        with pytest.raises(HttpError):
            Reader(known).feed(twice)
    assert known.find(twice) is None


def test_the_cache_is_bounded() -> None:
    known = HeadCache()
    for number in range(CACHED_HEADS_MAX + 1):
        read([b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number], known)
    assert known.find(b"GET /0 HTTP/1.1\r\nHost: x\r\n\r\n") is None
    assert known.find(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % CACHED_HEADS_MAX) is not None
