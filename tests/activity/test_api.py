"""The activity log, as the API returns it."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from fanion.activity.model import ActivityRecord, Author, Change
from fanion.activity.store import record_activity
from fanion.db.schema.tables import projects, users
from fanion.projects.model import Level, Project
from tests.support.application import Json, Tenant
from tests.support.management import NOW, add_member, invalid

OWN_SCOPES = ("FeatureFlag", "Cohort")


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


SIGN_IN = Change(type="User", action="created", field="address", after="192.0.2.7")
METHOD = Change(type="User", action="created", field="method", after="password")


async def addresses(client: httpx.AsyncClient) -> dict[str, list[str]]:
    """Return the fields of each sign-in that a client is shown, by the account's name."""
    entries = (await client.get("/activity_log/", params={"scope": "User"})).json()["results"]
    return {
        entry["detail"]["name"]: [change["field"] for change in entry["detail"]["changes"]]
        for entry in entries
        if entry["activity"] == "logged_in"
    }


async def test_where_others_sign_in_is_for_administrators(tenant: Tenant) -> None:
    people: list[Any] = []
    for name, level in (("mia", Level.MEMBER), ("ada", Level.ADMIN)):
        added = await add_member(tenant.server.records, name, level, tenant.organization_id)
        people.append(added)
        async with tenant.server.records.read() as connection:
            uuid = await connection.scalar(select(users.c.uuid).where(users.c.id == added.user_id))
        signed_in: Json = {
            "scope": "User",
            "item_id": str(uuid),
            "activity": "logged_in",
            "name": name,
        }
        await note(tenant, **signed_in, changes=[METHOD, SIGN_IN])

    path = f"/api/projects/{tenant.project_id}"
    async with (
        tenant.server.client(people[0].key, path) as member,
        tenant.server.client(people[1].key, path) as admin,
    ):
        shown = [await addresses(client) for client in (member, admin)]

    whole, cut = ["method", "address"], ["method"]
    assert shown == [{"mia": whole, "ada": cut}, {"mia": whole, "ada": whole}]


async def test_entries_are_filtered_by_author_kind_deed_name_and_time(tenant: Tenant) -> None:
    start = tenant.server.clock.now()
    await note(tenant, scope="FeatureFlag", name="dark-mode")
    tenant.server.clock.move(hours=1)
    await note(tenant, scope="Cohort", name="Big spenders", activity="deleted")

    async def names(**query: Any) -> list[str]:
        found = (await activity(tenant, **query))["results"]
        return [entry["detail"]["name"] for entry in found if entry["scope"] in OWN_SCOPES]

    assert await names(scopes="FeatureFlag,Cohort") == ["Big spenders", "dark-mode"]
    assert await names(scopes="Cohort") == ["Big spenders"]
    assert await names(activity="deleted") == ["Big spenders"]
    assert await names(search="DARK-") == ["dark-mode"]
    assert await names(search="%") == []
    assert await names(since=(start + timedelta(minutes=1)).isoformat()) == ["Big spenders"]
    assert await names(until=(start + timedelta(minutes=1)).isoformat()) == ["dark-mode"]
    assert await names(user=tenant.owner["uuid"]) == ["Big spenders", "dark-mode"]
    assert await names(user="system") == []


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ({"user": "ann"}, "Enter the UUID of a user, or system."),
        ({"since": "soon"}, "Enter a valid date or a relative one such as -4h."),
    ],
)
async def test_filters_that_cannot_be_read_are_named(
    tenant: Tenant, query: dict[str, str], detail: str
) -> None:
    answer = await tenant.api.get("/activity_log/", params=query)

    (name,) = query
    assert (answer.status_code, answer.json()) == (400, invalid("invalid_input", detail, name))
