"""What answers a request of a hot route, and its response."""

from collections.abc import AsyncGenerator, Awaitable, Callable

import msgspec
from msgspec import Struct

from fanion.server.forwarded import Headers
from fanion.server.request import Request


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

# Takes the response, or the error in place of one, once, in the event loop. Never raises.
Reply = Callable[[Response | Exception], None]
# Answers a request without a task: body, peer and reply, which is called later and never before
# this returns. False, and nothing has happened, for a request that needs a task.
FastEndpoint = Callable[[bytes, str, Reply], bool]
# The endpoint of all requests with this query and these headers; None when they need a task.
FindFastEndpoint = Callable[[str, Headers], FastEndpoint | None]


def is_known_version(if_none_match: str | None, etag: str) -> bool:
    """Whether the caller has this version already; weak tags count as strong ones."""
    if not if_none_match:
        return False
    given = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in given or given == ["*"]


_encoder = msgspec.json.Encoder()


def json_response(value: object, status: int = 200) -> Response:
    return Response(status, _encoder.encode(value))
