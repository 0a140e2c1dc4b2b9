"""LZ-string in base64, which browsers of before 2023 send, decompressed within bounds."""

import binascii
import string

from fanion.errors import BodyTooLarge, InvalidPayload

_ALPHABET = (string.ascii_letters + string.digits + "+/").encode()

# 2 MiB take a second: 0.17 s measured for 316 KB. Browsers send less than 100 KB.
LZ64_BYTES_MAX = 2 * 1024 * 1024

# A code is read from five bytes: at most 7 bits of offset and 22 of code (LZ64_BYTES_MAX).
_WINDOW = 5
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))

_CHARACTER_8, _CHARACTER_16, _END = 0, 1, 2


def decompress(text: bytes, bytes_max: int) -> str:
    """Read what JavaScript's `LZString.compressToBase64` wrote.

    text:    base64; spaces stand for `+`
    returns: text in which pairs of surrogates are joined and lone ones are U+FFFD
    raises:  InvalidPayload, BodyTooLarge when text is over LZ64_BYTES_MAX or the result
             has more than bytes_max UTF-16 units
    """
    units = _decompress_units(_bits(text), bytes_max)
    if not units:
        raise InvalidPayload("Malformed request data: Failed to decompress lz64 data.")
    return units.decode("utf-16-le", "replace")


def _bits(text: bytes) -> bytes:
    """The stream of bits, the first one in the lowest bit of the first byte."""
    if len(text) > LZ64_BYTES_MAX:
        raise BodyTooLarge(LZ64_BYTES_MAX)
    text = text.strip(b"\r\n\t").replace(b" ", b"+").rstrip(b"=")
    if text.translate(None, _ALPHABET):
        raise InvalidPayload("Malformed request data: lz64 data is not base64.")
    # The compressor leaves out padding as it likes; "A" is six zero bits.
    packed = binascii.a2b_base64(text + b"A" * (-len(text) % 4))
    return packed.translate(_REVERSED)


def _decompress_units(bits: bytes, units_max: int) -> bytearray:
    """UTF-16 units, two bytes each, low byte first; empty when the stream says so.

    The dictionary keeps places in the output instead of texts: an entry is always what was
    written last and the unit after it, so a stream cannot make it outgrow the output.
    """
    out = bytearray()
    starts, ends = [0, 0, 0], [0, 0, 0]
    position, stream_end = 0, len(bits) * 8
    width, room = 2, 1
    previous = -1
    while True:
        if position + width > stream_end:
            raise InvalidPayload("Malformed request data: lz64 data was cut off.")
        code = _read(bits, position, width)
        position += width
        written = len(out)
        if code == _END:
            return out
        if code in (_CHARACTER_8, _CHARACTER_16):
            size = 8 << code
            out += _read(bits, position, size).to_bytes(2, "little")
            position += size
            starts.append(written)
            ends.append(written + 2)
            room -= 1
            if previous >= 0 and room == 0:
                room, width = 1 << width, width + 1
        elif code < len(starts):
            out += out[starts[code] : ends[code]]
        elif code == len(starts) and previous >= 0:
            out += out[previous:written] + out[previous : previous + 2]
        else:
            raise InvalidPayload("Malformed request data: lz64 data is damaged.")
        if previous < 0:
            width, room = 3, 4
        else:
            starts.append(previous)
            ends.append(written + 2)
            room -= 1
            if room == 0:
                room, width = 1 << width, width + 1
        previous = written
        if len(out) > units_max * 2:
            raise BodyTooLarge(units_max)


def _read(bits: bytes, position: int, width: int) -> int:
    byte = position >> 3
    window = int.from_bytes(bits[byte : byte + _WINDOW], "little")
    return (window >> (position & 7)) & ((1 << width) - 1)
