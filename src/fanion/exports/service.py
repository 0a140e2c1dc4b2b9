"""Exports that are answered, whole or one page of them, and only a few at once."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import Final

from fanion.errors import Unavailable
from fanion.events.storage.store import EventStore
from fanion.exports.model import EXPORTS_AT_ONCE_MAX, PAGE_ROWS_MAX, Page, Pages

_RETRY_AFTER_S: Final = 30
# What is handed to the connection at once.
_PIECE_BYTES: Final = 256 * 1024


class Exports:
    """The exports that a server answers, each of which holds one page in memory.

    Attributes:
        events: The event store.
        running: The number of exports that are being answered.
    """

    def __init__(self, events: EventStore, at_once_max: int = EXPORTS_AT_ONCE_MAX) -> None:
        self.events = events
        self._at_once_max = at_once_max
        self.running = 0

    async def open_export(
        self, pages: Pages, rows_max: int | None = None
    ) -> tuple[Page, AsyncGenerator[bytes]]:
        """Return the first page, and an export that begins with it, piece by piece.

        The export counts as running until all pieces are read or it is closed. Reading it raises
        when a page cannot be read, so that it is recognised as broken.

        Args:
            rows_max: The rows of the only page; None for all pages.

        Raises:
            Unavailable: Too many exports are being answered.
            Invalid: The rows cannot be selected.
            EventStoreUnavailable: The event store failed.
        """
        read = self._read(pages, rows_max)
        first = await anext(read)
        return first, _pieces(pages.head, first, read)

    async def _read(self, pages: Pages, rows_max: int | None) -> AsyncGenerator[Page]:
        with self._place():
            while True:
                page = await pages.next_page(rows_max or PAGE_ROWS_MAX)
                yield page
                if rows_max is not None or page.next is None:
                    return

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self.running >= self._at_once_max:
            raise Unavailable(
                f"At most {self._at_once_max} exports are answered at once. Please retry.",
                retry_after_s=_RETRY_AFTER_S,
            )
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1


async def _pieces(head: bytes, first: Page, read: AsyncGenerator[Page]) -> AsyncGenerator[bytes]:
    async with aclosing(read):
        if head:
            yield head
        for piece in _cut(first.text):
            yield piece
        async for page in read:
            for piece in _cut(page.text):
                yield piece


def _cut(text: bytes) -> Iterator[bytes]:
    return (text[start : start + _PIECE_BYTES] for start in range(0, len(text), _PIECE_BYTES))
