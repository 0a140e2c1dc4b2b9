"""The endpoint `/mcp`, where assistants call tools with a personal API key."""

import asyncio
from dataclasses import dataclass
from importlib import import_module
from typing import Final
from urllib.parse import parse_qsl

import msgspec

from fanion.errors import ForgedRequest, Invalid, NotAuthenticated
from fanion.mcp.in_process_client import InProcessApi
from fanion.mcp.model import CURRENT_KEY, ApiAnswer, ApiCall
from fanion.observability.logging import Telemetry
from fanion.rest.validation import object_id
from fanion.server.asgi_bridge import AsgiApp
from fanion.server.request import Endpoint, Request
from fanion.server.response import Response
from fanion.web.forged_requests import origin_of
from fanion.web.routes import Route, Routes
from fanion.web.security_headers import MANAGEMENT_HEADERS

PATH: Final = "/mcp"
# A message names a tool and its arguments. A larger one would hold the event loop while it is read.
BODY_BYTES_MAX = 256 * 1024
_SDK = "fanion.mcp.streamable_http_service"


@dataclass(frozen=True, slots=True)
class McpEndpoint:
    """The endpoint of assistants.

    Attributes:
        urls: The addresses that the operator has given to this server.
    """

    management: AsgiApp
    telemetry: Telemetry
    urls: tuple[str, ...]

    async def post(self, request: Request) -> Response:
        """Answer one message of the Model Context Protocol.

        Raises:
            ForgedRequest: A web page elsewhere sends it.
            Invalid: The query is wrong.
            NotAuthenticated: There is no key in the header.
            HttpError: The body is too large, or cannot be read.
        """
        self._require_own_origin(request)
        project_id = _read_project(request.query)
        if not (request.headers.get("authorization") or "").strip():
            raise NotAuthenticated(
                f"{NotAuthenticated.default_detail} Send a personal API key in the header "
                "Authorization: Bearer <key>."
            )
        request_id = self.telemetry.request_id(request.headers)
        api = InProcessApi(self.management, self.telemetry, request, request_id)
        answer = await api.send(ApiCall("GET", CURRENT_KEY))
        if answer.status != 200:
            return _refusal(answer)
        body = await request.read(BODY_BYTES_MAX)
        # The SDK is loaded by the first message, in a thread.
        sdk = await asyncio.to_thread(import_module, _SDK)
        from fanion.mcp.service import CallerKey

        key = msgspec.json.decode(answer.body or b"", type=CallerKey)
        response: Response = await sdk.answer_message(api, key, project_id, request, body)
        response.headers += MANAGEMENT_HEADERS
        return response

    def _require_own_origin(self, request: Request) -> None:
        """Refuse web pages of other origins.

        A page that has rebound its name to this server's address says that name here and in `Host`,
        so only addresses that the operator has given count.

        Source: MCP specification, "Security Warning" of the transport.
        """
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() not in {origin_of(url) for url in self.urls}:
            raise ForgedRequest(
                f"Web pages of the origin {origin[:200]!r} may not call this server. Its own "
                "address is FANION_PUBLIC_URL or FANION_MANAGEMENT_URL."
            )


def _refusal(answer: ApiAnswer) -> Response:
    lines = tuple(
        (name, answer.headers[name])
        for name in ("www-authenticate", "retry-after")
        if name in answer.headers
    )
    return Response(answer.status, answer.body or b"", (*lines, *MANAGEMENT_HEADERS))


def _read_project(query: str) -> int | None:
    """Return the project of calls that name none; None without one.

    Raises:
        Invalid: The number is none, or the query has another parameter.
    """
    project_id = None
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name != "project_id":
            raise Invalid(
                f"Unknown query parameter '{name[:100]}'; only project_id is known.",
                attr=name[:100],
            )
        project_id = object_id(value)
        if project_id is None:
            raise Invalid("A valid integer is required.", attr="project_id")
    return project_id


def mcp_routes(endpoint: Endpoint) -> Routes:
    """Return the routes of assistants; only POST, since no answer is ever sent later."""
    route = Route("mcp", endpoint, cors=False, is_body_read=False, is_management=True)
    return Routes({PATH: route})
