"""The kept rows of sessions: the same answers as from events, whatever happens to the events."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.db.engine import open_records
from fanion.events.event import Erasure, Override
from fanion.events.storage.client import read_rows
from fanion.events.storage.session_rows import SessionRows
from fanion.events.storage.store import EventStore, open_events
from fanion.insights.calculation.maintenance_worker import MaintenanceWorker
from fanion.insights.calculation.service import Analysis
from fanion.insights.calculation.statements_service import Statements
from fanion.insights.dates.intervals import DateRange
from fanion.insights.kinds.service import Calculator, read_sent_query
from fanion.insights.query import Scope
from fanion.insights.sessions.kept_sql import write_statement
from fanion.insights.sql.compiler import SqlContext, Statement
from fanion.insights.web_analytics.kept_service import find_kept_rows, rows_from_kept
from fanion.insights.web_analytics.kept_sql import KeptRows
from fanion.insights.web_analytics.over_time.query import METRICS
from fanion.insights.web_analytics.overview_sql import overview_statement
from fanion.insights.web_analytics.query import WebOverviewQuery
from fanion.projects.model import Project
from tests.support.clickhouse.server import ClickHouse
from tests.support.dying_lanes import DyingLanes, Killed
from tests.support.events_engine import next_project
from tests.support.examples import examples
from tests.support.histories import NOW, Analyst, HistoryEvent

QUESTIONS: tuple[dict[str, Any], ...] = (
    {"kind": "WebOverviewQuery"},
    {"kind": "WebOverviewQuery", "properties": [
        {"type": "session", "key": "$session_duration", "value": 60, "operator": "gte"}]},
    *({"kind": "WebStatsTableQuery", "breakdownBy": breakdown, "includeBounceRate": True}
      for breakdown in ("InitialPage", "ExitPage", "InitialReferringDomain", "InitialUTMSource",
                        "InitialChannelType", "InitialUTMSourceMediumCampaign")),
    {"kind": "WebTrendsQuery", "interval": "hour", "metrics": list(METRICS)},
    *({"kind": "WebStatsTableQuery", "breakdownBy": breakdown, "includeBounceRate": bounces}
      for breakdown, bounces in (("Page", False), ("Page", True), ("ScreenName", False),
                                 ("Viewport", True), ("Timezone", False))),
    {"kind": "WebStatsTableQuery", "breakdownBy": "Browser", "properties": [
        {"type": "session", "key": "$session_duration", "value": 60, "operator": "gte"}]},
)  # fmt: skip
RANGES: tuple[dict[str, Any], ...] = (
    {"dateRange": {"date_from": "-2d"}},
    {"dateRange": {"date_from": "-5d", "date_to": "-3d"}, "compareFilter": {"compare": True}},
    {"dateRange": {"date_from": "-30d", "date_to": "-1d"}},
    {"dateRange": {"date_from": "2024-04-01T05:17:00", "date_to": "2024-04-02T13:00:10",
                   "explicitDate": True}},
)  # fmt: skip
ALWAYS: Final = {"type": "event", "key": "unset", "operator": "is_not_set", "value": "is_not_set"}
TODAY: Final = DateRange(NOW - timedelta(days=1), NOW)
T = TypeVar("T")
BERLIN: Final = ZoneInfo("Europe/Berlin")
PERSONS = tuple(UUID(int=number) for number in range(1, 4))


async def nothing_begun() -> None:
    """Return at once: no batch is in progress."""


@dataclass
class Site:
    """A project whose events come, are repeated, merged, squashed and erased."""

    analyst: Analyst
    project: Project
    happened: list[HistoryEvent] = field(default_factory=list)

    @property
    def events(self) -> EventStore:
        return self.analyst.events

    async def add(self, *events: HistoryEvent) -> None:
        self.happened += events
        await self.analyst.add_events(self.project.id, events)

    async def merge(self, old: UUID, new: UUID) -> None:
        await self.events.override_persons([Override(self.project.id, old, new, 1)])

    async def squash(self) -> None:
        await self.events.squash(1, nothing_begun)

    async def erase(self, person: UUID) -> None:
        await self.events.erase(
            Erasure(
                id=1,
                project_id=self.project.id,
                persons=(person,),
                distinct_ids=frozenset(),
                version=1,
                with_events=True,
                requested_at=NOW + timedelta(days=1),
            )
        )

    async def keep(self, steps: int = 1_000) -> None:
        """Bring the rows up to date, or do only some steps of that."""
        rows = self.events.session_rows(write_statement())
        for _ in range(steps):
            if not await rows.step():
                break

    async def keep_until_killed(self, statements: int) -> None:
        """Bring the rows up to date until the process dies, after some statements."""
        rows = SessionRows(DyingLanes(self.events, statements), write_statement())
        with suppress(Killed):
            while await rows.step():
                pass

    async def answer(self, question: Mapping[str, Any]) -> Any:
        limit = {"limit": 100} if "breakdownBy" in question else {}
        query = read_sent_query({**question, **limit}, "")
        analysis = Analysis(self.analyst.records, self.events)
        return await Calculator(analysis).result(self.project, query, NOW)

    async def answers_from_events(self, sent_range: Mapping[str, Any]) -> list[Any]:
        """Return the answers to all questions with a condition that all events fulfil.

        Questions with a condition on events are answered from events.
        """
        answers = []
        for question in QUESTIONS:
            where = {"properties": [*question.get("properties", ()), ALWAYS]}
            answers.append(await self.answer({**question, **sent_range, **where}))
        return answers

    async def check_answers(
        self, sent_range: Mapping[str, Any], from_events: Sequence[Any] | None = None
    ) -> None:
        """Compare each answer with that from events.

        Args:
            from_events: None to ask for the answers from events here.
        """
        expected = from_events or await self.answers_from_events(sent_range)
        for question, answer in zip(QUESTIONS, expected, strict=True):
            sent = {**question, **sent_range}
            assert await self.answer(sent) == answer, (question, sent_range)

    async def are_rows_used(self) -> bool:
        return await find_kept_rows(site_statements(self), self.project.id, [TODAY]) is not None


@pytest.fixture(scope="module")
async def local_analyst(
    clickhouse_server: ClickHouse, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Analyst]:
    """Yield an analyst with an event store that no other test fills, mutates or squashes."""
    path = tmp_path_factory.mktemp("records") / "records.db"
    shutil.copyfile(sqlite_template, path)
    name = f"rows_{uuid4().hex}"
    with closing(clickhouse_server.client()) as client:
        client.command(f"CREATE DATABASE {name}")
    records = await open_records(f"sqlite:///{path}")
    events = await open_events(clickhouse_server.url(name))
    yield Analyst(records, events)
    await events.close()
    await records.close()


@pytest.fixture
def site(local_analyst: Analyst) -> Site:
    return new_site(local_analyst)


def new_site(analyst: Analyst) -> Site:
    project = Project(next_project(), uuid4(), uuid4(), "p", "phc_x", BERLIN.key, NOW)
    return Site(analyst, project)


def view(session: str, ago: timedelta = timedelta(), **more: Any) -> HistoryEvent:
    """Return a view of a page, some time ago, of the first person unless `person` names one."""
    person = more.pop("person", PERSONS[0])
    own = {"$session_id": session, "$current_url": "https://x.io/a", **more}
    return HistoryEvent(uuid4(), "$pageview", f"d{person.int}", person, NOW - ago, own)


HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture(autouse=True)
async def rows_follow(site: Site) -> None:
    """Fill the rows of what other tests have stored."""
    await site.keep()


async def rows_of(site: Site, breakdown: str) -> list[Any]:
    """Return the rows of a table about today and the two days before."""
    question = {"kind": "WebStatsTableQuery", "breakdownBy": breakdown, **RANGES[0]}
    return list((await site.answer(question))["results"])


def site_statements(site: Site) -> Statements:
    return Analysis(site.analyst.records, site.events).statements


async def copy_row(site: Site, session: str, new: str) -> None:
    """Write the row of a session once more, for another one that has no events."""
    statement = """
      INSERT INTO session_rows
      SELECT * REPLACE({new:String} AS session_id)
        FROM (SELECT * FROM session_rows
               WHERE project_id = {project:UInt64} AND session_id = {old:String})
    """
    values = {"new": new, "old": session, "project": site.project.id}
    await site.events._jobs.run(read_rows, statement, values)


async def overview(site: Site, **more: Any) -> list[Any]:
    answer = await site.answer({"kind": "WebOverviewQuery", **RANGES[0], **more})
    return [item["value"] for item in answer["results"]]


# ── The objections of decision 16 ────────────────────────────────────────────────────────


async def test_a_repeated_insert_counts_once(site: Site) -> None:
    first = view("s", HOUR)
    await site.add(first)
    await site.keep()
    await site.add(first, replace(first, at=first.at - DAY))
    await site.keep()

    assert await site.are_rows_used()
    for sent_range in RANGES:
        await site.check_answers(sent_range)


async def test_a_late_event_extends_its_session_before_and_after_its_row_is_written(
    site: Site,
) -> None:
    await site.add(view("s", HOUR))
    await site.keep()

    await site.add(view("s", 4 * HOUR))

    assert (await overview(site))[:4] == [1, 2, 1, 3 * 3600]
    await site.keep()
    assert (await overview(site))[:4] == [1, 2, 1, 3 * 3600]


async def test_tables_by_values_of_events_are_answered_from_rows(site: Site) -> None:
    """A row is changed, which the answer shows."""
    own = {"$pathname": "/a", "$browser": "Chrome"}
    await site.add(view("s", HOUR, **own), view("s", HOUR / 2, **{**own, "$pathname": "/b"}))
    await site.keep()
    await copy_row(site, "s", "t")

    assert await rows_of(site, "Page") == [
        ["/a", [1, None], [2, None]],
        ["/b", [1, None], [2, None]],
    ]
    assert await rows_of(site, "Browser") == [["Chrome", [1, None], [4, None]]]


async def test_sessions_with_more_views_than_a_row_lists_are_read_from_their_events(
    site: Site,
) -> None:
    own = {"$pathname": "/a", "$browser": "Chrome"}
    await site.add(*(view("s", n * HOUR, **own) for n in (1, 2, 3)))
    await site.add(*(view("t", n * HOUR, **own) for n in (1, 2)))
    rows = site.events.session_rows(write_statement(views_max=2))
    while await rows.step():
        pass

    kept = await find_kept_rows(site_statements(site), site.project.id, [TODAY], of_views=True)

    assert kept is not None
    assert [bytes.fromhex(one) for one in kept.read] == [b"s"]
    assert await rows_of(site, "Page") == [["/a", [1, None], [5, None]]]


async def test_rows_of_a_program_that_kept_less_are_calculated_again(site: Site) -> None:
    await site.add(view("s", HOUR))
    await site.keep()
    older = "SELECT * REPLACE (version + 1 AS version, {table:String} AS events_table)"
    statement = f"INSERT INTO session_rows_state {older} FROM session_rows_state FINAL"
    [(table,)] = await site.events._jobs.run(
        read_rows, "SELECT events_table FROM session_rows_state ORDER BY version DESC LIMIT 1", {}
    )
    await site.events._jobs.run(read_rows, statement, {"table": table.rpartition(" ")[0]})
    assert not await site.are_rows_used()

    await site.keep()

    assert await site.are_rows_used()


async def test_a_merge_counts_for_the_survivor_without_another_row(site: Site) -> None:
    await site.add(view("s", HOUR), view("t", HOUR, person=PERSONS[1]))
    await site.keep()
    assert (await overview(site))[0] == 2

    await site.merge(PERSONS[1], PERSONS[0])

    assert await site.are_rows_used()
    assert (await overview(site))[0] == 1


async def test_a_squash_makes_all_rows_new(site: Site) -> None:
    await site.add(view("s", HOUR), view("t", HOUR, person=PERSONS[1]))
    await site.merge(PERSONS[1], PERSONS[0])
    await site.keep()

    await site.squash()

    assert not await site.are_rows_used()
    assert (await overview(site))[:3] == [1, 2, 2]
    await site.keep()
    assert await site.are_rows_used()
    assert (await overview(site))[:3] == [1, 2, 2]


async def test_questions_read_events_where_the_state_of_rows_cannot_be_read(site: Site) -> None:
    await site.add(view("s", HOUR), view("t", HOUR, person=PERSONS[1]))
    await site.keep()

    async def rename(table: str, new: str) -> None:
        statement = f"RENAME TABLE {table} TO {new}"
        await site.events._jobs.run(lambda client: client.command(statement))

    await rename("session_rows_state", "hidden_state")
    try:
        assert not await site.are_rows_used()
        assert (await overview(site))[:3] == [2, 2, 2]
    finally:
        await rename("hidden_state", "session_rows_state")


async def test_an_erasure_leaves_no_row_behind(site: Site) -> None:
    await site.add(view("s", HOUR), view("t", HOUR, person=PERSONS[1]))
    await site.keep()

    await site.erase(PERSONS[1])

    [(number,)] = await site.events._jobs.run(read_rows, "SELECT count() FROM session_rows", {})
    assert number == 0
    assert (await overview(site))[:3] == [1, 1, 1]
    await site.keep()
    assert await site.are_rows_used()
    assert (await overview(site))[:3] == [1, 1, 1]


async def write_row(site: Site, session: str, person: UUID) -> None:
    """Write a row as a step does that has read the events of the session before."""
    statement = """
      INSERT INTO session_rows (project_id, session_id, started, ended, whos, views, version)
      SELECT {project:UInt64}, {session:String}, {at:DateTime64(6)}, {at:DateTime64(6)},
             [{person:UUID}], 1, 1
    """
    values = {"project": site.project.id, "session": session, "at": NOW - HOUR, "person": person}
    await site.events._jobs.run(read_rows, statement, values)


async def test_rows_that_a_step_writes_after_an_erasure_are_neither_read_nor_kept(
    site: Site,
) -> None:
    await site.add(view("s", HOUR))
    await site.keep()
    await write_row(site, "t", PERSONS[1])
    assert (await overview(site))[:3] == [2, 2, 2], "questions read rows"

    await site.erase(PERSONS[1])
    await write_row(site, "t", PERSONS[1])

    assert (await overview(site))[:3] == [1, 1, 1]
    await site.keep()
    assert await site.are_rows_used()
    assert (await overview(site))[:3] == [1, 1, 1]


async def test_an_answer_from_rows_that_were_deleted_meanwhile_is_not_used(site: Site) -> None:
    await site.add(view("s", HOUR), view("t", HOUR, person=PERSONS[1]))
    await site.keep()
    statements = ErasingStatements(site)
    context = SqlContext(site.project.id, Scope(), NOW, UUID(int=0))

    def statement(kept: KeptRows | None) -> Statement:
        return overview_statement(context, WebOverviewQuery(Scope()), [TODAY], None, kept)

    assert await rows_from_kept(statements, site.project.id, [TODAY], statement) is None


class ErasingStatements(Statements):
    """Statements before the last of which a person is erased."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.events, site.events.people)
        self._site = site

    async def rows(self, project_id: int, statement: Statement) -> list[tuple[Any, ...]]:
        if "whos" in statement.text:
            await self._site.erase(PERSONS[1])
        return await super().rows(project_id, statement)


