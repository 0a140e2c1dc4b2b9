"""An httpx transport that calls an RSGI application in memory, as Granian would."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx


class RsgiApp(Protocol):
    async def __rsgi__(self, scope: Any, proto: Any) -> None: ...


@dataclass
class Scope:
    method: str
    path: str
    query_string: str
    headers: httpx.Headers
    authority: str | None
    proto: str = "http"
    http_version: str = "1.1"
    scheme: str = "http"
    client: str = "127.0.0.1:50000"
    server: str = "127.0.0.1:8000"


@dataclass
class Stream:
    parts: list[bytes]

    async def send_bytes(self, data: bytes) -> None:
        self.parts.append(data)

    async def send_str(self, data: str) -> None:
        self.parts.append(data.encode())


@dataclass
class Proto:
    request_body: bytes
    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)

    async def __call__(self) -> bytes:
        return self.request_body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.request_body), 65536):
            yield self.request_body[start : start + 65536]

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        assert self.status == 0, "answered twice"
        self.status, self.headers = status, headers
        self.parts.append(body)

    def response_empty(self, status: int, headers: list[tuple[str, str]]) -> None:
        self.response_bytes(status, headers, b"")

    def response_stream(self, status: int, headers: list[tuple[str, str]]) -> Stream:
        self.response_bytes(status, headers, b"")
        return Stream(self.parts)


@dataclass
class RsgiTransport(httpx.AsyncBaseTransport):
    app: RsgiApp
    client: str = "127.0.0.1:50000"

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        proto = Proto(await request.aread())
        scope = Scope(
            request.method,
            request.url.raw_path.partition(b"?")[0].decode(),
            request.url.query.decode(),
            request.headers,
            request.url.netloc.decode(),
            client=self.client,
        )
        await self.app.__rsgi__(scope, proto)
        return httpx.Response(proto.status, headers=proto.headers, content=b"".join(proto.parts))
