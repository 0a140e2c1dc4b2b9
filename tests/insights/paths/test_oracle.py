"""Paths of random histories, against a model in plain Python."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.insights.paths.oracle import Rules, all_paths, edges, nodes
from tests.support.asked_actors import actors
from tests.support.examples import examples
from tests.support.histories import NOW, PERSONS, Analyst, History, HistoryEvent

DOCS, START = "https://x.io/docs", "https://x.io/"
URLS = (START, DOCS, f"{DOCS}/")
NAMES = ("$pageview", "$pageview", "$screen", "$other", "a", "b")


@st.composite
def walks(draw: st.DrawFn) -> History:
    """Draw histories of persons who do much in little time."""
    happened = draw(st.lists(_history_events(), max_size=25))
    again = draw(st.lists(st.sampled_from(happened), max_size=2)) if happened else []
    zone = draw(st.sampled_from(("UTC", "Asia/Kathmandu")))
    merged = draw(st.sampled_from([{}, {PERSONS[1]: PERSONS[0]}]))
    return History(zone, [*happened, *again], {}, merged)


@st.composite
def _history_events(draw: st.DrawFn) -> HistoryEvent:
    who = draw(st.integers(1, 2))
    ago = timedelta(minutes=draw(st.sampled_from((0, 1, 2, 3, 10, 29, 30, 31, 60, 61))))
    properties: dict[str, Any] = {"$group_0": draw(st.sampled_from(("acme", "")))}
    properties["$screen_name"] = draw(st.sampled_from(("a", "Home/")))
    if draw(st.integers(0, 4)):
        properties["$current_url"] = draw(st.sampled_from(URLS))
    event, uuid = draw(st.sampled_from(NAMES)), draw(st.uuids(version=4))
    return HistoryEvent(uuid, event, f"d{who}", PERSONS[who - 1], NOW - ago, properties)


def name(event: HistoryEvent) -> str:
    if event.event == "$screen":
        return str(event.properties["$screen_name"])
    url = event.properties.get("$current_url", "")
    result: str = url if event.event == "$pageview" else event.event
    return result[:-1] if event.event == "$pageview" and result.endswith("/") else result


def is_of(event: HistoryEvent, types: list[str]) -> bool:
    is_custom = not event.event.startswith("$") and "custom_event" in types
    return not types or event.event in types or is_custom


# It takes seconds: each example is stored and asked about.
@pytest.mark.parametrize("part", range(2))
@settings(max_examples=examples(30))
@given(walks(), st.data())
async def test_every_option_counts_as_the_model_does(
    analyst: Analyst, part: int, history: History, data: st.DataObject
) -> None:
    def drawn(label: str, *choices: Any) -> Any:
        return data.draw(st.sampled_from(choices), label)

    types = drawn("types", [], ["$pageview"], ["$screen", "custom_event"])
    excluded = drawn("excluded", [], [], [DOCS, "b"])
    steps = drawn("steps", 5, 2, 3, 4)
    limit = drawn("edges", 50, 50, 2)
    least, most = drawn("least", None, None, 2), drawn("most", None, None, 1)
    of_groups = drawn("groups", False, False, True)
    start = drawn("start", None, "a", DOCS, f"{DOCS}/")
    end = drawn("end", None, "b", "a", DOCS)
    question: dict[str, Any] = {
        "insight": "PATHS",
        "date_from": "dStart",
        "include_event_types": types,
        "exclude_events": excluded,
        "start_point": start,
        "end_point": end,
        "step_limit": steps,
        "edge_limit": limit,
        "min_edge_weight": least,
        "max_edge_weight": most,
    }
    if of_groups:
        question["aggregation_group_type_index"] = 0

    def named(one: HistoryEvent) -> str | None:
        return name(one) if is_of(one, types) and name(one) not in excluded else None

    def group(one: HistoryEvent) -> Any:
        return one.properties["$group_0"] or None

    who = group if of_groups else history.actor
    rules = Rules(named, who, start, end, steps, limit, least, most)

    project = await analyst.store(history)
    answer = await analyst.ask(project, **question)

    result = list(all_paths(history, _today(history.zone), rules))
    expected = edges([path for _, path in result], rules)
    results = [
        (result["source"], result["target"], result["value"], result["average_conversion_time"])
        for result in answer["results"]
    ]
    assert results == [(*row[:3], pytest.approx(row[3])) for row in expected]
    every = nodes([path for _, path in result])
    shown = {key for source, target, *_ in expected for key in (source, target)}
    assert {node["name"]: (node["count"], node["ended"]) for node in answer["nodes"]} == {
        key: every[key] for key in shown
    }
    _check_sums(answer)
    if expected and part:
        await _check_people(analyst, project, question, result, expected[0])


def _check_sums(answer: dict[str, Any]) -> None:
    """Check that all paths that reach a step end there or go on, by a shown edge or the other."""
    on = Counter[str]()
    for edge in [*answer["results"], *answer["other_edges"]]:
        on[edge["source"]] += edge["value"]
    for node in answer["nodes"]:
        assert node["count"] == node["ended"] + on[node["name"]]


async def _check_people(
    analyst: Analyst, project: Any, question: dict[str, Any], result: Any, edge: Any
) -> None:
    source, target, number, _ = edge
    people = await actors(analyst, project, **question, path_start_key=source, path_end_key=target)
    place = int(source.partition("_")[0])
    names = source.partition("_")[2], target.partition("_")[2]
    whose = Counter(
        person
        for person, path in result
        if tuple(step for step, _ in path[place - 1 : place + 1]) == names
    )
    assert sum(paths for _, paths in people) == number
    assert dict(people) == dict(whose)


def _today(zone: str) -> datetime:
    day = NOW.astimezone(ZoneInfo(zone)).date()
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)
