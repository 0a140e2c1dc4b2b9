"""The overview that a list of flags shows for all of them at once."""

import pytest

from tests.flags.test_usage import HALF, called, flush_counts
from tests.support.application import Home, Json

pytestmark = pytest.mark.every_engine


async def overview(home: Home) -> dict[int, Json]:
    overview_body = await home.get("/feature_flags/overview/")
    return {row["id"]: row for row in overview_body["flags"]}


async def test_calls_and_evaluations_are_counted_by_day(home: Home) -> None:
    beta = await home.create_flag(key="beta")
    other = await home.create_flag(key="other")
    await home.capture(
        called("beta", True, "2024-02-23T23:59:00Z"),  # before the seven days
        called("beta", True, "2024-02-24T00:00:00Z"),
        called("beta", "test", "2024-03-01T10:00:00Z"),
        called("beta", True, "2024-03-01T11:00:00Z"),
    )
    await home.decide("ann")
    await flush_counts(home)

    answer = await home.get("/feature_flags/overview/")

    assert (len(answer["days"]), answer["days"][0]) == (7, "2024-02-24")
    assert answer["days"][-1] == "2024-03-01"
    of_flag = {row["id"]: row for row in answer["flags"]}
    assert of_flag[beta["id"]]["calls"] == [1, 0, 0, 0, 0, 0, 2]
    assert of_flag[beta["id"]]["evaluations"] == [0, 0, 0, 0, 0, 0, 1]
    assert of_flag[beta["id"]]["last_evaluated_at"] == "2024-03-01T12:00:00Z"
    assert of_flag[other["id"]]["calls"] == [0] * 7


async def test_days_begin_where_the_project_is(home: Home) -> None:
    beta = await home.create_flag(key="beta")
    await home.api.patch("/", json={"timezone": "Pacific/Auckland"})  # 13 hours ahead
    await home.capture(
        called("beta", True, "2024-02-24T10:59:00Z"),
        called("beta", True, "2024-02-24T11:00:00Z"),
    )

    answer = await home.get("/feature_flags/overview/")

    assert (answer["days"][0], answer["days"][-1]) == ("2024-02-25", "2024-03-02")
    assert answer["flags"][0] | {"calls": [1, 0, 0, 0, 0, 0, 0]} == answer["flags"][0]
    assert answer["flags"][0]["id"] == beta["id"]


async def test_each_flag_has_the_author_of_its_last_change(home: Home) -> None:
    beta = await home.create_flag(key="beta")
    made = (await overview(home))[beta["id"]]
    home.site.clock.move(days=1)
    await home.api.patch(f"/feature_flags/{beta['id']}/", json={"active": False})

    changed = (await overview(home))[beta["id"]]

    assert made["changed_at"] == "2024-03-01T12:00:00Z"
    assert changed["changed_at"] == "2024-03-02T12:00:00Z"
    entry = (await home.get(f"/feature_flags/{beta['id']}/activity/"))["results"][0]
    assert changed["changed_by"] == entry["user"]


async def test_flags_that_are_no_longer_needed_have_a_reason(home: Home) -> None:
    old = "2023-12-01T00:00:00Z"
    everybody = await home.create_flag(key="everybody", created_at=old)
    asleep = await home.create_flag(key="asleep", created_at=old, filters=HALF)
    young = await home.create_flag(key="young")

    overview_body = await overview(home)

    assert overview_body[everybody["id"]]["stale_reason"] == "fully_rolled_out"
    assert overview_body[asleep["id"]]["stale_reason"] == "not_evaluated"
    assert overview_body[young["id"]]["stale_reason"] is None


async def test_deleted_flags_are_left_out(home: Home) -> None:
    beta = await home.create_flag(key="beta")
    await home.api.patch(f"/feature_flags/{beta['id']}/", json={"deleted": True})

    assert await overview(home) == {}
