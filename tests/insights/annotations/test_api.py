"""Annotations over HTTP."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fanion.insights.annotations import store
from tests.support.application import AppServer, Json, Tenant, open_tenant
from tests.support.events_engine import next_project
from tests.support.projects import another_project

pytestmark = pytest.mark.every_engine

PLACE = "/annotations/"


@pytest.fixture
async def shop(tenant: Tenant) -> AsyncIterator[Tenant]:
    """Yield a second project of the tenant's organization."""
    async with another_project(tenant) as shop:
        yield shop


@pytest.fixture
async def stranger(app_server: AppServer) -> AsyncIterator[Tenant]:
    """Yield a project of another organization."""
    async with open_tenant(app_server, next_project()) as stranger:
        yield stranger


async def annotate(tenant: Tenant, content: str = "Released", **body: Any) -> Json:
    answer = await tenant.api.post(PLACE, json={"content": content, **body})
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def contents(tenant: Tenant, **query: Any) -> list[str]:
    listed = await tenant.get(PLACE, **query)
    assert listed["count"] == len(listed["results"])
    return [annotation["content"] for annotation in listed["results"]]


async def test_an_annotation_from_creation_to_restoration(tenant: Tenant) -> None:
    made = await annotate(tenant)
    place = f"{PLACE}{made['id']}/"

    changed = await tenant.api.patch(place, json={**made, "content": "Released 2.0"})
    deleted = await tenant.api.patch(place, json={"deleted": True})
    gone = await tenant.api.get(place)
    refused = await tenant.api.patch(place, json={"content": "No"})
    while_deleted = (await contents(tenant), await contents(tenant, deleted=True))
    restored = await tenant.api.patch(place, json={"deleted": False})

    assert made == {
        "id": made["id"],
        "content": "Released",
        "date_marker": "2024-03-01T12:00:00Z",
        "creation_type": "USR",
        "scope": "project",
        "dashboard_item": None,
        "dashboard_id": None,
        "deleted": False,
        "dashboard_name": None,
        "insight_short_id": None,
        "insight_name": None,
        "insight_derived_name": None,
        "created_by": tenant.owner,
        "created_at": "2024-03-01T12:00:00Z",
        "updated_at": "2024-03-01T12:00:00Z",
    }
    assert changed.json() == {**made, "content": "Released 2.0"}
    assert deleted.json() == {**changed.json(), "deleted": True}
    assert (gone.status_code, refused.status_code) == (404, 404)
    assert while_deleted == ([], ["Released 2.0"])
    assert restored.json() == changed.json() == await tenant.get(place)
    assert (await tenant.api.delete(place)).status_code == 405
    entries = (await tenant.get("/activity_log/", scope="Annotation"))["results"]
    fields = [[change["field"] for change in entry["detail"]["changes"] or ()] for entry in entries]
    assert fields == [["deleted"], ["deleted"], ["content"], []]


async def test_an_annotation_names_its_insight_and_its_dashboard(tenant: Tenant) -> None:
    insight = (await tenant.api.post("/insights/", json={"name": "Sales"})).json()
    dashboard = (await tenant.api.post("/dashboards/", json={"name": "Shop"})).json()

    made = await annotate(tenant, scope="dashboard_item", dashboard_item=insight["id"])
    moved = await tenant.api.patch(
        f"{PLACE}{made['id']}/", json={"scope": "dashboard", "dashboard_id": dashboard["id"]}
    )

    assert (made["insight_short_id"], made["insight_name"]) == (insight["short_id"], "Sales")
    assert moved.json()["dashboard_name"] == "Shop"
    assert await contents(tenant, dashboardItemId=insight["id"]) == ["Released"]
    assert await contents(tenant, dashboardItemId=insight["id"] + 1) == []


