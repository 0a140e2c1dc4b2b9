"""Activity entries of roles, of an organization's settings, and of projects and keys.

These belong to no single project: each project of the organization lists them.
"""

import asyncio
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text, update

from fanion.db.engine import Records
from fanion.db.schema.organizations import roles
from tests.support.application import Json, Tenant
from tests.support.awaited import until_soon
from tests.support.team import Team

ROLES = "/api/organizations/@current/roles/"
ACCESS = "/api/organizations/@current/resource_access/"


async def sent(tenant: Tenant, method: str, path: str, **body: Any) -> Json:
    """Send a request as the owner, to any path of the API."""
    async with tenant.server.client(tenant.key) as client:
        answer = await client.request(method, path, json=body or None)
        assert answer.status_code < 300, answer.text
        body_received: Json = answer.json() if answer.content else {}
        return body_received


async def reported(tenant: Tenant, scope: str) -> list[tuple[str, str, list[tuple[str, Any, Any]]]]:
    """Return the activity, item name and changes of each entry, oldest first."""
    entries = (await tenant.get("/activity_log/", scope=scope, limit=100))["results"]
    owner = {"first_name": "Olga", "email": tenant.owner["email"]}
    assert all(entry["user"] == owner for entry in entries)
    return [
        (
            entry["activity"],
            entry["detail"]["name"],
            [(c["field"], c["before"], c["after"]) for c in entry["detail"]["changes"] or []],
        )
        for entry in reversed(entries)
    ]


async def test_changes_of_roles_are_reported(tenant: Tenant) -> None:
    role = await sent(tenant, "POST", ROLES, name="Builders")
    path = f"{ROLES}{role['id']}/"
    await sent(tenant, "PATCH", path, name="Builders", feature_flags_access_level=37)
    await sent(tenant, "PATCH", path, name="Makers", feature_flags_access_level=21)
    uuid, email = tenant.owner["uuid"], tenant.owner["email"]
    member = await sent(tenant, "POST", f"{path}role_memberships/", user_uuid=uuid)
    await sent(tenant, "DELETE", f"{path}role_memberships/{member['id']}/")
    await sent(tenant, "DELETE", path)

    assert await reported(tenant, "Role") == [
        ("created", "Builders", []),
        (
            "updated",
            "Makers",
            [("name", "Builders", "Makers"), ("feature_flags_access_level", 37, 21)],
        ),
        ("updated", "Makers", [("members", [], [email])]),
        ("updated", "Makers", [("members", [email], [])]),
        ("deleted", "Makers", []),
    ]


async def test_a_role_that_goes_leaves_its_flags_with_a_word(tenant: Tenant) -> None:
    role = await sent(tenant, "POST", ROLES, name="Builders")
    flags = [await tenant.create_flag(key=key) for key in "ab"]
    for flag in flags:
        path = f"/feature_flags/{flag['id']}/role_access/"
        await tenant.api.post(path, json={"role_id": role["id"]})

    await sent(tenant, "DELETE", f"{ROLES}{role['id']}/")

    had = {"id": role["id"], "name": "Builders"}
    for flag in flags:
        newest = (await tenant.get(f"/feature_flags/{flag['id']}/activity/"))["results"][0]
        [change] = newest["detail"]["changes"]
        assert (newest["activity"], newest["detail"]["name"]) == ("updated", flag["key"])
        assert change == {
            "type": "FeatureFlag",
            "action": "deleted",
            "field": "role_access",
            "before": had,
            "after": None,
        }


@pytest.mark.postgresql
async def test_a_role_that_is_renamed_while_it_is_deleted_goes_with_its_last_name(
    tenant: Tenant,
) -> None:
    role = await sent(tenant, "POST", ROLES, name="Builders")
    flag = await tenant.create_flag(key="a")
    access = f"/feature_flags/{flag['id']}/role_access/"
    await tenant.api.post(access, json={"role_id": role["id"]})
    rename = update(roles).where(roles.c.id == UUID(role["id"])).values(name="Makers")
    records = tenant.server.records

    async with records.write() as connection:
        await connection.execute(rename)
        deletion = asyncio.create_task(sent(tenant, "DELETE", f"{ROLES}{role['id']}/"))
        await until_soon(partial(waits_for_lock, records), "the deletion does not wait")
    await deletion

    newest = (await tenant.get(f"/feature_flags/{flag['id']}/activity/"))["results"][0]
    assert (await reported(tenant, "Role"))[-1] == ("deleted", "Makers", [])
    assert newest["detail"]["changes"][0]["before"]["name"] == "Makers"


async def waits_for_lock(records: Records) -> bool:
    """Return whether a transaction of this database waits for a lock of another one."""
    waiting = text(
        "SELECT 1 FROM pg_stat_activity"
        " WHERE datname = CURRENT_DATABASE() AND wait_event_type = 'Lock'"
    )
    return bool(await records.fetch(waiting))


async def test_changes_of_what_all_members_may_do_are_recorded(tenant: Tenant) -> None:
    made = await sent(tenant, "POST", ACCESS, resource="feature flags", access_level=21)
    for level in (21, 37):
        await sent(tenant, "PATCH", f"{ACCESS}{made['id']}/", access_level=level)
    await sent(tenant, "DELETE", f"{ACCESS}{made['id']}/")

    assert await reported(tenant, "ResourceAccess") == [
        ("created", "feature flags", []),
        ("updated", "feature flags", [("access_level", 21, 37)]),
        ("deleted", "feature flags", []),
    ]


async def test_a_new_project_reports_who_made_it(team: Team) -> None:
    made = await team.owner.post("/api/projects/", name="Second")
    await team.role("Builders")

    theirs = await team.owner.get(f"/api/projects/{made['id']}/activity_log/")

    entries = [(entry["scope"], entry["activity"], entry["item_id"]) for entry in theirs["results"]]
    assert entries[1:] == [("Project", "created", str(made["id"]))]
    assert entries[0][:2] == ("Role", "created")
    assert {entry["user"]["first_name"] for entry in theirs["results"]} == {team.owner.name}


async def test_keys_are_recorded_but_not_their_values(tenant: Tenant) -> None:
    key = await sent(tenant, "POST", "/api/personal_api_keys/", label="Mine")
    await sent(tenant, "DELETE", f"/api/personal_api_keys/{key['id']}/")
    path = f"/api/projects/{tenant.project_id}/secret_key/"
    first = (await sent(tenant, "POST", path))["secret_api_key"]
    second = (await sent(tenant, "POST", path))["secret_api_key"]
    await sent(tenant, "DELETE", path)

    assert await reported(tenant, "PersonalAPIKey") == [
        ("created", "Mine", []),
        ("deleted", "Mine", []),
    ]
    entries = await reported(tenant, "Project")
    assert [change[0] for _, _, [change] in entries] == ["secret_key"] * 3
    returned = [(before, after) for _, _, [(_, before, after)] in entries]
    assert (returned[0][0], returned[0][1], returned[2][1]) == (None, returned[1][0], None)
    text = (await tenant.api.get("/activity_log/", params={"limit": 100})).text
    assert key["value"] not in text
    assert first not in text
    assert second not in text
