"""The events of an export, page by page."""

from collections.abc import Collection
from datetime import date, timedelta
from typing import Final

from fanion.errors import Invalid
from fanion.events.event import EventRejected, StatementFailed
from fanion.events.storage.export_query import HEADS, ExportPage, ExportQuery, Place
from fanion.events.storage.store import EventStore
from fanion.exports.model import PAGE_BYTES_MAX, Page, write_cursor

# The first statement reads few events, the next ones as many as have PAGE_BYTES_MAX by then.
_FIRST_ROWS: Final = 2_000
_ROWS_MAX: Final = 50_000
# Days that one statement reads while there are enough events in them, and otherwise twice as many.
_DAYS: Final = 8
_DAYS_MAX: Final = 2**18
# The store holds times up to this day.
_LAST_DAY: Final = date(2299, 12, 31)
# Codes by which the engine says that a statement takes too much time or memory.
_TOO_MUCH: Final[Collection[int]] = frozenset((159, 160, 241, 307, 396))


class EventPages:
    """The events of one export, in the order of the event store.

    Args:
        after: The place behind which the export continues; None from its beginning.
    """

    def __init__(
        self, store: EventStore, project_id: int, query: ExportQuery, after: Place | None = None
    ) -> None:
        self._store = store
        self._project_id = project_id
        self._query = query
        self._place = after
        self._is_begun = after is not None
        self._rows = _FIRST_ROWS
        self._days = _DAYS
        is_ending = query.end is not None and not query.by_acceptance
        self._last_day = min(query.end.date(), _LAST_DAY) if query.end and is_ending else _LAST_DAY

    @property
    def head(self) -> bytes:
        return HEADS[self._query.format]

    async def next_page(self, rows_max: int) -> Page:
        """Return the next page.

        Raises:
            Invalid: A property cannot be compared.
            EventStoreUnavailable: The event store failed.
        """
        try:
            return await self._next_page(rows_max)
        except EventRejected as error:
            raise Invalid(f"Properties cannot be compared: {error}.", attr="properties") from None

    async def _next_page(self, rows_max: int) -> Page:
        begin = await self._begin()
        texts: list[bytes] = []
        last: Place | None = None
        rows = size = 0
        while self._place is not None and rows < rows_max and size < PAGE_BYTES_MAX:
            portion = await self._portion(self._place, rows_max - rows)
            texts.append(portion.text)
            rows, size, last = rows + portion.rows, size + portion.size, portion.last or last
        if self._query.format == "parquet":
            texts = [await self._parquet(begin, last, rows)]
        return Page(rows, b"".join(texts), self._place and write_cursor(self._place))

    async def _begin(self) -> Place:
        """Return where the page begins, which is the day of the first event at the beginning."""
        if not self._is_begun:
            first = await self._store.first_day(self._project_id, self._query)
            self._place = None if first is None else Place(first)
            self._is_begun = True
        return self._place or Place(_LAST_DAY)

    async def _portion(self, place: Place, rows_max: int) -> ExportPage:
        """Read what one statement can, and move on behind it."""
        while True:
            limit = min(self._rows, rows_max)
            last_day = min(self._last_day, _days_later(place.day, self._days - 1))
            try:
                portion = await self._store.export_page(
                    self._project_id, self._query, place, last_day, limit
                )
            except StatementFailed as error:
                if error.code not in _TOO_MUCH or not self._take_less(limit):
                    raise
                continue
            self._adapt(portion, limit)
            self._place = self._following(portion, last_day, limit)
            return portion

    def _take_less(self, limit: int) -> bool:
        """Halve what a statement reads, and return whether it can be less."""
        is_least = limit == 1 and self._days == 1
        self._rows, self._days = max(1, limit // 2), max(1, self._days // 2)
        return not is_least

    def _adapt(self, portion: ExportPage, limit: int) -> None:
        """Choose how much the next statement reads, by what the last one has found."""
        mean = portion.size // portion.rows + 1 if portion.rows else 1
        self._rows = min(max(PAGE_BYTES_MAX // mean, 1), _ROWS_MAX)
        is_full = portion.rows > limit // 2
        self._days = _DAYS if is_full else min(2 * self._days, _DAYS_MAX)

    def _following(self, portion: ExportPage, last_day: date, limit: int) -> Place | None:
        if portion.rows >= limit:
            return portion.last
        return None if last_day >= self._last_day else Place(_days_later(last_day, 1))

    async def _parquet(self, begin: Place, last: Place | None, rows: int) -> bytes:
        return await self._store.export_parquet(
            self._project_id, self._query, begin, last or begin, rows
        )


def _days_later(day: date, days: int) -> date:
    return day + timedelta(days=min(days, (_LAST_DAY - day).days))
