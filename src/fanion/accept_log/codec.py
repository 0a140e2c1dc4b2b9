"""Encodes a group of envelopes, and decodes it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from struct import Struct
from zlib import crc32

import msgspec
import zstandard

from fanion.accept_log.port import Envelope

# Level 1 takes 31 µs for 256 envelopes of 200 bytes, which become 1.2 KB, and 38 µs for one of
# 22 KB, which becomes 2.4 KB. Small groups are those of a busy server with few connections,
# where each time that the compressor releases the GIL costs a tenth of the commit.
_LEVEL = 1
_UNCOMPRESSED_BYTES_MAX = 16 * 1024
_UNCOMPRESSED = b"\x00"
_CHECKSUM = Struct("<I")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_Row = tuple[int, datetime, str, str, datetime | None, bytes]

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[_Row]).decode


class LogGroup(msgspec.Struct, frozen=True):
    """What one commit writes to a lane.

    envelopes: how many
    oldest:    the earliest arrival, microseconds since 1970
    rows:      the envelopes, encoded
    """

    envelopes: int
    oldest: int
    rows: bytes


def encode_group(envelopes: Sequence[Envelope]) -> LogGroup:
    """raises: UnicodeEncodeError for a text with lone surrogates"""
    rows = _encode(
        [
            (e.project_id, e.received_at, e.client_ip, e.user_agent, e.sent_at, e.body)
            for e in envelopes
        ]
    )
    oldest = min(e.received_at for e in envelopes)
    return LogGroup(len(envelopes), (oldest - _EPOCH) // _MICROSECOND, rows)


class Compressor:
    """For one thread. Adds a checksum, by which `decode_group` detects damage."""

    def __init__(self) -> None:
        self._zstd = zstandard.ZstdCompressor(_LEVEL, write_checksum=True).compress

    def compress(self, rows: bytes) -> bytes:
        if len(rows) > _UNCOMPRESSED_BYTES_MAX:
            return self._zstd(rows)
        return _UNCOMPRESSED + _CHECKSUM.pack(crc32(rows)) + rows


def from_microseconds(microseconds: int) -> datetime:
    """raises: OverflowError"""
    return _EPOCH + microseconds * _MICROSECOND


def decode_group(content: bytes, *, historical: bool) -> list[Envelope]:
    """raises: zstandard.ZstdError, msgspec.DecodeError when the content is damaged"""
    rows = _checked(content) if content[:1] == _UNCOMPRESSED else zstandard.decompress(content)
    return [Envelope(*row, historical) for row in _decode(rows)]


def _checked(content: bytes) -> bytes:
    [checksum] = _CHECKSUM.unpack_from(content, 1)
    rows = content[1 + _CHECKSUM.size :]
    if crc32(rows) != checksum:
        raise msgspec.DecodeError("accept log: the checksum of a group does not match")
    return rows
