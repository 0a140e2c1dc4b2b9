"""The log of merges: which distinct ids came to a person, when, and by which event or user."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from fanion.db.schema.persons import merge_authors, person_merges
from fanion.persons.merge_log.store import KEPT_FOR, forget_old
from tests.support.application import Json, Tenant, error


def seen(distinct_id: str, **values: Any) -> Json:
    return {"event": "seen", "distinct_id": distinct_id, "properties": {"$set": values}}


def identified(distinct_id: str, anonymous: str) -> Json:
    return {
        "event": "$identify",
        "distinct_id": distinct_id,
        "timestamp": "2024-02-29T08:00:00Z",
        "properties": {"$anon_distinct_id": anonymous},
    }


async def merges(tenant: Tenant, person: Json, **query: Any) -> list[Json]:
    entries: list[Json] = (await tenant.get(f"/persons/{person['id']}/merges/", **query))["results"]
    return entries


async def rows(tenant: Tenant, table: Any) -> int:
    count = select(func.count()).where(table.c.project_id == tenant.project_id)
    [(number,)] = await tenant.server.records.fetch(count)
    return int(number)


@pytest.mark.every_engine
async def test_each_merge_has_its_event_and_the_ids_that_came(tenant: Tenant) -> None:
    await tenant.capture(seen("anon"), seen("ann"), seen("phone"))
    anon = await tenant.person("anon")
    await tenant.capture(identified("ann", "anon"))
    await tenant.capture(
        {"event": "$create_alias", "distinct_id": "ann", "properties": {"alias": "new"}}
    )
    ann = await tenant.person("ann")

    last, first = await merges(tenant, ann)

    [event] = await tenant.events(event="$identify")
    assert first == {
        "id": first["id"],
        "type": "merge",
        "created_at": first["created_at"],
        "person": ann["id"],
        "other_person": anon["id"],
        "distinct_ids": ["anon"],
        "distinct_ids_count": 1,
        "event": {
            "id": event["id"],
            "event": "$identify",
            "distinct_id": "ann",
            "timestamp": "2024-02-29T08:00:00Z",
        },
        "user": None,
    }
    assert (last["other_person"], last["distinct_ids"]) == (None, ["new"])
    assert last["event"]["event"] == "$create_alias"
    assert await merges(tenant, await tenant.person("phone")) == []


async def test_merges_into_a_person_that_was_merged_are_listed_at_the_remaining_one(
    tenant: Tenant,
) -> None:
    await tenant.capture(seen("ann"), seen("bob"), seen("bob-anon"))
    await tenant.capture(identified("bob", "bob-anon"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")

    answer = await tenant.api.post(f"/persons/{ann['id']}/merge/", json={"ids": [bob["id"]]})

    assert answer.status_code == 201
    request, earlier = await merges(tenant, ann)
    assert (request["distinct_ids"], request["distinct_ids_count"]) == (["bob", "bob-anon"], 2)
    assert request["event"]["event"] == "$merge_dangerously"
    assert request["user"]["email"] == tenant.owner["email"]
    assert (earlier["person"], earlier["user"]) == (bob["id"], None)
    assert await merges(tenant, bob) == [request, earlier]  # the former id leads to the person
    page = await tenant.get(f"/persons/{ann['id']}/merges/", limit=1)
    assert (page["count"], page["results"]) == (2, [request])
    assert (await tenant.api.get(page["next"])).json()["results"] == [earlier]


async def test_a_repeated_event_is_logged_once(tenant: Tenant) -> None:
    event = identified("ann", "anon") | {"uuid": "0198b0a6-0000-7000-8000-000000000001"}

    await tenant.capture(event, event)
    await tenant.capture(event)

    assert len(await merges(tenant, await tenant.person("ann"))) == 1


async def test_an_unknown_person_has_no_merges(tenant: Tenant) -> None:
    answer = await tenant.api.get("/persons/0198b0a6-0000-7000-8000-000000000001/merges/")

    assert (answer.status_code, answer.json()) == (
        404,
        error("invalid_request", "not_found", "Not found."),
    )


async def test_a_deletion_of_the_person_deletes_its_entries(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"), identified("cid", "cid-anon"))
    await tenant.capture(identified("ann", "bob"))
    ann = await tenant.person("ann")

    answer = await tenant.api.delete(f"/persons/{ann['id']}/")

    assert answer.status_code == 204
    assert await rows(tenant, person_merges) == 1
    assert len(await merges(tenant, await tenant.person("cid"))) == 1


async def test_old_entries_and_those_beyond_the_limit_are_deleted(tenant: Tenant) -> None:
    await tenant.capture(*(identified("ann", f"anon-{number}") for number in range(4)))
    ann = await tenant.person("ann")
    other = await tenant.person("ann")
    assert len(await merges(tenant, other)) == 4
    now, records = tenant.server.clock.now(), tenant.server.records

    async with records.write() as connection:
        assert not await connection.run_sync(forget_old, now, entries_max=2)
    assert [entry["distinct_ids"] for entry in await merges(tenant, ann)] == [
        ["anon-3"],
        ["anon-2"],
    ]

    async with records.write() as connection:
        await connection.run_sync(forget_old, now + KEPT_FOR + timedelta(days=1))
    assert await merges(tenant, ann) == []
    assert await rows(tenant, merge_authors) == 0
