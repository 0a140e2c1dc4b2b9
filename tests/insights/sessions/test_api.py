"""Web analytics over HTTP."""

from typing import Any
from uuid import uuid4

from tests.support.application import Json, Tenant


def sent(event: str, who: str, at: str, **properties: Any) -> Json:
    own = {"$session_id": "s", "$pathname": "/", **properties}
    return {
        "event": event,
        "distinct_id": who,
        "uuid": str(uuid4()),
        "timestamp": f"2024-03-01T{at}Z",
        "properties": own,
    }


async def test_the_overview_and_a_table_are_answered(tenant: Tenant) -> None:
    await tenant.capture(sent("$pageview", "ann", "10:00:00"), sent("$pageview", "ann", "10:00:04"))
    range_ = {"dateRange": {"date_from": "2024-03-01"}}
    page = {"kind": "WebStatsTableQuery", "breakdownBy": "Page", "properties": [], **range_}

    overview = await tenant.api.post(
        "/query/", json={"query": {"kind": "WebOverviewQuery", "properties": [], **range_}}
    )
    table = await tenant.api.post("/query/", json={"query": page})
    second = await tenant.api.post("/query/", json={"query": {**page, "offset": 1}})

    assert [item["value"] for item in overview.json()["results"]] == [1, 2, 1, 4.0, 0.0]
    assert table.json()["results"] == [["/", [1, None], [2, None]]]
    assert table.json()["columns"][0] == "context.columns.breakdown_value"
    assert (table.json()["hasMore"], table.json()["limit"]) == (False, 10)
    assert second.json()["results"] == []


async def test_an_option_that_is_not_calculated_is_refused(tenant: Tenant) -> None:
    query = {"kind": "WebStatsTableQuery", "breakdownBy": "Page", "includeScrollDepth": True}

    answer = await tenant.api.post("/query/", json={"query": query})

    assert answer.status_code == 400
    assert answer.json()["attr"] == "query__includeScrollDepth"


async def test_who_is_here_now(tenant: Tenant) -> None:
    """The clock of the application is at noon."""
    await tenant.capture(
        sent("$pageview", "ann", "11:59:30"),
        sent("clicked", "ann", "11:59:40"),
        sent("clicked", "bob", "11:55:00"),
        sent("clicked", "cid", "11:54:59"),
    )
    await tenant.capture(sent("clicked", "here", "11:58:00", **{"$process_person_profile": False}))

    answer = await tenant.api.get("/events/live_visitors/")

    assert answer.json() == {"users_on_product": 3}
