"""Heads that were parsed before. A client sends the same one again and again, or one of a few that
differ in the length of their bodies; to look it up takes 0.5 µs and spares a request 7."""

from collections.abc import Callable
from dataclasses import dataclass

from fanion.server.prompt import Prompt
from fanion.server.request_head import RequestHead

HEAD_BYTES_MAX = 1_500
HEADS_MAX = 1_000  # with what they say 3 MB, 5 if they are long
_END = b"\r\n\r\n"
# With these, the bytes behind the head are not just a body of a known length.
_SPECIAL = ("transfer-encoding", "expect")


@dataclass(frozen=True, slots=True)
class KnownHead:
    """bytes:      that the head takes up
    body_bytes: that follow it
    prompt:     how requests with it are answered without a task
    """

    head: RequestHead
    bytes: int
    body_bytes: int
    prompt: Prompt | None


class KnownHeads:
    def __init__(self) -> None:
        self._heads: dict[bytes, KnownHead] = {}
        self._prompt: Callable[[RequestHead], Prompt | None] = _none

    def forget(self, prompt: Callable[[RequestHead], Prompt | None]) -> None:
        """Requests are answered otherwise from now on."""
        self._heads.clear()
        self._prompt = prompt

    def find(self, data: bytes) -> KnownHead | None:
        """The head at the beginning of a message."""
        end = data.find(_END, 0, HEAD_BYTES_MAX)
        return None if end < 0 else self._heads.get(data[: end + 4])

    def keep(self, raw: bytes, head: RequestHead) -> None:
        """raw: the head as `head_of` has found it"""
        length = head.headers.get("content-length", "0")
        is_special = any(name in head.headers for name in _SPECIAL)
        if is_special or not head.keep_alive or not (length.isascii() and length.isdigit()):
            return
        if len(self._heads) >= HEADS_MAX:
            self._heads.clear()
        self._heads[raw] = KnownHead(head, len(raw), int(length), self._prompt(head))


def head_of(data: bytes) -> bytes:
    """The whole head at the beginning of a message; empty when it is not there, or is long."""
    # The parser sees no other end: it refuses lines that end with a line feed alone.
    end = data.find(_END, 0, HEAD_BYTES_MAX)
    # Empty lines may stand before a request.
    return data[: end + 4] if end > 0 and data[:1].isupper() else b""


def _none(_: RequestHead) -> Prompt | None:
    return None
