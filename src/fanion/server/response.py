"""The head of an HTTP/1.1 response as bytes."""

from collections.abc import Collection
from http import HTTPStatus

_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
# source: RFC 9110 section 6.4.1
_BODILESS = frozenset({*range(100, 200), 204, 304})

_NEXT, _LAST = "\r\n", "connection: close\r\n\r\n"

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def has_body(method: str, status: int) -> bool:
    return method != "HEAD" and status not in _BODILESS


def response_head(
    status: int,
    headers: Collection[tuple[str, str]],
    date: str,
    length: int | None,
    *,
    keep_alive: bool,
) -> bytes:
    """headers: names in lower case
    length:  of the body; None when nothing tells it; a header of that name goes before it

    raises: ValueError for a header with a line end, which would be another header
    """
    end = end_of_head(date, keep_alive=keep_alive)
    return f"{start_of_head(status, headers, length)}{end}".encode("latin-1")


def start_of_head(status: int, headers: Collection[tuple[str, str]], length: int | None) -> str:
    """What depends neither on the time nor on the connection. As `response_head`."""
    fields = "".join([f"{name}: {value}\r\n" for name, value in headers])
    if fields.count("\n") != len(headers) or fields.count("\r") != len(headers):
        raise ValueError("a header holds a line end")
    if length is not None and status not in _BODILESS and not _tells_length(fields):
        fields += f"content-length: {length}\r\n"
    line = _LINES.get(status) or f"HTTP/1.1 {status} \r\n"
    return line + fields


def end_of_head(date: str, *, keep_alive: bool) -> str:
    return f"{date}{_NEXT if keep_alive else _LAST}"


def _tells_length(fields: str) -> bool:
    return fields.startswith("content-length: ") or "\r\ncontent-length: " in fields


def date_line(formatted: str) -> str:
    """formatted: as RFC 9110 section 5.6.7 wants it"""
    return f"date: {formatted}\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
