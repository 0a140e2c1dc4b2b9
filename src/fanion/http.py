"""A request and a response of the public hot endpoints, free of any server's types."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Protocol

import msgspec
from msgspec import Struct


class Headers(Protocol):
    """Names in lower case."""

    def get(self, key: str, default: Any = None) -> Any: ...


class Request(Struct):
    """path: without the query; query: raw, as sent; peer: address and port of the caller"""

    method: str
    path: str
    query: str
    headers: Headers
    peer: str
    body: bytes


class Response(Struct):
    """chunks: what follows the body, for as long as the client stays
    costly: making it took the interpreter for tens of milliseconds
    """

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    chunks: AsyncGenerator[bytes] | None = None
    costly: bool = False


Endpoint = Callable[[Request], Awaitable[Response]]


# What proxies write that do not tell the caller's address. source: RFC 7239 section 6.2
UNKNOWN_ADDRESS = "unknown"


def client_ip(request: Request, *, trust_forwarded: bool) -> str:
    """The first address of X-Forwarded-For, else the peer's; without an IPv4 port. "" when a
    proxy keeps it to itself.

    source: capture.md section 1
    """
    forwarded = request.headers.get("x-forwarded-for") if trust_forwarded else None
    if not forwarded:
        return request.peer.rpartition(":")[0].strip("[]")
    first: str = forwarded.partition(",")[0].strip()
    if first.lower() == UNKNOWN_ADDRESS:
        return ""
    host, _, port = first.partition(":")
    return host if port.isdigit() else first.strip("[]")


def is_known_version(if_none_match: str | None, etag: str) -> bool:
    """Whether the caller has this version already; weak tags count as strong ones."""
    if not if_none_match:
        return False
    given = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in given or given == ["*"]


_encoder = msgspec.json.Encoder()


def json_response(value: object, status: int = 200) -> Response:
    return Response(status, _encoder.encode(value))
