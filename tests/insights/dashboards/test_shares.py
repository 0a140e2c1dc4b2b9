"""Shared dashboards: what a link shows, what it never shows, and how it is revoked."""

import json
import re

import pytest
from sqlalchemy import select

from fanion.db.schema.insights import dashboard_shares
from fanion.insights.dashboards.shared_service import CLIENT_RATE
from tests.support.application import Json, Tenant

MAIL = "ann@secret.example"
HIDDEN = ("url", "persons_urls", "people_url", "properties", "filter", "distinct_id")


def question(**fields: object) -> Json:
    condition = {"key": "email", "value": MAIL, "operator": "is_not", "type": "person"}
    series = [{"kind": "EventsNode", "event": "paid", "properties": [condition]}]
    source = {"kind": "TrendsQuery", "series": series, "properties": [condition], **fields}
    return {"kind": "InsightVizNode", "source": source}


async def dashboard_with_tile(tenant: Tenant, **fields: object) -> Json:
    made: Json = (await tenant.api.post("/dashboards/", json={"name": "Sales", **fields})).json()
    for name, dashboards in (("Shown", [made["id"]]), ("Private", [])):
        insight = {"name": name, "query": question(), "dashboards": dashboards}
        assert (await tenant.api.post("/insights/", json=insight)).status_code == 201
    await tenant.capture({"event": "paid", "distinct_id": "bob", "properties": {"plan": "pro"}})
    await tenant.get(f"/dashboards/{made['id']}/", refresh="true")
    return made


async def share(tenant: Tenant, dashboard: Json) -> str:
    answer = await tenant.api.post(f"/dashboards/{dashboard['id']}/share/")
    assert answer.status_code == 201, answer.text
    token: str = answer.json()["token"]
    assert answer.json()["path"] == f"/shared/{token}"
    return token


@pytest.mark.every_engine
async def test_a_link_shows_the_tiles_of_its_dashboard_to_strangers_until_it_is_withdrawn(
    tenant: Tenant,
) -> None:
    dashboard = await dashboard_with_tile(tenant, filters={"date_from": "-3d"})
    token = await share(tenant, dashboard)
    path = f"/api/shared_dashboards/{token}/"

    shown = await tenant.public.get(path)
    is_shared = (await tenant.get(f"/dashboards/{dashboard['id']}/"))["is_shared"]
    withdrawn = await tenant.api.delete(f"/dashboards/{dashboard['id']}/share/")
    gone = await tenant.public.get(path)

    assert (shown.status_code, is_shared, withdrawn.status_code) == (200, True, 204)
    body = shown.json()
    assert set(body) == {"name", "description", "timezone", "tiles"}
    [tile] = body["tiles"]
    assert (body["name"], tile["name"]) == ("Sales", "Shown")
    assert tile["query"]["source"]["dateRange"] == {"date_from": "-3d", "date_to": None}
    assert tile["result"][0]["data"] == [0.0, 0.0, 0.0, 1.0]
    assert tile["last_refresh"] == "2024-03-01T12:00:00Z"
    assert gone.status_code == 404
    assert (await tenant.get(f"/dashboards/{dashboard['id']}/"))["is_shared"] is False


async def test_a_link_shows_no_conditions_and_no_addresses_of_persons(tenant: Tenant) -> None:
    dashboard = await dashboard_with_tile(tenant)
    token = await share(tenant, dashboard)

    text = (await tenant.public.get(f"/api/shared_dashboards/{token}/")).text

    assert MAIL not in text
    assert "Private" not in text
    names = set(re.findall(r'"([^"]+)":', text))
    assert not names & {"rows_read", "seconds"}
    assert not names & set(HIDDEN), names & set(HIDDEN)
    assert f"/projects/{tenant.project_id}" not in text
    assert json.loads(text)["tiles"][0]["result"][0]["label"] == "paid"


async def test_only_the_hash_of_a_link_is_stored_and_a_new_link_ends_the_former(
    tenant: Tenant,
) -> None:
    dashboard = await dashboard_with_tile(tenant)
    first, second = await share(tenant, dashboard), await share(tenant, dashboard)

    async with tenant.server.records.read() as connection:
        own = dashboard_shares.c.dashboard_id == dashboard["id"]
        rows = (await connection.execute(select(dashboard_shares).where(own))).all()

    assert len(rows) == 1
    assert first not in str(rows)
    assert second not in str(rows)
    answers = [
        (await tenant.public.get(f"/api/shared_dashboards/{token}/")).status_code
        for token in (first, second, "x" * 43, "x" * 1000)
    ]
    assert answers == [404, 200, 404, 404]


