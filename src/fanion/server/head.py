"""The head of an HTTP/1.1 response as bytes."""

from collections.abc import Iterable
from http import HTTPStatus

_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
# source: RFC 9110 section 6.4.1
_BODILESS = frozenset({*range(100, 200), 204, 304})

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def has_body(method: str, status: int) -> bool:
    return method != "HEAD" and status not in _BODILESS


def response_head(
    status: int,
    headers: Iterable[tuple[str, str]],
    date: str,
    length: int | None,
    *,
    keep_alive: bool,
) -> bytes:
    """headers: names in lower case
    length:  of the body; None when nothing tells it; a header of that name goes before it

    raises: ValueError for a header with a line end, which would be another header
    """
    lines = [_LINES.get(status) or f"HTTP/1.1 {status} \r\n"]
    for name, value in headers:
        lines.append(f"{name}: {value}\r\n")
        if name == "content-length":
            length = None
    if length is not None and status not in _BODILESS:
        lines.append(f"content-length: {length}\r\n")
    if not keep_alive:
        lines.append("connection: close\r\n")
    lines.append(date)
    text = "".join(lines)
    if text.count("\n") != len(lines) or text.count("\r") != len(lines):
        raise ValueError("a header holds a line end")
    return text.encode("latin-1") + b"\r\n"


def date_line(formatted: str) -> str:
    """formatted: as RFC 9110 section 5.6.7 wants it"""
    return f"date: {formatted}\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
