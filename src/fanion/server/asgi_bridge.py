"""The bridge that runs requests through an ASGI application."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from fanion.server.errors import ClientDisconnected
from fanion.server.request import Request

Message = MutableMapping[str, Any]
# The extension that holds the `Request`, for an application that reads the body itself.
REQUEST = "fanion.request"
# Frameworks type the three arguments differently.
AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]


class ResponseAborted(Exception):
    """A failure of the application after it has begun its response; `__cause__` is the error."""


async def run_asgi_app(
    app: AsgiApp,
    request: Request,
    state: dict[str, Any],
    *,
    path: str,
    headers: list[tuple[str, str]],
) -> int:
    """Run one request through `app` and return its status.

    Args:
        state: The request's state; `app` adds to it.
        path: Decoded, for `app`.
        headers: Added to responses that do not have a header of that name; names in lower case.

    Raises:
        ClientDisconnected: The client has disconnected.
        ResponseAborted: The application failed after a part of its response was sent.
    """
    exchange = _Exchange(request, headers)
    try:
        await app(_asgi_scope(request, path, state), exchange.receive, exchange.send)
    except Exception as error:
        if exchange.is_disconnected:
            raise ClientDisconnected from error
        if exchange.is_streaming:
            raise ResponseAborted from error
        raise
    if exchange.is_disconnected and not exchange.is_streaming:
        raise ClientDisconnected  # `app` learned of it, and its response could not be sent
    return exchange.status


def _asgi_scope(request: Request, path: str, state: dict[str, Any]) -> dict[str, Any]:
    host, _, port = request.peer.rpartition(":")
    server_host, _, server_port = request.server.rpartition(":")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": request.http_version,
        # HEAD gets the response to GET; `Request` leaves its body out.
        "method": "GET" if request.method == "HEAD" else request.method,
        "scheme": "http",
        "path": path,
        "raw_path": request.path.encode(),
        "root_path": "",
        "query_string": request.query.encode(),
        "headers": [(k.encode("latin-1"), v.encode("latin-1")) for k, v in request.headers.items()],
        "client": (host.strip("[]"), int(port or 0)),
        "server": (server_host.strip("[]"), int(server_port or 0)),
        "state": state,
        "extensions": {REQUEST: request},
    }


class _Exchange:
    """The `receive` and `send` of ASGI for one request.

    A response in one piece has a length; others are streamed.
    """

    def __init__(self, request: Request, extra: list[tuple[str, str]]) -> None:
        self.status = 500
        self._request = request
        self._pieces: AsyncIterator[bytes] | None = None
        self._is_body_over = False
        self._extra = extra
        self._headers: list[tuple[str, str]] = []
        self.is_streaming = False
        self.is_disconnected = False

    async def receive(self) -> Message:
        if self._pieces is None and self._request.is_taken:
            self._is_body_over = True  # `app` has taken the body from the request
        if not self._is_body_over:
            self._pieces = self._pieces or self._request.pieces()
            try:
                piece = await anext(self._pieces, None)
            except ClientDisconnected:
                return {"type": "http.disconnect"}
            if piece is None:
                self._is_body_over = True
            return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}
        await self._request.client_disconnect()
        self.is_disconnected = not self._request.is_answered
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [(k.decode("latin-1"), v.decode("latin-1")) for k, v in message["headers"]]
            own = {name for name, _ in headers}
            self._headers = headers + [line for line in self._extra if line[0] not in own]
            return
        if self._request.is_lost and not self._request.is_complete:
            self.is_disconnected = True
        if self.is_disconnected and not self.is_streaming:
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if not self.is_streaming and not more:
            self._request.response_bytes(self.status, self._headers, body)
            return
        if not self.is_streaming:
            self._request.response_stream(self.status, self._headers)
            self.is_streaming = True
        if body:
            try:
                await self._request.send_bytes(body)
            except ClientDisconnected:
                self.is_disconnected = True  # the framework raises another error
                raise
        else:
            await asyncio.sleep(0)
