"""A request and a response of the public hot endpoints, free of any server's types."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import lru_cache
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from fanion.errors import AppError


class Headers(Protocol):
    """Names in lower case."""

    def get(self, key: str, default: Any = None) -> Any: ...


class Request(Struct):
    """path: without the query; query: raw, as sent; peer: address and port of the caller

    key_id, user_id: of a personal or a secret key, once it was found, for the log
    """

    method: str
    path: str
    query: str
    headers: Headers
    peer: str
    body: bytes = b""
    key_id: str = ""
    user_id: int | None = None


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

# Takes the response, or why there is none, once, in the event loop. Never raises.
Reply = Callable[[Response | Exception], None]
# Body, peer and reply of a request that needs no task: it is replied to later, never before this
# returns. False for a request that is none of those; then nothing has happened.
PromptEndpoint = Callable[[bytes, str, Reply], bool]
# The endpoint of all requests with a query and headers; None where they need a task.
Promptly = Callable[[str, Headers], PromptEndpoint | None]


def refused(error: AppError) -> Response:
    return Response(error.status, error.body(), error.headers())


# What proxies write that do not tell the caller's address. source: RFC 7239 section 6.2
UNKNOWN_ADDRESS = "unknown"


def client_ip(request: Request, *, trust_forwarded: bool) -> str:
    """The first address of X-Forwarded-For, else the peer's; without an IPv4 port. "" when a
    proxy keeps it to itself.

    source: capture.md section 1
    """
    forwarded = forwarded_ip(request.headers) if trust_forwarded else None
    return address_of(request.peer) if forwarded is None else forwarded


def forwarded_ip(headers: Headers) -> str | None:
    """As `client_ip`; None when no proxy tells anything."""
    forwarded = headers.get("x-forwarded-for")
    if not forwarded:
        return None
    first: str = forwarded.partition(",")[0].strip()
    if first.lower() == UNKNOWN_ADDRESS:
        return ""
    host, _, port = first.partition(":")
    return host if port.isdigit() else first.strip("[]")


@lru_cache(1024)  # a client asks again and again on the same connection
def address_of(peer: str) -> str:
    return peer.rpartition(":")[0].strip("[]")


def is_known_version(if_none_match: str | None, etag: str) -> bool:
    """Whether the caller has this version already; weak tags count as strong ones."""
    if not if_none_match:
        return False
    given = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in given or given == ["*"]


_encoder = msgspec.json.Encoder()


def json_response(value: object, status: int = 200) -> Response:
    return Response(status, _encoder.encode(value))
