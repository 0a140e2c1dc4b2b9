"""Trends without test accounts, whose conditions the project sets."""

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from fanion.insights.calculation.service import Analysis
from fanion.insights.dates.intervals import DateRange
from fanion.insights.trends.query import parse_trends
from fanion.insights.trends.service import RollingAverage
from fanion.projects.model import Project
from tests.support.application import Json, Tenant
from tests.support.cohorts import cohort_members
from tests.support.management import NOW

STAFF: Json = {"key": "email", "type": "person", "operator": "not_icontains", "value": "@our.org"}
LOCAL: Json = {"key": "$host", "operator": "is_not", "value": "localhost"}
SEEN = {"events": [{"id": "seen", "math": "total"}], "date_from": "-1d", "display": "BoldNumber"}


def did(who: str, host: str = "shop.example.com") -> Json:
    return {
        "event": "seen",
        "distinct_id": who,
        "uuid": str(uuid4()),
        "timestamp": "2024-03-01T10:00:00Z",
        "properties": {"$host": host, "$set": {"email": who}},
    }


@pytest.fixture
async def shop(tenant: Tenant) -> Tenant:
    """Store two events of customers, one of them on a developer's machine, and one of staff."""
    await tenant.capture(did("ann@a.com"), did("bob@b.com", "localhost"), did("tess@our.org"))
    await exclude(tenant, STAFF)
    return tenant


async def exclude(tenant: Tenant, *conditions: Json) -> None:
    answer = await tenant.api.patch("/", json={"test_account_filters": conditions})
    assert answer.status_code == 200, answer.text


async def count(tenant: Tenant, **filters: Any) -> float:
    answer = await tenant.api.post("/insights/trend/", json={**SEEN, **filters})
    assert answer.status_code == 200, answer.text
    return counted(answer.json())


def counted(body: Json) -> float:
    [entry] = body["result"]
    number: float = entry["aggregated_value"]
    return number


@pytest.mark.every_engine
@pytest.mark.parametrize("value", [True, "true", "True", "1", 1])
async def test_a_trend_leaves_out_test_accounts(shop: Tenant, value: object) -> None:
    assert await count(shop, filter_test_accounts=value) == 2


@pytest.mark.parametrize("value", [False, "false", "", None, 0])
async def test_a_trend_that_does_not_ask_for_it_counts_them(shop: Tenant, value: object) -> None:
    assert await count(shop, filter_test_accounts=value) == 3
    assert await count(shop) == 3


async def test_a_trend_leaves_out_the_events_of_a_company(tenant: Tenant) -> None:
    await tenant.capture(
        {
            "event": "$groupidentify",
            "distinct_id": "d",
            "properties": {
                "$group_type": "company",
                "$group_key": "us",
                "$group_set": {"name": "Our company"},
            },
        }
    )
    ours, theirs, none = did("ann@a.com"), did("bob@b.com"), did("cid@c.com")
    ours["properties"]["$groups"] = {"company": "us"}
    theirs["properties"]["$groups"] = {"company": "not described"}
    await tenant.capture(ours, theirs, none)
    name = {"key": "name", "type": "group", "group_type_index": 0, "value": "Our company"}
    await exclude(tenant, {**name, "operator": "is_not"})

    assert await count(tenant, filter_test_accounts=True) == 2
    assert await count(tenant) == 3
    assert await count(tenant, properties=[name]) == 1


async def test_all_conditions_hold_together_with_those_of_the_trend(shop: Tenant) -> None:
    either = [{"key": "email", "type": "person", "value": value} for value in ("bob@b.com", "x")]
    bob = {"type": "OR", "values": either}

    own = await count(shop, filter_test_accounts=True, properties=bob)
    await exclude(shop, STAFF, LOCAL)

    assert own == 1
    assert await count(shop, filter_test_accounts=True) == 1
    assert await count(shop, filter_test_accounts=True, properties=bob) == 0


async def test_a_cached_result_is_of_the_present_conditions(shop: Tenant) -> None:
    before = await count(shop, filter_test_accounts=True)
    await exclude(shop, STAFF, LOCAL)
    after = await count(shop, filter_test_accounts=True)
    await exclude(shop)
    none = await count(shop, filter_test_accounts=True)

    assert (before, after, none) == (2, 1, 3)


async def test_a_trend_that_does_not_ask_for_it_stays_in_the_cache(shop: Tenant) -> None:
    await count(shop)
    await exclude(shop, LOCAL)

    again = await shop.api.post("/insights/trend/", json=SEEN)

    assert again.json()["is_cached"] is True


async def test_a_saved_insight_and_its_tile_leave_them_out(shop: Tenant) -> None:
    board = (await shop.api.post("/dashboards/", json={"name": "d"})).json()
    insight = {
        "filters": {"insight": "TRENDS", **SEEN, "filter_test_accounts": True},
        "dashboards": [board["id"]],
    }
    made = (await shop.api.post("/insights/", json=insight)).json()

    alone = await shop.get(f"/insights/{made['id']}/", refresh="true")
    [tile] = (await shop.get(f"/dashboards/{board['id']}/", refresh="true"))["tiles"]

    assert (counted(alone), counted(tile["insight"])) == (2, 2)
    await exclude(shop, STAFF, LOCAL)
    assert (await shop.get(f"/insights/{made['id']}/"))["result"] is None
    assert counted(await shop.get(f"/insights/{made['id']}/", refresh="true")) == 1


@pytest.mark.parametrize(("value", "expected"), [("true", 2), ("false", 3)])
async def test_the_cohort_of_a_trends_actors_has_none_of_them(
    shop: Tenant, value: str, expected: int
) -> None:
    query = {"insight": "TRENDS", "events": json.dumps(SEEN["events"]), "date_from": "-1d"}
    answer = await shop.api.post(
        "/cohorts/", params={**query, "filter_test_accounts": value}, json={"is_static": True}
    )
    assert answer.status_code == 201, answer.text
    await shop.server.calculated()

    assert len(await cohort_members(shop, answer.json())) == expected


async def test_the_average_of_a_rollback_leaves_them_out(shop: Tenant) -> None:
    project = Project(
        *(shop.project_id, uuid4(), UUID(int=0), "Shop", "phc_x", "UTC", NOW),
        test_account_filters=(STAFF,),
    )
    week = DateRange(NOW.replace(month=2, day=23), NOW)
    question = parse_trends({**SEEN, "filter_test_accounts": True})

    average = await RollingAverage(
        Analysis(shop.server.records, shop.server.running.events)
    ).daily_average(project, question, week)

    assert average == pytest.approx(2 / 7)