async def test_sessions_that_are_cut_off_are_read_from_their_events(site: Site) -> None:
    """A session is cut off if it takes twelve hours, pauses for days, or has an older id."""
    old = (NOW - 10 * DAY).timestamp()
    older = f"{int(old * 1000):012x}"
    await site.add(
        *(view("long", n * HOUR) for n in (1, 8, 14, 30)),
        *(view("pauses", n * DAY) for n in (0, 2, 5, 9)),
        *(view(f"{older[:8]}-{older[8:]}-7000-8000-000000000001", n * DAY) for n in (1, 9)),
        *(view("around midnight", HOUR * n) for n in (15, 16, 17)),
    )
    await site.keep()

    assert await site.are_rows_used()
    for sent_range in RANGES:
        await site.check_answers(sent_range)


@pytest.mark.parametrize(
    "midnight", [datetime(2024, 4, 1, tzinfo=BERLIN), datetime(2024, 3, 29, tzinfo=BERLIN)]
)
async def test_sessions_across_an_end_of_the_range_are_read_from_their_events(
    site: Site, midnight: datetime
) -> None:
    """The first begins in the range, the second in the previous one, which may overlap."""
    ago, apart = NOW - midnight, timedelta(minutes=9)
    await site.add(
        *(view("across", ago + part) for part in (apart, -apart, -2 * apart)),
        view("across", ago - apart, person=PERSONS[1]),
        view("after", ago - apart),
    )
    await site.keep()

    assert await site.are_rows_used()
    await site.check_answers(RANGES[1])
    overlapping = {"compareFilter": {"compare": True, "compare_to": "-1d"}}
    await site.check_answers({**RANGES[1], **overlapping})


