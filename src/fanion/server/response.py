"""A response, and its head as text."""

from collections.abc import AsyncGenerator, Callable, Collection
from email.utils import formatdate
from http import HTTPStatus

import msgspec
from msgspec import Struct

_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
# RFC 9110 section 6.4.1
BODILESS = frozenset({*range(100, 200), 204, 304})

# The end of a head after its date; it says whether the connection stays open.
KEEP_ALIVE, CLOSE = "\r\n", "connection: close\r\n\r\n"

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


class Response(Struct):
    """A response to a request.

    Attributes:
        chunks: Sent after the body, until they end or the client disconnects.
        costly: Whether making it held the GIL for tens of milliseconds.
    """

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    chunks: AsyncGenerator[bytes] | None = None
    costly: bool = False


_encoder = msgspec.json.Encoder()


def json_response(value: object, status: int = 200) -> Response:
    return Response(status, _encoder.encode(value))


def is_known_version(if_none_match: str | None, etag: str) -> bool:
    """Return whether the client has this version already; weak tags count as strong ones."""
    if not if_none_match:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in tags or tags == ["*"]


def response_head(status: int, headers: Collection[tuple[str, str]], length: int | None) -> str:
    """Return the head of a response without its date and its end.

    Args:
        headers: Names in lower case.
        length: The body's length, unless a header has it; None if it is unknown.

    Raises:
        ValueError: A header contains a line end, which would start another header.
    """
    fields = "".join([f"{name}: {value}\r\n" for name, value in headers])
    if fields.count("\n") != len(headers) or fields.count("\r") != len(headers):
        raise ValueError("a header contains a line end")
    if length is not None and status not in BODILESS and not _has_length(fields):
        fields += f"content-length: {length}\r\n"
    line = _LINES.get(status) or f"HTTP/1.1 {status} \r\n"
    return line + fields


def _has_length(fields: str) -> bool:
    return fields.startswith("content-length: ") or "\r\ncontent-length: " in fields


class DateLine:
    """The header `date`, formatted once a second.

    Args:
        now: Seconds of a monotonic clock.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._second = -1
        self._text = ""

    def text(self) -> str:
        second = int(self._now())
        if second != self._second:
            self._second, self._text = second, f"date: {formatdate(usegmt=True)}\r\n"
        return self._text


def encode_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
