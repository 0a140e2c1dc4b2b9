"""One request and its answer, as the application sees them; the connection is behind it."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, Protocol


class RequestHeaders(Protocol):
    """Names in lower case."""

    def get(self, key: str, default: Any = None) -> Any: ...

    def items(self) -> Iterable[tuple[str, str]]: ...


class Scope(Protocol):
    """path: as sent, percent-encoded; client and server: address and port in one text"""

    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def query_string(self) -> str: ...
    @property
    def headers(self) -> RequestHeaders: ...
    @property
    def client(self) -> str: ...
    @property
    def server(self) -> str: ...
    @property
    def scheme(self) -> str: ...
    @property
    def http_version(self) -> str: ...


class Stream(Protocol):
    async def send_bytes(self, data: bytes) -> None:
        """Returns when the client may have more. raises: ClientGone"""


class Exchange(Protocol):
    """One request's body coming in, one response going out. What is not read of a body is
    thrown away when the answer is out."""

    def received(self) -> bytes | None:
        """The whole body, when it is here."""

    async def body(self, bytes_max: int) -> bytes:
        """The whole of it. raises: ContentTooLarge, ClientGone"""

    def pieces(self) -> AsyncIterator[bytes]:
        """The body while it comes in. raises: ClientGone"""

    async def client_disconnect(self) -> None: ...

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None: ...

    def response_stream(self, status: int, headers: list[tuple[str, str]]) -> Stream: ...


class Headers(dict[str, str]):
    """Names in lower case; what is sent more than once is one list with commas.

    source: RFC 9110 section 5.3
    """

    def add(self, name: str, value: str) -> None:
        if name in self:
            value = f"{self[name]}, {value}"
        self[name] = value


@dataclass(frozen=True, slots=True)
class RequestHead:
    """path:             as sent, percent-encoded, without the query; `*` for the whole server
    http_version:     "1.1" or "1.0"
    keep_alive:       whether the client wants to ask more on the same connection
    expects_continue: whether it wants to be asked for the body
    body_bytes:       of the body that follows; None when it comes in chunks
    """

    method: str
    path: str
    query_string: str
    http_version: str
    headers: Headers
    keep_alive: bool
    expects_continue: bool
    body_bytes: int | None
