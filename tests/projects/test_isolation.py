"""A key opens its own organization's projects and nothing else."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from fanion.events.event import EventQuery
from tests.support.application import AppServer, Json, Tenant, error, open_tenant
from tests.support.batch_exports import BATCH_EXPORT
from tests.support.events_engine import next_project

LISTS = (
    "events",
    "persons",
    "feature_flags",
    "event_definitions",
    "cohorts",
    "dashboards",
    "insights",
    "webhooks",
    "batch_exports",
)
HOOK = {"url": "https://hooks.example/x", "events": ["feature_flag.updated"]}
# Requests below one of the neighbour's objects, by list.
BENEATH: list[tuple[str, str, str, Json]] = [
    ("GET", "feature_flags", "activity/", {}),
    ("GET", "feature_flags", "usage/", {}),
    ("GET", "feature_flags", "role_access/", {}),
    ("POST", "feature_flags", "role_access/", {"role_id": str(UUID(int=1))}),
    ("GET", "feature_flags", "scheduled_changes/", {}),
    (
        "POST",
        "feature_flags",
        "scheduled_changes/",
        {
            "scheduled_at": "2024-03-02T00:00:00Z",
            "payload": {"operation": "update_status", "value": False},
        },
    ),
    ("POST", "feature_flags", "dashboard/", {}),
    ("POST", "feature_flags", "enrich_usage_dashboard/", {}),
    ("POST", "feature_flags", "create_static_cohort_for_flag/", {}),
    ("PATCH", "cohorts", "", {"name": "mine"}),
    ("GET", "cohorts", "persons/", {}),
    ("GET", "cohorts", "activity/", {}),
    ("GET", "cohorts", "explain/", {}),
    ("GET", "cohorts", "duplicate_as_static_cohort/", {}),
    ("PATCH", "dashboards", "", {"name": "mine"}),
    ("GET", "dashboards", "activity/", {}),
    ("PATCH", "insights", "", {"name": "mine"}),
    ("GET", "insights", "activity/", {}),
    ("PATCH", "webhooks", "", {"active": False}),
    ("DELETE", "webhooks", "", {}),
    ("GET", "webhooks", "deliveries/", {}),
    ("PATCH", "batch_exports", "", {"paused": True}),
    ("DELETE", "batch_exports", "", {}),
    ("GET", "batch_exports", "runs/", {}),
    ("POST", "batch_exports", "pause/", {}),
    ("POST", "batch_exports", "unpause/", {}),
    ("POST", "batch_exports", "backfills/", {"start_at": "2024-01-01"}),
    ("PATCH", "event_definitions", "", {"tags": ["mine"]}),
    ("DELETE", "event_definitions", "", {}),
    ("DELETE", "persons", "", {}),
]


@pytest.fixture
async def neighbour(app_server: AppServer, tenant: Tenant) -> AsyncIterator[Tenant]:
    """Provide another organization, with objects of every kind."""
    async with open_tenant(app_server, next_project()) as neighbour:
        await neighbour.capture({"event": "theirs", "distinct_id": "them"})
        await neighbour.create_flag(key="theirs")
        for path, body in (
            ("/cohorts/", {"name": "theirs"}),
            ("/webhooks/", HOOK),
            ("/batch_exports/", BATCH_EXPORT),
        ):
            answer = await neighbour.api.post(path, json=body)
            assert answer.status_code == 201, answer.text
        yield neighbour


async def things(tenant: Tenant) -> dict[str, Json]:
    return {name: (await tenant.get(f"/{name}/"))["results"][0] for name in LISTS}


FORBIDDEN = error(
    "authentication_error", "permission_denied", "You don't have access to the project."
)
NOT_FOUND = error("invalid_request", "not_found", "Not found.")


async def test_another_organizations_project_is_forbidden(
    tenant: Tenant, neighbour: Tenant
) -> None:
    for name, thing in (await things(neighbour)).items():
        for path in (f"/{name}/", f"/{name}/{thing['id']}/"):
            answer = await tenant.api.get(f"/api/projects/{neighbour.project_id}{path}")
            address = f"http://fanion.test/api/projects/{neighbour.project_id}{path}"
            absolute = await tenant.api.get(address)

            assert answer.status_code == 404  # the client's base URL precedes the path
            assert (absolute.status_code, absolute.json()) == (403, FORBIDDEN), path


async def test_another_projects_things_are_not_found_in_ones_own(
    tenant: Tenant, neighbour: Tenant
) -> None:
    for name, thing in (await things(neighbour)).items():
        answer = await tenant.api.get(f"/{name}/{thing['id']}/")

        assert (answer.status_code, answer.json()) == (404, NOT_FOUND), name


async def test_nothing_beneath_another_projects_things_is_reached(
    tenant: Tenant, neighbour: Tenant
) -> None:
    theirs = await things(neighbour)
    everything = await neighbour.get("/activity_log/", limit=1000)

    for method, name, rest, body in BENEATH:
        path = f"/{name}/{theirs[name]['id']}/{rest}"
        within = await tenant.api.request(method, path, json=body)
        address = f"http://fanion.test/api/projects/{neighbour.project_id}{path}"
        outside = await tenant.api.request(method, address, json=body)

        assert (within.status_code, within.json()) == (404, NOT_FOUND), (method, path)
        assert (outside.status_code, outside.json()) == (403, FORBIDDEN), (method, path)
    assert await things(neighbour) == theirs
    assert await neighbour.get("/activity_log/", limit=1000) == everything


async def test_nothing_of_ones_own_names_another_projects_things(
    tenant: Tenant, neighbour: Tenant
) -> None:
    theirs = await things(neighbour)
    leaf = {"type": "cohort", "key": "id", "value": theirs["cohorts"]["id"]}
    flag = {"type": "flag", "key": str(theirs["feature_flags"]["id"]), "value": True}
    flag["operator"] = "flag_evaluates_to"
    sent: list[tuple[str, Json]] = [
        ("/feature_flags/", {"key": "a", "filters": {"groups": [{"properties": [leaf]}]}}),
        ("/feature_flags/", {"key": "a", "filters": {"groups": [{"properties": [flag]}]}}),
        ("/feature_flags/", {"key": "a", "analytics_dashboards": [theirs["dashboards"]["id"]]}),
        ("/insights/", {"name": "a", "dashboards": [theirs["dashboards"]["id"]]}),
    ]

    for path, body in sent:
        answer = await tenant.api.post(path, json=body)
        assert answer.status_code == 400, (path, body, answer.text)
    radius = {"condition": {"properties": [leaf]}}
    reached = await tenant.api.post("/feature_flags/user_blast_radius/", json=radius)
    assert reached.json()["users_affected"] == 0


async def test_no_list_shows_what_belongs_to_others(tenant: Tenant, neighbour: Tenant) -> None:
    for name in LISTS:
        assert (await tenant.get(f"/{name}/"))["results"] == [], name
    assert (await tenant.decide("them"))["featureFlags"] == {}
    [person] = (await neighbour.get("/persons/"))["results"]
    assert await tenant.events(person_id=person["id"]) == []
    assert await tenant.events(distinct_id="them") == []


async def test_another_organizations_flags_cannot_be_written(
    tenant: Tenant, neighbour: Tenant
) -> None:
    [flag] = (await neighbour.get("/feature_flags/"))["results"]
    base = f"http://fanion.test/api/projects/{neighbour.project_id}/feature_flags/"

    created = await tenant.api.post(base, json={"key": "mine"})
    changed = await tenant.api.patch(f"{base}{flag['id']}/", json={"active": False})
    within_own = await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"active": False})

    assert (created.status_code, created.json()) == (403, FORBIDDEN)
    assert (changed.status_code, changed.json()) == (403, FORBIDDEN)
    assert (within_own.status_code, within_own.json()) == (404, NOT_FOUND)
    assert (await neighbour.get("/feature_flags/"))["results"] == [flag]


async def test_a_token_of_another_organization_in_the_query_is_forbidden(
    tenant: Tenant, neighbour: Tenant
) -> None:
    answer = await tenant.api.get("/feature_flags/", params={"token": neighbour.token})

    assert (answer.status_code, answer.json()) == (403, FORBIDDEN)


async def test_a_personal_key_cannot_capture_into_another_organizations_project(
    tenant: Tenant, neighbour: Tenant
) -> None:
    body = {
        "api_key": tenant.key,
        "project_id": neighbour.project_id,
        "event": "a",
        "distinct_id": "u",
    }

    answer = await tenant.public.post("/capture/", json=body)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_project")
    assert answer.json()["attr"] == "project_id"
    stored = await tenant.server.events.list(neighbour.project_id, EventQuery())
    assert [event.event for event in stored] == ["theirs"]


@pytest.mark.parametrize("name", LISTS)
async def test_a_project_token_opens_no_list(tenant: Tenant, name: str) -> None:
    answer = await tenant.server.client(tenant.token).get(
        f"/api/projects/{tenant.project_id}/{name}/"
    )

    assert answer.status_code == 401
    assert answer.json() == error(
        "authentication_error",
        "invalid_personal_api_key",
        "Personal API key found in request Authorization header is invalid.",
    )


@pytest.mark.parametrize("name", LISTS)
async def test_without_a_key_no_list_opens(tenant: Tenant, name: str) -> None:
    answer = await tenant.public.get(f"/api/projects/{tenant.project_id}/{name}/")

    assert answer.status_code == 401
    assert answer.json() == error(
        "authentication_error",
        "not_authenticated",
        "Authentication credentials were not provided.",
    )