async def test_events_of_a_data_folder_from_before_are_filled_in(site: Site) -> None:
    """Their table has no state, as after the migration."""
    await site.add(*(view(f"s{n}", n * DAY) for n in range(6)), view("s1", DAY / 2))
    for table in ("session_rows", "session_rows_state"):
        await site.events._jobs.run(read_rows, f"TRUNCATE TABLE {table}", {})
    assert not await site.are_rows_used()

    rows = SessionRows(site.events._jobs, write_statement(), events_max=2)
    while await rows.step():
        assert (await overview(site))[:3] == [1, 4, 3]

    assert await site.are_rows_used()
    assert (await overview(site))[:3] == [1, 4, 3]


async def test_the_worker_fills_all_rows(site: Site) -> None:
    await site.add(view("s", HOUR), view("t", HOUR, person=PERSONS[2]))
    await site.erase(PERSONS[2])
    worker = MaintenanceWorker(
        site.events.session_rows(write_statement()).step, 60.0, "rows_not_written"
    )

    assert await worker.work()
    assert not await site.are_rows_used()
    while await worker.work():
        pass

    assert await site.are_rows_used()


# ── Random histories ─────────────────────────────────────────────────────────────────────

IDS = ("s1", "s2", "s3", "", f"{int((NOW - 3 * DAY).timestamp() * 1000):012x}"[:8] + "-0000-7000-x")


