"""Copies the events of a source, the oldest first.

Events keep their ids and times, so that an event copied twice is stored once. The progress is
written after each window.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from fanion.db.engine import RecordsUnavailable
from fanion.groups.model import GROUP_TYPES_MAX
from fanion.transfer.posthog.client import Query, ResponseTooLarge, Source, SourceError
from fanion.transfer.posthog.sink_client import ProgressStore, Sink
from fanion.transfer.posthog.windows import (
    INSTANT,
    OLDEST,
    CopyProgress,
    Window,
    Windows,
    middle,
    start_of,
)

_DERIVED = tuple(f"$group_{index}" for index in range(GROUP_TYPES_MAX))
_encode = msgspec.json.Encoder().encode


class PosthogEvent(Struct):
    id: UUID
    event: str
    distinct_id: str
    timestamp: datetime
    properties: dict[str, Any] = {}
    elements_chain: str | None = None


def read_events(raw: Sequence[object]) -> tuple[list[PosthogEvent], int]:
    """Events in the given order, and the number of invalid ones."""
    found: list[PosthogEvent] = []
    for one in raw:
        try:
            found.append(msgspec.convert(one, PosthogEvent))
        except msgspec.ValidationError:
            continue
    return found, len(raw) - len(found)


def time_of(body: PosthogEvent) -> datetime:
    """Without a zone it is UTC."""
    time = body.timestamp
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def item_of(body: PosthogEvent) -> bytes:
    """Body of a capture request for the event, with its own id and time."""
    return _encode(
        {
            "event": body.event,
            "distinct_id": body.distinct_id,
            "uuid": body.id,
            "timestamp": time_of(body).isoformat(),
            "properties": _properties(body),
        }
    )


def _properties(body: PosthogEvent) -> Mapping[str, Any]:
    properties = dict(body.properties)
    if "$groups" in properties:
        # Derived from the groups and the indexes of their types, which differ between projects.
        for name in _DERIVED:
            properties.pop(name, None)
    if body.elements_chain:
        properties.setdefault("$elements_chain", body.elements_chain)
    return properties


RESPONSE_EVENTS_MAX = 2_000  # about 4 MB
WINDOW_EVENTS_MAX = 10_000  # held in memory, since the source lists the newest first
INSTANT_EVENTS_MAX = 10_000  # with one name in one microsecond
INCOMPLETE_MAX = 100
_DAY = timedelta(days=1)


@dataclass
class Copied:
    """events:     number of events written
    start:      beginning of the copy; None when the source has no events
    unreadable, too_large: numbers of events that were left out
    incomplete: times and names of which the source could not list all events
    """

    events: int = 0
    start: datetime | None = None
    unreadable: int = 0
    too_large: int = 0
    incomplete: list[str] = field(default_factory=list)


@dataclass
class EventCopy:
    """since, until: chosen by the operator; until is at the latest now
    on_progress: called after each window with the counts and the time reached
    response_max, window_max, instant_max: events in one response, in one window, and with one
           name in one microsecond
    """

    source: Source
    sink: Sink
    progress: ProgressStore
    now: Callable[[], datetime]
    since: datetime | None
    until: datetime
    on_progress: Callable[[Copied, datetime], None]
    response_max: int = RESPONSE_EVENTS_MAX
    window_max: int = WINDOW_EVENTS_MAX
    instant_max: int = INSTANT_EVENTS_MAX
    copied: Copied = field(default_factory=Copied)
    _names: Sequence[str] | None = None

    async def run(self) -> Copied:
        """raises: SourceError, SinkError; the next run resumes there"""
        start = start_of(await self.progress.get(), self.since)
        self.copied.start = start if start is not None else await self._oldest()
        if self.copied.start is not None:
            windows = Windows(self.copied.start, self.until, self.window_max)
            while (window := windows.window()) is not None:
                await self._copy(windows, window)
            await self._save_progress(max(windows.at, self.until), is_finished=True)
        return self.copied

    async def _copy(self, windows: Windows, window: Window) -> None:
        if window.is_crowded:
            await self._copy_instant(window)
            windows.advance(window, 0)
        else:
            found = await self._collect(windows, window)
            if found is None:
                return
            await self._write(found)
            windows.advance(window, len(found))
        await self._save_progress(windows.at, is_finished=False)
        self.on_progress(self.copied, windows.at)

    async def _collect(self, windows: Windows, window: Window) -> list[PosthogEvent] | None:
        """All events of a window, the newest first; None when a smaller window must be tried."""
        found: dict[UUID, PosthogEvent] = {}
        end = window.end
        while True:
            page, is_full = await self._events(Window(window.start, end), self.response_max)
            found.update((one.id, one) for one in page if one.id not in found)
            if not is_full:
                return list(found.values())
            if not page:
                raise SourceError("the source returns no events in a known format")
            newest, oldest = time_of(page[0]), time_of(page[-1])
            if newest == oldest:
                windows.crowd(oldest)
                return None
            if len(found) > self.window_max:
                windows.narrow(window, oldest)
                return None
            end = oldest + INSTANT

    async def _copy_instant(self, window: Window) -> None:
        """One event name at a time; the API cannot list more events of one name and time."""
        page, _ = await self._events(window, self.response_max)
        # Events exist whose definition has been deleted.
        names = dict.fromkeys([*await self._event_names(), *(one.event for one in page)])
        for name in names:
            found, is_full = await self._events(window, self.instant_max, ("event", name))
            await self._write(found)
            if is_full:
                self.copied.incomplete.append(f"{window.start.isoformat()} {name}")
        if len(self.copied.incomplete) > INCOMPLETE_MAX:
            raise SourceError("the source cannot list its events by time")

    async def _write(self, found: Sequence[PosthogEvent]) -> None:
        """found: the newest first"""
        if found:
            items = [item_of(one) for one in reversed(found)]
            too_large = await self.sink.take(items)
            self.copied.too_large += too_large
            self.copied.events += len(items) - too_large

    async def _events(
        self, window: Window, limit: int, *more: tuple[str, str]
    ) -> tuple[list[PosthogEvent], bool]:
        """The newest events of a window, and whether there are more."""
        while True:
            try:
                page = await self._page(window, limit, *more)
                break
            except ResponseTooLarge:
                if limit == 1:
                    raise
                limit = max(limit // 10, 1)
                self.response_max = min(self.response_max, limit)
        raw = page.get("results") if isinstance(page, dict) else None
        if not isinstance(raw, list):
            raise SourceError("the source does not return a list of events")
        found, unreadable = read_events(raw)
        self.copied.unreadable += unreadable
        return found, bool(page.get("next")) or len(raw) >= limit

    async def _page(self, window: Window, limit: int, *more: tuple[str, str]) -> Any:
        asked: Query = (("limit", str(limit)), ("before", window.end.isoformat()), *more)
        if window.start > OLDEST:
            asked = (*asked, ("after", (window.start - INSTANT).isoformat()))
        return await self.source.get(self.source.project_path("/events/"), asked)

    async def _event_names(self) -> Sequence[str]:
        if self._names is None:
            path = self.source.project_path("/event_definitions/")
            rows = [row async for row in self.source.rows(path)]
            self._names = [row["name"] for row in rows if _has_name(row)]
        return self._names

    async def _oldest(self) -> datetime | None:
        """A time at most a day before the first event; None when there is none before `until`."""
        low, high = OLDEST, self.until
        if not await self._has_any_before(high):
            return None
        while high - low > _DAY:
            between = middle(low, high)
            if await self._has_any_before(between):
                high = between
            else:
                low = between
        return low

    async def _has_any_before(self, end: datetime) -> bool:
        found, is_full = await self._events(Window(OLDEST, end), 1)
        return bool(found) or is_full

    async def _save_progress(self, copied_upto: datetime, *, is_finished: bool) -> None:
        """Lost progress is only copied again by the next run."""
        try:
            await self.progress.put(CopyProgress(self.since, copied_upto, is_finished), self.now())
        except RecordsUnavailable:
            if is_finished:
                raise


def _has_name(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("name"), str)
