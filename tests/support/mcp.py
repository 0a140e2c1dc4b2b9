"""Sessions of the SDK's own client with the endpoint `/mcp` of an application in memory."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.support.application import BASE_URL, AppServer
from tests.support.exchange import MemoryRequest


class McpTransport(httpx2.AsyncBaseTransport):
    """A transport of the SDK's HTTP library that calls the application in memory."""

    def __init__(self, server: AppServer) -> None:
        self._server = server

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        path, _, query = request.url.raw_path.decode().partition("?")
        headers = {name.lower(): value for name, value in request.headers.items()}
        inner = MemoryRequest(
            request.method, path, query, headers, "127.0.0.1:50000", await request.aread()
        )
        await self._server.application.answer(inner)
        return httpx2.Response(inner.status, headers=inner.response_headers, content=inner.content)


@asynccontextmanager
async def mcp_session(server: AppServer, key: str, query: str = "") -> AsyncIterator[ClientSession]:
    """Open an initialized session with this key."""
    async with (
        httpx2.AsyncClient(
            transport=McpTransport(server), headers={"authorization": f"Bearer {key}"}
        ) as client,
        streamable_http_client(f"{BASE_URL}/mcp{query}", http_client=client) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


async def called(session: ClientSession, name: str, /, **arguments: Any) -> Any:
    """Return what a tool answers, which must be no error."""
    text, is_error = await result_of(session, name, **arguments)
    assert not is_error, text
    return text


async def refused(session: ClientSession, name: str, /, **arguments: Any) -> Any:
    """Return the error that a tool answers."""
    text, is_error = await result_of(session, name, **arguments)
    assert is_error, text
    return text


async def result_of(session: ClientSession, name: str, /, **arguments: Any) -> tuple[Any, bool]:
    result = await session.call_tool(name, arguments)
    [content] = result.content
    assert isinstance(content, types.TextContent)
    return json.loads(content.text), result.is_error
