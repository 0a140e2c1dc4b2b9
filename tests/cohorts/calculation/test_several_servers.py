"""Several servers on one PostgreSQL, which calculate each cohort once, by either of them."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from sqlalchemy import func, select

from fanion.cohorts.calculation.lease_store import CohortClaim, CohortLeaseStore
from fanion.cohorts.calculation.worker import Calculator
from fanion.cohorts.imports.store import ImportStore
from fanion.cohorts.members.cleanup_store import CohortTrashStore
from fanion.cohorts.store import CohortStore
from fanion.db.engine import Records, open_records
from fanion.db.schema.cohorts import cohorts
from fanion.events.storage.store import EventStore
from fanion.insights.calculation.statements_service import Statements
from fanion.projects.cache import Projects
from fanion.projects.store import ProjectStore
from tests.support.stored_cohorts import LEASE_S, NOW, cohort

COHORTS = 12
SERVERS = 2


@dataclass(frozen=True)
class CountingLeaseStore(CohortLeaseStore):
    """The real store; it also records claims, and waits for the other server after the first."""

    others: asyncio.Barrier
    claims: list[int] = field(default_factory=list)

    async def claim_cohort(self, now: datetime, lease: str) -> CohortClaim | None:
        claim = await CohortLeaseStore.claim_cohort(self, now, lease)
        if claim is not None:
            self.claims.append(claim.cohort_id)
            if len(self.claims) == 1:
                await self.others.wait()  # so that none does everything before the other begins
        return claim


@pytest.fixture
async def servers(postgres_url: str) -> AsyncIterator[list[Records]]:
    """Open the records for each server, with its own connections."""
    opened = [await open_records(postgres_url) for _ in range(SERVERS)]
    yield opened
    for records in opened:
        await records.close()


async def test_two_servers_share_the_work_and_do_none_of_it_twice(
    servers: list[Records], events: EventStore
) -> None:
    made = [await cohort(servers[0]) for _ in range(COHORTS)]
    barrier = asyncio.Barrier(SERVERS)
    works = [CountingLeaseStore(records, LEASE_S, barrier) for records in servers]

    async with asyncio.TaskGroup() as group:
        for records, work in zip(servers, works, strict=True):
            group.create_task(until_idle(calculator(records, work, events)))

    done = Counter(cohort_id for work in works for cohort_id in work.claims)
    assert done == Counter({created.id: 1 for created in made})
    assert all(work.claims for work in works)
    async with servers[0].read() as connection:
        left = select(func.count()).where(cohorts.c.is_calculating | (cohorts.c.version != 2))
        assert await connection.scalar(left) == 0


async def until_idle(worker: Calculator) -> None:
    while await worker.work_once():
        pass


def calculator(records: Records, work: CohortLeaseStore, events: EventStore) -> Calculator:
    return Calculator(
        CohortStore(records),
        work,
        CohortTrashStore(records, timedelta(days=7)),
        ImportStore(records, lambda: NOW),
        events,
        Projects(ProjectStore(records)),
        lambda: NOW,
        every_s=900,
        ask=Statements(events, events.behind).members,
    )