@st.composite
def visits(draw: st.DrawFn) -> HistoryEvent:
    hours = draw(st.sampled_from((0, 1, 6, 11, 12, 13, 23)))
    ago = timedelta(
        days=draw(st.sampled_from((0, 0, 0, 1, 1, 2, 3, 4, 7, 12))),
        hours=hours,
        seconds=draw(st.sampled_from((0, 1, 10, 1800))),
    )
    person = draw(st.sampled_from(PERSONS))
    own = draw(
        st.fixed_dictionaries(
            {"$session_id": st.sampled_from(IDS)},
            optional={
                "$current_url": st.sampled_from(("https://x.io/", "https://x.io/b?c=d", "")),
                "$referring_domain": st.sampled_from(("$direct", "t.co", "")),
                "utm_source": st.sampled_from(("google", "letter")),
                "gclid": st.sampled_from(("abc", "")),
                "$pathname": st.sampled_from(("/", "/b", ["list"])),
                "$screen_name": st.sampled_from(("Home", 7)),
                "$browser": st.sampled_from(("Chrome", "Firefox", "")),
                "$viewport_width": st.sampled_from((800, 1200)),
                "$timezone_offset": st.sampled_from((-60, 300)),
            },
        )
    )
    name = draw(st.sampled_from(("$pageview", "$pageview", "$screen", "$autocapture", "paid")))
    uuid = draw(st.uuids(version=4))
    return HistoryEvent(uuid, name, f"d{person.int}", person, NOW - ago, own)


