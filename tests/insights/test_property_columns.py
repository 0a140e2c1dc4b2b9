"""Columns of their own for properties: answers are the same with and without them."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.db.engine import open_records
from fanion.events.columns_worker import KnownColumns
from fanion.events.storage.property_columns import ColumnLimits
from fanion.events.storage.store import EventStore, open_events
from fanion.insights.calculation.service import Analysis
from fanion.insights.calculation.statements_service import Statements
from fanion.insights.kinds.service import Calculator, read_query, read_sent_query
from fanion.insights.parsing.fields import Fields
from fanion.insights.query import InsightQuery
from fanion.projects.model import Project
from tests.support.clickhouse.server import ClickHouse
from tests.support.examples import examples
from tests.support.histories import NOW, Analyst, History, HistoryEvent, histories

LIMITS: Final = ColumnLimits(columns=9, events=1, uses=1, nested_share=1.0)
KEYS: Final = ("plan", "n", "$current_url", "$browser", "utm_source", "p")
VALUES: Final = ("free", "Free", "", None, 0, 1, 2.5, True, "2.5", "[1]", "{}", "\0", "2024-04-01")
NESTED: Final[Sequence[Any]] = ([], [1], ["a", None], [1.0], [{}], {}, {"x": 1}, {"x": None})
OPERATORS: Final = (
    *("exact", "is_not", "icontains", "not_icontains", "regex", "not_regex", "is_set"),
    *("is_not_set", "gt", "lte", "starts_with", "ends_with", "between", "is_date_before"),
)


@dataclass
class Site:
    """An event store with columns, and the same questions with and without them."""

    analyst: Analyst
    columns: KnownColumns

    async def answer(self, project: Project, query: InsightQuery, *, with_columns: bool) -> Any:
        events = self.analyst.events
        statements = Statements(
            events,
            events.people,
            copies_share_keys=lambda project: project % 2 == 0,
            columns=self.columns if with_columns else None,
        )
        analysis = Analysis(self.analyst.records, events, statements)
        return await Calculator(analysis).result(project, query, NOW)

    async def check(self, history: History, query: InsightQuery) -> None:
        project = await self.analyst.store_anew(history)
        without = await self.answer(project, query, with_columns=False)

        assert await self.answer(project, query, with_columns=True) == without
        assert await self.answer(project, query, with_columns=True) == without


@pytest.fixture(scope="module")
async def site(
    clickhouse_server: ClickHouse, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Site]:
    path = tmp_path_factory.mktemp("records") / "records.db"
    shutil.copyfile(sqlite_template, path)
    name = f"columns_{uuid4().hex}"
    with closing(clickhouse_server.client()) as client:
        client.command(f"CREATE DATABASE {name}")
    records = await open_records(f"sqlite:///{path}")
    events = await open_events(clickhouse_server.url(name))
    analyst = Analyst(records, events)
    columns = KnownColumns(events.property_columns(LIMITS))
    project = await analyst.store_anew(History(happened=[event(dict.fromkeys(KEYS, "v"))]))
    await columns.columns.add_uses([(project.id, key, 1) for key in KEYS])
    while await columns.columns.step():
        pass
    await columns.refresh()
    assert sorted(columns.stored) == sorted(KEYS)
    yield Site(analyst, columns)
    await events.close()
    await records.close()


def event(properties: Mapping[str, Any], name: str = "a", who: int = 1) -> HistoryEvent:
    at = NOW - timedelta(hours=who)
    return HistoryEvent(uuid4(), name, f"d{who}", UUID(int=who), at, properties)


def asked(**filters: Any) -> InsightQuery:
    return read_query(Fields({"date_from": "-9d", **filters}))


@st.composite
def leaves(draw: st.DrawFn) -> dict[str, Any]:
    operator = draw(st.sampled_from(OPERATORS))
    texts = st.sampled_from(("free", "", "2.5", "{}", "[", "1", "{", "true", "\0"))
    value: Any = draw(st.one_of(texts, st.lists(texts, min_size=1, max_size=2)))
    if operator in ("gt", "lte"):
        value = draw(st.sampled_from((1, "2.5", "free")))
    if operator in ("icontains", "not_icontains", "starts_with", "ends_with"):
        value = draw(texts)
    if operator in ("regex", "not_regex"):
        value = draw(st.sampled_from(("^f", "", r"\[", "e$")))
    if operator == "between":
        value = [0, 2]
    if operator == "is_date_before":
        value = "2024-04-02"
    if operator in ("is_set", "is_not_set"):
        value = operator
    return {"type": "event", "key": draw(st.sampled_from(KEYS)), "operator": operator,
            "value": value}  # fmt: skip


@st.composite
def questions(draw: st.DrawFn) -> InsightQuery:
    properties = draw(st.lists(leaves(), max_size=2))
    breakdown = draw(st.sampled_from((None, *KEYS)))
    by = {} if breakdown is None else {"breakdown": breakdown, "breakdown_type": "event"}
    kind = draw(st.sampled_from(("TRENDS", "SUM", "FUNNELS", "RETENTION", "PATHS", "LIFECYCLE")))
    if kind == "PATHS":
        return asked(insight=kind, properties=properties)
    if kind == "RETENTION":
        entity = {"id": "a", "type": "events"}
        return asked(
            insight=kind,
            properties=properties,
            period="Day",
            total_intervals=4,
            target_entity=entity,
            returning_entity=entity,
        )
    if kind == "FUNNELS":
        steps = [{"id": "a", "order": 0, "properties": properties}, {"id": "b", "order": 1}]
        return asked(insight=kind, events=steps, **by)
    if kind == "LIFECYCLE":
        return asked(insight=kind, events=[{"id": "a"}], properties=properties)
    math = {} if kind == "TRENDS" else {"math": "sum", "math_property": "n"}
    return asked(events=[{"id": "a", **math}], properties=properties, **by)


@st.composite
def web_questions(draw: st.DrawFn) -> InsightQuery:
    breakdown = draw(st.sampled_from(("Page", "Browser", "InitialUTMSource", "InitialPage")))
    sent = {
        "kind": "WebStatsTableQuery",
        "breakdownBy": breakdown,
        "includeBounceRate": breakdown in ("Page", "InitialPage"),
        "properties": draw(st.lists(leaves(), max_size=1)),
        "dateRange": {"date_from": "-9d"},
    }
    return read_sent_query(sent, "")


def with_values(history: History, values: Sequence[Mapping[str, Any]]) -> History:
    """Return the history with more properties of its events."""
    happened = [
        replace(event, properties={**event.properties, **more})
        for event, more in zip(history.happened, values, strict=False)
    ]
    return replace(history, happened=happened)


def held(*values: Any) -> st.SearchStrategy[list[dict[str, Any]]]:
    some = {key: st.sampled_from(values) for key in KEYS if key != "$current_url"}
    return st.lists(st.fixed_dictionaries({}, optional=some), min_size=16, max_size=16)


@settings(max_examples=examples(25))
@given(histories(), held(*VALUES), st.one_of(questions(), web_questions()))
async def test_answers_are_those_without_columns(
    site: Site, history: History, values: Sequence[Mapping[str, Any]], query: InsightQuery
) -> None:
    await site.check(with_values(history, values), query)


async def test_a_table_of_web_analytics_has_views_without_the_property(site: Site) -> None:
    views = [
        event({"$session_id": "s", **own}, "$pageview") for own in ({"$browser": "Chrome"}, {})
    ]
    project = await site.analyst.store_anew(History(happened=views))
    sent = {
        "kind": "WebStatsTableQuery",
        "breakdownBy": "Browser",
        "dateRange": {"date_from": "-9d"},
    }

    answer = await site.answer(project, read_sent_query(sent, ""), with_columns=True)

    assert answer["results"] == [[None, [1, None], [1, None]], ["Chrome", [1, None], [1, None]]]


@settings(max_examples=examples(15))
@given(histories(), held(*VALUES, *NESTED), questions())
async def test_answers_about_lists_and_objects_are_those_without_columns(
    site: Site, history: History, values: Sequence[Mapping[str, Any]], query: InsightQuery
) -> None:
    await site.check(with_values(history, values), query)


async def test_a_question_that_meets_a_list_reads_no_column_of_that_property_for_a_while(
    site: Site,
) -> None:
    happened = [event({"plan": "free", "p": "x"}), event({"plan": ["free"], "p": "x"})]
    project = await site.analyst.store_anew(History(happened=happened))
    by_plan = asked(events=[{"id": "a"}], breakdown="plan", breakdown_type="event")

    answer = await site.answer(project, by_plan, with_columns=True)

    assert sorted(entry["breakdown_value"] for entry in answer["results"]) == ['["free"]', "free"]
    assert set(site.columns.of_project(project.id).keys) == set(KEYS) - {"plan"}
    assert set(site.columns.of_project(project.id + 1).keys) == set(KEYS)


async def test_a_question_is_answered_when_a_column_has_gone(
    own_events_url: str, site: Site
) -> None:
    events = await open_events(own_events_url)
    columns = KnownColumns(events.property_columns(LIMITS))
    other = Site(Analyst(site.analyst.records, events), columns)
    project = await other.analyst.store_anew(History(happened=[event({"plan": "free"})]))
    columns.stored = {key: column for key, column in site.columns.stored.items() if key == "plan"}

    by_plan = asked(events=[{"id": "a"}], breakdown="plan", breakdown_type="event")
    at_once = (other.answer(project, by_plan, with_columns=True) for _ in range(4))
    for answer in await asyncio.gather(*at_once):
        [entry] = answer["results"]
        assert (entry["breakdown_value"], entry["count"]) == ("free", 1)
    assert not columns.is_any_known
    await events.close()


async def test_properties_that_questions_use_are_counted_once_a_question(site: Site) -> None:
    project = await site.analyst.store_anew(History(happened=[event({"plan": "free"})]))
    query = asked(
        events=[{"id": "a", "properties": [{"key": "plan", "value": "free", "type": "event"}]}],
        breakdown="plan",
        breakdown_type="event",
    )
    for _ in range(2):
        await site.answer(project, query, with_columns=True)
    await site.columns.refresh()

    statement = "SELECT property, sum(uses) FROM property_uses WHERE project_id = {id:UInt64}"
    rows = await uses(site.analyst.events, f"{statement} GROUP BY property", project.id)
    assert rows == [("plan", 2)]


async def uses(events: EventStore, statement: str, project_id: int) -> list[tuple[Any, ...]]:
    result = await events.ask(statement, {"id": project_id}, estimated=False)
    return list(zip(*result.columns, strict=True))


async def test_columns_are_looked_up_and_uses_written_after_questions_only(site: Site) -> None:
    known = KnownColumns(site.columns.columns)

    await known.work()
    assert not known.is_any_known
    known.of_project(1)
    await known.work()
    assert set(known.stored) == set(KEYS)
