"""SQL within insights of random histories, against what it stands for."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.insights.trends.test_oracle import numbers, same
from tests.support.examples import examples
from tests.support.histories import Analyst, History, histories

Json = dict[str, Any]
# Pairs of an expression, and what it stands for. The maths count all events, or those with a value.
MATHS: tuple[tuple[str, Json], ...] = (
    ("count()", {"math": "total"}),
    ("uniq(person_id)", {"math": "dau"}),
    ("sum(toFloat(properties.n))", {"math": "sum", "math_property": "n"}),
    ("max(toFloat(properties.n))", {"math": "max", "math_property": "n"}),
    ("uniqIf($session_id, $session_id != '')", {"math": "unique_session"}),
    ("uniqIf($group_0, $group_0 != '')", {"math": "unique_group", "math_group_type_index": 0}),
)
BREAKDOWNS: tuple[tuple[str, Json], ...] = (
    ("properties.plan", {"property": "plan", "type": "event"}),
    ("person.properties.plan", {"property": "plan", "type": "person"}),
    ("group_0.properties.plan", {"property": "plan", "type": "group", "group_type_index": 0}),
    ("session.$pageview_count", {"property": "$pageview_count", "type": "session"}),
)
CONDITIONS: tuple[tuple[str, Json], ...] = (
    ("properties.plan = 'pro'", {"key": "plan", "value": "pro"}),
    ("properties.plan != 'pro'", {"key": "plan", "value": "pro", "operator": "is_not"}),
    ("toFloat(properties.n) > 1", {"key": "n", "value": 1, "operator": "gt"}),
    ("person.properties.plan = 'pro'", {"key": "plan", "value": "pro", "type": "person"}),
    (
        "group_0.properties.plan = 'pro'",
        {"key": "plan", "value": "pro", "type": "group", "group_type_index": 0},
    ),
    (
        "session.$session_duration > 60",
        {"key": "$session_duration", "value": 60, "operator": "gt", "type": "session"},
    ),
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "interval": st.sampled_from(("hour", "day", "week")),
        "display": st.sampled_from(("BoldNumber", "ActionsBar")),
        "breakdown_limit": st.integers(1, 3),
        "compare": st.booleans(),
    },
)


@settings(max_examples=examples(40, few=12))
@given(
    histories(),
    OPTIONS,
    st.sampled_from(MATHS),
    st.none() | st.sampled_from(BREAKDOWNS),
    st.none() | st.sampled_from(CONDITIONS),
    st.booleans(),
)
async def test_sql_counts_as_what_it_stands_for(
    analyst: Analyst,
    history: History,
    options: Json,
    math: tuple[str, Json],
    breakdown: tuple[str, Json] | None,
    condition: tuple[str, Json] | None,
    of_series: bool,
) -> None:
    def question(in_sql: bool) -> Json:
        series: Json = {"id": "a"}
        series |= {"math": "hogql", "math_hogql": math[0]} if in_sql else math[1]
        asked: Json = {"breakdown_limit": 50, **options, "events": [series], "date_from": "-7d"}
        if math not in MATHS[:2]:
            asked["breakdown_limit"] = 50
        if breakdown is not None:
            parts = {"property": breakdown[0], "type": "hogql"} if in_sql else breakdown[1]
            asked["breakdowns"] = [parts]
        if condition is not None:
            held = {"key": condition[0], "type": "hogql"} if in_sql else condition[1]
            (series if of_series else asked)["properties"] = [held]
        return asked

    project = await analyst.store(history)
    in_sql = await analyst.ask(project, **question(True))
    expected = await analyst.ask(project, **question(False))

    for label in ("current", "previous") if options.get("compare") else (None,):
        own, other = (
            numbers(entry for entry in answer if entry.get("compare_label") == label)
            for answer in (in_sql, expected)
        )
        assert same({value: row for value, row in own.items() if value in other}, other)
        # A math of values leaves out a value of the breakdown that no event with a value has.
        assert not any(sum(row) for value, row in own.items() if value not in other)


@pytest.mark.parametrize("breakdown", BREAKDOWNS, ids=lambda pair: str(pair[0]))
@settings(max_examples=examples(6))
@given(histories(), st.sampled_from(CONDITIONS))
async def test_a_funnel_counts_as_what_sql_stands_for(
    analyst: Analyst, breakdown: tuple[str, Json], history: History, condition: tuple[str, Json]
) -> None:
    project = await analyst.store(history)
    own, other = [
        await analyst.ask(
            project,
            insight="FUNNELS",
            events=[{"id": "a", "order": 0, "properties": [held]}, {"id": "b", "order": 1}],
            date_from="-7d",
            breakdowns=[part],
        )
        for held, part in (
            (
                {"key": condition[0], "type": "hogql"},
                {"property": breakdown[0], "type": "hogql"},
            ),
            (condition[1], breakdown[1]),
        )
    ]

    def counts(answer: Any) -> list[Any]:
        return sorted(
            (step["breakdown_value"], step["order"], step["count"])
            for steps in answer
            for step in steps
        )

    assert counts(own) == counts(other)