Step = Callable[[Site], Awaitable[None]]


def steps() -> st.SearchStrategy[Step]:
    """Draw what may happen to a site."""

    def repeat(where: int, person: UUID) -> Step:
        async def step(site: Site) -> None:
            if site.happened:
                again = site.happened[where % len(site.happened)]
                await site.add(replace(again, person=person))

        return step

    add = st.lists(visits(), min_size=1, max_size=5).map(lambda sent: lambda site: site.add(*sent))
    persons = st.sampled_from(PERSONS)
    rare: Sequence[st.SearchStrategy[Step]] = (
        st.just(lambda site: site.squash()),
        persons.map(lambda person: lambda site: site.erase(person)),
    )
    return st.one_of(
        add,
        add,
        add,
        st.builds(repeat, st.integers(0, 20), persons),
        st.just(lambda site: site.merge(PERSONS[1], PERSONS[0])),
        st.just(lambda site: site.keep()),
        st.just(lambda site: site.keep()),
        st.integers(1, 4).map(lambda number: lambda site: site.keep(number)),
        st.integers(1, 12).map(lambda number: lambda site: site.keep_until_killed(number)),
        *rare,
    )


@settings(max_examples=examples(12))
@given(st.lists(steps(), min_size=1, max_size=8), st.sampled_from(RANGES))
async def test_answers_from_rows_are_those_from_events(
    local_analyst: Analyst, happens: Sequence[Step], sent_range: dict[str, Any]
) -> None:
    site = new_site(local_analyst)

    for step in happens:
        await step(site)
    from_events = await site.answers_from_events(sent_range)
    await site.check_answers(sent_range, from_events)

    await site.keep()
    assert await site.are_rows_used()
    await site.check_answers(sent_range, from_events)
