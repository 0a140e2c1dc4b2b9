"""Results that are not fresh are shown with their time, and calculated in the background.

Dashboards that are viewed are calculated on a schedule.

Source: insights.md, section 14.
"""

from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import update

from fanion.db.schema.insights import dashboards
from tests.support.application import Json, Tenant

FILTERS: Json = {"insight": "TRENDS", "events": [{"id": "seen"}], "date_from": "-1d"}


async def seen(tenant: Tenant) -> None:
    await tenant.capture(
        {
            "event": "seen",
            "distinct_id": "ann",
            "uuid": str(uuid4()),
            "timestamp": "2024-03-01T10:00:00Z",
        }
    )


async def made(tenant: Tenant, **more: Any) -> Json:
    answer = await tenant.api.post("/insights/", json={"filters": FILTERS} | more)
    assert answer.status_code == 201, answer.text
    insight: Json = answer.json()
    return insight


def count(insight: Json) -> float:
    result: float = insight["result"][0]["count"]
    return result


async def test_an_old_result_is_shown_with_its_time_and_background_done(tenant: Tenant) -> None:
    path = f"/insights/{(await made(tenant))['id']}/"
    await tenant.get(path, refresh="true")
    await seen(tenant)
    tenant.server.clock.move(minutes=20)

    old = await tenant.get(path)
    await tenant.server.running.questions.questions.results.background_done()
    new = await tenant.get(path)

    assert (count(old), old["last_refresh"]) == (0, "2024-03-01T12:00:00Z")
    assert (count(new), new["last_refresh"], new["is_cached"]) == (1, "2024-03-01T12:20:00Z", True)


async def test_a_fresh_result_is_not_background_done(tenant: Tenant) -> None:
    path = f"/insights/{(await made(tenant))['id']}/"
    await tenant.get(path, refresh="true")
    await seen(tenant)

    await tenant.get(path)
    await tenant.server.running.questions.questions.results.background_done()

    assert count(await tenant.get(path)) == 0


async def test_a_query_may_be_answered_with_what_is_old(tenant: Tenant) -> None:
    query = {"kind": "TrendsQuery", "series": [{"event": "seen"}]}

    async def question(refresh: str) -> str:
        answer = await tenant.api.post("/query/", json={"query": query, "refresh": refresh})
        last_refresh: str = answer.json()["last_refresh"]
        return last_refresh

    first = await question("lazy_async")
    tenant.server.clock.move(minutes=20)
    old = await question("lazy_async")
    await tenant.server.running.questions.questions.results.background_done()
    behind = await question("lazy_async")
    tenant.server.clock.move(minutes=20)
    fresh = await question("blocking")

    assert (first, old) == ("2024-03-01T12:00:00Z", "2024-03-01T12:00:00Z")
    assert (behind, fresh) == ("2024-03-01T12:20:00Z", "2024-03-01T12:40:00Z")


async def refreshed(tenant: Tenant) -> None:
    """Refresh dashboards until none is due; other tests have some too."""
    while await tenant.server.running.questions.refresher.work_once():
        pass


async def on_dashboard(tenant: Tenant, days: int = 1) -> tuple[str, str]:
    """Return the addresses of a new dashboard and of its only insight."""
    board = (await tenant.api.post("/dashboards/", json={"name": "d"})).json()
    filters = {**FILTERS, "date_from": f"-{days}d"}
    insight = await made(tenant, filters=filters, dashboards=[board["id"]])
    return f"/dashboards/{board['id']}/", f"/insights/{insight['id']}/"


@pytest.mark.every_engine
async def test_a_dashboard_that_is_looked_at_is_calculated_by_schedule(tenant: Tenant) -> None:
    board, insight = await on_dashboard(tenant)
    await tenant.get(board)

    await refreshed(tenant)
    early = await tenant.get(insight)
    tenant.server.clock.move(minutes=15)
    await refreshed(tenant)
    due = await tenant.get(insight)

    assert early["last_refresh"] is None
    assert (due["last_refresh"], due["is_cached"]) == ("2024-03-01T12:15:00Z", True)


async def test_a_dashboard_that_nobody_looks_at_is_left_alone(tenant: Tenant) -> None:
    board, insight = await on_dashboard(tenant)
    await tenant.get(board)
    tenant.server.clock.move(days=1)

    await refreshed(tenant)

    assert (await tenant.get(insight))["last_refresh"] is None


async def test_a_deleted_dashboard_is_not_calculated(tenant: Tenant) -> None:
    board, insight = await on_dashboard(tenant)
    await tenant.get(board)
    await tenant.api.patch(board, json={"deleted": True})
    tenant.server.clock.move(minutes=20)

    await refreshed(tenant)

    assert (await tenant.get(insight))["last_refresh"] is None


@pytest.mark.every_engine
async def test_a_dashboard_that_cannot_be_calculated_is_put_off_and_the_others_are_calculated(
    tenant: Tenant,
) -> None:
    (broken, first), (good, second) = await on_dashboard(tenant), await on_dashboard(tenant, days=2)
    for board in (broken, good):
        await tenant.get(board)
    tenant.server.clock.move(minutes=15)

    await store_filters(tenant, broken, [1])
    await refreshed(tenant)
    await store_filters(tenant, broken, {})
    await refreshed(tenant)
    before = [(await tenant.get(insight))["last_refresh"] for insight in (first, second)]
    tenant.server.clock.move(seconds=30)
    await refreshed(tenant)

    assert before == [None, "2024-03-01T12:15:00Z"]
    assert (await tenant.get(first))["last_refresh"] == "2024-03-01T12:15:30Z"


async def store_filters(tenant: Tenant, board: str, filters: object) -> None:
    board_id = int(board.split("/")[2])
    async with tenant.server.records.write() as connection:
        await connection.execute(
            update(dashboards).where(dashboards.c.id == board_id).values(filters=filters)
        )
