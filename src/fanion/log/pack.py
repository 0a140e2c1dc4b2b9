"""A group of envelopes as bytes, and back."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
import zstandard

from fanion.log.port import Envelope

# Level 1 takes 5 µs for one envelope of 200 bytes, 31 µs for 256 of them, which become 1.2 KB,
# and 38 µs for one of 22 KB, which becomes 2.4 KB: below what writing the difference costs, at
# every size. So there is no size from which on to compress.
_LEVEL = 1

_Row = tuple[int, datetime, str, str, datetime | None, bytes]

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[_Row]).decode


class Packer:
    """For one thread. A checksum tells a damaged group from a sound one."""

    def __init__(self) -> None:
        self._compress = zstandard.ZstdCompressor(_LEVEL, write_checksum=True).compress

    def pack(self, envelopes: Sequence[Envelope]) -> bytes:
        """Everything but the lane, which the caller keeps."""
        return self._compress(
            _encode(
                [
                    (e.project_id, e.received_at, e.client_ip, e.user_agent, e.sent_at, e.body)
                    for e in envelopes
                ]
            )
        )


def unpack(content: bytes, *, historical: bool) -> list[Envelope]:
    """raises: zstandard.ZstdError, msgspec.DecodeError when the content is damaged"""
    rows = _decode(zstandard.decompress(content))
    return [Envelope(*row, historical) for row in rows]
