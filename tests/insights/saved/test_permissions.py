"""The permissions to change dashboards and insights, and the activity that records changes.

Source: cohorts.md, sections 21 and 24.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from fanion.projects.model import Level
from tests.support.application import Json, Tenant, error
from tests.support.management import add_member

NO_EDIT = "You don't have edit permissions for this dashboard."
NO_RESTRICT = (
    "Only the dashboard owner and project admins have the restriction rights required to change "
    "the dashboard's restriction level."
)
NO_INSIGHT = (
    "This insight is on a dashboard that can only be edited by its owner and by project admins."
)


def refused(detail: str) -> tuple[int, Json]:
    return 403, error("authentication_error", "permission_denied", detail)


class Actors:
    def __init__(self, tenant: Tenant, stack: AsyncExitStack) -> None:
        self._tenant, self._stack = tenant, stack

    async def add(self, name: str, level: Level = Level.MEMBER) -> httpx.AsyncClient:
        tenant = self._tenant
        unique = f"{name}-{tenant.project_id:x}"
        person = await add_member(tenant.server.records, unique, level, tenant.organization_id)
        client = tenant.server.client(person.key, f"/api/projects/{tenant.project_id}")
        return await self._stack.enter_async_context(client)


@pytest.fixture
async def persons(tenant: Tenant) -> AsyncIterator[Actors]:
    async with AsyncExitStack() as stack:
        yield Actors(tenant, stack)


async def post(client: httpx.AsyncClient, path: str, **sent: Any) -> Json:
    answer = await client.post(path, json=sent)
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def patch(client: httpx.AsyncClient, path: str, **sent: Any) -> tuple[int, Json]:
    answer = await client.patch(path, json=sent)
    return answer.status_code, answer.json()


async def activity(tenant: Tenant, path: str = "/activity_log/", **query: Any) -> list[Json]:
    result: list[Json] = (await tenant.get(path, **query))["results"]
    return result


def reported(entry: Json) -> tuple[str, list[tuple[str, Any, Any]]]:
    changes = entry["detail"]["changes"] or []
    return entry["activity"], [
        (change["field"], change["before"], change["after"]) for change in changes
    ]


async def test_a_restricted_dashboard_is_changed_by_its_creator_and_administrators(
    tenant: Tenant, persons: Actors
) -> None:
    ada, bea, chief = [
        await persons.add("ada"),
        await persons.add("bea"),
        await persons.add("chief", Level.ADMIN),
    ]
    board = await post(ada, "/dashboards/", name="Hers", restriction_level=37)
    path = f"/dashboards/{board['id']}/"

    seen = {
        client: (await client.get(path)).json()["effective_privilege_level"]
        for client in (ada, bea, chief, tenant.api)
    }

    assert list(seen.values()) == [37, 21, 37, 37]
    assert await patch(bea, path, name="Mine") == refused(NO_EDIT)
    assert await patch(bea, path, restriction_level=21) == refused(NO_EDIT)
    assert await patch(bea, path, deleted=True) == refused(NO_EDIT)
    for client in (ada, chief, tenant.api):
        assert (await patch(client, path, name="Ours"))[0] == 200
    assert (await patch(ada, path, restriction_level=21))[0] == 200
    assert (await patch(bea, path, name="All ours"))[0] == 200
    assert await patch(bea, path, restriction_level=37) == refused(NO_RESTRICT)
    listed = (await bea.get("/dashboards/")).json()["results"]
    assert [insight["effective_privilege_level"] for insight in listed] == [37]


async def test_a_viewer_sees_that_nothing_may_be_changed(tenant: Tenant, persons: Actors) -> None:
    vera = await persons.add("vera", Level.VIEWER)
    board = await post(tenant.api, "/dashboards/", name="Free")
    made = await post(tenant.api, "/insights/", name="On none")

    seen = [
        (await vera.get(path)).json()["effective_privilege_level"]
        for path in (f"/dashboards/{board['id']}/", f"/insights/{made['id']}/")
    ]

    assert seen == [21, 21]
    assert await patch(vera, f"/dashboards/{board['id']}/", name="Mine") == refused(
        "Viewers cannot make changes."
    )


async def test_insights_have_the_restrictions_of_their_dashboards(
    tenant: Tenant, persons: Actors
) -> None:
    ada, bea = await persons.add("ada"), await persons.add("bea")
    closed = await post(ada, "/dashboards/", name="Closed", restriction_level=37)
    free = await post(ada, "/dashboards/", name="Free")
    returned = await post(ada, "/insights/", name="Shown", dashboards=[closed["id"]])
    path = f"/insights/{returned['id']}/"

    seen = (await bea.get(path)).json()
    assert (seen["effective_restriction_level"], seen["effective_privilege_level"]) == (37, 21)
    assert await patch(bea, path, name="Other") == refused(NO_INSIGHT)
    to_closed = f"You don't have permission to add insights to dashboard: {closed['id']}"
    answer = await bea.post("/insights/", json={"name": "n", "dashboards": [closed["id"]]})
    assert (answer.status_code, answer.json()) == refused(to_closed)
    assert (await bea.get("/insights/", params={"search": "n"})).json()["count"] == 1

    await patch(ada, path, dashboards=[closed["id"], free["id"]])
    assert (await patch(bea, path, name="Other"))[0] == 200
    from_closed = f"You don't have permission to remove insights from dashboard: {closed['id']}"
    assert await patch(bea, path, dashboards=[free["id"]]) == refused(from_closed)


async def test_a_deleted_insight_is_only_restored(tenant: Tenant) -> None:
    made = await post(tenant.api, "/insights/", name="n")
    path = f"/insights/{made['id']}/"
    await patch(tenant.api, path, deleted=True)

    lost = 404, error("invalid_request", "not_found", "Not found.")
    assert await patch(tenant.api, path, name="other") == lost
    assert await patch(tenant.api, path, deleted=True) == lost
    status, restored = await patch(tenant.api, path, deleted=False)
    assert (status, restored["name"], restored["deleted"]) == (200, "n", False)


async def test_changes_of_insights_are_recorded(tenant: Tenant) -> None:
    board = await post(tenant.api, "/dashboards/", name="Board")
    made = await post(tenant.api, "/insights/", name="Calls", tags=["a"])
    path = f"/insights/{made['id']}/"
    await patch(tenant.api, path, name="Calls", tags=["a"])
    _, same = await patch(tenant.api, path)
    await patch(tenant.api, path, name="Called", dashboards=[board["id"]])
    await patch(tenant.api, path, deleted=True)

    entries = await activity(tenant, f"{path}activity/")

    assert [reported(entry) for entry in entries] == [
        ("updated", [("deleted", False, True)]),
        ("updated", [("name", "Calls", "Called"), ("dashboards", [], [board["id"]])]),
        ("created", []),
    ]
    assert same["last_modified_at"] == made["last_modified_at"]
    first = entries[-1]
    assert (first["scope"], first["item_id"]) == ("Insight", str(made["id"]))
    assert first["user"] == {"first_name": "Olga", "email": tenant.owner["email"]}
    assert first["detail"] == {
        "name": "Calls",
        "changes": None,
        "short_id": made["short_id"],
        "trigger": None,
        "type": None,
    }
    assert await activity(tenant, "/insights/activity/") == entries
    assert (await tenant.api.get("/insights/987654/activity/")).status_code == 404


async def test_changes_of_dashboards_are_recorded(tenant: Tenant) -> None:
    made = await post(tenant.api, "/dashboards/", name="Board")
    path = f"/dashboards/{made['id']}/"
    insight = await post(tenant.api, "/insights/", name="Calls", dashboards=[made["id"]])
    [tile] = (await tenant.get(path))["tiles"]
    await patch(tenant.api, path, name="Board", tiles=[{"id": tile["id"], "color": None}])
    await patch(tenant.api, path, pinned=True, tiles=[{"id": tile["id"], "color": "red"}])

    entries = await activity(tenant, f"{path}activity/")

    returned = {"id": tile["id"], "insight": insight["id"], "layouts": {}, "color": None}
    assert [reported(entry) for entry in entries] == [
        (
            "updated",
            [("pinned", False, True), ("tiles", [returned], [{**returned, "color": "red"}])],
        ),
        ("created", []),
    ]
    assert await activity(tenant, "/dashboards/activity/") == entries
    assert (await tenant.api.get("/dashboards/987654/activity/")).status_code == 404


async def test_the_usage_dashboard_of_a_flag_is_not_recorded(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    await tenant.api.post(f"/feature_flags/{flag['id']}/dashboard/")

    assert [entry["scope"] for entry in await activity(tenant)] == ["FeatureFlag"]
