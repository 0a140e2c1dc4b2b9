"""Events of a source, copied in the order in which they happened.

Each keeps its id and time, so that events copied twice are stored once. The progress is written
after each window.
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
from fanion.transfer.posthog.client import AnswerTooLarge, Query, Source, SourceError
from fanion.transfer.posthog.sink_client import ProgressStore, Sink
from fanion.transfer.posthog.windows import (
    INSTANT,
    OLDEST,
    CopyProgress,
    Walk,
    Window,
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
    """In the order given, and how many could not be read."""
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
    """With its own id and time, so that it is stored once however often it is sent."""
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
        # Made of the groups and of the indexes that their types have: here they may be others.
        for name in _DERIVED:
            properties.pop(name, None)
    if body.elements_chain:
        properties.setdefault("$elements_chain", body.elements_chain)
    return properties


ANSWER_EVENTS_MAX = 2_000  # some 4 MB
WINDOW_EVENTS_MAX = 10_000  # held in memory, since lists begin with the newest
INSTANT_EVENTS_MAX = 10_000  # of one name in one microsecond
INCOMPLETE_MAX = 100
_DAY = timedelta(days=1)


@dataclass
class Copied:
    """events: handed in; start: from when on, None when the source has none
    unreadable, too_large: events that were left out
    incomplete: instants of which the source could not list all
    """

    events: int = 0
    start: datetime | None = None
    unreadable: int = 0
    too_large: int = 0
    incomplete: list[str] = field(default_factory=list)


@dataclass
class EventCopy:
    """since, until: as the operator chose; until is at the latest now
    on_progress: called after each window with the counts and the time reached
    answer_max, window_max, instant_max: events in one answer, in one window, and of one name in
           one microsecond
    """

    source: Source
    sink: Sink
    progress: ProgressStore
    now: Callable[[], datetime]
    since: datetime | None
    until: datetime
    on_progress: Callable[[Copied, datetime], None]
    answer_max: int = ANSWER_EVENTS_MAX
    window_max: int = WINDOW_EVENTS_MAX
    instant_max: int = INSTANT_EVENTS_MAX
    copied: Copied = field(default_factory=Copied)
    _names: Sequence[str] | None = None

    async def run(self) -> Copied:
        """raises: SourceError, SinkError; another run goes on from there"""
        start = start_of(await self.progress.get(), self.since)
        self.copied.start = start if start is not None else await self._oldest()
        if self.copied.start is not None:
            walk = Walk(self.copied.start, self.until, self.window_max)
            while (window := walk.window()) is not None:
                await self._take(walk, window)
            await self._put(max(walk.at, self.until), is_finished=True)
        return self.copied

    async def _take(self, walk: Walk, window: Window) -> None:
        if window.is_crowded:
            await self._take_instant(window)
            walk.go_on(window, 0)
        else:
            found = await self._collect(walk, window)
            if found is None:
                return
            await self._hand_in(found)
            walk.go_on(window, len(found))
        await self._put(walk.at, is_finished=False)
        self.on_progress(self.copied, walk.at)

    async def _collect(self, walk: Walk, window: Window) -> list[PosthogEvent] | None:
        """All of a window, the newest first; None when another window is to be tried."""
        found: dict[UUID, PosthogEvent] = {}
        end = window.end
        while True:
            page, is_full = await self._events(Window(window.start, end), self.answer_max)
            found.update((one.id, one) for one in page if one.id not in found)
            if not is_full:
                return list(found.values())
            if not page:
                raise SourceError("the source returns no event in a known shape")
            newest, oldest = time_of(page[0]), time_of(page[-1])
            if newest == oldest:
                walk.crowd(oldest)
                return None
            if len(found) > self.window_max:
                walk.narrow(window, oldest)
                return None
            end = oldest + INSTANT

    async def _take_instant(self, window: Window) -> None:
        """One name at a time; the source has no way to list more of one name and time."""
        page, _ = await self._events(window, self.answer_max)
        # A definition may have been deleted, its events are there.
        names = dict.fromkeys([*await self._event_names(), *(one.event for one in page)])
        for name in names:
            found, is_full = await self._events(window, self.instant_max, ("event", name))
            await self._hand_in(found)
            if is_full:
                self.copied.incomplete.append(f"{window.start.isoformat()} {name}")
        if len(self.copied.incomplete) > INCOMPLETE_MAX:
            raise SourceError("the source does not list its events one window after the other")

    async def _hand_in(self, found: Sequence[PosthogEvent]) -> None:
        """found: the newest first"""
        if found:
            items = [item_of(one) for one in reversed(found)]
            too_large = await self.sink.take(items)
            self.copied.too_large += too_large
            self.copied.events += len(items) - too_large

    async def _events(
        self, window: Window, limit: int, *more: tuple[str, str]
    ) -> tuple[list[PosthogEvent], bool]:
        """The newest of a window, and whether there are more."""
        while True:
            try:
                page = await self._page(window, limit, *more)
                break
            except AnswerTooLarge:
                if limit == 1:
                    raise
                limit = max(limit // 10, 1)
                self.answer_max = min(self.answer_max, limit)
        raw = page.get("results") if isinstance(page, dict) else None
        if not isinstance(raw, list):
            raise SourceError("the events of the source are no list")
        found, unreadable = read_events(raw)
        self.copied.unreadable += unreadable
        return found, bool(page.get("next")) or len(raw) >= limit

    async def _page(self, window: Window, limit: int, *more: tuple[str, str]) -> Any:
        asked: Query = (("limit", str(limit)), ("before", window.end.isoformat()), *more)
        if window.start > OLDEST:
            asked = (*asked, ("after", (window.start - INSTANT).isoformat()))
        return await self.source.get(self.source.of_project("/events/"), asked)

    async def _event_names(self) -> Sequence[str]:
        if self._names is None:
            path = self.source.of_project("/event_definitions/")
            rows = [row async for row in self.source.rows(path)]
            self._names = [row["name"] for row in rows if _has_name(row)]
        return self._names

    async def _oldest(self) -> datetime | None:
        """A day at most before the first event; None when there is none before the end."""
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

    async def _put(self, copied_upto: datetime, *, is_finished: bool) -> None:
        """Progress that is not written down only costs another run some work."""
        try:
            await self.progress.put(CopyProgress(self.since, copied_upto, is_finished), self.now())
        except RecordsUnavailable:
            if is_finished:
                raise


def _has_name(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("name"), str)
