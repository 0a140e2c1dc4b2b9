"""The decompression of bodies within bounds: the encodings of HTTP, and lz64.

lz64 is LZ-string in base64, sent by browser SDKs from before 2023.
"""

import binascii
import string
import zlib
from collections.abc import Callable, Mapping

import brotli  # type: ignore[import-untyped]  # ships no types
import zstandard

from fanion.errors import BodyTooLarge, malformed

GZIP_MAGIC = b"\x1f\x8b"
GZIP_MEMBERS_MAX = 16  # each further member costs a copy of the rest
ZSTD_WINDOW_BYTES_MAX = 8 * 1024 * 1024  # RFC 8878 requires it of decoders; level 19 needs it
# 2 MiB take a second (0.17 s measured for 316 KB). Browsers send less than 100 KB.
LZ64_BYTES_MAX = 2 * 1024 * 1024

_CHUNK = 256 * 1024

# A code of lz64 is read from five bytes: it has at most 7 bits of offset and 22 of code
# (LZ64_BYTES_MAX).
_LZ64_WINDOW = 5
_ALPHABET = (string.ascii_letters + string.digits + "+/").encode()
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
_CHARACTER_8, _CHARACTER_16, _END = 0, 1, 2


def gunzip(data: bytes, bytes_max: int) -> bytes:
    parts: list[bytes] = []
    room = bytes_max
    for _ in range(GZIP_MEMBERS_MAX):
        part, data = _inflate_stream(data, zlib.MAX_WBITS | 16, room)
        parts.append(part)
        room -= len(part)
        if not data.startswith(GZIP_MAGIC):
            return part if len(parts) == 1 else b"".join(parts)
    raise malformed(f"Failed to decompress data. More than {GZIP_MEMBERS_MAX} gzip members.")


def _inflate(data: bytes, bytes_max: int) -> bytes:
    """Undo HTTP's `deflate`, which has zlib's wrapper; some clients leave the wrapper out."""
    wrapped = len(data) > 1 and data[0] & 15 == 8 and int.from_bytes(data[:2]) % 31 == 0
    return _inflate_stream(data, zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS, bytes_max)[0]


def _inflate_stream(data: bytes, wbits: int, bytes_max: int) -> tuple[bytes, bytes]:
    """Return the content of one stream, and the data after it."""
    stream = zlib.decompressobj(wbits)
    try:
        out = stream.decompress(data, bytes_max + 1)
    except zlib.error as error:
        raise malformed(f"Failed to decompress data. {error}") from None
    if len(out) > bytes_max:
        raise BodyTooLarge(bytes_max)
    if not stream.eof:
        raise malformed("Failed to decompress data. It ends too early.")
    return out, stream.unused_data


def _unzstd(data: bytes, bytes_max: int) -> bytes:
    decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES_MAX)
    parts: list[bytes] = []
    size = 0
    try:
        with decompressor.stream_reader(data, read_across_frames=True) as reader:
            while chunk := reader.read(_CHUNK):
                size += len(chunk)
                if size > bytes_max:
                    raise BodyTooLarge(bytes_max)
                parts.append(chunk)
    except zstandard.ZstdError as error:
        raise malformed(f"Failed to decompress data. {error}") from None
    return b"".join(parts)


def _unbrotli(data: bytes, bytes_max: int) -> bytes:
    decompressor = brotli.Decompressor()
    parts: list[bytes] = []
    size = 0
    try:
        while not decompressor.is_finished():
            chunk: bytes = decompressor.process(data, output_buffer_limit=_CHUNK)
            data = b""
            size += len(chunk)
            if size > bytes_max:
                raise BodyTooLarge(bytes_max)
            if not chunk and decompressor.can_accept_more_data():
                break
            parts.append(chunk)
    except brotli.error as error:
        raise malformed(f"Failed to decompress data. {error}") from None
    return b"".join(parts)


def decompress_lz64(text: bytes, bytes_max: int) -> str:
    """Decode what JavaScript's `LZString.compressToBase64` wrote.

    Args:
        text: Base64, in which spaces stand for `+`.

    Returns:
        Text in which pairs of surrogates are joined and lone ones are U+FFFD.

    Raises:
        InvalidPayload: The text is not valid.
        BodyTooLarge: The text is longer than LZ64_BYTES_MAX, or the result has more than bytes_max
            UTF-16 units.
    """
    units = _decompress_units(_lz64_bits(text), bytes_max)
    if not units:
        raise malformed("Failed to decompress lz64 data.")
    return units.decode("utf-16-le", "replace")


def _lz64_bits(text: bytes) -> bytes:
    """Return the stream of bits, with the first one in the lowest bit of the first byte."""
    if len(text) > LZ64_BYTES_MAX:
        raise BodyTooLarge(LZ64_BYTES_MAX)
    text = text.strip(b"\r\n\t").replace(b" ", b"+").rstrip(b"=")
    if text.translate(None, _ALPHABET):
        raise malformed("lz64 data is not base64.")
    # The compressor may leave out the padding. "A" stands for six zero bits.
    packed = binascii.a2b_base64(text + b"A" * (-len(text) % 4))
    return packed.translate(_REVERSED)


def _decompress_units(bits: bytes, units_max: int) -> bytearray:
    """Return UTF-16 units of two bytes each, low byte first; empty for a stream without units.

    The dictionary holds positions in the output instead of texts: an entry is always the last text
    written and the unit after it, so that a stream cannot make it outgrow the output.
    """
    out = bytearray()
    starts, ends = [0, 0, 0], [0, 0, 0]
    position, stream_end = 0, len(bits) * 8
    width, room = 2, 1
    previous = -1
    while True:
        if position + width > stream_end:
            raise malformed("lz64 data ends too early.")
        code = _read_code(bits, position, width)
        position += width
        written = len(out)
        if code == _END:
            return out
        if code in (_CHARACTER_8, _CHARACTER_16):
            size = 8 << code
            out += _read_code(bits, position, size).to_bytes(2, "little")
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
            raise malformed("lz64 data is invalid.")
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


def _read_code(bits: bytes, position: int, width: int) -> int:
    byte = position >> 3
    window = int.from_bytes(bits[byte : byte + _LZ64_WINDOW], "little")
    return (window >> (position & 7)) & ((1 << width) - 1)


# Decompressors by their names in Content-Encoding.
DECOMPRESSORS: Mapping[str, Callable[[bytes, int], bytes]] = {
    "gzip": gunzip,
    "x-gzip": gunzip,
    "gzip-js": gunzip,
    "deflate": _inflate,
    "zstd": _unzstd,
    "br": _unbrotli,
}
