"""Scheduled changes in the records store: executed once, however many servers try."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text, update

from fanion.activity.model import Author
from fanion.activity.store import page
from fanion.db.engine import Records, open_records
from fanion.db.schema.flags import scheduled_changes
from fanion.errors import Invalid
from fanion.flags.automation.schedule import NewScheduledChange
from fanion.flags.automation.scheduled_store import (
    DONE_MAX,
    WAITING_MAX,
    DueChange,
    ScheduledChange,
    ScheduledChangeStore,
)
from fanion.flags.automation.worker import ScheduledChangeWorker
from fanion.flags.definitions.service import FlagService
from fanion.flags.definitions.store import FlagStore, StoredFlag
from fanion.projects.model import Project
from fanion.rest.validation import read_struct
from fanion.runtime.change_bus import ChangeBus

pytestmark = pytest.mark.every_engine

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
SOON = NOW + timedelta(hours=1)
LATER = NOW + timedelta(hours=2)
PROJECT = Project(1, uuid4(), uuid4(), "p", "phc", "UTC", NOW)
AUTHOR = Author(
    project_id=PROJECT.id, organization_id=PROJECT.organization_id, user_id=None, now=NOW
)
OFF = {"operation": "update_status", "value": False}

Json = dict[str, Any]


@pytest.fixture
async def others(records: Records, records_url: str) -> AsyncIterator[Records]:
    """Yield the records of a second server that uses the same store."""
    store = await open_records(records_url)
    yield store
    await store.close()


async def create_flag(records: Records, key: str = "a", **filters: Any) -> int:
    values = {
        "key": key,
        "name": "",
        "filters": filters,
        "deleted": False,
        "active": True,
        "created_at": NOW,
        "tags": [],
        "analytics_dashboards": [],
        "has_enriched_analytics": False,
    }
    return (
        await FlagService(FlagStore(records), ChangeBus()).create_flag(AUTHOR, values)
    ).definition.id


async def change_flag(records: Records, flag_id: int, values: Json) -> None:
    async with FlagService(FlagStore(records), ChangeBus()).locked_flag(AUTHOR, flag_id) as locked:
        await locked.change_columns(values)


async def get_flag(records: Records, flag_id: int) -> StoredFlag:
    flag = await FlagStore(records).get_flag(1, flag_id)
    assert flag is not None
    return flag


async def schedule(
    records: Records, flag_id: int, payload: Json = OFF, at: datetime | None = SOON
) -> ScheduledChange:
    sent = {"payload": payload} | ({} if at is None else {"scheduled_at": at.isoformat()})
    data = read_struct(NewScheduledChange, sent)
    return await ScheduledChangeStore(records).create_change(AUTHOR, flag_id, data)


def scheduler(records: Records, now: datetime = SOON) -> ScheduledChangeWorker:
    async def project_of(_: int) -> Project:
        return PROJECT

    return ScheduledChangeWorker(
        ScheduledChangeStore(records), project_of, ChangeBus(), lambda: now
    )


def due(change: ScheduledChange) -> DueChange:
    return DueChange(change.id, change.project_id, change.flag_id, change.scheduled_at)


async def test_two_servers_execute_a_change_once(records: Records, others: Records) -> None:
    flag_id = await create_flag(records)
    change = await schedule(records, flag_id)
    servers = [ScheduledChangeStore(store) for store in (records, others, records, others)]

    outcomes = await asyncio.gather(
        *(server.execute_step(due(change), PROJECT, SOON) for server in servers)
    )

    done = [outcome for outcome in outcomes if outcome is not None]
    assert [outcome.failure_reason for outcome in done] == [None]
    flag = await get_flag(records, flag_id)
    assert (flag.definition.active, flag.definition.version) == (False, 2)
    assert (
        await ScheduledChangeStore(records).get_change(1, flag_id, change.id)
    ).executed_at == SOON
    _, entries = await page(records, 1, 10, 0, "FeatureFlag", str(flag_id))
    assert entries == 3  # made, scheduled, executed


async def test_nothing_is_executed_before_its_time(records: Records) -> None:
    flag_id = await create_flag(records)
    change = await schedule(records, flag_id)
    early = SOON - timedelta(microseconds=1)

    worked = await scheduler(records, early).work_once()
    outcome = await ScheduledChangeStore(records).execute_step(due(change), PROJECT, early)

    assert (worked, outcome) == (False, None)
    assert (await get_flag(records, flag_id)).definition.active


async def test_steps_that_are_late_are_made_in_their_order(records: Records) -> None:
    flag_id = await create_flag(records)
    steps = [
        {"scheduled_at": (NOW + timedelta(hours=hour)).isoformat(), "value": percentage}
        for hour, percentage in ((1, 10), (2, 50), (3, 100))
    ]
    payload = {"operation": "update_rollout_percentage", "steps": steps}
    change = await schedule(records, flag_id, payload, None)
    working = scheduler(records, LATER)

    first = await working.work_once()
    second = await working.work_once()
    third = await working.work_once()

    assert (first, second, third) == (True, True, False)
    flag = await get_flag(records, flag_id)
    assert flag.definition.filters["groups"][0]["rollout_percentage"] == 50
    assert flag.definition.version == 3
    stored = await ScheduledChangeStore(records).get_change(1, flag_id, change.id)
    assert [step.executed_at for step in stored.steps] == [LATER, LATER, None]
    assert (stored.executed_at, stored.scheduled_at) == (None, NOW + timedelta(hours=3))


async def test_a_failing_change_is_marked_and_delays_no_other(records: Records) -> None:
    failing, broken, good = [await create_flag(records, key) for key in "abc"]
    one_set = {"operation": "update_rollout_percentage", "value": 5}
    wrong = await schedule(records, failing, one_set)
    surprising = await schedule(records, broken)
    right = await schedule(records, good)
    await change_flag(records, failing, {"filters": {"groups": [{}, {}]}})
    async with records.write() as connection:
        await connection.execute(
            update(scheduled_changes)
            .where(scheduled_changes.c.id == surprising.id)
            .values(payload={})
        )

    assert await scheduler(records).work_once()
    assert not await scheduler(records).work_once()

    stored = [
        await ScheduledChangeStore(records).get_change(1, scheduled.flag_id, scheduled.id)
        for scheduled in (wrong, surprising, right)
    ]
    reported = "The feature flag has 2 condition sets; condition_index must name one."
    internal = "The change failed on the server's side."
    assert [scheduled.failure_reason for scheduled in stored] == [reported, internal, None]
    assert [scheduled.executed_at for scheduled in stored] == [None, None, SOON]
    assert not (await get_flag(records, good)).definition.active


async def test_a_change_that_the_database_refuses_leaves_the_flag_as_it_was(
    records: Records,
) -> None:
    flag_id = await create_flag(records)
    change = await schedule(records, flag_id)
    async with records.write() as connection:
        await connection.execute(text("DROP TABLE flag_versions"))

    outcome = await ScheduledChangeStore(records).execute_step(due(change), PROJECT, SOON)

    assert outcome is not None and outcome.error is not None
    flag = await get_flag(records, flag_id)
    assert (flag.definition.active, flag.definition.version) == (True, 1)
    stored = await ScheduledChangeStore(records).get_change(1, flag_id, change.id)
    assert (stored.due_at, stored.executed_at) == (None, None)
    assert stored.failure_reason == "The change failed on the server's side."


async def test_a_deleted_flag_cancels_its_changes_for_good(records: Records) -> None:
    flag_id = await create_flag(records)
    change = await schedule(records, flag_id)

    await change_flag(records, flag_id, {"deleted": True})
    await change_flag(records, flag_id, {"deleted": False})

    assert not await scheduler(records).work_once()
    stored = await ScheduledChangeStore(records).get_change(1, flag_id, change.id)
    assert (stored.executed_at, stored.failure_reason) == (None, "The feature flag was deleted.")


async def test_a_flag_that_is_replaced_takes_its_changes_along(records: Records) -> None:
    flag_id = await create_flag(records)
    await schedule(records, flag_id)
    await change_flag(records, flag_id, {"deleted": True})

    again = await create_flag(records)

    assert again != flag_id
    assert await ScheduledChangeStore(records).changes_page(1, flag_id, 10, 0) == ([], 0)
    assert await ScheduledChangeStore(records).due_changes(LATER) == []


async def test_deleting_and_executing_at_once_end_one_way_or_the_other(
    records: Records, others: Records
) -> None:
    flag_id = await create_flag(records)
    change = await schedule(records, flag_id)

    outcome, _ = await asyncio.gather(
        ScheduledChangeStore(others).execute_step(due(change), PROJECT, SOON),
        change_flag(records, flag_id, {"deleted": True}),
    )

    stored = await ScheduledChangeStore(records).get_change(1, flag_id, change.id)
    flag = await get_flag(records, flag_id)
    assert flag.definition.active is (outcome is None)
    assert (stored.executed_at is None) is (outcome is None)
    assert (stored.failure_reason is None) is (outcome is not None)


async def test_there_are_only_so_many_changes_of_a_flag(records: Records) -> None:
    flag_id = await create_flag(records)
    for _ in range(WAITING_MAX):
        await schedule(records, flag_id)
    with pytest.raises(Invalid, match="has 100 scheduled changes that are not"):
        await schedule(records, flag_id)

    await scheduler(records).work_once()
    last = await schedule(records, flag_id, at=LATER)
    stored, total = await ScheduledChangeStore(records).changes_page(1, flag_id, 1, 0)

    assert ([scheduled.id for scheduled in stored], total) == ([last.id], DONE_MAX)
