"""Bytes of one connection as requests, one after another.

Parsing is llhttp's, which is strict about what proxies and servers could read differently. What
it has said of a head is kept for the next time that the same bytes come.
"""

from typing import Protocol

import httptools

from fanion.errors import AppError, HeadTooLarge, MalformedRequest
from fanion.server.first_line import origin_form
from fanion.server.known_heads import KnownHead, KnownHeads, head_of
from fanion.server.request_head import Headers, RequestHead

SPOKEN = ("1.1", "1.0")
HEAD_BYTES_MAX = 64 * 1024


class Requests(Protocol):
    """Is told what was read, of each request in this order."""

    def on_request(self, known: KnownHead, body: bytes) -> None:
        """A whole one at once, in place of the other three calls."""

    def on_head(self, head: RequestHead) -> None: ...

    def on_body(self, data: bytes) -> None: ...

    def on_end(self) -> None: ...


class UpgradeAsked(Exception):
    """Another protocol is to be spoken behind the last request."""


class RequestReader:
    """is_in_message: a request has begun that is not whole; is_in_head: not even its head"""

    def __init__(self, requests: Requests, known: KnownHeads) -> None:
        self.is_in_message = self.is_in_head = False
        self._requests = requests
        self._known = known
        self._parser = httptools.HttpRequestParser(self)
        self._target = b""
        self._headers = Headers()
        self._left = 0  # of the body behind a known head
        self._raw = b""  # the head that is being parsed, when it can be kept
        self._received = 0  # by the parser since the last head was whole
        self._head_received = 0  # of a head, after what it began with

    def feed(self, data: bytes, known: KnownHead | None = None) -> None:
        """known: the head that `data` begins with, when somebody has looked it up

        raises: AppError when this, and all that follows, cannot be read; UpgradeAsked
        """
        if self._left:
            data = self._read_body(data)
        while data and not self.is_in_message:
            if known is None and (known := self._known.find(data)) is None:
                break
            data, known = self._read_known(known, data), None
        if data:
            self._parse(data)

    def _read_known(self, known: KnownHead, data: bytes) -> bytes:
        """What follows the request."""
        body = data[known.bytes :]
        if len(body) == known.body_bytes:
            self._requests.on_request(known, body)
            return b""
        self.is_in_message = True
        self._requests.on_head(known.head)
        self._left = known.body_bytes
        return self._read_body(body)

    def _read_body(self, data: bytes) -> bytes:
        left, size = self._left, len(data)
        part = data if size <= left else data[:left]
        if part:
            self._requests.on_body(part)
        if size < left:
            self._left = left - size
            return b""
        self._left = 0
        self.is_in_message = False
        self._requests.on_end()
        return data[left:]

    def _parse(self, data: bytes) -> None:
        self._raw = b"" if self.is_in_message else head_of(data)
        if not self.is_in_head:
            self._received = 0
        self._received += len(data)
        self._head_received += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise UpgradeAsked from None
        except httptools.HttpParserCallbackError as error:
            raise _cause(error) from None
        except httptools.HttpParserError:
            raise MalformedRequest from None
        if self._head_received > HEAD_BYTES_MAX and self.is_in_head:
            raise HeadTooLarge(HEAD_BYTES_MAX)

    # The parser's calls, in this order.

    def on_message_begin(self) -> None:
        self.is_in_message = self.is_in_head = True
        self._target = b""
        self._headers = Headers()
        self._head_received = 0

    def on_url(self, part: bytes) -> None:
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.is_in_head:  # else it stands behind a body in chunks
            self._headers.add(name.decode("latin-1").lower(), value.decode("latin-1"))

    def on_headers_complete(self) -> None:
        version = self._parser.get_http_version()
        if version not in SPOKEN:
            raise MalformedRequest
        if self._received > HEAD_BYTES_MAX and self._head_bytes() > HEAD_BYTES_MAX:
            raise HeadTooLarge(HEAD_BYTES_MAX)
        target = self._target if self._target[:1] == b"/" else origin_form(self._target)
        path, _, query = target.decode("latin-1").partition("?")
        head = RequestHead(
            self._parser.get_method().decode("latin-1"),
            path,
            query,
            version,
            self._headers,
            keep_alive=self._parser.should_keep_alive(),
            expects_continue=self._headers.get("expect", "").lower() == "100-continue",
        )
        if self._raw and not self._parser.should_upgrade():
            self._known.keep(self._raw, head)
        self._raw = b""
        self.is_in_head = False
        self._requests.on_head(head)

    def on_body(self, data: bytes) -> None:
        self._requests.on_body(data)

    def on_message_complete(self) -> None:
        self.is_in_message = False
        self._requests.on_end()

    def _head_bytes(self) -> int:
        headers = self._headers.items()
        return len(self._target) + sum(len(name) + len(value) for name, value in headers)


def _cause(error: BaseException) -> AppError:
    """Why a call of the parser's failed: only what was raised here on purpose is told."""
    cause = error.__context__
    if isinstance(cause, AppError):
        return cause
    raise error
