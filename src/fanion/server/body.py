"""Reading a request's body, with its limit."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress

from fanion.errors import BodyTooLarge
from fanion.http import Headers
from fanion.rest.form import MULTIPART
from fanion.server.rsgi import Exchange

# A body over the limit is read and thrown away up to here, so that the client gets its
# answer on a connection that it can use again; past it the connection may be closed.
DRAIN_BYTES_MAX = 256 * 1024 * 1024


def comes_in_pieces(headers: Headers, bytes_max: int) -> bool:
    """A form that is not known to be small: whoever takes it reads it while it comes in."""
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    return media == MULTIPART and not _is_announced(headers, bytes_max)


def read_body(headers: Headers, exchange: Exchange, bytes_max: int) -> Awaitable[bytes]:
    """The whole body. raises: BodyTooLarge, after the rest was drained"""
    return exchange() if _is_announced(headers, bytes_max) else _read_pieces(exchange, bytes_max)


async def _read_pieces(exchange: Exchange, bytes_max: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in exchange:
        size += len(chunk)
        if size <= bytes_max:
            parts.append(chunk)
        elif size > DRAIN_BYTES_MAX:
            break
        else:
            parts.clear()
    if size > bytes_max:
        raise BodyTooLarge(bytes_max)
    return b"".join(parts)


async def drain(pieces: AsyncIterator[bytes]) -> None:
    """Read and throw away, for the same reason as above. pieces: may have been begun, which is
    why no loop begins them here: the server hands its pieces out once"""
    size = 0
    with suppress(StopAsyncIteration):
        while size <= DRAIN_BYTES_MAX:
            size += len(await anext(pieces))


def _is_announced(headers: Headers, bytes_max: int) -> bool:
    """The client says how large the body is, and it is not too large."""
    length = headers.get("content-length")
    if length is None or not (length.isascii() and length.isdigit()):
        return False
    return int(length) <= bytes_max
