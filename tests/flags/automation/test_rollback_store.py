"""Checks of rollback conditions in the records store: by one server, with one outcome."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from fanion.activity.model import Author
from fanion.activity.store import page
from fanion.db.due_work import DueRow
from fanion.db.engine import Records, open_records
from fanion.flags.automation.rollback_store import MetCondition, RollbackStore
from fanion.flags.definitions.service import FlagService
from fanion.flags.definitions.store import FlagStore, StoredFlag
from fanion.projects.model import Project
from fanion.runtime.change_bus import ChangeBus

pytestmark = pytest.mark.every_engine

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
EVERY = timedelta(hours=1)
LATER = NOW + EVERY
PROJECT = Project(1, uuid4(), uuid4(), "p", "phc", "UTC", NOW)
AUTHOR = Author(
    project_id=PROJECT.id, organization_id=PROJECT.organization_id, user_id=None, now=NOW
)
CONDITIONS = [{"threshold": 1}]
MET = MetCondition(CONDITIONS[0], 0.5)


@pytest.fixture
async def others(records: Records, records_url: str) -> AsyncIterator[Records]:
    """Yield the records of a second server that uses the same store."""
    store = await open_records(records_url)
    yield store
    await store.close()


async def create_flag(records: Records, **fields: Any) -> int:
    values = {
        "key": "a",
        "name": "",
        "filters": {},
        "deleted": False,
        "active": True,
        "created_at": NOW,
        "rollback_conditions": CONDITIONS,
        "tags": [],
        "analytics_dashboards": [],
        "has_enriched_analytics": False,
        **fields,
    }
    return (
        await FlagService(FlagStore(records), ChangeBus()).create_flag(AUTHOR, values)
    ).definition.id


async def change(records: Records, flag_id: int, now: datetime = NOW, **values: Any) -> None:
    author = Author(
        project_id=PROJECT.id, organization_id=PROJECT.organization_id, user_id=None, now=now
    )
    async with FlagService(FlagStore(records), ChangeBus()).locked_flag(author, flag_id) as locked:
        await locked.change_columns(values)


async def get_flag(records: Records, flag_id: int) -> StoredFlag:
    flag = await FlagStore(records).get_flag(1, flag_id)
    assert flag is not None
    return flag


async def due_at(records: Records, now: datetime) -> list[DueRow]:
    return list(await RollbackStore(records, EVERY).checks.due_rows(now))


async def test_two_servers_that_find_the_same_roll_back_once(
    records: Records, others: Records
) -> None:
    flag_id = await create_flag(records)
    [due] = await due_at(records, LATER)

    done = await asyncio.gather(
        *(
            RollbackStore(server_records, EVERY).roll_back(due, PROJECT, MET, LATER)
            for server_records in (records, others, records, others)
        )
    )

    assert done.count(True) == 1
    flag = await get_flag(records, flag_id)
    assert (flag.definition.active, flag.performed_rollback) == (False, True)
    assert flag.definition.version == 2
    entries, total = await page(records, 1, 10, 0, "FeatureFlag", str(flag_id))
    assert total == 2
    assert entries[0].trigger is not None
    assert entries[0].trigger.payload == {"condition": {"threshold": 1}, "average": 0.5}


async def test_a_check_that_found_nothing_is_due_again_an_interval_later(
    records: Records,
) -> None:
    flag_id = await create_flag(records)
    store = RollbackStore(records, EVERY)
    early = await due_at(records, LATER - timedelta(seconds=1))
    [due] = await due_at(records, LATER)
    await store.checks.claim(due, LATER)

    await store.complete_check(due, LATER)

    assert early == []
    assert await due_at(records, LATER + EVERY - timedelta(seconds=1)) == []
    assert await due_at(records, LATER + EVERY) == [DueRow(flag_id, 1, LATER)]
    assert (await get_flag(records, flag_id)).definition.active


async def test_a_flag_switched_on_again_meanwhile_stays_on(records: Records) -> None:
    flag_id = await create_flag(records)
    [due] = await due_at(records, LATER)
    await change(records, flag_id, LATER, active=False)
    await change(records, flag_id, LATER, active=True)

    done = await RollbackStore(records, EVERY).roll_back(due, PROJECT, MET, LATER)

    assert not done
    assert (await get_flag(records, flag_id)).definition.active
    assert await due_at(records, LATER) == []
    assert await due_at(records, LATER + EVERY) == [DueRow(flag_id, 1, LATER)]


@pytest.mark.parametrize(
    "values",
    [
        {"active": False},
        {"deleted": True},
        {"rollback_conditions": None},
        {"rollback_conditions": []},
    ],
)
async def test_a_flag_without_need_is_not_checked(records: Records, values: Any) -> None:
    flag_id = await create_flag(records)

    await change(records, flag_id, **values)

    assert await due_at(records, LATER) == []


async def test_other_conditions_begin_anew_and_other_changes_do_not(records: Records) -> None:
    flag_id = await create_flag(records)
    half = NOW + EVERY / 2

    await change(records, flag_id, half, name="n")
    first = await due_at(records, LATER)
    await change(records, flag_id, half, rollback_conditions=[{"threshold": 2}])

    assert first == [DueRow(flag_id, 1, NOW)]
    assert await due_at(records, LATER) == []
    assert await due_at(records, half + EVERY) == [DueRow(flag_id, 1, half)]


async def test_a_flag_that_is_replaced_is_no_longer_checked(records: Records) -> None:
    flag_id = await create_flag(records)
    await change(records, flag_id, deleted=True)
    again = await create_flag(records)

    assert [due.id for due in await due_at(records, LATER)] == [again]
