"""Events of one microsecond, of which there may be more than a page holds.

A page cannot begin within a microsecond, except where links or offsets of the source lead there.
Elsewhere both orders, and one event name at a time, show as many events as possible.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fanion.transfer.posthog.client import SourceStatusError
from fanion.transfer.posthog.event_items import PosthogEvent
from fanion.transfer.posthog.event_pages import (
    ASCENDING,
    DESCENDING,
    EventPage,
    EventPages,
    Span,
    unique_events,
)

EVENTS_MAX = 10_000  # in one response, with one name in one microsecond
PAGES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class InstantEvents:
    """The events of one microsecond.

    Attributes:
        incomplete: Names of which the source may have more events.
    """

    events: list[PosthogEvent]
    unreadable: int
    incomplete: list[str] = field(default_factory=list)


@dataclass
class Instants:
    """A reader of the events of single microseconds.

    Attributes:
        events_max: The number of events requested in one response.
    """

    pages: EventPages
    events_max: int = EVENTS_MAX
    _names: Sequence[str] | None = None

    async def events(self, span: Span, page: EventPage) -> InstantEvents:
        """Return all events of a microsecond.

        Args:
            page: The first page of its events.

        Raises:
            SourceError: The source cannot be read.
        """
        if not page.link and len(page.rows) < self.pages.longest:
            return InstantEvents(page.events, page.unreadable)
        turned = await self.pages.of_instant(span, self.pages.limit, ("orderBy", DESCENDING))
        known_events = unique_events([*page.events, *turned.events])
        if _meet(page, turned):
            return InstantEvents(known_events, page.unreadable)
        incomplete = []
        # Names of events found are added, since the definition of an event may have been deleted.
        for name in dict.fromkeys(
            [*await self._event_names(), *(event.event for event in known_events)]
        ):
            events, is_complete = await self._events_named(span, name)
            known_events += events
            incomplete += [] if is_complete else [name]
        return InstantEvents(unique_events(known_events), page.unreadable, incomplete)

    async def _events_named(self, span: Span, name: str) -> tuple[list[PosthogEvent], bool]:
        """Return the events of one name, and whether these are all."""
        first = await self._named_page(span, name, ASCENDING)
        if not first.link and len(first.rows) < self.pages.longest:
            return first.events, True
        linked, is_complete = await self._follow_links(first)
        if is_complete:
            return linked, True
        shifted, is_complete = await self._follow_offsets(span, name, linked)
        if is_complete:
            return shifted, True
        turned = await self._named_page(span, name, DESCENDING)
        return unique_events([*shifted, *turned.events]), _meet(first, turned)

    async def _follow_links(self, page: EventPage) -> tuple[list[PosthogEvent], bool]:
        """Follow links as long as they show more events: where they do, they lead to the end."""
        events, pages = page.events, 1
        while page.link and pages < PAGES_MAX:
            page = await self.pages.linked(page)
            more = unique_events([*events, *page.events])
            if len(more) == len(events):
                break
            events, pages = more, pages + 1
        return events, pages > 1 and not page.link

    async def _follow_offsets(
        self, span: Span, name: str, events: list[PosthogEvent]
    ) -> tuple[list[PosthogEvent], bool]:
        """Ask for offsets until a page is empty; servers without offsets repeat the first page."""
        for _ in range(PAGES_MAX):
            offset = ("offset", str(len(events)))
            try:
                page = await self._named_page(span, name, ASCENDING, offset)
            except SourceStatusError as error:
                if error.status != 400:
                    raise
                return events, False
            if not page.rows:
                return events, True
            more = unique_events([*events, *page.events])
            if len(more) == len(events):
                return events, False
            events = more
        return events, False

    async def _named_page(
        self, span: Span, name: str, order: str, *more: tuple[str, str]
    ) -> EventPage:
        query = (("event", name), ("orderBy", order), *more)
        return await self.pages.of_instant(span, self.events_max, *query)

    async def _event_names(self) -> Sequence[str]:
        if self._names is None:
            source = self.pages.source
            path = source.project_path("/event_definitions/")
            rows = [row async for row in source.list_rows(path)]
            self._names = [row["name"] for row in rows if _has_name(row)]
        return self._names


def _meet(page: EventPage, turned: EventPage) -> bool:
    """Return whether the pages of both orders have everything between them.

    They do where the end of one is the beginning of the other. The same events in both orders are
    everything only if neither page links to more.
    """
    ids, turned_ids = ({event.id for event in side.events} for side in (page, turned))
    if ids == turned_ids:
        return not page.link and not turned.link
    return bool(ids & turned_ids)


def _has_name(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("name"), str)
