"""Events of a source, each handed in once and in their order, whatever the source is like."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json

from fanion.db.engine import Records
from fanion.transfer.posthog.client import Source, SourceError, SourceStatusError, open_source
from fanion.transfer.posthog.copy_events import Copied, EventCopy
from fanion.transfer.posthog.copy_progress import LATE, OLDEST, CopyProgress, CopyStart, start_of
from fanion.transfer.posthog.event_pages import EventPages
from fanion.transfer.posthog.instant_events import Instants
from fanion.transfer.posthog.sink_client import ProgressStore
from tests.support.examples import examples
from tests.support.foreign_events import ForeignEvents, ServerBehaviour, event
from tests.support.scripted_source import ReceivedRequest, ScriptedAnswer, scripted_server

FIRST = datetime(2024, 1, 1, tzinfo=UTC)
UNTIL = datetime(2025, 1, 1, tzinfo=UTC)

Json = dict[str, Any]


@dataclass
class CollectingSink:
    """A sink that keeps the events it is given, in the order given."""

    items: list[Json] = field(default_factory=list)
    fails_after: int | None = None

    async def write_events(self, items: Sequence[bytes]) -> int:
        for item in items:
            if self.fails_after is not None and len(self.items) >= self.fails_after:
                raise SourceError("killed")
            self.items.append(json.decode(item))
        return 0

    async def await_ingestion(self) -> bool:
        return True


@dataclass
class ProgressInMemory:
    """A store of the progress in memory, instead of the records store."""

    progress: CopyProgress | None = None

    async def load_progress(self) -> CopyProgress | None:
        return self.progress

    async def save_progress(self, progress: CopyProgress, _: datetime) -> None:
        self.progress = progress


@dataclass
class DirectSource:
    """A source that is asked without a server, for tests with many examples."""

    events: ForeignEvents

    async def get(self, path: str, query: Sequence[tuple[str, str]]) -> Any:
        return self._answer(ReceivedRequest(path, dict(query), {}))

    async def post(self, path: str, body: Any) -> Any:
        return self._answer(ReceivedRequest(path, {}, {}, json.encode(body)))

    async def list_rows(self, _: str) -> Any:
        for name in self.events.names():
            yield {"name": name}

    def project_path(self, path: str) -> str:
        return path

    def _answer(self, request: ReceivedRequest) -> Any:
        answer = self.events.answer(request)
        if answer.status != 200:
            raise SourceStatusError(answer.status, str(answer.body))
        return answer.body


def copy_of(
    source: Any, sink: CollectingSink, memory: Any, limit: int = 2_000, **more: Any
) -> EventCopy:
    chosen: Json = {"since": None, "until": UNTIL, "on_progress": lambda *_: None, **more}
    origin = cast(Source, DirectSource(source) if isinstance(source, ForeignEvents) else source)
    instants = Instants(EventPages(origin, limit))
    return EventCopy(instants, sink, memory, lambda: UNTIL, **chosen)


def ids(items: Sequence[Json]) -> list[str]:
    return [item["uuid"] for item in items]


# Times with many repetitions, close together and far apart.
TIMES = st.lists(
    st.one_of(
        st.integers(0, 3),
        st.integers(0, 60_000_000),
        st.integers(0, 300 * 86_400 * 1_000_000),
    ),
    max_size=60,
)


HABITS = [
    ServerBehaviour(),
    ServerBehaviour(links=False),
    ServerBehaviour(looks_back=True, narrows=True),
    ServerBehaviour(looks_back=True, narrows=True, links=False, offsets=True),
    ServerBehaviour(cursors=True),
]


@settings(max_examples=examples(150))
@given(
    TIMES,
    st.integers(2, 7),
    st.sampled_from(["one", "two", "three"]),
    st.sampled_from(HABITS),
)
def test_every_event_is_handed_in_once_in_the_order_of_time(
    micros: list[int], cap: int, name: str, habits: ServerBehaviour
) -> None:
    events = [
        event(number, FIRST + timedelta(microseconds=at), name if number % 2 else "e")
        for number, at in enumerate(micros)
    ]
    source, sink, memory = (
        ForeignEvents(events, replace(habits, cap=cap)),
        CollectingSink(),
        ProgressInMemory(),
    )

    copied = asyncio.run(copy_of(source, sink, memory).run())

    handed_in = ids(sink.items)
    assert len(set(handed_in)) == len(handed_in) == copied.events
    missing = [event for event in events if event["id"] not in handed_in]
    # Names and times of events that cannot be listed are reported.
    named = {text.partition(" ")[0] for text in copied.incomplete}
    assert {event["timestamp"] for event in missing} <= named
    if habits.offsets or habits.cursors:
        assert not copied.incomplete
    times = [item["timestamp"] for item in sink.items]
    assert times == sorted(times)
    assert memory.progress == (
        CopyProgress(None, UNTIL, True, None, len(events) - len(missing)) if events else None
    )


@pytest.mark.parametrize("habits", HABITS)
@pytest.mark.parametrize("cap", [20, 100, 1_000])
def test_a_long_history_is_copied_whole(habits: ServerBehaviour, cap: int) -> None:
    """Some events are old, and many lie in few days, which newest-first pages would not show."""
    old = [event(n, FIRST - timedelta(days=5_000, hours=n)) for n in range(30)]
    dense = [event(n, FIRST + timedelta(seconds=72 * n, microseconds=n)) for n in range(100, 4_000)]
    source, sink = ForeignEvents([*old, *dense], replace(habits, cap=cap)), CollectingSink()

    copied = asyncio.run(copy_of(source, sink, ProgressInMemory()).run())

    assert (copied.events, copied.incomplete) == (len(old) + len(dense), [])
    assert set(ids(sink.items)) == {copied_event["id"] for copied_event in source.events}
    # Years without events cost a request each, and pages share one event with the next.
    assert len(source.queries) < 200 + len(source.events) / (cap - 1) * 1.2


@settings(max_examples=examples(50))
@given(TIMES, st.integers(0, 60))
def test_a_copy_that_broke_off_goes_on_without_losing_any(micros: list[int], at: int) -> None:
    events = [event(n, FIRST + timedelta(microseconds=micro)) for n, micro in enumerate(micros)]
    habits = ServerBehaviour(cap=5, cursors=True, counts="HogQLQuery")
    source, memory = ForeignEvents(events, habits), ProgressInMemory()
    broken, rest = CollectingSink(fails_after=at), CollectingSink()

    try:
        copied = asyncio.run(copy_of(source, broken, memory).run())
    except SourceError:
        copied = asyncio.run(copy_of(source, rest, memory).run())

    assert {*ids(broken.items), *ids(rest.items)} == {stored["id"] for stored in events}
    assert (copied.earlier + copied.events, copied.differs) == (len(events), False)


STARTS: list[tuple[CopyProgress | None, datetime | None, CopyStart]] = [
    (None, None, CopyStart(OLDEST, None)),
    (None, FIRST, CopyStart(FIRST, FIRST)),
    (CopyProgress(None, UNTIL, False, None, 7), None, CopyStart(UNTIL, None, 7)),
    (CopyProgress(FIRST, UNTIL, False, FIRST, 7), FIRST, CopyStart(UNTIL, FIRST, 7)),
    # Older versions did not count the events.
    (CopyProgress(None, UNTIL, False), None, CopyStart(UNTIL, UNTIL)),
    # Another range is copied from its start.
    (CopyProgress(FIRST, UNTIL, False, FIRST, 7), None, CopyStart(OLDEST, None)),
    (CopyProgress(None, UNTIL, False, None, 7), FIRST, CopyStart(FIRST, FIRST)),
    # A finished copy continues with later and late events, or copies again what is asked for.
    (CopyProgress(None, UNTIL, True, None, 7), None, CopyStart(UNTIL - LATE, UNTIL - LATE)),
    (CopyProgress(FIRST, UNTIL, True, FIRST, 7), None, CopyStart(UNTIL - LATE, UNTIL - LATE)),
    (CopyProgress(FIRST, UNTIL, True, FIRST, 7), FIRST, CopyStart(FIRST, FIRST)),
]


@pytest.mark.parametrize(("progress", "since", "start"), STARTS)
def test_where_a_copy_begins(
    progress: CopyProgress | None, since: datetime | None, start: CopyStart
) -> None:
    assert start_of(progress, since) == start


@pytest.mark.every_engine
async def test_progress_is_stored_by_project_and_source(records: Records) -> None:
    first, other = (
        ProgressStore(records, 1, "https://a" + "/" * 600),
        ProgressStore(records, 2, "b"),
    )

    assert await first.load_progress() is None
    await first.save_progress(CopyProgress(None, FIRST, False), UNTIL)
    await first.save_progress(CopyProgress(FIRST, UNTIL, True, FIRST, 2**40), UNTIL)
    await other.save_progress(CopyProgress(None, FIRST, False), UNTIL)

    assert await first.load_progress() == CopyProgress(FIRST, UNTIL, True, FIRST, 2**40)
    assert await other.load_progress() == CopyProgress(None, FIRST, False)


async def copied_from(
    script: Callable[[ReceivedRequest], ScriptedAnswer | None], heap: CollectingSink, **more: Any
) -> tuple[Copied, list[float]]:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    with scripted_server(script) as server:
        async with open_source(server.url, "phx_key", "1", sleep) as source:
            return await copy_of(source, heap, ProgressInMemory(), **more).run(), waited


async def test_over_http_a_throttled_source_is_waited_for() -> None:
    listed = ForeignEvents([event(n, FIRST + timedelta(hours=n)) for n in range(30)])
    statuses = iter([429, 503, 429] + [200] * 1000)

    def script(request: ReceivedRequest) -> ScriptedAnswer:
        answer = listed.answer(request)
        return (
            answer
            if answer.status == 400
            else replace(answer, status=next(statuses), headers={"retry-after": "3"})
        )

    heap = CollectingSink()
    copied, waited = await copied_from(script, heap, limit=10)

    assert (copied.events, waited) == (30, [3.0, 3.0, 3.0])
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
    grouped = event(1, FIRST, **groups)
    other = {**event(2, FIRST, **alone), "elements_chain": "a:b"}
    listed, heap = ForeignEvents([grouped, other]), CollectingSink()

    await copy_of(listed, heap, ProgressInMemory()).run()

    assert [item["properties"] for item in heap.items] == [
        {"$groups": {"team": "red"}, "$group_9": "mine"},
        {"$group_0": "alone", "$elements_chain": "a:b"},
    ]


async def test_more_of_one_name_and_time_than_can_be_listed_is_reported() -> None:
    events = [event(n, FIRST) for n in range(9)] + [event(n, FIRST, "few") for n in range(9, 11)]
    heap = CollectingSink()

    copied = await copy_of(
        ForeignEvents(events, ServerBehaviour(cap=4)), heap, ProgressInMemory()
    ).run()

    assert copied.incomplete == ["2024-01-01T00:00:00+00:00 e"]
    assert not copied.is_complete
    # The sink has both ends of the events of each name.
    assert len(heap.items) == 10


async def test_a_source_without_events_is_left_alone() -> None:
    listed, heap, memory = ForeignEvents([event(1, UNTIL)]), CollectingSink(), ProgressInMemory()

    copied = await copy_of(listed, heap, memory).run()

    assert (copied.start, heap.items, memory.progress) == (None, [], None)
    # The first query asks for the oldest day without `after`, which some servers compare with now;
    # the others ask for a year each.
    assert [query.get("after") for query in listed.queries[:2]] == [
        None,
        "1900-01-01T23:59:59.999998+00:00",
    ]
    assert len(listed.queries) < 130


@pytest.mark.parametrize("habits", HABITS)
async def test_events_of_the_oldest_time_are_found(habits: ServerBehaviour) -> None:
    heap = CollectingSink()

    copied = await copy_of(
        ForeignEvents([event(1, OLDEST)], habits), heap, ProgressInMemory()
    ).run()

    assert (copied.start, copied.events) == (OLDEST, 1)


COUNTS = [("HogQLQuery", 0, False), ("TrendsQuery", 0, False), ("HogQLQuery", 2, True)]


@pytest.mark.parametrize(("kind", "uncounted", "differs"), COUNTS)
async def test_the_source_says_how_many_there_are(kind: str, uncounted: int, differs: bool) -> None:
    events = [event(n, FIRST + timedelta(hours=n)) for n in range(5)]
    source = ForeignEvents(events, ServerBehaviour(counts=kind), uncounted=uncounted)

    copied = await copy_of(source, CollectingSink(), ProgressInMemory()).run()

    assert (copied.events, copied.counted, copied.uncounted) == (5, 5 + uncounted, "")
    assert (copied.differs, copied.is_complete) == (differs, not differs)


async def test_events_that_arrive_during_a_copy_are_no_difference() -> None:
    source = ForeignEvents([event(1, FIRST)], ServerBehaviour(counts="HogQLQuery"))

    def arrive(*_: object) -> None:
        source.uncounted += 1

    copied = await copy_of(source, CollectingSink(), ProgressInMemory(), on_progress=arrive).run()

    assert copied.counted is not None
    assert copied.counted > copied.events == 1
    assert not copied.differs


async def test_a_source_that_does_not_count_is_reported() -> None:
    copied = await copy_of(
        ForeignEvents([event(1, FIRST)]), CollectingSink(), ProgressInMemory()
    ).run()

    assert (copied.counted, copied.differs, copied.is_complete) == (None, False, True)
    assert copied.uncounted == "{'detail': 'HogQLQuery is not known.'}"


async def test_what_cannot_be_read_is_counted() -> None:
    """A row with a time does not hide the events after it."""
    odd: list[Any] = [{"id": "no", "timestamp": FIRST.isoformat()}, 7, None]
    last = event(1, FIRST + timedelta(hours=1))

    def script(request: ReceivedRequest) -> ScriptedAnswer:
        page = ForeignEvents([last]).answer(request)
        if request.query.get("after", "") < FIRST.isoformat() and "before" in request.query:
            return ScriptedAnswer(200, {**page.body, "results": [*odd, *page.body["results"]]})
        return page

    heap = CollectingSink()
    copied, _ = await copied_from(script, heap, since=FIRST)

    assert (copied.events, copied.unreadable, copied.is_complete) == (1, 3, False)


async def test_a_source_in_another_order_ends_the_copy() -> None:
    rows = [event(n, FIRST + timedelta(hours=9 - n)) for n in range(3)]

    with pytest.raises(SourceError, match="ascending"):
        await copied_from(
            lambda _: ScriptedAnswer(200, {"results": rows}), CollectingSink(), since=FIRST
        )


async def test_a_page_outside_of_the_range_ends_the_copy() -> None:
    rows = [event(1, FIRST - timedelta(hours=1))]

    with pytest.raises(SourceError, match="another time"):
        await copied_from(
            lambda _: ScriptedAnswer(200, {"results": rows}), CollectingSink(), since=FIRST
        )


@pytest.mark.parametrize("page", [{"results": 1}, [], {"results": [1] * 5, "next": "?x"}])
async def test_a_list_that_is_none_ends_the_copy(page: Any) -> None:
    with pytest.raises(SourceError):
        await copied_from(lambda _: ScriptedAnswer(200, page), CollectingSink(), since=FIRST)


async def test_a_source_that_always_has_more_ends_the_copy() -> None:
    """The source answers every query with one event of that time, and a next page."""

    def script(request: ReceivedRequest) -> ScriptedAnswer:
        if "event_definitions" in request.path:
            return ScriptedAnswer(200, {"results": [{"name": "e"}], "next": None})
        after = request.query.get("after", "2024-01-01T00:00:00+00:00")
        time = datetime.fromisoformat(after) + timedelta(microseconds=1)
        return ScriptedAnswer(200, {"results": [event(1, time)], "next": "?more"})

    with pytest.raises(SourceError, match="cannot list its events"):
        await copied_from(script, CollectingSink(), since=FIRST)
