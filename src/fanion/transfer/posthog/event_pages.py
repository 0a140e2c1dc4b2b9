"""Pages of a source's events, by ascending time.

Servers differ in how many events they return at most, in what they link to as the next page, and
in how far they look back without `after`. So nothing is concluded from the length of a page or
from its link, except that a link says that there is more.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from fanion.transfer.posthog.client import (
    Query,
    ResponseTooLarge,
    Source,
    SourceError,
    link_of,
)
from fanion.transfer.posthog.copy_progress import OLDEST
from fanion.transfer.posthog.event_items import PosthogEvent, Row, read_row

RESPONSE_EVENTS_MAX = 2_000  # about 4 MB
INSTANT = timedelta(microseconds=1)
ASCENDING, DESCENDING = '["timestamp"]', '["-timestamp"]'


@dataclass(frozen=True, slots=True)
class Span:
    """The time in [start, end)."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class EventPage:
    """One page of events.

    Attributes:
        link: The query of the next page; empty if the source names none.
    """

    rows: Sequence[Row]
    link: Query = ()

    @property
    def events(self) -> list[PosthogEvent]:
        """The readable events, each id once."""
        return unique_events(row for row in self.rows if isinstance(row, PosthogEvent))

    @property
    def unreadable(self) -> int:
        """The number of rows that are not events in a known format."""
        return sum(not isinstance(row, PosthogEvent) for row in self.rows)

    @property
    def times(self) -> list[datetime]:
        return [row.time for row in self.rows if row is not None]

    def before(self, time: datetime) -> "EventPage":
        """Return the rows before the first one of this time."""
        index = next(n for n, row in enumerate(self.rows) if row is not None and row.time >= time)
        return EventPage(self.rows[:index])


def unique_events(events: Iterable[PosthogEvent]) -> list[PosthogEvent]:
    """Return the events without those whose id occurred before."""
    return list({event.id: event for event in events}.values())


@dataclass
class EventPages:
    """A reader of pages of events.

    Attributes:
        limit: The number of events that a response may have; reduced when a response is too large.
        longest: The length of the longest page so far: the source's own limit is not smaller.
    """

    source: Source
    limit: int = RESPONSE_EVENTS_MAX
    longest: int = 0

    async def ascending(self, span: Span) -> EventPage:
        """Return the oldest events of a span.

        Events outside of the span are left out, since a source may compare times less exactly.

        Raises:
            SourceError: The source cannot be read, or does not list events by ascending time.
        """
        page = await self._read_page(span, self.limit, (("orderBy", ASCENDING),))
        self.longest = max(self.longest, len(page.rows))
        if page.rows and all(time < span.start for time in page.times):
            raise SourceError("the source returns events without a time, or of another time")
        if page.times != sorted(page.times):
            raise SourceError("the source does not list its events by ascending time")
        rows = [row for row in page.rows if row is None or span.start <= row.time < span.end]
        return EventPage(rows, page.link)

    async def of_instant(self, span: Span, limit: int, *more: tuple[str, str]) -> EventPage:
        """Return a page of the events of one microsecond.

        Raises:
            SourceError: The source cannot be read.
        """
        return await self._read_page(span, limit, more)

    async def linked(self, page: EventPage) -> EventPage:
        """Return the page that a page links to.

        Raises:
            SourceError: The source cannot be read.
        """
        return self._parse_page(await self.source.get(self._path, page.link))

    @property
    def _path(self) -> str:
        return self.source.project_path("/events/")

    async def _read_page(self, span: Span, limit: int, more: Query) -> EventPage:
        while True:
            try:
                return self._parse_page(
                    await self.source.get(self._path, _page_query(span, limit, more))
                )
            except ResponseTooLarge:
                if limit == 1:
                    raise
                limit = max(limit // 10, 1)
                self.limit = min(self.limit, limit)

    def _parse_page(self, page: Any) -> EventPage:
        raw = page.get("results") if isinstance(page, dict) else None
        if not isinstance(raw, list):
            raise SourceError("the source does not return a list of events")
        return EventPage(list(map(read_row, raw)), link_of(self._path, page))


def _page_query(span: Span, limit: int, more: Query) -> Query:
    """Return the query of a page.

    `after` excludes its own time, and is left out where nothing can be before it.
    """
    query = (("limit", str(limit)), ("before", span.end.isoformat()), *more)
    if span.start <= OLDEST:
        return query
    return (*query, ("after", (span.start - INSTANT).isoformat()))
