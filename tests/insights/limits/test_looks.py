"""Small statements of questions run once as long as nothing is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import pytest

from fanion.errors import Invalid
from fanion.events.storage.client import read_rows
from fanion.events.storage.compiled_query import QuestionLimits, QuestionResult, StatementResult
from fanion.events.storage.store import EventStore
from fanion.events.storage.writes import Writes
from fanion.events.turns.gate_service import Gate, GateLimits
from fanion.events.turns.turns_service import Turns
from fanion.insights.calculation.looks_cache import LOOKS_MAX, Looks
from fanion.insights.calculation.statements_service import Statements
from fanion.insights.sql.compiler import Statement
from tests.support.events_engine import next_project

MEMBERS = "SELECT count() FROM cohort_inputs WHERE run = {run:UUID}"
ONE = Statement("SELECT {n:UInt8}", {"n": 1})


@dataclass
class Counting:
    """An event store that counts the statements that it is asked."""

    events: EventStore
    asked: list[str] = field(default_factory=list)

    async def question(
        self, statement: str, parameters: Mapping[str, Any], limits: QuestionLimits, /
    ) -> QuestionResult:
        self.asked.append(statement)
        return await self.events.question(statement, parameters, limits)

    async def ask(
        self, statement: str, parameters: Mapping[str, Any], seconds_max: int, /
    ) -> StatementResult:
        return await self.events.ask(statement, parameters, seconds_max)


def looking(events: EventStore) -> tuple[Counting, Statements]:
    store = Counting(events)
    turns = Turns("people", Gate(GateLimits()))
    return store, Statements(store, turns, looks=Looks(events.written))


async def test_a_look_runs_again_once_something_is_written(chdb_events: EventStore) -> None:
    store, statements = looking(chdb_events)
    run, project_id = uuid4(), next_project()
    look = Statement(MEMBERS, {"run": run})
    other = replace(look, parameters={"run": uuid4()})

    assert [await statements.look(project_id, look) for _ in range(3)] == [[(0,)]] * 3
    assert await statements.look(project_id, other) == [(0,)]
    assert len(store.asked) == 2

    await chdb_events.put_inputs(run, 1, [uuid4().hex])

    assert await statements.look(project_id, look) == [(1,)]
    assert len(store.asked) == 3


async def test_a_look_runs_again_once_a_job_has_run(chdb_events: EventStore) -> None:
    store, statements = looking(chdb_events)
    look = Statement("SELECT 1", {})
    await statements.look(1, look)

    await chdb_events._jobs.run(read_rows, "SELECT 1", {})

    await statements.look(1, look)
    assert len(store.asked) == 2


async def test_an_answer_is_not_kept_if_something_is_written_meanwhile(
    chdb_events: EventStore,
) -> None:
    _, statements = looking(chdb_events)
    looks = statements.looks
    number = looks.written()
    rows = await statements.rows(1, ONE)
    await chdb_events.put_inputs(uuid4(), 1, [uuid4().hex])

    looks.put(ONE, number, rows)

    assert looks.get(ONE) is None


async def test_a_failed_look_is_not_kept(chdb_events: EventStore) -> None:
    store, statements = looking(chdb_events)
    wrong = Statement("SELECT throwIf({n:UInt8} = 1, 'x', 307::Int32)", {"n": 1})

    for _ in range(2):
        with pytest.raises(Invalid):
            await statements.look(1, wrong)

    assert len(store.asked) == 2


def test_nothing_is_kept_of_a_store_that_others_write() -> None:
    looks = Looks()

    looks.put(ONE, looks.written(), [(1,)])

    assert looks.get(ONE) is None


async def test_a_server_tells_no_number_of_writes(server_events: EventStore) -> None:
    assert server_events.written() is None


def test_the_number_of_writes_is_not_known_during_one() -> None:
    writes = Writes()

    with writes.count():
        assert writes.number is None
        with writes.count():
            pass
        assert writes.number is None

    assert writes.number == 2


def test_few_answers_are_kept() -> None:
    looks = Looks(lambda: 7)
    for n in range(2 * LOOKS_MAX):
        looks.put(replace(ONE, parameters={"n": n}), 7, [(n,)])

    kept = [n for n in range(2 * LOOKS_MAX) if looks.get(replace(ONE, parameters={"n": n}))]

    assert len(kept) <= LOOKS_MAX
    assert kept[-1] == 2 * LOOKS_MAX - 1
