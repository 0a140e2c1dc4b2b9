"""The dashboard on the home page of a project."""

import pytest

from fanion.projects.model import Level
from tests.support.application import Json, Tenant, error
from tests.support.management import add_member

DENIED = error(
    "authentication_error", "permission_denied", "Your organization access level is insufficient."
)


async def made_dashboard(tenant: Tenant, **fields: object) -> Json:
    dashboard: Json = (await tenant.api.post("/dashboards/", json=fields)).json()
    return dashboard


@pytest.mark.every_engine
async def test_a_dashboard_becomes_the_home_of_its_project(tenant: Tenant) -> None:
    first, second = [await made_dashboard(tenant, name=name) for name in ("a", "b")]
    before = await tenant.get("/")

    chosen = await tenant.api.patch("/", json={"primary_dashboard": first["id"]})
    changed = await tenant.api.patch("/", json={"primary_dashboard": second["id"]})
    shown = await tenant.get("/")
    none = await tenant.api.patch("/", json={"primary_dashboard": None})

    assert before["primary_dashboard"] is None
    assert chosen.json() == {**before, "primary_dashboard": first["id"]}
    assert changed.json() == shown == {**before, "primary_dashboard": second["id"]}
    assert none.json() == before
    entries = (await tenant.get("/activity_log/", scope="Project"))["results"]
    changes = [change for entry in entries for change in entry["detail"]["changes"] or []]
    assert [(one["field"], one["before"], one["after"]) for one in changes] == [
        ("primary_dashboard", second["id"], None),
        ("primary_dashboard", first["id"], second["id"]),
        ("primary_dashboard", None, first["id"]),
    ]


async def test_only_a_dashboard_of_the_project_becomes_its_home(tenant: Tenant) -> None:
    gone = await made_dashboard(tenant, name="gone")
    await tenant.api.patch(f"/dashboards/{gone['id']}/", json={"deleted": True})

    for dashboard_id in (gone["id"], 987_654):
        refused = await tenant.api.patch("/", json={"primary_dashboard": dashboard_id})
        assert refused.json() == error(
            "validation_error",
            "does_not_exist",
            f'Invalid pk "{dashboard_id}" - object does not exist.',
            "primary_dashboard",
        )


async def test_a_home_that_was_deleted_stays_chosen_and_can_be_sent_back(tenant: Tenant) -> None:
    home = await made_dashboard(tenant, name="home")
    await tenant.api.patch("/", json={"primary_dashboard": home["id"]})
    await tenant.api.patch(f"/dashboards/{home['id']}/", json={"deleted": True})

    project = await tenant.get("/")
    renamed = await tenant.api.patch("/", json={"name": "n", "primary_dashboard": home["id"]})

    assert project["primary_dashboard"] == home["id"]
    assert renamed.status_code == 200


async def test_members_choose_the_home_and_viewers_do_not(tenant: Tenant) -> None:
    home = await made_dashboard(tenant, name="home")
    path, records = f"/api/projects/{tenant.project_id}", tenant.server.records
    answers = {}
    for level in (Level.VIEWER, Level.MEMBER):
        name = f"{level.name.lower()}-{tenant.project_id:x}"
        member = await add_member(records, name, level, tenant.organization_id)
        async with tenant.server.client(member.key, path) as client:
            answers[level] = [
                await client.patch("/", json=sent)
                for sent in (
                    {"primary_dashboard": home["id"]},
                    {"primary_dashboard": home["id"], "name": "Mine"},
                    {},
                )
            ]

    viewer, member_answers = answers[Level.VIEWER], answers[Level.MEMBER]
    assert [answer.status_code for answer in viewer] == [403, 403, 403]
    assert [answer.status_code for answer in member_answers] == [200, 403, 403]
    assert member_answers[1].json() == DENIED
    project = await tenant.get("/")
    assert (project["primary_dashboard"], project["name"] == "Mine") == (home["id"], False)
