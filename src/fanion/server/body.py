"""Reading a request's body, with its limit."""

from fanion.errors import BodyTooLarge
from fanion.http import Headers
from fanion.server.rsgi import Exchange

# A body over the limit is read and thrown away up to here, so that the client gets its
# answer on a connection that it can use again; past it the connection may be closed.
DRAIN_BYTES_MAX = 256 * 1024 * 1024


async def read_body(headers: Headers, exchange: Exchange, bytes_max: int) -> bytes:
    """The whole body. raises: BodyTooLarge, after the rest was drained"""
    length = headers.get("content-length")
    if length is not None and length.isascii() and length.isdigit() and int(length) <= bytes_max:
        return await exchange()
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
