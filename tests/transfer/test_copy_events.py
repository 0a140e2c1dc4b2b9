"""Events of a source, each handed in once and in their order, whatever the source is like."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json

from fanion.db.engine import Records
from fanion.transfer.posthog.client import Source, SourceError, open_source
from fanion.transfer.posthog.copy_events import Copied, EventCopy
from fanion.transfer.posthog.sink_client import ProgressStore
from fanion.transfer.posthog.windows import LATE, OLDEST, CopyProgress, start_of
from tests.support.scripted_source import Answer, Asked, scripted

FIRST = datetime(2024, 1, 1, tzinfo=UTC)
UNTIL = datetime(2025, 1, 1, tzinfo=UTC)

Json = dict[str, Any]


@dataclass
class Heap:
    """A sink that keeps what it is given, in the order given."""

    items: list[Json] = field(default_factory=list)
    fails_after: int | None = None

    async def take(self, items: Sequence[bytes]) -> int:
        for item in items:
            if self.fails_after is not None and len(self.items) >= self.fails_after:
                raise SourceError("killed")
            self.items.append(json.decode(item))
        return 0

    async def ingested(self) -> bool:
        return True


@dataclass
class Memory:
    """In the place of the records store."""

    progress: CopyProgress | None = None

    async def get(self) -> CopyProgress | None:
        return self.progress

    async def put(self, progress: CopyProgress, _: datetime) -> None:
        self.progress = progress


def event(number: int, time: datetime, name: str = "e", **properties: Any) -> Json:
    return {
        "id": str(UUID(int=number)),
        "event": name,
        "distinct_id": "u",
        "timestamp": time.isoformat(),
        "properties": properties,
        "elements_chain": "",
    }


@dataclass
class Listed:
    """The list of events as servers give it. response_max: rows they give at most"""

    events: list[Json]
    response_max: int = 10_000
    asked: int = 0

    def page(self, query: Json) -> Json:
        self.asked += 1
        found = [one for one in self.events if self._is_wanted(one, query)]
        found.sort(key=lambda one: (one["timestamp"], one["id"]), reverse=True)
        limit = min(int(query["limit"]), self.response_max)
        more = "https://elsewhere.example/?before=x" if len(found) >= limit else None
        return {"results": found[:limit], "next": more}

    def _is_wanted(self, one: Json, query: Json) -> bool:
        time = datetime.fromisoformat(one["timestamp"])
        after = query.get("after")
        return (
            time < datetime.fromisoformat(query["before"])
            and (after is None or time > datetime.fromisoformat(after))
            and query.get("event") in (None, one["event"])
        )

    # As a Source, for what is tried often.

    async def get(self, _: str, query: Sequence[tuple[str, str]]) -> Json:
        return self.page(dict(query))

    def project_path(self, path: str) -> str:
        return path

    async def rows(self, _: str) -> Any:
        for name in sorted({one["event"] for one in self.events}):
            yield {"name": name}


def copy_of(source: Any, sink: Heap, memory: Any, **more: Any) -> EventCopy:
    chosen: Json = {"since": None, "until": UNTIL, "on_progress": lambda *_: None, **more}
    return EventCopy(cast(Source, source), sink, memory, lambda: UNTIL, **chosen)


def ids(items: Sequence[Json]) -> list[str]:
    return [one["uuid"] for one in items]


# Times with many repetitions, close together and far apart.
TIMES = st.lists(
    st.one_of(
        st.integers(0, 3),
        st.integers(0, 60_000_000),
        st.integers(0, 300 * 86_400 * 1_000_000),
    ),
    max_size=60,
)


@settings(max_examples=150)
@given(
    TIMES,
    st.integers(1, 7),
    st.integers(1, 20),
    st.sampled_from(["one", "two", "three"]),
)
def test_every_event_is_handed_in_once_in_the_order_of_time(
    micros: list[int], response_max: int, window_max: int, name: str
) -> None:
    events = [
        event(number, FIRST + timedelta(microseconds=at), name if number % 2 else "e")
        for number, at in enumerate(micros)
    ]
    source, sink, memory = Listed(events), Heap(), Memory()

    copied = asyncio.run(
        copy_of(source, sink, memory, response_max=response_max, window_max=window_max).run()
    )

    assert sorted(ids(sink.items)) == sorted(one["id"] for one in events)
    times = [one["timestamp"] for one in sink.items]
    assert times == sorted(times)
    assert (copied.events, copied.incomplete) == (len(events), [])
    assert memory.progress == (CopyProgress(None, UNTIL, True) if events else None)
    # Of each few events some requests, and those that find the first one and the end.
    assert source.asked < 100 + 40 * len(events)


@settings(max_examples=50)
@given(TIMES, st.integers(0, 60))
def test_a_copy_that_broke_off_goes_on_without_losing_any(micros: list[int], at: int) -> None:
    events = [event(n, FIRST + timedelta(microseconds=one)) for n, one in enumerate(micros)]
    source, memory = Listed(events), Memory()
    broken, rest = Heap(fails_after=at), Heap()

    try:
        asyncio.run(copy_of(source, broken, memory, response_max=5, window_max=10).run())
    except SourceError:
        asyncio.run(copy_of(source, rest, memory, response_max=5, window_max=10).run())

    found = {*ids(broken.items), *ids(rest.items)}
    assert found == {one["id"] for one in events}


STARTS: list[tuple[CopyProgress | None, datetime | None, datetime | None]] = [
    (None, None, None),
    (None, FIRST, FIRST),
    (CopyProgress(None, UNTIL, False), None, UNTIL),
    (CopyProgress(FIRST, UNTIL, False), FIRST, UNTIL),
    # Another range is begun anew.
    (CopyProgress(FIRST, UNTIL, False), None, None),
    (CopyProgress(None, UNTIL, False), FIRST, FIRST),
    # Once all is copied: what came since, and late; or what is asked for, again.
    (CopyProgress(None, UNTIL, True), None, UNTIL - LATE),
    (CopyProgress(FIRST, UNTIL, True), None, UNTIL - LATE),
    (CopyProgress(FIRST, UNTIL, True), FIRST, FIRST),
]


@pytest.mark.parametrize(("progress", "since", "start"), STARTS)
def test_where_a_copy_begins(
    progress: CopyProgress | None, since: datetime | None, start: datetime | None
) -> None:
    assert start_of(progress, since) == start


@pytest.mark.every_engine
async def test_progress_is_stored_by_project_and_source(records: Records) -> None:
    one, other = ProgressStore(records, 1, "https://a" + "/" * 600), ProgressStore(records, 2, "b")

    assert await one.get() is None
    await one.put(CopyProgress(None, FIRST, False), UNTIL)
    await one.put(CopyProgress(FIRST, UNTIL, True), UNTIL)
    await other.put(CopyProgress(None, FIRST, False), UNTIL)

    assert await one.get() == CopyProgress(FIRST, UNTIL, True)
    assert await other.get() == CopyProgress(None, FIRST, False)


async def copied_from(
    script: Callable[[Asked], Answer | None], heap: Heap, **more: Any
) -> tuple[Copied, list[float]]:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    with scripted(script) as server:
        async with open_source(server.url, "phx_key", "1", sleep) as source:
            return await copy_of(source, heap, Memory(), **more).run(), waited


async def test_over_http_a_throttled_source_is_waited_for() -> None:
    listed, answers = (
        Listed([event(n, FIRST + timedelta(hours=n)) for n in range(30)]),
        iter([429, 503] + [200] * 1000),
    )

    def script(asked: Asked) -> Answer:
        status = next(answers)
        return Answer(status, listed.page(asked.query), {"retry-after": "3"})

    heap = Heap()
    copied, waited = await copied_from(script, heap, response_max=10)

    assert (copied.events, waited) == (30, [3.0, 3.0])
    assert heap.items[0] == {
        "event": "e",
        "distinct_id": "u",
        "uuid": str(UUID(int=0)),
        "timestamp": "2024-01-01T00:00:00+00:00",
        "properties": {},
    }


async def test_what_is_derived_here_is_not_taken_over() -> None:
    groups: Json = {"$groups": {"team": "red"}, "$group_0": "red", "$group_9": "mine"}
    alone: Json = {"$group_0": "alone"}
    one = event(1, FIRST, **groups)
    other = {**event(2, FIRST, **alone), "elements_chain": "a:b"}
    listed, heap = Listed([one, other]), Heap()

    await copy_of(listed, heap, Memory()).run()

    assert [item["properties"] for item in heap.items] == [
        {"$groups": {"team": "red"}, "$group_9": "mine"},
        {"$group_0": "alone", "$elements_chain": "a:b"},
    ]


async def test_more_of_one_name_and_time_than_can_be_listed_is_reported() -> None:
    events = [event(n, FIRST) for n in range(9)] + [event(n, FIRST, "few") for n in range(9, 11)]
    heap = Heap()

    copied = await copy_of(Listed(events), heap, Memory(), response_max=4, instant_max=6).run()

    assert copied.incomplete == ["2024-01-01T00:00:00+00:00 e"]
    assert len(heap.items) == 8


async def test_a_source_without_events_is_left_alone() -> None:
    listed, heap = Listed([event(1, UNTIL)]), Heap()

    copied = await copy_of(listed, heap, Memory()).run()

    assert (copied.start, heap.items, listed.asked) == (None, [], 1)


async def test_events_of_the_oldest_time_are_found() -> None:
    heap = Heap()

    copied = await copy_of(Listed([event(1, OLDEST)]), heap, Memory()).run()

    assert (copied.start, copied.events) == (OLDEST, 1)


async def test_what_cannot_be_read_is_counted() -> None:
    odd: list[Any] = [{"id": "no"}, 7, None]

    def script(asked: Asked) -> Answer:
        page = Listed([event(1, FIRST)]).page(asked.query)
        return Answer(200, {**page, "results": [*page["results"], *odd]})

    heap = Heap()
    copied, _ = await copied_from(script, heap, since=UNTIL - timedelta(hours=1))

    assert (copied.events, copied.unreadable) == (0, 3)


@pytest.mark.parametrize("page", [{"results": 1}, [], {"results": [1] * 5, "next": "?x"}])
async def test_a_list_that_is_none_ends_the_copy(page: Any) -> None:
    with pytest.raises(SourceError):
        await copied_from(lambda _: Answer(200, page), Heap(), since=FIRST)


async def test_a_source_that_always_has_more_ends_the_copy() -> None:
    """Whatever is asked for: one event of that time, and a next page."""

    def script(asked: Asked) -> Answer:
        if "event_definitions" in asked.path:
            return Answer(200, {"results": [{"name": "e"}], "next": None})
        after = asked.query.get("after", "2024-01-01T00:00:00+00:00")
        time = datetime.fromisoformat(after) + timedelta(microseconds=1)
        return Answer(200, {"results": [event(1, time)], "next": "?more"})

    with pytest.raises(SourceError, match="cannot list its events"):
        await copied_from(script, Heap(), since=FIRST)
