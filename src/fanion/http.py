"""A request and a response of the public hot endpoints, free of any server's types."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec


class Headers(Protocol):
    """Names in lower case."""

    def get(self, key: str, default: Any = None) -> Any: ...


@dataclass(slots=True)
class Request:
    """path: without the query; query: raw, as sent; peer: address and port of the caller"""

    method: str
    path: str
    query: str
    headers: Headers
    peer: str
    body: bytes


@dataclass(slots=True)
class Response:
    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"


Endpoint = Callable[[Request], Awaitable[Response]]

_encoder = msgspec.json.Encoder()


def json_response(value: object, status: int = 200) -> Response:
    return Response(status, _encoder.encode(value))
