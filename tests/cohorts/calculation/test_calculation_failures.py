"""An error of one cohort, or an outage of a store, does not stop the calculation of the others."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from fanion.cohorts.calculation.lease_store import CohortClaim, CohortLeaseStore
from fanion.cohorts.calculation.worker import OUTAGE_BACKOFF_S, Calculator
from fanion.cohorts.imports.store import ImportStore
from fanion.cohorts.members.cleanup_store import CohortTrashStore
from fanion.cohorts.store import CohortStore
from fanion.db.engine import RecordsUnavailable
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.compiled_query import StatementResult
from fanion.events.storage.store import EventStore
from fanion.insights.calculation.statements_service import Statements
from fanion.projects.cache import Projects
from fanion.projects.store import ProjectStore
from tests.support.application import Tenant
from tests.support.cohorts import (
    ALONE,
    all_conditions,
    change_cohort,
    cohort_members,
    create_cohort,
    performed,
    person_is,
    retrieve_cohort,
    three_persons,
)

DONE_S = 60
STOPPED_S = 10


def calculator(
    tenant: Tenant,
    now: Callable[[], datetime],
    events: EventStore | None = None,
    work: CohortLeaseStore | None = None,
) -> Calculator:
    records = tenant.server.records
    work = work or CohortLeaseStore(records, lease_s=60)
    events = events or cast(EventStore, tenant.server.events)
    deleted = CohortTrashStore(records, timedelta(days=7))
    uploads = ImportStore(records, now)
    projects = Projects(ProjectStore(records))
    ask = Statements(events, events.behind).members
    return Calculator(CohortStore(records), work, deleted, uploads, events, projects, now, 900, ask)


async def test_a_nul_in_the_criteria_is_an_error_of_the_cohort(tenant: Tenant) -> None:
    await three_persons(tenant)

    broken = await create_cohort(tenant)
    await tenant.store_cohort(
        broken, filters=all_conditions(performed("x", explicit_datetime="1\0\n"))
    )
    sound = await create_cohort(tenant, filters=all_conditions(person_is("plan", "free")))
    await tenant.server.calculated()

    cohort = await retrieve_cohort(tenant, broken)
    assert (cohort["is_calculating"], cohort["errors_calculating"]) == (False, 1)
    assert cohort["last_error_message"].endswith(r"explicit_datetime cannot be read: '1\x00'")
    assert await cohort_members(tenant, sound) == ["bob"]


async def test_a_deleted_cohort_is_not_tried_again(tenant: Tenant) -> None:
    cohort = await create_cohort(tenant, filters=all_conditions(ALONE))
    await change_cohort(tenant, cohort, deleted=True)

    await change_cohort(tenant, cohort, name="asks for a calculation")
    await tenant.server.calculated()
    tenant.server.clock.move(hours=1)
    await tenant.server.calculated()

    stored = await retrieve_cohort(tenant, cohort)
    assert (stored["is_calculating"], stored["errors_calculating"]) == (False, 1)


async def test_an_outage_of_a_store_is_no_failure_of_a_cohort(tenant: Tenant) -> None:
    await tenant.server.calculated()
    await three_persons(tenant)
    cohorts = [
        await create_cohort(tenant, filters=all_conditions(person_is("plan", "free")))
        for _ in range(2)
    ]

    tenant.server.events.is_down = True
    try:
        for _ in cohorts:
            with pytest.raises(EventStoreUnavailable):
                await tenant.server.calculator.work_once()
        assert not await tenant.server.calculator.work_once()
    finally:
        tenant.server.events.is_down = False
    waiting = [await retrieve_cohort(tenant, cohort) for cohort in cohorts]
    tenant.server.clock.move(seconds=OUTAGE_BACKOFF_S)
    await tenant.server.calculated()

    for cohort in (*waiting, *cohorts):
        del cohort["next_calculation"]  # later by the outage
    assert waiting == cohorts
    for cohort in cohorts:
        assert await cohort_members(tenant, cohort) == ["bob"]


async def test_a_cohort_deleted_during_an_outage_is_not_tried_again(tenant: Tenant) -> None:
    await tenant.server.calculated()
    cohort = await create_cohort(tenant, filters=all_conditions(person_is("plan", "free")))
    work = CohortLeaseStore(tenant.server.records, lease_s=60)
    claim = await work.claim_cohort(tenant.server.clock.now(), "me")
    assert claim is not None

    deleted = await change_cohort(tenant, cohort, deleted=True)
    await work.postpone(claim, tenant.server.clock.now())
    await tenant.server.calculated()

    assert await retrieve_cohort(tenant, cohort) == deleted


class FailingEvents:
    """The real engine, which runs the given statement instead of the one for the members."""

    def __init__(self, events: Any, statement: str) -> None:
        self._events, self._statement = events, statement

    def __getattr__(self, name: str) -> Any:
        return getattr(self._events, name)

    async def ask(self, *_: Any, **_named: Any) -> StatementResult:
        result: StatementResult = await self._events.ask(self._statement, {}, 1)
        return result


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("SELECT count() FROM numbers(1000000000000)", "could not evaluate the criteria: "),
        (
            "SELECT toInt32(toString(1000) || 'x')",
            "compares a property with a value of another type: ",
        ),
    ],
)
async def test_a_statement_that_the_engine_refuses_is_a_failure_of_its_cohort(
    tenant: Tenant, statement: str, problem: str
) -> None:
    await tenant.server.calculated()
    cohort = await create_cohort(tenant, filters=all_conditions(person_is("plan", "free")))
    failing = cast(EventStore, FailingEvents(tenant.server.events, statement))

    await calculator(tenant, tenant.server.clock.now, events=failing).work_once()

    stored = await retrieve_cohort(tenant, cohort)
    assert (stored["is_calculating"], stored["errors_calculating"]) == (False, 1)
    assert problem in stored["last_error_message"]


class ObservedEvents:
    """The real engine; `asked` is set when a statement reaches it."""

    def __init__(self, events: Any) -> None:
        self._events, self.asked = events, asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._events, name)

    async def ask(self, *statement: Any, **named: Any) -> StatementResult:
        self.asked.set()
        result: StatementResult = await self._events.ask(*statement, **named)
        return result


async def test_an_unexpected_error_does_not_end_the_worker(tenant: Tenant) -> None:
    await create_cohort(tenant, filters=all_conditions(person_is("plan", "free")))
    failed, observed = asyncio.Event(), ObservedEvents(tenant.server.events)

    def now() -> datetime:
        if not failed.is_set():
            failed.set()
            raise RuntimeError("an unexpected error")
        return tenant.server.clock.now()

    async with running(calculator(tenant, now, cast(EventStore, observed))) as working:
        await failed.wait()
        working.wake()
        await observed.asked.wait()


class UnreachableLeaseStore(CohortLeaseStore):
    """The real store, which is lost before a lease is released."""

    async def release_lease(self, claim: CohortClaim) -> None:
        raise RecordsUnavailable("the store cannot be reached")


async def test_a_worker_stops_in_the_middle_of_a_calculation_while_the_records_are_away(
    tenant: Tenant,
) -> None:
    await create_cohort(tenant, filters=all_conditions(person_is("plan", "free")))
    observed = ObservedEvents(tenant.server.events)
    work = UnreachableLeaseStore(tenant.server.records, lease_s=60)
    worker = calculator(tenant, tenant.server.clock.now, cast(EventStore, observed), work)
    task = asyncio.create_task(worker.run())
    await observed.asked.wait()

    task.cancel()
    ended, _ = await asyncio.wait({task}, timeout=STOPPED_S)

    assert ended
    assert task.cancelled()


@asynccontextmanager
async def running(working: Calculator) -> AsyncGenerator[Calculator]:
    task = asyncio.create_task(working.run())
    try:
        async with asyncio.timeout(DONE_S):
            yield working
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_malformed_criteria_are_no_server_error(tenant: Tenant) -> None:
    odd = {"properties": {"type": "AND", "values": [{"type": [], "value": 1}]}}
    older = await create_cohort(tenant)
    await tenant.store_cohort(older, groups=[{"properties": {"values": 1}}])
    cohort = await create_cohort(tenant)
    await tenant.store_cohort(cohort, filters=odd)
    changed = await tenant.api.patch(f"/cohorts/{cohort['id']}/", json={"filters": odd})
    await tenant.server.calculated()

    assert changed.status_code == 200
    for malformed in (older, cohort):
        stored = await retrieve_cohort(tenant, malformed)
        assert (stored["is_calculating"], stored["errors_calculating"]) == (False, 1)
        assert stored["last_error_message"].startswith("The criteria cannot be read: ")
    assert (await tenant.get("/cohorts/"))["count"] == 2
