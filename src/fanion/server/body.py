"""Which bodies are read while they come in."""

from fanion.rest.multipart_form import MULTIPART
from fanion.wire.endpoint import Headers


def comes_in_pieces(headers: Headers, bytes_max: int) -> bool:
    """A form that is not known to be small: what takes it reads it while it comes in."""
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    return media == MULTIPART and not _is_announced(headers, bytes_max)


def _is_announced(headers: Headers, bytes_max: int) -> bool:
    """The client says how large the body is, and it is not too large."""
    length = headers.get("content-length")
    if length is None or not (length.isascii() and length.isdigit()):
        return False
    return int(length) <= bytes_max
