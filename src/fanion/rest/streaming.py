"""An answer that is made while it is sent, of which only a piece is held in memory."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from litestar import Request
from litestar.response import Stream
from litestar.response.streaming import ASGIStreamingResponse


class Streamed(Stream):
    """pieces: closed when the client has gone, which a failing send tells; what they raise breaks
    the answer off, so that half of it cannot pass for the whole"""

    def __init__(
        self,
        pieces: AsyncGenerator[bytes],
        media_type: str,
        status_code: int | None = None,
        headers: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(pieces, media_type=media_type, status_code=status_code, headers=headers)
        self._pieces = pieces

    def to_asgi_response(
        self,
        app: Any,
        request: Request[Any, Any, Any],
        *,
        headers: dict[str, str] | None = None,
        status_code: int | None = None,
        **_: Any,
    ) -> ASGIStreamingResponse:
        return _Pieces(
            iterator=self._pieces,
            headers={**(headers or {}), **self.headers},
            media_type=self.media_type,
            status_code=self.status_code or status_code or 200,
        )


class _Pieces(ASGIStreamingResponse):
    """The framework's own waits until the connection ends, also when all is sent."""

    async def send_body(self, send: Any, receive: Any) -> None:
        try:
            await self._stream(send)
        finally:
            if isinstance(self.iterator, AsyncGenerator):
                await self.iterator.aclose()