async def test_a_link_ends_with_its_dashboard_and_begins_again_with_it(tenant: Tenant) -> None:
    dashboard = await dashboard_with_tile(tenant)
    path = f"/api/shared_dashboards/{await share(tenant, dashboard)}/"
    own = f"/dashboards/{dashboard['id']}/"

    await tenant.api.patch(own, json={"deleted": True})
    deleted = await tenant.public.get(path)
    refused = await tenant.api.post(f"{own}share/")
    await tenant.api.patch(own, json={"deleted": False})

    assert (deleted.status_code, refused.status_code) == (404, 404)
    assert (await tenant.public.get(path)).status_code == 200


async def test_nothing_else_is_opened_with_the_token_of_a_link(tenant: Tenant) -> None:
    dashboard = await dashboard_with_tile(tenant)
    token = await share(tenant, dashboard)
    schema = (await tenant.public.get("/api/schema/")).json()
    reached = []
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            is_open = {} in operation.get("security", [])
            if method not in ("get", "post", "patch", "put", "delete") or is_open:
                continue
            if not path.startswith("/api/"):
                continue
            real = re.sub(r"\{project_id\}", str(tenant.project_id), path)
            real = re.sub(r"\{[^}]*\}", str(dashboard["id"]), real)
            for headers, query in (
                ({"authorization": f"Bearer {token}"}, {}),
                ({}, {"personal_api_key": token}),
                ({"cookie": f"fanion_session={token}"}, {"token": token}),
            ):
                answer = await tenant.public.request(method, real, headers=headers, params=query)
                if answer.status_code < 400 or answer.status_code >= 500:
                    reached.append((method, path, answer.status_code))

    assert reached == []
    assert len(schema["paths"]) > 80


async def test_a_link_does_not_calculate_at_the_will_of_whoever_opens_it(tenant: Tenant) -> None:
    dashboard = await dashboard_with_tile(tenant)
    path = f"/api/shared_dashboards/{await share(tenant, dashboard)}/"
    first = (await tenant.public.get(path)).json()["tiles"][0]["last_refresh"]
    tenant.server.clock.move(minutes=5)

    again = await tenant.public.get(path, params={"refresh": "true"})
    others = [await tenant.public.request(method, path) for method in ("post", "patch", "delete")]

    assert again.json()["tiles"][0]["last_refresh"] == first
    assert {answer.status_code for answer in others} == {405}


async def test_a_link_says_which_tiles_cannot_be_calculated(tenant: Tenant) -> None:
    dashboard = await dashboard_with_tile(tenant)
    by_zero = {"kind": "HogQLQuery", "query": "select intDiv(1, count() - count()) from events"}
    insight = {"name": "Zero", "query": by_zero, "dashboards": [dashboard["id"]]}
    assert (await tenant.api.post("/insights/", json=insight)).status_code == 201
    path = f"/api/shared_dashboards/{await share(tenant, dashboard)}/"
    results = tenant.server.running.questions.questions.results

    async def shown() -> list[bool]:
        tiles = (await tenant.public.get(path)).json()["tiles"]
        assert tiles[1]["last_refresh"] is None
        return [tile["is_refused"] for tile in tiles]

    before = await shown()
    await results.background_done()
    after = await shown()
    assert results.waiting == 0  # it is not tried again, however often the link is opened
    tenant.server.clock.move(days=1)
    next_day = await shown()
    await results.background_done()

    assert (before, after) == ([False, False], [False, True])
    assert (next_day, await shown()) == ([False, False], [False, True])


async def test_the_activity_says_who_shared_a_dashboard_and_who_withdrew_it(
    tenant: Tenant,
) -> None:
    dashboard = await dashboard_with_tile(tenant)
    await share(tenant, dashboard)
    await tenant.api.delete(f"/dashboards/{dashboard['id']}/share/")
    await tenant.api.delete(f"/dashboards/{dashboard['id']}/share/")

    entries = (await tenant.get(f"/dashboards/{dashboard['id']}/activity/"))["results"]

    changes = [entry["detail"]["changes"] for entry in entries]
    shared = [
        (change["before"], change["after"])
        for listed in changes
        for change in listed or []
        if change["field"] == "is_shared"
    ]
    assert shared == [(True, False), (False, True)]
    assert {entry["user"]["email"] for entry in entries} == {tenant.owner["email"]}


async def test_who_opens_links_too_often_waits(tenant: Tenant) -> None:
    statuses = []
    # On a busy machine some are regained meanwhile, and other tests have opened links before.
    for _ in range(CLIENT_RATE.burst * 10):
        answer = await tenant.public.get("/api/shared_dashboards/unknown/")
        statuses.append(answer.status_code)
        if answer.status_code == 429:
            break

    assert statuses[-1] == 429
    assert statuses[:-1] == [404] * (len(statuses) - 1)
    assert len(statuses) > CLIENT_RATE.burst // 2