async def test_annotations_are_listed_by_their_moment_and_chosen(tenant: Tenant) -> None:
    await annotate(tenant, "Old", date_marker="2023-12-31T23:00:00-02:00")
    await annotate(tenant, "100% done", date_marker="2024-02-01T10:00:00Z", creation_type="GIT")
    await annotate(tenant, "Spring SALE", date_marker="2024-02-20", scope="organization")

    assert await contents(tenant) == ["Spring SALE", "100% done", "Old"]
    assert await contents(tenant, search="sale") == ["Spring SALE"]
    assert await contents(tenant, search="0%") == ["100% done"]
    assert await contents(tenant, scope="organization") == ["Spring SALE"]
    bounds = {"date_from": "2024-01-01T01:00:00Z", "date_to": "2024-02-01T10:00:00Z"}
    assert await contents(tenant, **bounds) == ["100% done", "Old"]
    assert await contents(tenant, date_from="2024-01-01T01:00:01Z", date_to="2024-02-01") == []


async def test_other_projects_see_only_annotations_of_their_organization(
    tenant: Tenant, shop: Tenant, stranger: Tenant
) -> None:
    await annotate(tenant, "Ours")
    everywhere = await annotate(tenant, "Everywhere", scope="organization")
    place = f"{PLACE}{everywhere['id']}/"

    changed = await shop.api.patch(place, json={"content": "Changed elsewhere"})

    assert changed.json() == {**everywhere, "content": "Changed elsewhere"}
    assert await contents(tenant) == ["Changed elsewhere", "Ours"]
    assert await contents(shop) == ["Changed elsewhere"]
    assert await contents(stranger) == []
    assert (await stranger.api.get(place)).status_code == 404
    assert (await stranger.api.patch(place, json={"content": "No"})).status_code == 404


@pytest.mark.parametrize(
    ("body", "attr", "code", "detail"),
    [
        ({}, "content", "required", "This field is required."),
        ({"content": None}, "content", "null", "This field may not be null."),
        ({"content": " "}, "content", "blank", "This field may not be blank."),
        (
            {"content": "a" * 8193},
            "content",
            "max_length",
            "Ensure this field has no more than 8192 characters.",
        ),
        (
            {"content": "a", "scope": "recording"},
            "scope",
            "invalid_choice",
            '"recording" is not a valid choice. Allowed are: dashboard, dashboard_item, '
            "organization, project.",
        ),
        (
            {"content": "a", "scope": "dashboard_item"},
            "dashboard_item",
            "required",
            "An annotation with the scope dashboard_item needs dashboard_item.",
        ),
        (
            {"content": "a", "scope": "dashboard", "dashboard_item": 1},
            "dashboard_id",
            "required",
            "An annotation with the scope dashboard needs dashboard_id.",
        ),
        (
            {"content": "a", "dashboard_item": 10**6},
            "dashboard_item",
            "does_not_exist",
            'Invalid pk "1000000" - object does not exist.',
        ),
    ],
)
async def test_an_annotation_is_checked(
    tenant: Tenant, body: Json, attr: str, code: str, detail: str
) -> None:
    answer = await tenant.api.post(PLACE, json=body)

    assert (answer.status_code, answer.json()) == (
        400,
        {"type": "validation_error", "code": code, "detail": detail, "attr": attr},
    )


async def test_an_annotation_of_nothing_known_is_refused(tenant: Tenant) -> None:
    made = await annotate(tenant)
    place = f"{PLACE}{made['id']}/"

    unknown = await tenant.api.patch(place, json={"contents": "a"})
    foreign = await tenant.api.patch(place, json={"scope": "dashboard", "dashboard_id": 10**6})
    timeless = await tenant.api.get(PLACE, params={"date_from": "yesterday-ish"})

    assert (unknown.status_code, unknown.json()["attr"]) == (400, "contents")
    assert (foreign.status_code, foreign.json()["attr"]) == (400, "dashboard_id")
    assert (timeless.status_code, timeless.json()["attr"]) == (400, "date_from")
    assert await tenant.get(place) == made


async def test_annotations_are_limited(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "ANNOTATIONS_MAX", 1)
    await annotate(tenant)

    answer = await tenant.api.post(PLACE, json={"content": "One more"})

    assert answer.status_code == 400
    assert answer.json()["detail"] == "A project can have at most 1 annotations."
