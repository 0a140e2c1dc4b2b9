"""Reading a request's body, with its limit."""

from collections.abc import Awaitable

from fanion.errors import BodyTooLarge
from fanion.http import Headers
from fanion.rest.form import MULTIPART
from fanion.server.exchange import Exchange


def comes_in_pieces(headers: Headers, bytes_max: int) -> bool:
    """A form that is not known to be small: whoever takes it reads it while it comes in."""
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    return media == MULTIPART and not _is_announced(headers, bytes_max)


def read_body(headers: Headers, exchange: Exchange, bytes_max: int) -> Awaitable[bytes]:
    """The whole body. raises: BodyTooLarge, ClientGone"""
    if _is_announced(headers, bytes_max):
        return exchange.body()
    return _read_pieces(exchange, bytes_max)


async def _read_pieces(exchange: Exchange, bytes_max: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in exchange.pieces():
        size += len(chunk)
        if size > bytes_max:
            raise BodyTooLarge(bytes_max)
        parts.append(chunk)
    return b"".join(parts)


def _is_announced(headers: Headers, bytes_max: int) -> bool:
    """The client says how large the body is, and it is not too large."""
    length = headers.get("content-length")
    if length is None or not (length.isascii() and length.isdigit()):
        return False
    return int(length) <= bytes_max
