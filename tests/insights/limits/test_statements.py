"""Statements of questions run within limits, and no longer than a client waits."""

import asyncio
from dataclasses import replace

import pytest

from fanion.errors import Invalid
from fanion.events.storage.compiled_query import QuestionLimits
from fanion.events.storage.reads import BEHIND
from fanion.events.storage.store import EventStore
from fanion.events.turns.gate_service import Gate, GateLimits
from fanion.events.turns.turns_service import Turns
from fanion.insights.calculation.statements_service import IncompleteSession, Statements
from fanion.insights.sql.compiler import Statement
from tests.support.awaited import SOON_S, until_soon

# Runs until it is killed.
ENDLESS = Statement("SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sin(number))", {})
LARGE = Statement("SELECT length(groupArray(toString(number))) FROM numbers(50000000)", {})
RUNNING = """
  SELECT count()
    FROM system.processes
   WHERE position(query, 'NOT ignore(sin(number))') > 0
     AND position(query, 'system.processes') = 0
"""


async def running(events: EventStore) -> int:
    found = await events.ask(RUNNING, {}, estimated=False)
    return int(found.columns[0][0])


async def becomes(events: EventStore, number: int) -> None:
    async def is_so() -> bool:
        return await running(events) == number

    await until_soon(is_so, f"there are not {number} statements")


def of_gate(events: EventStore, limits: QuestionLimits | None = None) -> Statements:
    turns = Turns("people", Gate(GateLimits(1, 1)))
    return Statements(events, turns, limits or QuestionLimits())


async def test_rows_are_read(events: EventStore) -> None:
    statements = of_gate(events)

    rows = await statements.rows(
        1, Statement("SELECT number, 'x' FROM numbers({n:UInt8})", {"n": 2})
    )

    assert rows == [(0, "x"), (1, "x")]
    assert statements.turns.gate.running == 0


async def test_the_rows_that_statements_read_are_counted(events: EventStore) -> None:
    read: list[int | None] = []
    statements = of_gate(events).counting(read.append)

    await statements.rows(1, Statement("SELECT sum(number) FROM numbers(1000)", {}))
    await statements.rows(1, Statement("SELECT number FROM numbers(3)", {}))

    assert read == [1000, 3]


async def test_the_smaller_statement_runs_where_memory_does_not_suffice(
    events: EventStore,
) -> None:
    statements = of_gate(events, QuestionLimits(memory_bytes=50_000_000))

    rows = await statements.rows(1, replace(LARGE, smaller=Statement("SELECT 1", {})))

    assert rows == [(1,)]
    assert statements.turns.gate.running == 0


async def test_a_statement_that_would_cut_a_session_off_says_so(events: EventStore) -> None:
    with pytest.raises(IncompleteSession):
        await of_gate(events).rows(1, Statement("SELECT throwIf(1)", {}))


async def test_a_statement_that_nobody_waits_for_is_ended_in_the_store(events: EventStore) -> None:
    statements = of_gate(events)
    asking = asyncio.create_task(statements.rows(1, ENDLESS))
    await becomes(events, 1)
    next_one = asyncio.create_task(statements.rows(2, Statement("SELECT 1", {})))

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    assert await asyncio.wait_for(next_one, SOON_S) == [(1,)]
    await becomes(events, 0)


async def test_too_much_memory_is_refused_with_what_to_make_smaller(events: EventStore) -> None:
    statements = of_gate(events, QuestionLimits(memory_bytes=50_000_000))

    with pytest.raises(Invalid) as refused:
        await statements.rows(1, LARGE)

    assert (refused.value.code, refused.value.attr) == ("too_large", "date_from")
    assert refused.value.detail == (
        "The question takes more than 50 MB of memory. "
        "Use a shorter date range, or fewer events and values."
    )
    assert await statements.rows(1, Statement("SELECT 1", {})) == [(1,)]


async def test_too_much_time_is_refused_with_what_to_make_smaller(events: EventStore) -> None:
    statements = of_gate(events, QuestionLimits(seconds=1))

    with pytest.raises(Invalid) as refused:
        await statements.rows(1, ENDLESS)

    assert refused.value.detail.startswith("The question takes longer than 1 seconds.")
    assert refused.value.attr == "date_from"


async def test_what_nobody_waits_for_has_one_place_of_its_own(events: EventStore) -> None:
    statements = of_gate(events)
    behind = statements.in_background(Turns("behind", Gate(BEHIND)))
    asking = asyncio.create_task(behind.rows(1, ENDLESS))
    next_one = asyncio.create_task(behind.with_time_limit(5).rows(2, Statement("SELECT 1", {})))
    await becomes(events, 1)

    assert await statements.rows(1, Statement("SELECT 2", {})) == [(2,)]

    assert (behind.turns.gate.running, behind.turns.gate.waiting) == (1, 1)
    asking.cancel()
    assert await asyncio.wait_for(next_one, SOON_S) == [(1,)]


async def test_members_of_a_cohort_are_ended_in_the_store(events: EventStore) -> None:
    statements = of_gate(events)
    asking = asyncio.create_task(statements.members(1, ENDLESS.text, {}))
    await becomes(events, 1)

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    await becomes(events, 0)
    assert statements.turns.gate.running == 0
