"""What goes wrong with one cohort, or with a store, ends no calculation of the others."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import cast
from zoneinfo import ZoneInfo

from fanion.cohorts.calculate import Calculator
from fanion.cohorts.store import CohortStore
from fanion.cohorts.work_store import WorkStore
from fanion.events.store import EventStore
from tests.api.test_cohorts import (
    all_of,
    change,
    create,
    did,
    members,
    person_is,
    retrieve,
    three_people,
)
from tests.application import Home

DONE_S = 30


def calculator(
    home: Home, now: Callable[[], datetime], zone_of: Callable[[int], Awaitable[ZoneInfo]]
) -> Calculator:
    records = home.site.records
    work = WorkStore(records, lease_s=60)
    return Calculator(
        CohortStore(records), work, cast(EventStore, home.site.events), zone_of, now, every_s=900
    )


async def test_a_nul_in_the_criteria_is_an_error_like_any_other(home: Home) -> None:
    await three_people(home)

    broken = await create(home, filters=all_of(did("x", explicit_datetime="1\0\n")))
    sound = await create(home, filters=all_of(person_is("plan", "free")))
    await home.site.calculated()

    found = await retrieve(home, broken)
    assert (found["is_calculating"], found["errors_calculating"]) == (False, 1)
    assert found["last_error_message"].endswith(r"explicit_datetime cannot be read: '1\x00'")
    assert await members(home, sound) == ["bob"]


async def test_a_deleted_cohort_is_not_tried_again(home: Home) -> None:
    cohort = await create(home, filters=all_of(did("x", time_value=-1)))
    await change(home, cohort, deleted=True)

    await change(home, cohort, name="asks for a calculation")
    await home.site.calculated()
    home.site.clock.move(hours=1)
    await home.site.calculated()

    found = await retrieve(home, cohort)
    assert (found["is_calculating"], found["errors_calculating"]) == (False, 1)


async def test_an_error_nobody_expected_does_not_end_the_calculations(home: Home) -> None:
    await create(home, filters=all_of(person_is("plan", "free")))
    failed, calculating = asyncio.Event(), asyncio.Event()

    def now() -> datetime:
        if not failed.is_set():
            failed.set()
            raise RuntimeError("nobody expected this")
        return home.site.clock.now()

    async def zone_of(_: int) -> ZoneInfo:
        calculating.set()
        return ZoneInfo("UTC")

    async with running(calculator(home, now, zone_of)) as working:
        await failed.wait()
        working.wake()
        await calculating.wait()


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
