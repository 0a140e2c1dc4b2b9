"""One message of the MCP's streamable HTTP, without a session: any server may answer the next."""

from collections.abc import MutableMapping
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from fanion.mcp.model import Api
from fanion.mcp.service import CallerKey, build_mcp_server
from fanion.server.request import Request
from fanion.server.response import Response


async def answer_message(
    api: Api, key: CallerKey, project_id: int | None, request: Request, body: bytes
) -> Response:
    """Answer one message, whose caller is known.

    Args:
        body: The whole body of the request.
    """
    server = build_mcp_server(api, key, project_id)
    exchange = _Exchange(request, body)
    # The endpoint has checked the origin and the size.
    manager = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        max_request_body_size=len(body) + 1,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    async with manager.run():
        await manager.handle_request(_scope(request), exchange.receive, exchange.send)
    return exchange.response


def _scope(request: Request) -> dict[str, Any]:
    headers = [
        (name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers.items()
    ]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": request.query.encode(),
        "headers": headers,
    }


class _Exchange:
    """The `receive` and `send` of ASGI for one message."""

    def __init__(self, request: Request, body: bytes) -> None:
        self._request = request
        self._body: bytes | None = body
        self._status = 500
        self._headers: list[tuple[str, str]] = []
        self._answer = bytearray()

    @property
    def response(self) -> Response:
        kind = dict(self._headers).get("content-type", "application/json")
        rest = tuple(
            line for line in self._headers if line[0] not in ("content-type", "content-length")
        )
        return Response(self._status, bytes(self._answer), rest, kind)

    async def receive(self) -> MutableMapping[str, Any]:
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        await self._request.client_disconnect()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = [
                (name.decode("latin-1"), value.decode("latin-1"))
                for name, value in message["headers"]
            ]
        else:
            self._answer += message.get("body", b"")
