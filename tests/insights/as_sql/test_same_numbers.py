"""The SQL of questions about random histories, against the answers to the questions."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
from hypothesis import given, settings

from fanion.insights.as_sql.service import SqlOfQuestions
from fanion.insights.kinds.service import read_query
from fanion.insights.parsing.fields import Fields
from fanion.insights.sql.compiler import NONE
from tests.support.examples import examples
from tests.support.histories import NOW, Analyst, History, histories
from tests.support.sql import Asker

A: Final[dict[str, Any]] = {"id": "a", "type": "events"}
B: Final[dict[str, Any]] = {"id": "b", "type": "events"}
ANY: Final[dict[str, Any]] = {"id": None, "type": "events"}
PRO: Final[dict[str, Any]] = {**ANY, "properties": [{"key": "plan", "value": "PRO"}]}
EITHER: Final = {"type": "groups", "nodes": [A, {**B, "properties": [{"key": "n", "value": 4}]}]}


def _where(key: str, value: Any, operator: str, **more: Any) -> dict[str, Any]:
    return {"properties": [{"key": key, "value": value, "operator": operator, **more}]}


CONDITIONS: Final[list[dict[str, Any]]] = [
    _where("plan", ["Pro", "free", True, "0"], "exact"),
    _where("plan", "pro", "is_not"),
    _where("plan", ["pro", "free"], "is_not"),
    _where("plan", "R", "icontains"),
    _where("plan", "r", "not_icontains"),
    _where("plan", "p", "starts_with"),
    _where("plan", "e", "not_ends_with"),
    _where("plan", "^p.o$", "regex"),
    _where("plan", "^p.o$", "not_regex"),
    _where("plan", None, "is_set"),
    _where("plan", None, "is_not_set"),
    _where("n", 2, "gt"),
    _where("n", "4", "lte"),
    _where("n", [1, 3], "between"),
    _where("plan", "pro", "exact", type="person"),
    _where("plan", "pro", "is_not", type="person"),
    _where("plan", None, "is_not_set", type="person"),
    _where("size", 2, "gte", type="group", group_type_index=0),
    _where("plan", "pro", "is_not", type="group", group_type_index=0),
    {"properties": [{"type": "hogql", "key": "properties.plan = 'pro' -- comment"}]},
    _where("plan", "p", "starts_with", negation=True),
    {"properties": [{"type": "hogql", "key": "match(properties.plan, 'p')", "negation": True}]},
    {"properties": {"type": "OR", "values": [
        {"type": "AND", "values": [{"key": "plan", "value": "pro"}, {"key": "n", "value": 1}]},
        {"type": "AND", "values": [{"key": "it's \\n", "value": "\\'"}]},
    ]}},
]  # fmt: skip
RANGE: Final = {"date_from": "-9d"}
MATHS: Final[list[dict[str, Any]]] = [
    *({"math": word} for word in ("total", "dau", "weekly_active", "unique_session")),
    *({"math": word} for word in ("first_time_for_user", "first_matching_event_for_user")),
    {"math": "unique_group", "math_group_type_index": 0},
    *({"math": word, "math_property": "n"} for word in ("sum", "avg", "median", "p90", "max")),
    {"math": "sum", "math_property": "n", "math_multiplier": 0.5},
    {"math": "sum", "math_property": "n", "math_property_type": "person_properties"},
    {"math": "avg_count_per_actor"},
    {"math": "p90_sum_per_actor", "math_property": "n"},
    {"math": "hogql", "math_hogql": "sum(toFloat(properties.n)) / count()"},
]
BREAKDOWNS: Final[list[dict[str, Any]]] = [
    {"breakdown": "plan"},
    {"breakdown": "plan", "breakdown_type": "person"},
    {"breakdown": "plan", "breakdown_type": "group", "breakdown_group_type_index": 0},
    {"breakdown": "toHour(timestamp) % 2", "breakdown_type": "hogql"},
    {"breakdowns": [{"property": "plan"}, {"property": "plan", "type": "person"}]},
]
GROUPS: Final[dict[str, Any]] = {"aggregation_group_type_index": 0}
TRENDS: Final[list[dict[str, Any]]] = [
    *({"events": [ANY], **condition} for condition in CONDITIONS),
    *({"events": [{**PRO, **math}]} for math in MATHS),
    *({"events": [{**A, **math}], "breakdown": "plan"} for math in MATHS),
    *({"events": [{**PRO, **math}], "display": "ActionsTable"} for math in MATHS),
    *({"events": [ANY], **breakdown} for breakdown in BREAKDOWNS),
    *({"events": [ANY], "interval": unit} for unit in ("hour", "day", "week", "month", "quarter")),
    {"events": [{**A, "math": "weekly_active"}], "interval": "week"},
    {"events": [A, {**B, "math": "dau"}, EITHER], "breakdown": "plan"},
    {"events": [{**ANY, "math": "dau"}], **GROUPS},
    {"events": [{**ANY, "math": "first_time_for_user"}], "breakdown": "plan", **GROUPS},
    {"events": [ANY], "date_from": "-30h", "interval": "hour", "explicit_date": True},
    {"events": [ANY], "date_from": "all", "interval": "month"},
]
FUNNELS: Final[list[dict[str, Any]]] = [
    {"events": [A, B, {"id": "c", "type": "events"}]},
    {"events": [A, B], "funnel_window_interval": 30, "funnel_window_interval_unit": "minute"},
    {"events": [EITHER, {"id": "c", "type": "events"}], "date_to": "-2d"},
    {"events": [A, B], **GROUPS},
    {"events": [A, B], "funnel_aggregate_by_hogql": "properties.$session_id"},
    *({"events": [A, B], **condition} for condition in CONDITIONS[:3]),
]
RETENTION: Final[list[dict[str, Any]]] = [
    {"target_entity": A, "returning_entity": target, **more}
    for target in (A, PRO)
    for more in (
        dict[str, Any](),
        {"period": "Hour", "total_intervals": 20, "date_from": "-1d"},
        {"period": "Week"},
        {"period": "Month", "total_intervals": 3},
        {"retention_type": "retention_first_time"},
        {"retention_type": "retention_first_time", "minimum_occurrences": 2, "breakdown": "plan"},
        {"cumulative": True, **CONDITIONS[1]},
        {"minimum_occurrences": 2},
        *BREAKDOWNS[:3],
        GROUPS,
    )
]
STICKINESS: Final[list[dict[str, Any]]] = [
    {"events": [A, {**B, "math": "unique_group", "math_group_type_index": 0}]},
    *({"events": [ANY], "interval": unit} for unit in ("hour", "day", "week", "month")),
    {"events": [PRO], "computed_as": "cumulative"},
    *(
        {"events": [ANY], "stickiness_criteria": {"operator": operator, "value": 2}}
        for operator in ("gte", "lte", "exact")
    ),
]
LIFECYCLE: Final[list[dict[str, Any]]] = [
    *({"events": [ANY], "interval": unit} for unit in ("hour", "day", "week", "month", "quarter")),
    {"events": [PRO], **CONDITIONS[1]},
    {"events": [A], **GROUPS},
]
Numbers = Mapping[tuple[Any, ...], float]


def _trend_numbers(entries: Any, **filters: Any) -> Numbers:
    is_broken_down = "breakdown" in filters or "breakdowns" in filters
    numbers: dict[tuple[Any, ...], float] = defaultdict(float)
    for entry in entries:
        series = (entry["action"]["order"],) if len(filters["events"]) > 1 else ()
        value = entry.get("breakdown_value")
        values = tuple(value) if isinstance(value, list) else (value,) if is_broken_down else ()
        values = tuple(None if one == NONE else one for one in values)
        points = zip(entry["days"], entry["data"], strict=True)
        if "aggregated_value" in entry:
            numbers[*series, *values] = entry["aggregated_value"]
        for day, number in points if "aggregated_value" not in entry else ():
            numbers[*series, day, *values] += number
    return numbers


def _funnel_numbers(steps: Any, **filters: Any) -> Numbers:
    return {(number,): step["count"] for number, step in enumerate(steps)}


def _retention_numbers(rows: Any, **filters: Any) -> Numbers:
    numbers = {}
    for row in rows:
        value = row.get("breakdown_value")
        values = tuple(value) if isinstance(value, list) else (value,) if "breakdown" in row else ()
        values = tuple(None if one == NONE else one for one in values)
        for later, cell in enumerate(row["values"]):
            numbers[row["date"][:19].replace("T", " "), *values, later] = cell["count"]
    return numbers


def _stickiness_numbers(entries: Any, **filters: Any) -> Numbers:
    several = len(filters["events"]) > 1
    return {
        (*((entry["action"]["order"],) if several else ()), number): count
        for entry in entries
        for number, count in zip(entry["days"], entry["data"], strict=True)
    }


def _lifecycle_numbers(entries: Any, **filters: Any) -> Numbers:
    return {
        (day, entry["status"]): count
        for entry in entries
        for day, count in zip(entry["days"], entry["data"], strict=True)
    }


KINDS: Final[dict[str, tuple[list[dict[str, Any]], Callable[..., Numbers]]]] = {
    "TRENDS": (TRENDS, _trend_numbers),
    "FUNNELS": (FUNNELS, _funnel_numbers),
    "RETENTION": (RETENTION, _retention_numbers),
    "STICKINESS": (STICKINESS, _stickiness_numbers),
    "LIFECYCLE": (LIFECYCLE, _lifecycle_numbers),
}


def _cell(value: Any, column: str) -> Any:
    """Return a cell as the answer of an insight has it."""
    if column == "series":
        return ord(value[0]) - ord("A")
    if isinstance(value, str) and value[10:11] == "T":
        return value[:19].replace("T", " ")
    return value


def _numbers_of_rows(kind: str, answer: Mapping[str, Any]) -> Numbers:
    columns, rows = answer["columns"], answer["results"]
    if kind == "FUNNELS":
        return {(number,): count for number, count in enumerate(rows[0])}
    return {tuple(map(_cell, row[:-1], columns)): row[-1] for row in rows if _is_number(row[-1])}


def _is_number(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def _plain(numbers: Numbers) -> Numbers:
    """Return the numbers without zeros, by their places, whose days have no time."""
    return {
        tuple(str(part).removesuffix(" 00:00:00") for part in place): round(number, 6)
        for place, number in numbers.items()
        if number
    }


async def _check(analyst: Analyst, history: History, kind: str, filters: dict[str, Any]) -> None:
    project = await analyst.store(history)
    sent = {**RANGE, **filters, "insight": kind}
    expected = KINDS[kind][1](await analyst.ask(project, **sent), **sent)
    query = read_query(Fields(sent))
    text = await SqlOfQuestions(analyst.analysis).text(project, query, kind, NOW)

    found = _numbers_of_rows(kind, await Asker(analyst, project).ask(text))

    assert _plain(found) == _plain(expected), text


@pytest.mark.long("asks hundreds of questions and their SQL")
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(9))
@given(history=histories())
async def test_the_sql_has_the_numbers_of_the_question(
    analyst: Analyst, kind: str, history: History
) -> None:
    for filters in KINDS[kind][0]:
        await _check(analyst, history, kind, filters)
