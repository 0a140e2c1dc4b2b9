"""A trend falls back to a slower statement if memory is short."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from fanion.events.event import StatementFailed
from fanion.events.storage.compiled_query import QuestionLimits, QuestionResult, StatementResult
from fanion.events.storage.store import EventStore
from fanion.insights.calculation.service import Analysis
from fanion.insights.calculation.statements_service import Statements
from fanion.insights.kinds.service import Calculator, read_query
from fanion.insights.parsing.fields import Fields
from tests.support.histories import NOW, Analyst, History, history_event, results_of

MEMORY_LIMIT_EXCEEDED = 241
SETS_OF_PERSONS = "AS counted\n            FROM (\n  SELECT roundDown"
ARRAYS_OF_COUNTS = "countResample"

GROUP: dict[str, Any] = {"$group_0": "g"}
HISTORY = History(
    "UTC",
    [
        history_event("$pageview", 1, "2024-03-01 09:00", plan="x", **GROUP),
        history_event("$pageview", 2, "2024-03-01 10:00", plan="x"),
        history_event("$pageview", 3, "2024-03-01 11:00", plan="y", **GROUP),
        history_event("$pageview", 1, "2024-03-02 09:00", plan="y"),
        history_event("$pageview", 3, "2024-03-02 09:30", plan="y"),
    ],
    merged={UUID(int=2): UUID(int=1)},
)
ASKED: dict[str, Any] = {
    "events": [{"id": "$pageview", "math": "dau"}],
    "date_from": "2024-03-01",
    "date_to": "2024-03-03",
}


@dataclass
class ShortOfMemory:
    """An event store whose faster statements need too much memory."""

    events: EventStore
    statements: list[str] = field(default_factory=list)

    async def question(
        self, statement: str, parameters: Mapping[str, Any], limits: QuestionLimits, /
    ) -> QuestionResult:
        self.statements.append(statement)
        if SETS_OF_PERSONS in statement or ARRAYS_OF_COUNTS in statement:
            raise StatementFailed("MEMORY_LIMIT_EXCEEDED", MEMORY_LIMIT_EXCEEDED)
        return await self.events.question(statement, parameters, limits)

    async def ask(
        self, statement: str, parameters: Mapping[str, Any], seconds_max: int, /
    ) -> StatementResult:
        return await self.events.ask(statement, parameters, seconds_max)


@pytest.mark.parametrize(
    ("more", "numbers"),
    [
        ({}, [[2.0, 2.0, 0.0]]),
        ({"breakdown": "plan"}, [[1.0, 0.0, 0.0], [1.0, 2.0, 0.0]]),
        ({"aggregation_group_type_index": 0}, [[1.0, 0.0, 0.0]]),
    ],
)
async def test_persons_are_counted_alike_in_less_memory(
    analyst: Analyst, more: dict[str, Any], numbers: list[list[float]]
) -> None:
    await check_alike(analyst, ASKED | more, numbers)


@pytest.mark.parametrize(
    ("more", "numbers"),
    [
        ({}, [[3.0, 2.0, 0.0]]),
        ({"breakdown": "plan"}, [[1.0, 2.0, 0.0], [2.0, 0.0, 0.0]]),
        ({"breakdown": "plan", "breakdown_limit": 1}, [[1.0, 2.0, 0.0], [2.0, 0.0, 0.0]]),
        ({"display": "ActionsPie"}, [[]]),
    ],
)
async def test_events_are_counted_alike_in_less_memory(
    analyst: Analyst, more: dict[str, Any], numbers: list[list[float]]
) -> None:
    await check_alike(analyst, ASKED | {"events": [{"id": "$pageview"}]} | more, numbers)


async def check_alike(analyst: Analyst, asked: dict[str, Any], numbers: list[list[float]]) -> None:
    project = await analyst.store(HISTORY)
    store = ShortOfMemory(analyst.events)
    calculator = Calculator(
        Analysis(analyst.records, analyst.events, Statements(store, analyst.events.people))
    )

    answer = await analyst.ask(project, **asked)
    in_less = results_of(await calculator.result(project, read_query(Fields(asked)), NOW))

    assert len(store.statements) == 2
    assert answer == in_less
    assert sorted(entry["data"] for entry in answer) == numbers
