"""Copies of an event count once, whether or not they share the key that the engine joins."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from fanion.events.storage.compiled_query import QuestionLimits
from fanion.events.storage.store import EventStore
from fanion.insights.calculation.copies_worker import (
    FAILED_S,
    FRESH_S,
    FRESH_TIMES_TOOK,
    CopyChecks,
)
from fanion.insights.calculation.service import Analysis
from fanion.insights.calculation.statements_service import Statements
from fanion.insights.kinds.service import Calculator, read_query
from fanion.insights.parsing.fields import Fields
from fanion.projects.model import Project
from tests.support.awaited import until_soon
from tests.support.histories import Analyst, History, HistoryEvent

NOW = datetime(2024, 5, 16, 12, tzinfo=UTC)
NOON = datetime(2024, 5, 14, 12, tzinfo=UTC)
ASKED: dict[str, Any] = {
    "events": [{"id": "called"}],
    "date_from": "2024-05-12",
    "date_to": "2024-05-15",
}


class Clock:
    """A clock that each look moves on by the seconds that a check takes."""

    def __init__(self, step_s: float = 0.0) -> None:
        self.at_s, self.step_s = 0.0, step_s

    def __call__(self) -> float:
        self.at_s += self.step_s
        return self.at_s


def copies(*times: datetime, number: int = 1) -> list[HistoryEvent]:
    person = UUID(int=number)
    return [HistoryEvent(UUID(int=number), "called", "d1", person, time) for time in times]


def checks_of(events: EventStore, clock: Clock, **limits: int) -> CopyChecks:
    statements = Statements(events, events.behind, QuestionLimits(**limits))
    return CopyChecks(statements, clock)


async def counted(analyst: Analyst, project: Project, checks: CopyChecks) -> list[float]:
    statements = replace(checks.statements, copies_share_keys=checks.share_keys)
    analysis = Analysis(analyst.records, analyst.events, statements)
    [entry] = await Calculator(analysis).result(project, read_query(Fields(dict(ASKED))), NOW)
    data: list[float] = entry["data"]
    return data


@pytest.fixture
def checks(analyst: Analyst) -> CopyChecks:
    return checks_of(analyst.events, Clock())


async def test_copies_of_one_day_are_joined_by_their_key(
    analyst: Analyst, checks: CopyChecks
) -> None:
    later = NOON + timedelta(hours=3)
    project = await analyst.store_anew(
        History("UTC", [*copies(NOON), *copies(NOON, number=2), *copies(NOON), *copies(later)])
    )

    before = await counted(analyst, project, checks)
    await checks.check(project.id)

    assert checks.share_keys(project.id)
    assert before == await counted(analyst, project, checks) == [0.0, 0.0, 2.0, 0.0]


async def test_copies_of_two_days_are_joined_by_their_uuid(
    analyst: Analyst, checks: CopyChecks
) -> None:
    project = await analyst.store_anew(
        History("UTC", [*copies(NOON), *copies(NOON + timedelta(days=1))])
    )

    await checks.check(project.id)

    assert not checks.share_keys(project.id)
    assert sum(await counted(analyst, project, checks)) == 1


async def test_a_check_looks_at_one_project(analyst: Analyst, checks: CopyChecks) -> None:
    history = History("UTC", copies(NOON))
    project, _ = await analyst.store_anew(history), await analyst.store_anew(history)

    await checks.check(project.id)

    assert checks.share_keys(project.id)


async def test_a_check_holds_for_some_time(analyst: Analyst) -> None:
    clock = Clock()
    checks = checks_of(analyst.events, clock)
    project = await analyst.store_anew(History("UTC", copies(NOON)))
    await checks.check(project.id)

    clock.at_s = FRESH_S - 1
    holds = checks.share_keys(project.id)
    clock.at_s = FRESH_S

    assert (holds, checks.share_keys(project.id)) == (True, False)


async def test_a_check_that_took_long_holds_for_longer(analyst: Analyst) -> None:
    clock = Clock(step_s=FRESH_S)
    checks = checks_of(analyst.events, clock)
    project = await analyst.store_anew(History("UTC", copies(NOON)))
    await checks.check(project.id)
    clock.step_s = 0.0

    clock.at_s += FRESH_TIMES_TOOK * FRESH_S - 1

    assert checks.share_keys(project.id)


async def test_uuids_are_compared_after_a_check_that_needs_too_much(analyst: Analyst) -> None:
    clock = Clock()
    checks = checks_of(analyst.events, clock, memory_bytes=1)
    project = await analyst.store_anew(History("UTC", copies(NOON)))
    await checks.check(project.id)

    clock.at_s = FAILED_S - 1

    assert not checks.share_keys(project.id)
    assert not checks.is_wanted


async def test_a_project_is_checked_when_it_is_asked_about(
    analyst: Analyst, checks: CopyChecks
) -> None:
    project = await analyst.store_anew(History("UTC", copies(NOON)))
    running = asyncio.create_task(checks.run())

    async def is_checked() -> bool:
        return checks.share_keys(project.id)

    assert not checks.share_keys(project.id)
    await until_soon(is_checked, "the project is not checked")

    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
