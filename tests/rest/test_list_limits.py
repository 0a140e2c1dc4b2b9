"""No list is longer than 10,000 rows, whatever `limit` says, and `next` leads to the rest."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from sqlalchemy import insert

from fanion.db.schema.tables import persons
from fanion.projects.activity_api import ENTRIES_MAX
from fanion.rest.pagination import ROWS_MAX
from tests.support.application import Json, Tenant
from tests.support.batch_exports import BATCH_EXPORT
from tests.support.management import NOW
from tests.support.published_paths import fill_path

pytestmark = pytest.mark.every_engine

HUGE = 1_000_000_000
# These lists have no previous page: two continue from a time, one names its first page, exports go
# on.
WITHOUT_PREVIOUS = {
    "/api/projects/{project_id}/events/",
    "/api/projects/{project_id}/events/export/",
    "/api/projects/{project_id}/persons/export/",
    "/api/projects/{project_id}/groups/export/",
    "/api/projects/{project_id}/experiments/{id}/people/",
    "/api/projects/{project_id}/persons/{id}/timeline/",
}


@pytest.fixture
async def things(tenant: Tenant) -> dict[str, object]:
    """Create one object of each kind and return their ids by their places in paths."""

    async def made(path: str, **body: object) -> object:
        answer = await tenant.api.post(path, json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    await tenant.capture({"event": "seen", "distinct_id": "ann", "properties": {"a": 1}})
    async with tenant.server.client(tenant.key) as api:
        role = await api.post("/api/organizations/@current/roles/", json={"name": "Editors"})
    assert role.status_code == 201, role.text
    insight_id = await made("/insights/", name="a")
    experiment_id = await made("/experiments/", name="a", feature_flag_key="b")
    launched = await tenant.api.post(f"/experiments/{experiment_id}/launch/")
    assert launched.status_code == 200, launched.text
    alert = {"insight": insight_id, "condition": "above", "threshold": 1}
    return {
        "project_id": tenant.project_id,
        "organization": "@current",
        "feature_flags": await made("/feature_flags/", key="a"),
        "actions": await made("/actions/", name="a", steps=[{"event": "a"}]),
        "cohorts": await made("/cohorts/", name="a"),
        "insights": insight_id,
        "alerts": await made("/alerts/", name="a", **alert),
        "annotations": await made("/annotations/", content="a"),
        "segments": await made("/segments/", name="a", properties=[{"key": "a", "value": "b"}]),
        "dashboards": await made("/dashboards/", name="a"),
        "experiments": experiment_id,
        "batch_exports": await made("/batch_exports/", **BATCH_EXPORT),
        "webhooks": await made("/webhooks/", url="https://example.com/"),
        "persons": (await tenant.person("ann"))["uuid"],
        "roles": role.json()["id"],
        "event_definitions": (await tenant.get("/event_definitions/"))["results"][0]["id"],
        "property_definitions": (await tenant.get("/property_definitions/"))["results"][0]["id"],
    }


async def test_every_list_serves_a_huge_limit_as_its_own(
    tenant: Tenant, things: dict[str, object]
) -> None:
    schema = (await tenant.public.get("/api/schema/")).json()
    limit_query = {"limit": HUGE}
    served: dict[str, int] = {}

    async with tenant.server.client(tenant.key) as api:
        for path in lists(schema):
            of_groups = {"group_type_index": 0} if "/groups/" in path else {}
            by_number = path.endswith(("/activity/", "/activity_log/"))
            paging = {"page": 2} if by_number else {"offset": 1}
            of_people = {"variant": "control"} if path.endswith("/people/") else {}
            query = (
                limit_query | of_groups | of_people | ({} if path in WITHOUT_PREVIOUS else paging)
            )
            answer = await api.get(fill_path(path, things), params=query)
            assert answer.status_code == 200, (path, answer.text)
            if path not in WITHOUT_PREVIOUS:
                [served[path]] = limits(answer.json()["previous"])

    assert len(served) > 25
    for path, limit in served.items():
        expected = ENTRIES_MAX if "activity" in path else ROWS_MAX
        assert (path, limit) == (path, expected)


def lists(schema: Json) -> list[str]:
    return [
        path
        for path, operations in schema["paths"].items()
        if any(
            entry["name"] == "limit" for entry in operations.get("get", {}).get("parameters", ())
        )
    ]


def limits(link: str) -> list[int]:
    return [int(number) for number in parse_qs(urlsplit(link).query)["limit"]]


async def test_the_list_of_events_goes_on_behind_the_most_of_a_page(tenant: Tenant) -> None:
    await tenant.capture(
        *(
            {"event": "seen", "distinct_id": "ann", "timestamp": f"2024-02-01T00:00:00.{n:06}Z"}
            for n in range(ROWS_MAX + 2)
        )
    )

    page = await tenant.get("/events/", limit=HUGE)
    rest = (await tenant.api.get(page["next"])).json()

    assert len(page["results"]) == ROWS_MAX
    assert limits(page["next"]) == [ROWS_MAX]
    assert len(rest["results"]) == 2
    assert rest["next"] is None


async def test_the_list_of_persons_goes_on_behind_the_most_of_a_page(tenant: Tenant) -> None:
    columns = {"project_id": tenant.project_id, "is_identified": False, "properties": {}}
    rows = [
        columns | {"uuid": uuid4(), "version": 1, "created_at": NOW + timedelta(seconds=n)}
        for n in range(ROWS_MAX + 2)
    ]
    async with tenant.server.records.write() as connection:
        await connection.execute(insert(persons), rows)

    page = await tenant.get("/persons/", limit=HUGE)
    rest = (await tenant.api.get(page["next"])).json()

    assert [entry["uuid"] for entry in page["results"]] == [
        str(row["uuid"]) for row in reversed(rows[2:])
    ]
    assert limits(page["next"]) == [ROWS_MAX]
    assert [entry["uuid"] for entry in rest["results"]] == [
        str(rows[1]["uuid"]),
        str(rows[0]["uuid"]),
    ]
    assert rest["next"] is None


@pytest.mark.parametrize("path", ["/persons/", "/events/", "/feature_flags/", "/cohorts/"])
@pytest.mark.parametrize(
    "query", ["limit=-1&offset=-1", "limit=x&offset=x", "limit=1e9&offset=0.5"]
)
async def test_what_is_no_number_counts_as_not_given(tenant: Tenant, path: str, query: str) -> None:
    await tenant.capture({"event": "seen", "distinct_id": "ann"})

    plain = await tenant.get(path)
    # Lists of events have no offset; only `next` continues them.
    sent = query.partition("&")[0] if path == "/events/" else query
    odd = await tenant.api.get(f"{path}?{sent}")

    assert (odd.status_code, odd.json()["results"]) == (200, plain["results"])


async def test_an_offset_behind_everything_is_an_empty_page(tenant: Tenant) -> None:
    await tenant.capture({"event": "seen", "distinct_id": "ann"})
    properties = '[{"key": "a", "value": "x", "type": "person"}]'

    for query in ({}, {"properties": properties}):
        page = await tenant.get("/persons/", offset=10**20, **query)
        assert (page["results"], page["next"]) == ([], None)
        assert "offset=" in page["previous"]
