"""An answer that is made while it is sent, of which only a piece is held in memory."""

from collections.abc import AsyncGenerator
from typing import Any

from litestar import Request
from litestar.response import Stream
from litestar.response.streaming import ASGIStreamingResponse


class Streamed(Stream):
    """pieces: ends when the client has gone, which a failing send tells; what it raises breaks
    the answer off, so that half of it cannot pass for the whole"""

    def __init__(self, pieces: AsyncGenerator[bytes], media_type: str) -> None:
        super().__init__(pieces, media_type=media_type)
        self._pieces = pieces

    def to_asgi_response(
        self, app: Any, request: Request[Any, Any, Any], **_: Any
    ) -> ASGIStreamingResponse:
        return _Pieces(iterator=self._pieces, media_type=self.media_type, status_code=200)


class _Pieces(ASGIStreamingResponse):
    """The framework's own waits until the connection ends, also when all is sent."""

    async def send_body(self, send: Any, receive: Any) -> None:
        try:
            await self._stream(send)
        finally:
            if isinstance(self.iterator, AsyncGenerator):
                await self.iterator.aclose()
