"""Bytes of one connection as requests, one after another.

Heads are parsed by llhttp, which is strict about what proxies and servers could read differently,
and held against the rules of `head`. What came of a head is kept for the next time that the
same bytes come. Where a body ends is found here, so that what follows it can go elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass

import httptools

from fanion.server.chunked import ChunkedDecoder
from fanion.server.errors import (
    HeadTooLarge,
    HttpError,
    MalformedRequest,
    NotImplementedHere,
    TargetTooLong,
)
from fanion.server.head import (
    Headers,
    RequestHead,
    body_bytes,
    expects_continue,
    is_unknown_method,
    keep_alive,
    origin_form,
    require_host,
    require_method,
    version_of,
)
from fanion.server.request import FastPath

HEAD_BYTES_MAX = 64 * 1024
# Of a body in chunks that is decoded without a pause: tiny chunks take 1 µs each.
CHUNKED_BYTES_AT_ONCE = 16 * 1024

_END = b"\r\n\r\n"
CACHED_HEAD_BYTES_MAX = 1_500
CACHED_HEADS_MAX = 1_000  # with what they say 3 MB, 5 if they are long
# Clients that ask for leave to send the body send nothing behind the head.
_SPECIAL = "expect"


# What one call has read: a request that begins, bytes of its body, whether they are the last ones,
# and what is not read yet. A request that begins with a `CachedHead` is whole.
Part = tuple["CachedHead | RequestHead | None", bytes, bool, bytes]


class RequestParser:
    """is_in_message: a request has begun that is not whole; is_in_head: not even its head"""

    def __init__(self, cache: "HeadCache") -> None:
        self.is_in_message = self.is_in_head = False
        self._cache = cache
        self._head = _HeadParser()
        self._left = 0  # of a body of known length
        self._chunks: ChunkedDecoder | None = None

    def feed(self, data: bytes, cached: "CachedHead | None" = None) -> Part:
        """Read a head, or a part of a body, at most to the end of one request.

        After a head that is not cached the next call reads the body, with what is left of the
        data, even if that is nothing.

        cached: the head that `data` begins with, when it was looked up before

        raises: HttpError when this, and all that follows, cannot be read
        """
        if self.is_in_head:
            return self._read_head(data)
        if self.is_in_message:
            return self._read_body(data)
        if cached is None and (cached := self._cache.find(data)) is None:
            data = data.lstrip(b"\r\n")  # empty lines may stand before a request
            return self._read_head(data) if data else (None, b"", False, b"")
        body, end = cached.bytes, cached.bytes + cached.body_bytes
        if len(data) < end:
            return self._begin_body(cached.head, data[body:])
        return cached, data[body:end], True, data[end:]

    def _read_head(self, data: bytes) -> Part:
        if not self.is_in_head:
            self._head = _HeadParser()
            self.is_in_message = self.is_in_head = True
        rest = self._head.feed(data)
        if rest is None:
            return None, b"", False, b""
        head = self._head.head()
        self.is_in_head = False
        self._cache.add(bytes(self._head.raw), head)
        self._head = _HeadParser()
        return self._begin_body(head, rest)

    def _begin_body(self, head: RequestHead, rest: bytes) -> Part:
        self.is_in_message = True
        if head.body_bytes is None:
            self._chunks = ChunkedDecoder()
        else:
            self._left = head.body_bytes
        return head, b"", False, rest

    def _read_body(self, data: bytes) -> Part:
        if self._chunks is not None:
            return self._read_chunks(self._chunks, data)
        left, size = self._left, len(data)
        if size < left:
            self._left = left - size
            return None, data, False, b""
        self._left = 0
        self.is_in_message = False
        return None, data if size == left else data[:left], True, data[left:]

    def _read_chunks(self, chunks: ChunkedDecoder, data: bytes) -> Part:
        """Large data is not read in one go: then what is left of it is returned too."""
        decoded = chunks.feed(data[:CHUNKED_BYTES_AT_ONCE])
        later = data[CHUNKED_BYTES_AT_ONCE:]
        if chunks.rest is None:
            return None, decoded, False, later
        self._chunks = None
        self.is_in_message = False
        return None, decoded, True, chunks.rest + later


class _Fields:
    """What the parser tells of a head. Apart from what holds the parser, so that they make no
    cycle: heads that break off are released at once."""

    def __init__(self) -> None:
        self.target = b""
        self.headers = Headers()
        self.is_complete = False

    def on_url(self, part: bytes) -> None:
        self.target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.add(name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t"))

    def on_headers_complete(self) -> None:
        self.is_complete = True


class _HeadParser:
    """raw: what has come of the head"""

    def __init__(self) -> None:
        self.raw = bytearray()
        self._fields = _Fields()
        self._parser: httptools.HttpRequestParser | None = None

    def feed(self, data: bytes) -> bytes | None:
        """What follows the head; None while it is not whole. raises: HttpError"""
        before = len(self.raw)
        end = _end_of_head(self.raw, data)
        used = data if end is None else data[: end - before]
        if before + len(used) > HEAD_BYTES_MAX:
            raise self._too_large(used)
        self.raw += used
        self._parse(used)
        return None if end is None else data[end - before :]

    def head(self) -> RequestHead:
        """Of the whole raw head. raises: HttpError"""
        parser, fields, headers = self._parser, self._fields, self._fields.headers
        if parser is None or not fields.is_complete:
            raise MalformedRequest
        method = parser.get_method()
        if not self.raw.startswith(b"%b %b HTTP/" % (method, fields.target)):
            raise MalformedRequest
        name = method.decode("latin-1")
        version = version_of(parser.get_http_version())
        require_method(name)
        require_host(version, headers)
        target = origin_form(fields.target, name, headers)
        path, _, query = target.decode("latin-1").partition("?")
        return RequestHead(
            name,
            path,
            query,
            version,
            headers,
            keep_alive=keep_alive(version, headers),
            expects_continue=expects_continue(version, headers),
            body_bytes=body_bytes(version, headers),
        )

    def _parse(self, data: bytes) -> None:
        if self._parser is None:
            self._parser = httptools.HttpRequestParser(self._fields)
            self._parser.set_dangerous_leniencies(lenient_version=True)  # `version_of` is for that
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # no other protocol is spoken: the request is answered as HTTP/1.1
        except httptools.HttpParserInvalidMethodError:
            if is_unknown_method(bytes(self.raw)):
                raise NotImplementedHere("The method of the request is not implemented.") from None
            raise MalformedRequest from None
        except httptools.HttpParserError:
            raise MalformedRequest from None

    def _too_large(self, more: bytes) -> HttpError:
        if b"\r\n" in self.raw or b"\r\n" in more[:HEAD_BYTES_MAX]:
            return HeadTooLarge(HEAD_BYTES_MAX)
        return TargetTooLong(HEAD_BYTES_MAX)


def _end_of_head(known: bytearray, data: bytes) -> int | None:
    """Where the head ends, counted from the beginning of `known`, when `data` has its end."""
    before = len(known)
    if before:
        seam = bytes(known[-3:]) + data[:3]
        found = seam.find(_END)
        if found >= 0:
            return before - min(before, 3) + found + len(_END)
    found = data.find(_END)
    return None if found < 0 else before + found + len(_END)


@dataclass(frozen=True, slots=True)
class CachedHead:
    """bytes:      that the head takes up
    body_bytes: that follow it
    fast_path:  how requests with it are answered without a task
    """

    head: RequestHead
    bytes: int
    body_bytes: int
    fast_path: FastPath | None


class HeadCache:
    """Heads that were parsed before.

    A client sends the same one again and again, or one of a few that differ in the length of their
    bodies; to look it up takes 0.5 µs and spares a request 7.
    """

    def __init__(self) -> None:
        self._heads: dict[bytes, CachedHead] = {}
        self._find_fast_path: Callable[[RequestHead], FastPath | None] = _none

    def reset(self, find_fast_path: Callable[[RequestHead], FastPath | None]) -> None:
        """Requests are answered otherwise from now on."""
        self._heads.clear()
        self._find_fast_path = find_fast_path

    def find(self, data: bytes) -> CachedHead | None:
        """The head at the beginning of a message."""
        end = data.find(_END, 0, CACHED_HEAD_BYTES_MAX)
        return None if end < 0 else self._heads.get(data[: end + 4])

    def add(self, raw: bytes, head: RequestHead) -> None:
        """raw: the whole head"""
        is_special = head.body_bytes is None or _SPECIAL in head.headers
        if is_special or not head.keep_alive or len(raw) > CACHED_HEAD_BYTES_MAX:
            return
        if len(self._heads) >= CACHED_HEADS_MAX:
            self._heads.clear()
        self._heads[raw] = CachedHead(
            head, len(raw), head.body_bytes or 0, self._find_fast_path(head)
        )


def _none(_: RequestHead) -> FastPath | None:
    return None


def path_of(request: bytes) -> str:
    """As `RequestHead.path`, before anything is parsed: two processes must agree on it.

    request: its beginning, with the whole first line; what it names need not be a path
    """
    request = request.lstrip(b"\r\n")
    start = request.find(b" ") + 1
    target = request[start : request.find(b" ", start)]
    path = target.partition(b"?")[0]
    if path[:1] != b"/" and b"://" in path:
        path = b"/" + path.partition(b"://")[2].partition(b"/")[2]
    return path.decode("latin-1")
