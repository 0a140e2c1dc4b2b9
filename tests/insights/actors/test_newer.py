"""The actors behind a number, as newer clients ask for them: by an ActorsQuery."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant
from tests.support.cohorts import cohort_members, retrieve_cohort

EVENT = {"kind": "EventsNode", "event": "seen"}
RETENTION: Json = {
    "kind": "RetentionQuery",
    "dateRange": {"date_to": "2024-03-01"},
    "retentionFilter": {
        "period": "Day",
        "totalIntervals": 3,
        "targetEntity": EVENT,
        "returningEntity": EVENT,
    },
}
SOURCE: Json = {"kind": "InsightActorsQuery", "source": RETENTION, "interval": 0}


def seen(who: str, day: str, **more: Any) -> Json:
    return {"event": "seen", "distinct_id": who, "timestamp": f"2024-{day}T10:00:00Z", **more}


@pytest.fixture
async def shop(tenant: Tenant) -> Tenant:
    """Create persons in the order a, b, c, of whom c came most often, then b."""
    await tenant.capture(
        seen("a", "02-28", **{"$set": {"email": "a@x.com", "plan": "pro"}}),
        seen("b", "02-28", **{"$set": {"email": "b@y.com"}}),
        seen("c", "02-28", **{"$set": {"email": "c@y.com", "plan": "free"}}),
        seen("b", "02-29"),
        *(seen("c", day) for day in ("02-29", "03-01")),
        seen("nobody", "02-28", properties={"$process_person_profile": False}),
    )
    return tenant


async def ask(tenant: Tenant, source: Json = SOURCE, **more: Any) -> Any:
    query = {"kind": "ActorsQuery", "source": source, **more}
    return await tenant.api.post("/query/", json={"query": query})


async def answered(tenant: Tenant, source: Json = SOURCE, **more: Any) -> Json:
    answer = await ask(tenant, source, **more)
    assert answer.status_code == 200, answer.text
    result: Json = answer.json()
    return result


async def test_rows_have_the_columns_that_are_asked_for(shop: Tenant) -> None:
    select = ["actor", "event_count", "properties.plan", "id", "person.properties.email -- Mail"]

    body = await answered(shop, select=select)

    uuid = (await shop.person("c"))["uuid"]
    actor, *rest = body["results"][0]
    assert (actor["id"], actor["distinct_ids"], actor["type"]) == (uuid, ["c"], "person")
    assert actor["properties"] == {"email": "c@y.com", "plan": "free"}
    assert rest == [3, "free", uuid, "c@y.com"]
    assert body["columns"] == select
    assert (body["hasMore"], body["limit"], body["offset"]) == (False, 100, 0)
    assert len(body["results"]) + body["missing_actors_count"] == 4


async def test_actors_are_the_only_column_by_default(shop: Tenant) -> None:
    body = await answered(shop)

    assert [row[0]["distinct_ids"] for row in body["results"]] == [["c"], ["b"], ["a"]]
    assert body["columns"] == ["actor"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ([], ["c", "b", "a"]),
        (["event_count DESC"], ["c", "b", "a"]),
        (["event_count"], ["a", "b", "c"]),
        (["event_count ASC"], ["a", "b", "c"]),
    ],
)
async def test_rows_have_an_order(shop: Tenant, order: list[str], expected: list[str]) -> None:
    body = await answered(shop, select=["properties.email"], orderBy=order)

    assert [row[0][0] for row in body["results"]] == expected


@pytest.mark.parametrize("name", ["created_at", "id"])
async def test_an_order_may_be_reversed(shop: Tenant, name: str) -> None:
    ways = (f"{name} ASC", f"{name} DESC")
    up, down = [(await answered(shop, select=[name], orderBy=[way]))["results"] for way in ways]

    assert [*reversed(down)] == up
    assert name != "created_at" or up == sorted(up)


async def test_pages_and_a_search(shop: Tenant) -> None:
    first = await answered(shop, select=["properties.email"], limit=1)
    second = await answered(shop, select=["properties.email"], limit=1, offset=1)
    searched = await answered(shop, select=["properties.email"], search="Y.COM")

    assert (first["results"], first["hasMore"]) == ([["c@y.com"]], True)
    assert second["results"] == [["b@y.com"]]
    assert searched["results"] == [["c@y.com"], ["b@y.com"]]


@pytest.mark.parametrize(
    ("sent", "attr"),
    [
        ({"select": ["actor", "count()"]}, "query__select__1"),
        ({"orderBy": ["plan"]}, "query__orderBy__0"),
        ({"properties": [{"key": "a", "value": 1}]}, "query__properties"),
        ({"odd": 1}, "query__odd"),
        ({"source": None}, "query__source"),
        ({"source": {"kind": "HogQLQuery"}}, "query__source__kind"),
        ({"source": {**SOURCE, "odd": 1}}, "query__source__odd"),
        ({"source": {**SOURCE, "status": "new"}}, "query__source__status"),
        ({"source": {**SOURCE, "interval": 3}}, "query__source__interval"),
        ({"source": {**SOURCE, "source": None}}, "query__source__source"),
        ({"source": {**SOURCE, "source": {"kind": "Odd"}}}, "query__source__source__kind"),
        ({"limit": "some"}, "query__limit"),
    ],
)
async def test_what_cannot_be_used_is_refused(tenant: Tenant, sent: Json, attr: str) -> None:
    answer = await ask(tenant, **sent)

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text


async def test_a_static_cohort_is_made_of_all_of_them(shop: Tenant) -> None:
    query = {"kind": "ActorsQuery", "source": SOURCE, "limit": 1, "select": ["id"]}
    body = {"name": "Came", "is_static": True, "query": query}

    answer = await shop.api.post("/cohorts/", json=body)
    await shop.server.calculated()

    assert answer.status_code == 201, answer.text
    assert await cohort_members(shop, answer.json()) == ["a", "b", "c"]
    assert (await retrieve_cohort(shop, answer.json()))["errors_calculating"] == 0


@pytest.mark.parametrize(
    ("query", "attr"),
    [
        ({"source": SOURCE, "search": "a"}, "query__search"),
        ({"source": {**SOURCE, "interval": 7}}, "query__source__interval"),
        (
            {"source": {**SOURCE, "source": {**RETENTION, "aggregation_group_type_index": 0}}},
            "aggregation_group_type_index",
        ),
    ],
)
async def test_a_cohort_of_what_cannot_be_used_is_refused(
    tenant: Tenant, query: Json, attr: str
) -> None:
    body = {"name": "x", "is_static": True, "query": {"kind": "ActorsQuery", **query}}

    answer = await tenant.api.post("/cohorts/", json=body)

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text
