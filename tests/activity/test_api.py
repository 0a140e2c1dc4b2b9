"""The activity log, as the API returns it."""

from typing import Any

import pytest

from fanion.activity.model import ActivityRecord, Author, Change
from fanion.activity.store import record_activity
from fanion.db.schema.tables import projects
from fanion.projects.model import Project
from tests.support.application import Json, Tenant
from tests.support.management import NOW


async def author_of(tenant: Tenant, project_id: int | None = None) -> Author:
    async with tenant.server.records.read() as connection:
        row = (await connection.execute(projects.select())).first()
    assert row is not None
    project = Project(
        id=project_id or tenant.project_id,
        uuid=row.uuid,
        organization_id=tenant.organization_id,
        name="",
        api_token="",
        timezone="UTC",
        created_at=NOW,
    )
    return Author(
        project_id=project.id,
        organization_id=project.organization_id,
        user_id=tenant.user_id,
        now=tenant.server.clock.now(),
    )


async def note(tenant: Tenant, project_id: int | None = None, **fields: Any) -> None:
    author = await author_of(tenant, project_id)
    given: Json = {"scope": "Cohort", "item_id": "1", "activity": "created", "name": "big spenders"}
    entry = ActivityRecord(author=author, **(given | fields))
    async with tenant.server.records.write() as connection:
        await connection.run_sync(record_activity, entry)


async def activity(tenant: Tenant, **query: Any) -> Json:
    entries: Json = await tenant.get("/activity_log/", **query)
    return entries


async def test_an_entry_reports_who_did_what_and_when(tenant: Tenant) -> None:
    change = Change(type="Cohort", action="changed", field="name", before="a", after="b")

    await note(tenant, activity="updated", name="b", changes=[change])
    entries = await activity(tenant)

    assert entries == {
        "results": [
            {
                "user": {
                    "first_name": tenant.owner["first_name"],
                    "email": tenant.owner["email"],
                },
                "activity": "updated",
                "scope": "Cohort",
                "item_id": "1",
                "detail": {
                    "name": "b",
                    "changes": [
                        {
                            "type": "Cohort",
                            "action": "changed",
                            "field": "name",
                            "before": "a",
                            "after": "b",
                        }
                    ],
                    "short_id": None,
                    "trigger": None,
                    "type": None,
                },
                "created_at": tenant.server.clock.now().isoformat().replace("+00:00", "Z"),
            }
        ],
        "next": None,
        "previous": None,
        "total_count": 1,
    }


async def test_a_creation_has_no_changes(tenant: Tenant) -> None:
    await note(tenant)

    [entry] = (await activity(tenant))["results"]

    assert (entry["activity"], entry["detail"]["changes"]) == ("created", None)


@pytest.mark.parametrize("changes", [[], None])
async def test_an_update_that_changed_nothing_is_not_reported(tenant: Tenant, changes: Any) -> None:
    await note(tenant, activity="updated", changes=changes)

    assert (await activity(tenant))["total_count"] == 0


@pytest.mark.every_engine
async def test_the_newest_is_first_and_pages_are_linked(tenant: Tenant) -> None:
    for number in range(25):
        await note(tenant, item_id=str(number))

    pages = [await activity(tenant, scope="Cohort")]
    while pages[-1]["next"] is not None:
        pages.append((await tenant.api.get(pages[-1]["next"])).json())

    returned = [[int(entry["item_id"]) for entry in page["results"]] for page in pages]
    base = f"http://fanion.test/api/projects/{tenant.project_id}/activity_log/?scope=Cohort"
    assert returned == [[*range(24, 14, -1)], [*range(14, 4, -1)], [*range(4, -1, -1)]]
    assert [page["next"] for page in pages] == [
        f"{base}&page=2&limit=10",
        f"{base}&page=3&limit=10",
        None,
    ]
    assert [page["previous"] for page in pages] == [
        None,
        f"{base}&page=1&limit=10",
        f"{base}&page=2&limit=10",
    ]
    assert {page["total_count"] for page in pages} == {25}


PAGES: dict[str, tuple[Json, list[str]]] = {
    "a limit": ({"limit": 2}, ["4", "3"]),
    "a page": ({"limit": 2, "page": 3}, ["0"]),
    "past the end": ({"page": 9}, []),
    "no number": ({"page": "x", "limit": "-1"}, ["4", "3", "2", "1", "0"]),
    "by scope": ({"scope": "Person"}, ["1"]),
    "by thing": ({"scope": "Cohort", "item_id": "2"}, ["2"]),
    "a thing of another scope": ({"scope": "Person", "item_id": "2"}, []),
}


@pytest.mark.every_engine
@pytest.mark.parametrize("name", PAGES)
async def test_queries_choose(tenant: Tenant, name: str) -> None:
    query, expected = PAGES[name]
    for number in range(5):
        await note(tenant, item_id=str(number), scope="Person" if number == 1 else "Cohort")

    entries = await activity(tenant, **query)

    assert [entry["item_id"] for entry in entries["results"]] == expected


async def test_other_projects_are_not_listed(tenant: Tenant) -> None:
    await note(tenant, project_id=tenant.project_id + (1 << 40))

    assert (await activity(tenant))["total_count"] == 0


@pytest.mark.every_engine
async def test_an_entry_is_undone_with_its_change(tenant: Tenant) -> None:
    author = await author_of(tenant)
    entry = ActivityRecord(author=author, scope="Cohort", item_id="1", activity="created", name="x")

    with pytest.raises(ZeroDivisionError):
        async with tenant.server.records.write() as connection:
            await connection.run_sync(record_activity, entry)
            raise ZeroDivisionError

    assert (await activity(tenant))["total_count"] == 0
