"""The number of actors behind every number of an answer is this number.

The addresses in the answer are followed, for random histories and all kinds of questions. Each test
takes seconds, since every number of an answer is a question of its own.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.insights.actors.service import Actor, ActorFinder, read_actors
from fanion.insights.calculation.people_urls import people_url
from fanion.insights.kinds.service import KINDS_BY_INSIGHT
from fanion.insights.parsing.query_string import decode_parameters
from fanion.projects.model import Project
from tests.support.examples import examples
from tests.support.histories import NOW, Analyst, History, histories

Json = dict[str, Any]
# An address, and the number of actors behind it.
Cell = tuple[str, float]

SEEN_A, SEEN_ANY = {"id": "a"}, {"id": None}
GROUPS = {"aggregation_group_type_index": 0}


def options(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    common = {
        "date_from": st.sampled_from(("-7d", "-13d", "all")),
        "aggregation_group_type_index": st.sampled_from((None, 0)),
        "interval": st.sampled_from(("day", "week")),
    }
    return st.fixed_dictionaries({}, optional={**common, **more})


async def behind(analyst: Analyst, project: Project, address: str) -> list[Actor]:
    """Return all actors of an address, read a few at a time."""
    parts = urlsplit(address)
    sent = decode_parameters(dict(parse_qsl(parts.query, keep_blank_values=True)))
    path = parts.path.rpartition("/persons/")[2].rstrip("/")
    [insight] = [
        name for name, kind in KINDS_BY_INSIGHT.items() if kind.actors and kind.actors.path == path
    ]
    query = read_actors({**sent, "insight": insight})
    finder = ActorFinder(analyst.analysis)
    actors: list[Actor] = []
    async for some in finder.find_batches(project, query, NOW, size=2, batch_max=3):
        assert 0 < len(some) <= 2
        actors += some
    whole = await finder.find_page(project, query, NOW, limit=100)
    assert (whole.actors, whole.has_more) == (actors, False)
    return actors


async def check(analyst: Analyst, project: Project, cells: list[Cell]) -> None:
    for address, number in cells:
        actors = await behind(analyst, project, address)
        assert len({who for who, _ in actors}) == len(actors) == number, address


def of_retention(result: list[Json]) -> Iterator[Cell]:
    for row in result:
        yield row["people_url"], row["values"][0]["count"]
        for value in row["values"]:
            yield value["people_url"], value["count"]


@settings(max_examples=examples(5, few=2))
@given(
    histories(),
    options(
        retention_type=st.sampled_from(("retention_recurring", "retention_first_time")),
        cumulative=st.booleans(),
    ),
)
async def test_retention(analyst: Analyst, history: History, asked: Json) -> None:
    project = await analyst.store(history)
    question = {
        **{name: asked[name] for name in asked if name not in ("date_from", "interval")},
        "insight": "RETENTION",
        "total_intervals": 4,
        "target_entity": SEEN_A,
        "returning_entity": SEEN_ANY,
    }

    result = await analyst.ask(project, **question)

    await check(analyst, project, list(of_retention(result)))


@settings(max_examples=examples(6))
@given(
    histories(),
    options(compare=st.booleans(), display=st.sampled_from(("ActionsLineGraph", "BoldNumber"))),
    st.sampled_from(("total", "dau", "unique_group", "weekly_active")),
    st.sampled_from(
        (
            {},
            {"breakdown": "plan", "breakdown_limit": 1},
            {"breakdown": "plan", "breakdown_type": "person"},
            {"breakdown": "plan", "breakdown_type": "group", "breakdown_group_type_index": 0},
        )
    ),
)
async def test_trends(
    analyst: Analyst, history: History, asked: Json, math: str, broken: Json
) -> None:
    project = await analyst.store(history)
    series = {"id": "a", "math": math, "math_group_type_index": 0 if "group" in math else None}

    result = await analyst.ask(project, **asked, **broken, events=[series])

    for address, number in of_trends(result):
        actors = await behind(analyst, project, address)
        assert len({who for who, _ in actors}) == len(actors)
        assert (sum(n for _, n in actors) if math == "total" else len(actors)) == number, address


def of_trends(result: list[Json]) -> Iterator[Cell]:
    for entry in result:
        if "aggregated_value" in entry:
            yield entry["persons"]["url"], entry["aggregated_value"]
        else:
            yield from of_points([entry])


def of_funnels(result: list[Any]) -> Iterator[Cell]:
    for step in result:
        if isinstance(step, list):
            yield from of_funnels(step)
            continue
        yield step["converted_people_url"], step["count"]
    for before, after in pairwise(result):
        if isinstance(after, dict):
            yield after["dropped_people_url"], before["count"] - after["count"]


@settings(max_examples=examples(5, few=2))
@given(
    histories(),
    options(
        funnel_order_type=st.sampled_from(("ordered", "strict", "unordered")),
        funnel_window_days=st.sampled_from((None, 1, 3)),
    ),
    st.sampled_from(({}, {"breakdown": "plan"}, {"breakdown": "plan", "breakdown_type": "person"})),
)
async def test_funnels(analyst: Analyst, history: History, asked: Json, broken: Json) -> None:
    project = await analyst.store(history)
    of_persons = {"interval", "aggregation_group_type_index"} if broken else {"interval"}
    question = {name: asked[name] for name in asked if name not in of_persons}
    events = [SEEN_A, {"id": "b"}, {"id": "c"}]

    result = await analyst.ask(project, **question, **broken, insight="FUNNELS", events=events)

    await check(analyst, project, list(of_funnels(result)))


@settings(max_examples=examples(5, few=2))
@given(histories(), options())
async def test_life_cycles(analyst: Analyst, history: History, asked: Json) -> None:
    project = await analyst.store(history)

    result = await analyst.ask(project, **asked, insight="LIFECYCLE", events=[SEEN_A])

    await check(analyst, project, list(of_points(result)))


@settings(max_examples=examples(5, few=2))
@given(histories(), st.sampled_from(({}, {"start_point": "a"}, {"exclude_events": ["x"]})))
async def test_paths_are_those_of_their_actors(
    analyst: Analyst, history: History, asked: Json
) -> None:
    project = await analyst.store(history)
    question = {**asked, "date_from": "-13d"}

    result = await analyst.ask(project, **question, insight="PATHS")

    for edge in result["results"]:
        place = {"path_start_key": edge["source"], "path_end_key": edge["target"]}
        address = people_url(project.id, "path", question, **place)
        actors = await behind(analyst, project, address)
        assert sum(paths for _, paths in actors) == edge["value"]
        assert len({who for who, _ in actors}) == len(actors)


def of_points(result: list[Json]) -> Iterator[Cell]:
    for entry in result:
        for url, number in zip(entry["persons_urls"], entry["data"], strict=True):
            yield url["url"], abs(number)


@settings(max_examples=examples(5, few=2))
@given(
    histories(),
    options(compare=st.booleans(), computed_as=st.sampled_from(("cumulative", "non_cumulative"))),
    st.sampled_from((None, "unique_group")),
)
async def test_stickiness(
    analyst: Analyst, history: History, asked: Json, math: str | None
) -> None:
    project = await analyst.store(history)
    group = {"math": math, "math_group_type_index": 0} if math else {}
    events = [SEEN_A, {**SEEN_ANY, **group}]

    result = await analyst.ask(project, **asked, insight="STICKINESS", events=events)

    await check(analyst, project, list(of_points(result)))
