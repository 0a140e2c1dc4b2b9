"""UUIDs from numbers, in less than half of the time that `UUID(int=…)` takes."""

from uuid import UUID

import msgspec

_decode = msgspec.msgpack.Decoder(UUID).decode
_BYTES_16 = b"\xc4\x10"  # what stands before 16 bytes in MessagePack


def uuid_of(number: int) -> UUID:
    """number: of 128 bits"""
    return _decode(_BYTES_16 + number.to_bytes(16))
