"""A body in chunks, decoded while it comes in.

source: RFC 9112 section 7.1
"""

import re

from fanion.server.errors import MalformedRequest, TrailersTooLarge

# Of extensions and trailers, which nothing here reads: kilobytes are generous.
EXTRAS_BYTES_MAX = 8 * 1024
_SIZE_DIGITS_MAX = 16

_END = b"\r\n"
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_QUOTED = rb'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"'
_EXTENSIONS = rb"(?:;" + _TOKEN + rb"(?:=(?:" + _TOKEN + rb"|" + _QUOTED + rb"))?)*"
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,%d})(%b)" % (_SIZE_DIGITS_MAX, _EXTENSIONS))
_TRAILER = re.compile(rb"(%b):[\t -~\x80-\xff]*" % _TOKEN)
# They say where a body ends, which is past by then. source: RFC 9110 section 6.5.1
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
# The usual chunk, whole: its size without extensions.
_PLAIN = re.compile(rb"([0-9A-Fa-f]{1,7})\r\n")


class ChunkedDecoder:
    """Trailers are checked and dropped: no field of a request may come after its body here."""

    __slots__ = ("_extras", "_has_data_end", "_in_trailers", "_left", "_line", "rest")

    def __init__(self) -> None:
        self.rest: bytes | None = None
        self._left = 0  # data bytes of the present chunk
        self._has_data_end = True  # the line end after the data of a chunk is through
        self._in_trailers = False
        self._line = b""  # the beginning of a line whose end has not come
        self._extras = 0

    def feed(self, data: bytes) -> bytes:
        """What `data` holds of the body. Once the body has ended, `rest` is what follows it.

        raises: MalformedRequest, TrailersTooLarge
        """
        pieces: list[bytes] = []
        at, size = 0, len(data)
        while at < size and self.rest is None:
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
            elif (whole := self._whole_chunk(data, at)) is not None:
                piece, at = whole
                pieces.append(piece)
            else:
                at = self._read_line(data, at)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _whole_chunk(self, data: bytes, at: int) -> tuple[bytes, int] | None:
        """The chunk at this place, and where it ends, when it is a plain one and all there."""
        if self._line or self._in_trailers or not self._has_data_end:
            return None
        matched = _PLAIN.match(data, at)
        if matched is None:
            return None
        start = matched.end()
        end = start + int(matched[1], 16)
        if end == start or data[end : end + 2] != _END:
            return None
        return data[start:end], end + 2

    def _read_line(self, data: bytes, at: int) -> int:
        """Where the line that begins at this place ends."""
        known = self._line
        # One more byte than a line may have is enough to refuse it.
        line = known + data[at : at + EXTRAS_BYTES_MAX + _SIZE_DIGITS_MAX + 3]
        end = line.find(_END)
        if end < 0:
            self._require_room(len(line) - _SIZE_DIGITS_MAX - 1)
            if not self._has_data_end and line != b"\r":
                raise MalformedRequest("The data of a chunk does not end where its size says.")
            self._line = line
            return len(data)
        self._line = b""
        self._take_line(line[:end], data, at := at + end + 2 - len(known))
        return at

    def _take_line(self, line: bytes, data: bytes, end: int) -> None:
        if not self._has_data_end:
            if line:
                raise MalformedRequest("The data of a chunk does not end where its size says.")
            self._has_data_end = True
        elif self._in_trailers:
            self._take_trailer(line, data, end)
        else:
            self._take_size(line)

    def _take_size(self, line: bytes) -> None:
        matched = _SIZE_LINE.fullmatch(line)
        if matched is None:
            raise MalformedRequest("The size of a chunk is not a hexadecimal number.")
        self._charge(len(matched[2]))
        self._left = int(matched[1], 16)
        self._in_trailers = self._left == 0
        self._has_data_end = self._in_trailers

    def _take_trailer(self, line: bytes, data: bytes, end: int) -> None:
        if not line:
            self.rest = data[end:]
            return
        self._charge(len(line))
        matched = _TRAILER.fullmatch(line)
        if matched is None or matched[1].lower() in _FRAMING:
            raise MalformedRequest("A trailer is not a header, or says how the body is framed.")

    def _charge(self, size: int) -> None:
        self._require_room(size)
        self._extras += size

    def _require_room(self, size: int) -> None:
        if self._extras + size > EXTRAS_BYTES_MAX:
            raise TrailersTooLarge(EXTRAS_BYTES_MAX)
