"""The records of a log in Kafka: one for each accepted request, and their ids.

An id is made of the record's offset, partition and lane, so that ids are unique in the log and
grow within a partition.
"""

from datetime import UTC, datetime
from typing import Final

import msgspec
import zstandard

from fanion.accept_log.port import Envelope

LIVE, HISTORICAL = "live", "historical"
_PARTITION_BITS: Final = 12
_LOW_BITS: Final = _PARTITION_BITS + 1
_LOW_MASK: Final = (1 << _LOW_BITS) - 1
# Bodies from this size on are compressed here, so that the size of the record is known before it is
# sent. Smaller ones are compressed by the producer, many together.
COMPRESSED_BYTES_MIN: Final = 64 * 1024
_COMPRESSION_LEVEL: Final = 1
_DECODED_BYTES_MAX: Final = 256 * 1024**2
# What Kafka adds to a record that is alone in its batch, at most.
OVERHEAD_BYTES: Final = 512
_PLAIN, _ZSTD = b"\x01", b"\x02"


class _Record(msgspec.Struct, array_like=True, gc=False):
    installation: str
    project_id: int
    received_at: datetime
    client_ip: str
    user_agent: str
    sent_at: datetime | None
    body: bytes


class ForeignRecord(Exception):
    """The error for a record that this installation has not written."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Record).decode


def topic_name(name: str, *, historical: bool) -> str:
    return f"{name}.{HISTORICAL if historical else LIVE}"


def positions_prefix(name: str) -> str:
    """Return how the names begin under which the positions in a log are kept."""
    return f"kafka/{name}/"


def entry_id(offset: int, partition: int, *, historical: bool) -> int:
    """Return the id of a record.

    Args:
        partition: From 1.
    """
    return ((offset + 1) << _LOW_BITS) | _low_bits(partition, historical)


def partition_of(id_of_entry: int) -> int:
    """Return the partition of a record, from 1."""
    return ((id_of_entry & _LOW_MASK) >> 1) + 1


def next_offset(after: int, partition: int, *, historical: bool) -> int:
    """Return the offset of the first record in a partition whose id is greater than `after`."""
    low, offset = _low_bits(partition, historical), after >> _LOW_BITS
    return max(0, offset - 1 if low > after & _LOW_MASK else offset)


def position_before(offset: int, partition: int, *, historical: bool) -> int:
    """Return the position of a reader whose next record has this offset."""
    return entry_id(offset - 1, partition, historical=historical) if offset else 0


def _low_bits(partition: int, historical: bool) -> int:
    return (partition - 1) << 1 | int(historical)


def encode_record(envelope: Envelope, installation: str) -> bytes:
    content = _encode(
        _Record(
            installation,
            envelope.project_id,
            envelope.received_at,
            envelope.client_ip,
            envelope.user_agent,
            envelope.sent_at,
            envelope.body,
        )
    )
    if len(envelope.body) < COMPRESSED_BYTES_MIN:
        return _PLAIN + content
    return _ZSTD + zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL).compress(content)


def decode_record(value: bytes, installation: str, *, historical: bool) -> Envelope:
    """Return the request of a record.

    Raises:
        ForeignRecord: It cannot be read, or is another installation's.
    """
    record = read_record(value)
    if record.installation != installation:
        raise ForeignRecord(f"it belongs to installation {record.installation}")
    return Envelope(
        record.project_id,
        record.received_at,
        record.client_ip,
        record.user_agent,
        record.sent_at,
        record.body,
        historical,
    )


def read_record(value: bytes) -> _Record:
    """Decode a record.

    Raises:
        ForeignRecord: It cannot be read.
    """
    try:
        if value[:1] == _PLAIN:
            return _decode(memoryview(value)[1:])
        if value[:1] == _ZSTD:
            content = zstandard.ZstdDecompressor().decompress(
                value[1:], max_output_size=_DECODED_BYTES_MAX
            )
            return _decode(content)
    except (msgspec.MsgspecError, zstandard.ZstdError, OverflowError) as error:
        raise ForeignRecord(f"it cannot be read: {error}") from error
    raise ForeignRecord("Fanion has not written it")


def empty_envelope(at_ms: int, *, historical: bool) -> Envelope:
    """Return a request without items, to be ingested in place of a foreign record."""
    received_at = datetime.fromtimestamp(max(0, at_ms) / 1000, UTC)
    return Envelope(0, received_at, "", "", None, b"[]", historical)
