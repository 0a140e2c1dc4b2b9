"""The copy of the events of a source, the oldest first.

Events keep their ids and times, so that an event copied twice is stored once. Each page ends before
the time of its last event, from which the next one begins, and the copy ends with an empty page:
whatever a page may hold, no event is lost between two pages. The progress is written after each
page.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from fanion.db.engine import RecordsUnavailable
from fanion.transfer.posthog.client import Source, SourceError
from fanion.transfer.posthog.copy_progress import OLDEST, CopyProgress, CopyStart, start_of
from fanion.transfer.posthog.event_counts import SourceCount, count_events
from fanion.transfer.posthog.event_items import PosthogEvent, item_of
from fanion.transfer.posthog.event_pages import INSTANT, EventPage, Span
from fanion.transfer.posthog.instant_events import Instants
from fanion.transfer.posthog.sink_client import ProgressStore, Sink

INCOMPLETE_MAX = 100
# A source sorts the events of a span: few enough to be quick, and enough for several pages.
SPAN_EVENTS = 10_000
# Servers that look back only a day without `after` do so from the end of the oldest span.
FIRST_WIDTH = timedelta(days=1) - INSTANT
WIDTH_MAX = timedelta(days=365)  # PostHog refuses more than a year
GROWTH_MAX = 64


@dataclass
class Copied:
    """The figures of what a run has copied.

    Attributes:
        events: The number of events handed in.
        earlier: The number of events that earlier runs of the same copy handed in.
        start: The beginning of this run; None when the source has no events.
        unreadable: The number of events that were left out because they cannot be read.
        too_large: The number of events that were left out because they are too large.
        incomplete: Times and names of which the source could not list all events.
        counted: The number of events that the source itself counts, at the end.
        uncounted: Why the source does not count them.
        differs: Whether that number is not the number of events handed in.
    """

    events: int = 0
    earlier: int = 0
    start: datetime | None = None
    unreadable: int = 0
    too_large: int = 0
    incomplete: list[str] = field(default_factory=list)
    counted: int | None = None
    uncounted: str = ""
    differs: bool = False

    @property
    def is_complete(self) -> bool:
        """True if no event is known to be missing."""
        return not (self.differs or self.incomplete or self.unreadable or self.too_large)


@dataclass
class EventCopy:
    """One run of a copy.

    Attributes:
        since: Chosen by the operator.
        until: Chosen by the operator, and at the latest now.
        on_progress: Called after each page with the counts and the time reached.
    """

    instants: Instants
    sink: Sink
    progress: ProgressStore
    now: Callable[[], datetime]
    since: datetime | None
    until: datetime
    on_progress: Callable[[Copied, datetime], None]
    copied: Copied = field(default_factory=Copied)

    async def run(self) -> Copied:
        """Copy until no event is left.

        Raises:
            SourceError: The copy ended early; the next run resumes there.
            SinkError: The copy ended early; the next run resumes there.
        """
        start = start_of(await self.progress.load_progress(), self.since)
        self.copied.earlier = start.events
        self.copied.start = None if start.at == OLDEST else start.at
        before = await count_events(self._source, start.copied_from, self.until)
        at, width = start.at, FIRST_WIDTH
        while at < self.until:
            span = Span(at, min(at + width, self.until))
            page = await self.instants.pages.ascending(span)
            at = await self._copy_page(page) or span.end
            width = _width(span, at, len(page.rows))
            if self.copied.start is not None:
                await self._save_progress(start, at, is_finished=False)
                self.on_progress(self.copied, at)
        if self.copied.start is not None:
            await self._save_progress(start, max(at, self.until), is_finished=True)
        await self._compare_counts(start, before)
        return self.copied

    @property
    def _source(self) -> Source:
        return self.instants.pages.source

    async def _copy_page(self, page: EventPage) -> datetime | None:
        """Copy the events before the last time of a page.

        Returns:
            Where the next page begins; None if this one has no times.
        """
        if not page.times:
            await self._write_events([], page.unreadable)
            return None
        first, last = page.times[0], page.times[-1]
        if self.copied.start is None:
            self.copied.start = first
        if first < last:
            page = page.before(last)
            await self._write_events(page.events, page.unreadable)
            return last
        after = last + INSTANT
        instant = await self.instants.events(Span(last, after), page)
        await self._write_events(instant.events, instant.unreadable)
        self.copied.incomplete += [f"{last.isoformat()} {name}" for name in instant.incomplete]
        if len(self.copied.incomplete) > INCOMPLETE_MAX:
            raise SourceError("the source cannot list its events by time")
        return after

    async def _write_events(self, events: Sequence[PosthogEvent], unreadable: int) -> None:
        self.copied.unreadable += unreadable
        if events:
            too_large = await self.sink.write_events([item_of(event) for event in events])
            self.copied.too_large += too_large
            self.copied.events += len(events) - too_large

    async def _compare_counts(self, start: CopyStart, before: SourceCount) -> None:
        """Compare with the source's own count; events may arrive there during the copy."""
        copied = self.copied
        after = before
        if before.events is not None:
            after = await count_events(self._source, start.copied_from, self.until)
        copied.counted, copied.uncounted = after.events, after.why
        if before.events is not None and after.events is not None:
            low, high = sorted((before.events, after.events))
            copied.differs = not low <= copied.earlier + copied.events <= high
            if not copied.differs:
                copied.incomplete.clear()  # everything could be listed after all

    async def _save_progress(
        self, start: CopyStart, copied_upto: datetime, *, is_finished: bool
    ) -> None:
        """Write how far the copy is; if that fails, the next run copies some events again."""
        events = self.copied.earlier + self.copied.events
        progress = CopyProgress(self.since, copied_upto, is_finished, start.copied_from, events)
        try:
            await self.progress.save_progress(progress, self.now())
        except RecordsUnavailable:
            if is_finished:
                raise


def _width(span: Span, at: datetime, rows: int) -> timedelta:
    """Return the width of the next span, which aims at SPAN_EVENTS."""
    factor = SPAN_EVENTS / rows if rows else GROWTH_MAX
    return min(max((at - span.start) * factor, INSTANT), WIDTH_MAX)
