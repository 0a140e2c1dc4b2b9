"""Paths within a funnel: by hand, and of random histories against a model in plain Python."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.errors import Invalid
from fanion.insights.kinds.validation import check_insight_filters
from tests.insights.funnels.oracle import Oracle
from tests.insights.paths.oracle import Rules, all_paths, edges, nodes
from tests.insights.paths.test_oracle import name, walks
from tests.support.asked_actors import actors
from tests.support.examples import examples
from tests.support.histories import PERSONS, Analyst, History, HistoryEvent, history_event

Json = dict[str, Any]
ANN, BOB = PERSONS[:2]


def did(who: int, *happened: tuple[str, str]) -> list[HistoryEvent]:
    return [history_event(event, who, f"2024-03-01 {time}") for time, event in happened]


EXAMPLE = History(
    "UTC",
    [
        *did(1, ("10:00", "home"), ("10:01", "signed up"), ("10:02", "docs")),
        *did(1, ("10:42", "paid"), ("10:43", "bye")),
        *did(2, ("10:00", "home"), ("10:01", "signed up"), ("10:05", "help")),
        *did(3, ("10:00", "home"), ("10:01", "docs")),
    ],
)
DAY: Json = {"date_from": "2024-03-01", "date_to": "2024-03-01"}
FUNNEL: Json = {"insight": "FUNNELS", "events": [{"id": "signed up"}, {"id": "paid"}], **DAY}


@pytest.mark.parametrize(
    ("which", "step", "paths"),
    [
        ("after_step", 1, ["signed up, docs, paid, bye", "signed up, help"]),
        ("after_step", 2, ["paid, bye"]),
        ("before_step", 1, ["home, signed up", "home, signed up"]),
        ("before_step", 2, ["home, signed up, docs, paid"]),
        ("between_steps", 2, ["signed up, docs, paid"]),
        ("after_step", -2, ["signed up, help"]),
        ("before_step", -2, ["home, signed up"]),
    ],
)
async def test_paths_lie_in_the_part_of_the_funnel(
    analyst: Analyst, which: str, step: int, paths: list[str]
) -> None:
    """The pause of forty minutes is within the window of the funnel, and so within the path."""
    within: Json = {
        "funnel_paths": f"funnel_path_{which}",
        "funnel_filter": FUNNEL,
        "funnel_step": step,
    }
    question: Json = {"insight": "PATHS", **DAY, **within}
    project = await analyst.store(EXAMPLE)

    answer = await analyst.ask(project, **question)
    [first, *_] = answer["nodes"]
    people = await actors(analyst, project, **question, path_start_key=first["name"])

    expected = Counter[tuple[str, str]]()
    for path in paths:
        names = [f"{n}_{step}" for n, step in enumerate(path.split(", "), 1)]
        expected.update(pairwise(names))
    assert {
        (edge["source"], edge["target"]): edge["value"] for edge in answer["results"]
    } == expected
    of_bob = any("help" in path or path == "home, signed up" for path in paths)
    of_ann = any("docs" in path or "bye" in path for path in paths) or len(paths) == 2
    assert {who for who, _ in people} == {*([ANN] if of_ann else []), *([BOB] if of_bob else [])}


# It takes seconds: each example is stored and asked about.
@settings(max_examples=examples(40))
@given(walks(), st.data())
async def test_paths_within_funnels_are_those_of_the_model(
    analyst: Analyst, history: History, data: st.DataObject
) -> None:
    def drawn(label: str, *choices: Any) -> Any:
        return data.draw(st.sampled_from(choices), label)

    events = drawn("steps", ["a", "b"], ["a", "b", "$pageview"], ["$pageview", "a"], ["a"])
    funnel: Json = {
        "insight": "FUNNELS",
        "events": [{"id": event} for event in events],
        "date_from": "-1d",
        "funnel_order_type": drawn("order", "ordered", "ordered", "strict", "unordered"),
        "funnel_window_interval": drawn("window", 14, 5, 45),
        "funnel_window_interval_unit": drawn("unit", "minute", "day"),
    }
    of_groups = drawn("groups", False, False, True)
    which = drawn("which", "before_step", "between_steps", "after_step")
    size = len(events)
    steps = (
        range(2, size + 1) if which == "between_steps" else (*range(1, size + 1), *range(-size, -1))
    )
    if not steps:
        return
    step = drawn("step", *steps)
    question: Json = {
        "insight": "PATHS",
        "date_from": "-1d",
        "funnel_paths": f"funnel_path_{which}",
        "funnel_filter": funnel,
        "funnel_step": step,
    }
    if of_groups:
        question["aggregation_group_type_index"] = funnel["aggregation_group_type_index"] = 0

    def who(one: HistoryEvent) -> Any:
        return one.properties["$group_0"] or None if of_groups else history.actor(one)

    parts = _parts(Oracle(history, funnel), which, step)

    def named(one: HistoryEvent) -> str | None:
        since, until = parts.get(who(one), _NEVER)
        return name(one) if since <= one.at <= until else None

    unit, number = funnel["funnel_window_interval_unit"], funnel["funnel_window_interval"]
    rules = Rules(named, who, gap=timedelta(**{f"{unit}s": number}))
    project = await analyst.store(history)
    answer = await analyst.ask(project, **question)

    paths = list(all_paths(history, datetime(2024, 1, 1, tzinfo=UTC), rules))
    expected = edges([path for _, path in paths], rules)
    assert [
        (edge["source"], edge["target"], edge["value"], edge["average_conversion_time"])
        for edge in answer["results"]
    ] == [(*row[:3], pytest.approx(row[3])) for row in expected]
    every = nodes([path for _, path in paths])
    for node in answer["nodes"]:
        assert (node["count"], node["ended"]) == every[node["name"]]
    if expected:
        source, target, count, _ = expected[0]
        people = await actors(
            analyst, project, **question, path_start_key=source, path_end_key=target
        )
        assert sum(number for _, number in people) == count


_LONG_AGO, _FAR = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
_NEVER = (_FAR, _LONG_AGO)


def _parts(oracle: Oracle, which: str, step: int) -> dict[Any, tuple[datetime, datetime]]:
    """Return the first and the last moment of the part of each actor."""
    parts = {}
    for who, events in oracle.of_actors().items():
        tries = oracle.tries(events)
        level = max((one.level for one in tries), default=0)
        if level == 0 or (level < step if step > 0 else level != -step - 1):
            continue
        best = next(one for one in tries if one.level == level)
        number = step if step > 0 else level
        at = best.events[number - 1].at
        if which == "between_steps":
            parts[who] = best.events[number - 2].at, at
        else:
            parts[who] = (_LONG_AGO, at) if which == "before_step" else (at, _FAR)
    return parts


async def test_the_funnel_has_its_own_conditions(analyst: Analyst) -> None:
    happened = [
        history_event("a", 1, "2024-03-01 10:00", plan="pro"),
        history_event("b", 1, "2024-03-01 10:01", plan="free"),
        history_event("a", 2, "2024-03-01 10:00", plan="free"),
        history_event("b", 2, "2024-03-01 10:01", plan="free"),
    ]
    pro = [{"key": "plan", "value": "pro"}]
    funnel = {"insight": "FUNNELS", "events": [{"id": "a"}], "properties": pro, **DAY}
    within: Json = {
        "funnel_paths": "funnel_path_after_step",
        "funnel_filter": funnel,
        "funnel_step": 1,
    }
    project = await analyst.store(History("UTC", happened))

    answer = await analyst.ask(project, insight="PATHS", **DAY, **within)
    free = [{"key": "plan", "value": "free"}]
    others = await analyst.ask(project, insight="PATHS", **DAY, **within, properties=free)

    assert [(edge["source"], edge["value"]) for edge in answer["results"]] == [("1_a", 1)]
    assert others["results"] == []


def within(step: int | None, which: str = "after_step", **funnel: Any) -> Json:
    return {
        "funnel_paths": f"funnel_path_{which}",
        "funnel_filter": {**FUNNEL, **funnel},
        "funnel_step": step,
    }


@pytest.mark.parametrize(
    ("filters", "attr", "detail"),
    [
        ({"funnel_paths": "funnel_path_after_step"}, "funnel_filter", "This field is required."),
        ({"funnel_filter": FUNNEL, "funnel_step": 1}, "funnel_paths", "This field is required."),
        ({"funnel_paths": "after"}, "funnel_paths", '"after" is not a valid choice.'),
        (within(None), "funnel_step", "This field is required."),
        (within(0), "funnel_step", "Ensure this value is 1 or greater, or -2 or less."),
        (within(3), "funnel_step", "Ensure this value is between -2 and 2."),
        (
            within(1, "between_steps"),
            "funnel_step",
            "Between steps lies what comes before step 2 or a later one.",
        ),
        (within(1, insight="TRENDS"), "funnel_filter__insight", "Allowed are: FUNNELS."),
        (within(1, events=[]), "funnel_filter__events", "A funnel without steps has no persons."),
        (within(1, breakdown="plan"), "funnel_filter__breakdown", "cannot have a breakdown."),
        (within(1, compare=True), "funnel_filter__compare", "does not compare ranges."),
        (
            within(1, funnel_aggregate_by_hogql="properties.a"),
            "funnel_filter__funnel_aggregate_by_hogql",
            "Paths are those of persons or groups.",
        ),
        (
            within(1, aggregation_group_type_index=0),
            "funnel_filter",
            "Paths and their funnel must count the same persons or groups.",
        ),
        (
            within(1, events=[{"id": "a", "properties": [{"key": "b", "operator": "resembles"}]}]),
            "funnel_filter__events__0__properties__0__operator",
            'Unknown operator "resembles"',
        ),
    ],
)
def test_what_is_no_part_of_a_funnel_is_refused(filters: Json, attr: str, detail: str) -> None:
    with pytest.raises(Invalid) as raised:
        check_insight_filters({"insight": "PATHS", **filters})

    assert (raised.value.attr, detail in str(raised.value.detail)) == (attr, True)
