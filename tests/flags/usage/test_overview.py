"""The overview that a list of flags shows for all of them at once."""

import pytest

from tests.flags.usage.test_usage import HALF, called, flush_counts
from tests.support.application import Json, Tenant

pytestmark = pytest.mark.every_engine


async def overview(tenant: Tenant) -> dict[int, Json]:
    overview_body = await tenant.get("/feature_flags/overview/")
    return {row["id"]: row for row in overview_body["flags"]}


async def test_calls_and_evaluations_are_counted_by_day(tenant: Tenant) -> None:
    beta = await tenant.create_flag(key="beta")
    other = await tenant.create_flag(key="other")
    await tenant.capture(
        called("beta", True, "2024-02-23T23:59:00Z"),  # before the seven days
        called("beta", True, "2024-02-24T00:00:00Z"),
        called("beta", "test", "2024-03-01T10:00:00Z"),
        called("beta", True, "2024-03-01T11:00:00Z"),
    )
    await tenant.decide("ann")
    await flush_counts(tenant)

    answer = await tenant.get("/feature_flags/overview/")

    assert (len(answer["days"]), answer["days"][0]) == (7, "2024-02-24")
    assert answer["days"][-1] == "2024-03-01"
    of_flag = {row["id"]: row for row in answer["flags"]}
    assert of_flag[beta["id"]]["calls"] == [1, 0, 0, 0, 0, 0, 2]
    assert of_flag[beta["id"]]["evaluations"] == [0, 0, 0, 0, 0, 0, 1]
    assert of_flag[beta["id"]]["last_evaluated_at"] == "2024-03-01T12:00:00Z"
    assert of_flag[other["id"]]["calls"] == [0] * 7


async def test_days_begin_where_the_project_is(tenant: Tenant) -> None:
    beta = await tenant.create_flag(key="beta")
    await tenant.api.patch("/", json={"timezone": "Pacific/Auckland"})  # 13 hours ahead
    await tenant.capture(
        called("beta", True, "2024-02-24T10:59:00Z"),
        called("beta", True, "2024-02-24T11:00:00Z"),
    )

    answer = await tenant.get("/feature_flags/overview/")

    assert (answer["days"][0], answer["days"][-1]) == ("2024-02-25", "2024-03-02")
    assert answer["flags"][0] | {"calls": [1, 0, 0, 0, 0, 0, 0]} == answer["flags"][0]
    assert answer["flags"][0]["id"] == beta["id"]


async def test_each_flag_has_the_author_of_its_last_change(tenant: Tenant) -> None:
    beta = await tenant.create_flag(key="beta")
    made = (await overview(tenant))[beta["id"]]
    tenant.server.clock.move(days=1)
    await tenant.api.patch(f"/feature_flags/{beta['id']}/", json={"active": False})

    changed = (await overview(tenant))[beta["id"]]

    assert made["changed_at"] == "2024-03-01T12:00:00Z"
    assert changed["changed_at"] == "2024-03-02T12:00:00Z"
    entry = (await tenant.get(f"/feature_flags/{beta['id']}/activity/"))["results"][0]
    assert changed["changed_by"] == entry["user"]


async def test_flags_that_are_no_longer_needed_have_a_reason(tenant: Tenant) -> None:
    old = "2023-12-01T00:00:00Z"
    everybody = await tenant.create_flag(key="everybody", created_at=old)
    asleep = await tenant.create_flag(key="asleep", created_at=old, filters=HALF)
    young = await tenant.create_flag(key="young")

    overview_body = await overview(tenant)

    assert overview_body[everybody["id"]]["stale_reason"] == "fully_rolled_out"
    assert overview_body[asleep["id"]]["stale_reason"] == "not_evaluated"
    assert overview_body[young["id"]]["stale_reason"] is None


async def test_deleted_flags_are_left_out(tenant: Tenant) -> None:
    beta = await tenant.create_flag(key="beta")
    await tenant.api.patch(f"/feature_flags/{beta['id']}/", json={"deleted": True})

    assert await overview(tenant) == {}
