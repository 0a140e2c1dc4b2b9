"""Queries in SQL that are saved as insights, on dashboards and behind links.

Source: insights.md, sections 10a and 14.
"""

from uuid import uuid4

import pytest

from tests.support.application import Json, Tenant
from tests.support.management import invalid

TEXT = "select properties.plan as plan, count() as events from events where {filters} group by plan"


def saved(text: str, **more: object) -> Json:
    source = {"kind": "HogQLQuery", "query": text, **more}
    return {"kind": "DataVisualizationNode", "source": source, "display": "ActionsTable"}


async def seen(tenant: Tenant) -> None:
    for day, plan in (("2024-02-20", "free"), ("2024-03-01", "pro")):
        await tenant.capture(
            {
                "event": "seen",
                "distinct_id": "ann",
                "uuid": str(uuid4()),
                "timestamp": f"{day}T10:00:00Z",
                "properties": {"plan": plan},
            }
        )


async def created(tenant: Tenant, query: Json, **more: object) -> Json:
    answer = await tenant.api.post("/insights/", json={"query": query, **more})
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


@pytest.mark.every_engine
async def test_a_saved_query_is_answered_with_its_columns(tenant: Tenant) -> None:
    await seen(tenant)
    made = await created(tenant, saved(TEXT + " order by plan"), name="Plans")
    path = f"/insights/{made['id']}/"

    asked = await tenant.get(path, refresh="true")
    [listed] = (await tenant.get("/insights/"))["results"]

    assert (made["query"]["source"]["query"], made["result"]) == (TEXT + " order by plan", None)
    assert (asked["columns"], asked["result"]) == (["plan", "events"], [["free", 1], ["pro", 1]])
    assert (listed["result"], listed["is_cached"]) == (asked["result"], True)


async def test_a_dashboard_puts_its_filters_into_the_text_and_a_link_hides_the_text(
    tenant: Tenant,
) -> None:
    await seen(tenant)
    board = (await tenant.api.post("/dashboards/", json={"filters": {"date_from": "-3d"}})).json()
    path = f"/dashboards/{board['id']}/"
    text = TEXT + " having plan != {variables.but}"
    variables = {"but": {"code_name": "but", "value": "ann@secret.example"}}
    await created(tenant, saved(text, variables=variables), dashboards=[board["id"]])

    [tile] = (await tenant.get(path, refresh="true"))["tiles"]
    token = (await tenant.api.post(f"{path}share/")).json()["token"]
    link = await tenant.public.get(f"/api/shared_dashboards/{token}/")

    assert tile["insight"]["result"] == [["pro", 1]]
    assert (tile["beside"]["columns"], tile["beside"]["hasMore"]) == (["plan", "events"], False)
    source = tile["insight"]["query"]["source"]
    assert source["filters"] == {"dateRange": {"date_from": "-3d", "date_to": None}}
    [shared] = link.json()["tiles"]
    assert (shared["result"], shared["beside"]["columns"]) == ([["pro", 1]], ["plan", "events"])
    assert shared["query"]["display"] == "ActionsTable"
    assert "secret" not in link.text
    assert "select" not in link.text


async def test_a_text_that_cannot_be_parsed_is_not_saved(tenant: Tenant) -> None:
    answer = await tenant.api.post("/insights/", json={"query": saved("select 1,\n from")})

    assert answer.status_code == 400
    assert answer.json()["attr"] == "query__source__query"
    assert "Line 2" in answer.json()["detail"]


async def test_an_answer_that_is_too_large_to_keep_is_refused(tenant: Tenant) -> None:
    made = await created(tenant, saved("select repeat('x', 300000)"))

    answer = await tenant.api.get(f"/insights/{made['id']}/", params={"refresh": "true"})

    detail = "The answer of a saved query is larger than 256 KiB. Ask for fewer rows or days."
    assert (answer.status_code, answer.json()) == (400, invalid("too_large", detail, "query"))
