"""The part of RSGI that Fanion speaks, as types."""

from collections.abc import AsyncIterator, Awaitable
from typing import Any, Protocol

from granian import rsgi

# What the server raises when a client is gone.
StreamClosed: type[Exception] = rsgi.ProtocolClosed  # type: ignore[attr-defined]  # no __all__


class RsgiHeaders(Protocol):
    def get(self, key: str, default: Any = None) -> Any: ...

    def items(self) -> list[tuple[str, str]]: ...


class Scope(Protocol):
    """path: as sent, percent-encoded; client and server: address and port in one text"""

    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def query_string(self) -> str: ...
    @property
    def headers(self) -> RsgiHeaders: ...
    @property
    def client(self) -> str: ...
    @property
    def server(self) -> str: ...
    @property
    def scheme(self) -> str: ...
    @property
    def http_version(self) -> str: ...


class Stream(Protocol):
    async def send_bytes(self, data: bytes) -> None: ...


class Exchange(Protocol):
    """One request's body coming in, one response going out."""

    def __call__(self) -> Awaitable[bytes]:
        """The whole body."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The body in pieces."""

    async def client_disconnect(self) -> None: ...

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None: ...

    def response_stream(self, status: int, headers: list[tuple[str, str]]) -> Stream: ...
