"""The parser of requests compared with llhttp, on valid and malformed bytes.

It reads the same requests, or refuses what one of the named stricter rules refuses.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from itertools import pairwise

import httptools
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fanion.server.errors import HttpError
from fanion.server.head import METHODS, RequestHead
from fanion.server.parser import EXTRAS_BYTES_MAX, CachedHead, HeadCache, RequestParser


@dataclass
class Message:
    method: str = ""
    target: bytes = b""
    version: str = ""
    fields: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    is_head_whole: bool = False
    is_whole: bool = False

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key == name]


class Llhttp:
    """The messages that llhttp reads of a stream, up to its end or to the first fault."""

    def __init__(self, stream: bytes) -> None:
        self.messages: list[Message] = []
        self.has_failed = False
        self._parser = httptools.HttpRequestParser(self)
        self._parser.set_dangerous_leniencies(lenient_version=True)
        try:
            self._parser.feed_data(stream)
        except httptools.HttpParserUpgrade:
            pass
        except httptools.HttpParserError:
            self.has_failed = True

    def on_message_begin(self) -> None:
        self.messages.append(Message())

    def on_url(self, part: bytes) -> None:
        self.messages[-1].target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.messages[-1].is_head_whole:
            known = name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t")
            self.messages[-1].fields.append(known)

    def on_headers_complete(self) -> None:
        message = self.messages[-1]
        message.is_head_whole = True
        message.method = self._parser.get_method().decode()
        message.version = self._parser.get_http_version()

    def on_body(self, data: bytes) -> None:
        self.messages[-1].body += data

    def on_message_complete(self) -> None:
        self.messages[-1].is_whole = True


_HTTP = re.compile(rb"(?i)https?://([^/?]+)(?:[/?]|$)")

# Heads that llhttp accepts and a server must refuse, by the rule that requires it.
STRICTER: dict[str, Callable[[Message], bool]] = {
    "methods are those of some path": lambda m: m.method not in METHODS,
    "versions are 1.x": lambda m: not m.version.startswith("1."),
    "Host comes once, but in HTTP/1.0": lambda m: (
        len(m.values("host")) > 1 or (m.version != "1.0" and not m.values("host"))
    ),
    "Host is a host": lambda m: any(not _is_host(value) for value in m.values("host")),
    "targets have no fragment": lambda m: b"#" in m.target,
    "* stands alone, for OPTIONS": lambda m: (
        m.target[:1] == b"*" and (m.target, m.method) != (b"*", "OPTIONS")
    ),
    "absolute targets are of http, with a host and without a user": lambda m: (
        m.target[:1] not in (b"/", b"*")
        and not ((found := _HTTP.match(m.target)) and _is_host(found[1].decode("latin-1")))
    ),
    "chunked is the only transfer coding, of HTTP/1.1": lambda m: (
        bool(m.values("transfer-encoding"))
        and (
            m.version == "1.0"
            or ",".join(m.values("transfer-encoding")).strip().lower() != "chunked"
        )
    ),
    "no length with chunks": lambda m: bool(
        m.values("transfer-encoding") and m.values("content-length")
    ),
}
# Input that llhttp silently passes over; streams with it are not compared.
UNTOLD = {"one blank stands between the parts of a first line": re.compile(rb" {2}")}
# Rules for chunked bodies: llhttp passes over more.
STRICTER_CHUNKS = {
    "sizes have at most 16 digits": re.compile(rb"[0-9A-Fa-f]{17}"),
    "extensions are tokens or quoted, without blanks": re.compile(rb"[0-9A-Fa-f];"),
    "trailers are fields": re.compile(rb"\r\n0+[;\r]"),
}


def _is_host(value: str) -> bool:
    bare = re.sub(r":\d*$", "", value)
    if bare.startswith("[") and bare.endswith("]"):
        return _is_address(bare[1:-1])
    return bool(re.fullmatch(r"[\w.~!$&'()*+,;=%-]*", bare, re.ASCII))


def _is_address(text: str) -> bool:
    try:
        return ip_address(text).version == 6
    except ValueError:
        return False


@dataclass
class Read:
    """The requests that the parser under test has read."""

    cache: HeadCache
    heads: list[RequestHead] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    whole: int = 0
    error: HttpError | None = None

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
        self.heads.append(head)
        self.bodies.append(b"")

    def _add(self, data: bytes) -> None:
        self.bodies[-1] += data

    def _end(self) -> None:
        self.whole += 1


def read(stream: bytes, cuts: list[int], known: HeadCache) -> Read:
    ours = Read(known)
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    try:
        for start, end in pairwise(places):
            data = stream[start:end]
            while data:
                data = ours.feed(data)
    except HttpError as error:
        ours.error = error
    return ours


HEADS = [
    b"GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /e HTTP/1.1\r\nHost: x:80\r\nContent-Length: 5\r\n\r\nhello",
    b"POST /e HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\nA;b=c\r\n0123456789\r\n0\r\nX-T: u\r\n\r\n",
    b"POST http://y/e HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n",
    b"HEAD / HTTP/1.0\r\nX-A: b\r\nX-A: c \r\n\r\n",
    b"\r\nDELETE /%20 HTTP/1.1\r\nhost:\r\nUpgrade: b\r\nConnection: upgrade\r\n\r\n",
]
TOKENS = [
    b" ", b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\t", b"\0", b":", b",", b";", b"#", b"*", b"@",
    b"0", b"f", b"chunked", b"gzip, ", b"Host: y\r\n", b"Content-Length: 5\r\n", b"HTTP/1.2",
    b"HTTP/2.0",
    b"Transfer-Encoding: chunked\r\n", b"\x80", b"/", b"http://", b"[", b"\"", b"-", b"+",
]  # fmt: skip
EDIT = st.tuples(st.integers(0, 400), st.integers(0, 6), st.sampled_from([b"", *TOKENS]))


@given(
    messages=st.lists(st.sampled_from(HEADS), min_size=1, max_size=4),
    edits=st.lists(EDIT, max_size=4),
    cuts=st.lists(st.integers(0, 1_000), max_size=8),
)
@example([HEADS[2]], [(70, 1, b"")], [])
@example([HEADS[2], HEADS[1]], [(91, 6, b"")], [])
@example([HEADS[5], HEADS[0]], [], [3])
def test_it_reads_what_llhttp_reads_or_a_stricter_rule_refuses_it(
    messages: list[bytes], edits: list[tuple[int, int, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(messages)
    for position, removed, added in edits:
        at = position % (len(stream) + 1)
        stream = stream[:at] + added + stream[at + removed :]
    assume(not any(rule.search(stream) for rule in UNTOLD.values()))
    known = HeadCache()
    first, again = read(stream, cuts, known), read(stream, [], known)
    assert (first.heads, first.whole) == (again.heads, again.whole)
    assert first.bodies[: first.whole] == again.bodies[: again.whole]
    assert (first.error is None) == (again.error is None)

    compare(Llhttp(stream), first, stream)


def compare(oracle: Llhttp, ours: Read, stream: bytes) -> None:
    for number, message in enumerate(oracle.messages):
        if not message.is_head_whole:
            assert number >= len(ours.heads)
            return
        broken = [name for name, rule in STRICTER.items() if rule(message)]
        is_refused_too = oracle.has_failed and ours.error is not None
        if broken or (number >= len(ours.heads) and is_refused_too):
            assert number >= len(ours.heads), (broken, ours.heads[number])
            assert ours.error is not None
            return
        head = ours.heads[number]
        assert (head.method, _target(head)) == (message.method, _origin_form(message.target))
        assert head.http_version == ("1.0" if message.version == "1.0" else "1.1")
        if "upgrade" in ",".join(message.values("connection")).lower():
            return  # llhttp takes what follows for another protocol
        if not message.is_whole:
            assert ours.whole <= number
            return
        if ours.whole <= number:  # what llhttp passes over in chunks
            assert ours.error is not None and head.body_bytes is None
            assert any(rule.search(stream) for rule in STRICTER_CHUNKS.values())
            return
        assert ours.bodies[number] == message.body
        if message.method != "CONNECT" and not head.keep_alive:
            return  # llhttp reads nothing after it


def _target(head: RequestHead) -> bytes:
    return f"{head.path}?{head.query}".encode("latin-1").rstrip(b"?")


def _origin_form(target: bytes) -> bytes:
    if target[:1] in (b"/", b"*"):
        return target.rstrip(b"?")
    rest = target.partition(b"://")[2]
    start = re.search(rb"[/?]", rest)
    path = rest[start.start() :] if start else b""
    return (path if path[:1] == b"/" else b"/" + path).rstrip(b"?")


@given(data=st.binary(max_size=200), sizes=st.lists(st.integers(1, 60), min_size=1, max_size=20))
def test_chunks_of_any_sizes_are_joined(data: bytes, sizes: list[int]) -> None:
    chunks, at = b"", 0
    while at < len(data):
        size = sizes[at % len(sizes)]
        part = data[at : at + size]
        chunks += b"%X\r\n" % len(part) + part + b"\r\n"
        at += size
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

    ours = read(head + chunks + b"0\r\n\r\n" + HEADS[0], sizes, HeadCache())

    assert (ours.error, ours.whole) == (None, 2)
    assert ours.bodies[0] == data


def test_extensions_and_trailers_are_limited_together_however_they_are_cut() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    half = EXTRAS_BYTES_MAX // 2
    extension = b"1;a=" + b"b" * half + b"\r\nx\r\n"
    trailer = b"0\r\nX-A: " + b"b" * half + b"\r\n\r\n"

    for cuts in ([], list(range(0, EXTRAS_BYTES_MAX + 200, 97))):
        refused = read(head + extension + trailer, cuts, HeadCache())
        assert refused.error is not None and refused.error.reason == "trailers_too_large"
        assert read(head + extension + b"0\r\n\r\n", cuts, HeadCache()).error is None
