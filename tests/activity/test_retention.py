"""The time for which an organization keeps its activity."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import insert

from fanion.activity.retention_worker import ENTRIES_MAX, ActivityRetention
from fanion.db.schema.activity import activity_log
from tests.support.application import Json, Tenant, error, open_tenant
from tests.support.management import NOW

ORGANIZATION = "/api/organizations/@current/"


async def changed(tenant: Tenant, **body: Any) -> httpx.Response:
    async with tenant.server.client(tenant.key) as client:
        return await client.patch(ORGANIZATION, json=body)


async def add_entries(tenant: Tenant, number: int, days_ago: float) -> None:
    values = {
        "project_id": tenant.project_id,
        "organization_id": tenant.organization_id,
        "user_id": tenant.user_id,
        "scope": "FeatureFlag",
        "item_id": "1",
        "activity": "created",
        "detail": {"name": "beta", "changes": None, "short_id": None, "trigger": None},
        "created_at": NOW - timedelta(days=days_ago),
    }
    async with tenant.server.records.write() as connection:
        await connection.execute(insert(activity_log), [values] * number)


async def flag_entries(tenant: Tenant) -> int:
    total: int = (await tenant.get("/activity_log/", scope="FeatureFlag", limit=1))["total_count"]
    return total


@pytest.mark.every_engine
async def test_older_entries_are_deleted_and_others_stay(tenant: Tenant) -> None:
    await add_entries(tenant, ENTRIES_MAX + 5, days_ago=91)
    await add_entries(tenant, 3, days_ago=89)
    await changed(tenant, activity_kept_days=90)
    async with open_tenant(tenant.server, tenant.project_id + 9_000_001) as neighbour:
        await add_entries(neighbour, 2, days_ago=4000)

        await ActivityRetention(tenant.server.records, lambda: NOW).work_once()

        assert await flag_entries(neighbour) == 2
    assert await flag_entries(tenant) == 3


async def test_by_default_everything_is_kept(tenant: Tenant) -> None:
    await add_entries(tenant, 2, days_ago=4000)
    await changed(tenant, activity_kept_days=30)
    answer = await changed(tenant, activity_kept_days=None)

    await ActivityRetention(tenant.server.records, lambda: NOW).work_once()

    assert answer.json()["activity_kept_days"] is None
    assert await flag_entries(tenant) == 2


REFUSED: dict[str, tuple[Json, str]] = {
    "too few": ({"activity_kept_days": 29}, "Ensure this value is greater than or equal to 30."),
    "too many": (
        {"activity_kept_days": 36_501},
        "Ensure this value is less than or equal to 36500.",
    ),
    "no number": ({"activity_kept_days": "long"}, "A valid integer is required."),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_other_times_are_refused(tenant: Tenant, name: str) -> None:
    body, detail = REFUSED[name]

    answer = await changed(tenant, **body)

    refused = answer.json()
    assert (answer.status_code, refused["detail"]) == (400, detail)
    assert refused["attr"] == "activity_kept_days"


@pytest.mark.every_engine
async def test_the_name_and_the_time_are_changed_and_recorded(tenant: Tenant) -> None:
    answer = await changed(tenant, name=" Shop Inc. ", activity_kept_days=365)

    body = answer.json()
    assert answer.status_code == 200
    assert (body["name"], body["activity_kept_days"]) == ("Shop Inc.", 365)
    [entry] = (await tenant.get("/activity_log/", scope="Organization"))["results"]
    assert entry["detail"]["name"] == "Shop Inc."
    assert [(each["field"], each["after"]) for each in entry["detail"]["changes"]] == [
        ("name", "Shop Inc."),
        ("activity_kept_days", 365),
    ]


async def test_an_empty_name_is_refused(tenant: Tenant) -> None:
    answer = await changed(tenant, name=" ")

    assert (answer.status_code, answer.json()) == (
        400,
        error("validation_error", "blank", "This field may not be blank.", "name"),
    )
