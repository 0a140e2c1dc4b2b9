"""The HTTP API of a server elsewhere, as `fanion mcp` calls it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from fanion.errors import Unavailable
from fanion.mcp.answers import RECEIVED_BYTES_MAX
from fanion.mcp.model import ApiAnswer, ApiCall

# Questions take up to a minute, and may have to wait for others.
TIMEOUT_S = 120.0


class HttpApi:
    """An Api over HTTP."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def send(self, call: ApiCall) -> ApiAnswer:
        """Send a request; without an answer the result is that of a server that is away."""
        try:
            return await self._send(call)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return ApiAnswer(503, {}, _no_answer(error))

    async def _send(self, call: ApiCall) -> ApiAnswer:
        target = f"{call.path}?{call.query}" if call.query else call.path
        headers = {"content-type": "application/json"} if call.body else {}
        async with self._client.stream(
            call.method, target, content=call.body or None, headers=headers
        ) as response:
            received = bytearray()
            async for piece in response.aiter_bytes():
                received += piece
                if len(received) > RECEIVED_BYTES_MAX:
                    return ApiAnswer(response.status_code, response.headers, None)
        return ApiAnswer(response.status_code, response.headers, bytes(received))


def _no_answer(error: Exception) -> bytes:
    reason = str(error) or type(error).__name__
    return Unavailable(f"The server does not answer: {reason}").body()


@asynccontextmanager
async def http_api(url: str, key: str) -> AsyncIterator[HttpApi]:
    """Open connections to the API of the server at this address."""
    async with httpx.AsyncClient(
        base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=TIMEOUT_S
    ) as client:
        yield HttpApi(client)
