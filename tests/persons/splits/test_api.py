"""Splits of persons by request: what becomes of the distinct ids and of their events."""

import asyncio
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import insert, select

from fanion.db.schema.flags import flag_continuity
from fanion.db.schema.persons import person_erasures, person_splits
from fanion.db.schema.tables import persons
from fanion.events.event import EventQuery, Override
from fanion.ingest.squash_worker import SquashWorker
from tests.support.application import Json, Tenant, error
from tests.support.awaited import until_soon
from tests.support.cohorts import all_conditions, cohort_members, create_cohort, performed
from tests.support.management import invalid

DAY = {"date_from": "2024-02-28", "date_to": "2024-02-29"}
AT = "2024-02-28T10:00:00Z"


def seen(distinct_id: str, name: str = "seen", **values: Any) -> Json:
    return {
        "event": name,
        "distinct_id": distinct_id,
        "timestamp": AT,
        "properties": {"$set": values},
    }


def identified(distinct_id: str, anonymous: str) -> Json:
    return {
        "event": "$identify",
        "distinct_id": distinct_id,
        "timestamp": AT,
        "properties": {"$anon_distinct_id": anonymous},
    }


async def split(tenant: Tenant, person: Json, *ids: str, status: int = 201) -> Json:
    answer = await tenant.api.post(
        f"/persons/{person['id']}/split/", json={"distinct_ids_to_split": list(ids)}
    )
    assert answer.status_code == status, answer.text
    body: Json = answer.json()
    return body


async def users(tenant: Tenant, name: str | None = "seen") -> int:
    """Return the daily active users of 28 February."""
    asked = {"events": [{"id": name, "math": "dau"}], **DAY}
    answer = await tenant.api.post("/insights/trend/", json=asked)
    return int(answer.json()["result"][0]["data"][0])


async def funnel(tenant: Tenant, *names: str) -> list[int]:
    steps = [{"id": name, "order": order} for order, name in enumerate(names)]
    asked = {"insight": "FUNNELS", "events": steps, **DAY}
    answer = await tenant.api.post("/insights/funnel/", json=asked)
    return [step["count"] for step in answer.json()["result"]]


async def owners(tenant: Tenant) -> dict[str, set[str]]:
    """Return the distinct ids of the persons of all events, by person."""
    found: dict[str, set[str]] = {}
    events = await tenant.server.events.list(tenant.project_id, EventQuery(limit=1_000))
    for event in events:
        found.setdefault(str(event.person_id), set()).add(event.distinct_id)
    return found


async def merged(tenant: Tenant, *ids: str) -> Json:
    """Make one person of these distinct ids, each of which has been seen before."""
    await tenant.capture(*(seen(name, who=name) for name in ids))
    await tenant.capture(*(identified(ids[0], name) for name in ids[1:]))
    return await tenant.person(ids[0])


async def is_deleting(tenant: Tenant) -> bool:
    begun = select(person_erasures.c.id).where(person_erasures.c.project_id == tenant.project_id)
    return bool(await tenant.server.records.fetch(begun))


@pytest.mark.every_engine
async def test_the_history_of_an_id_that_is_split_off_has_its_own_person(tenant: Tenant) -> None:
    ann = await merged(tenant, "ann", "bob", "cid")
    await tenant.capture(seen("bob", "bought"))
    assert (await users(tenant), await funnel(tenant, "seen", "bought")) == (1, [1, 1])
    assert await funnel(tenant, "$identify", "bought") == [1, 1]

    answer = await split(tenant, ann, "bob")

    [made] = answer["persons"]
    assert (answer["success"], answer["id"], made["distinct_id"]) == (True, ann["id"], "bob")
    bob = await tenant.person("bob")
    assert bob["id"] == made["id"] not in {ann["id"]}
    assert (bob["distinct_ids"], bob["properties"], bob["is_identified"]) == (["bob"], {}, False)
    assert bob["created_at"] == AT
    kept = await tenant.person("ann")
    assert (kept["distinct_ids"], kept["properties"]) == (["ann", "cid"], ann["properties"])
    assert await owners(tenant) == {ann["id"]: {"ann", "cid"}, bob["id"]: {"bob"}}
    assert await users(tenant) == 2
    assert await funnel(tenant, "seen", "bought") == [2, 1]
    assert await funnel(tenant, "$identify", "bought") == [1, 0]
    timeline = await tenant.get(f"/persons/{bob['id']}/timeline/", kind="event")
    assert [entry["event"]["name"] for entry in timeline["results"]] == ["bought", "seen"]
    cohort = await create_cohort(
        tenant, filters=all_conditions(performed("bought", time_value=90, time_interval="day"))
    )
    await tenant.server.calculated()
    assert await cohort_members(tenant, cohort) == ["bob"]


@pytest.mark.every_engine
async def test_later_events_belong_to_the_new_person_until_it_is_merged_again(
    tenant: Tenant,
) -> None:
    ann = await merged(tenant, "ann", "bob")
    [made] = (await split(tenant, ann, "bob"))["persons"]

    await tenant.capture(seen("bob", plan="pro"), seen("ann", plan="free"))

    assert await owners(tenant) == {ann["id"]: {"ann"}, made["id"]: {"bob"}}
    assert (await tenant.person("bob"))["properties"] == {"plan": "pro"}

    await tenant.capture(identified("ann", "bob"))

    again = await tenant.person("bob")
    assert (again["id"], again["distinct_ids"]) == (ann["id"], ["ann", "bob"])
    assert await owners(tenant) == {ann["id"]: {"ann", "bob"}}
    assert await users(tenant) == 1
    log = (await tenant.get(f"/persons/{ann['id']}/merges/"))["results"]
    assert [(entry["type"], entry["distinct_ids"]) for entry in log] == [
        ("merge", ["bob"]),
        ("split", ["bob"]),
        ("merge", ["bob"]),
    ]

    [second] = (await split(tenant, ann, "bob"))["persons"]

    assert second["id"] not in {made["id"], ann["id"]}
    assert await owners(tenant) == {ann["id"]: {"ann"}, second["id"]: {"bob"}}


async def test_the_id_that_made_the_person_can_leave_too(tenant: Tenant) -> None:
    ann = await merged(tenant, "ann", "bob")

    [made] = (await split(tenant, ann, "ann"))["persons"]
    await tenant.capture(seen("ann"), seen("bob"))

    assert await owners(tenant) == {ann["id"]: {"bob"}, made["id"]: {"ann"}}
    assert (await tenant.person("bob"))["properties"] == ann["properties"]


async def test_events_that_a_squash_has_rewritten_follow_too(tenant: Tenant) -> None:
    server = tenant.server
    await server.running.ingestion.splitting.follow_all()  # a squash waits for those of all tests
    ann = await merged(tenant, "ann", "bob")
    # More than in other tests, so that the events of their projects need not be rewritten.
    others = [Override(tenant.project_id, UUID(int=n), UUID(ann["uuid"]), 1) for n in range(1, 61)]
    await server.running.events.override_persons(others)
    squash = SquashWorker(server.records, server.running.events, server.clock.now, len(others))
    await squash.squash()

    [made] = (await split(tenant, ann, "bob"))["persons"]

    assert await owners(tenant) == {ann["id"]: {"ann"}, made["id"]: {"bob"}}
    assert await users(tenant) == 2


async def test_all_ids_but_one_leave_by_the_main_one(tenant: Tenant) -> None:
    ann = await merged(tenant, "ann", "bob", "cid")

    answer = await tenant.api.post(f"/persons/{ann['id']}/split/", json={"main_distinct_id": "bob"})

    assert [made["distinct_id"] for made in answer.json()["persons"]] == ["ann", "cid"]
    assert (await tenant.person("bob"))["id"] == ann["id"]
    assert await users(tenant) == 3


async def test_the_preview_counts_events_and_changes_nothing(tenant: Tenant) -> None:
    ann = await merged(tenant, "ann", "bob", "cid")
    path, body = f"/persons/{ann['id']}/split/preview/", {"distinct_ids_to_split": ["cid", "bob"]}
    await tenant.capture(seen("bob"))

    answer = await tenant.api.post(path, json=body)

    assert (answer.status_code, answer.json()) == (
        200,
        {
            "id": ann["id"],
            "distinct_ids": [
                {"distinct_id": "cid", "events": 1, "first_event_at": AT},
                {"distinct_id": "bob", "events": 2, "first_event_at": AT},
            ],
            "events": 3,
            "remaining_distinct_ids_count": 1,
        },
    )
    assert (await tenant.person("bob"))["id"] == ann["id"]


async def test_a_second_split_of_the_same_id_is_refused(tenant: Tenant) -> None:
    ann = await merged(tenant, "ann", "bob", "cid")
    await split(tenant, ann, "bob")

    answer = await tenant.api.post(
        f"/persons/{ann['id']}/split/", json={"distinct_ids_to_split": ["bob"]}
    )

    assert (answer.status_code, answer.json()) == (
        400,
        invalid(
            "invalid_input",
            "This person does not have the distinct id 'bob'.",
            "distinct_ids_to_split__0",
        ),
    )
    unknown = await tenant.api.post(f"/persons/{UUID(int=7)}/split/", json={})
    assert (unknown.status_code, unknown.json()) == (
        404,
        error("invalid_request", "not_found", "Not found."),
    )


async def test_a_deleted_new_person_returns_as_a_person_of_its_own(tenant: Tenant) -> None:
    ann = await merged(tenant, "ann", "bob")
    # The person of "ann" has the UUID that every first person of this id would have.
    [made] = (await split(tenant, ann, "ann"))["persons"]

    deleted = await tenant.api.delete(f"/persons/{made['id']}/?delete_events=true")
    tenant.server.clock.move(seconds=1)
    await tenant.capture(seen("ann"))

    assert deleted.status_code == 204
    assert (await tenant.person("ann"))["id"] == made["id"]
    assert await owners(tenant) == {ann["id"]: {"bob"}, made["id"]: {"ann"}}
    log = (await tenant.get(f"/persons/{ann['id']}/merges/"))["results"]
    assert log == []  # its entries named the deleted person's id


async def test_a_deletion_of_the_former_person_keeps_events_of_the_new_one(tenant: Tenant) -> None:
    ann = await merged(tenant, "ann", "bob")
    tenant.server.events.is_down = True
    await split(tenant, ann, "bob", status=202)
    tenant.server.events.is_down = False

    ingestion = tenant.server.running.ingestion
    for _ in range(2):  # what was noted at the first look is sent at the second one
        await ingestion.mirroring.look()

    deleting = asyncio.create_task(tenant.api.delete(f"/persons/{ann['id']}/?delete_events=true"))
    await until_soon(partial(is_deleting, tenant), "the deletion has not begun")
    await ingestion.splitting.follow_all()
    assert (await deleting).status_code == 204

    bob = await tenant.person("bob")
    assert await owners(tenant) == {bob["id"]: {"bob"}}


async def test_events_follow_once_the_event_store_is_back(tenant: Tenant) -> None:
    ann = await merged(tenant, "ann", "bob", "cid")
    body = {"distinct_ids_to_split": ["bob"]}
    tenant.server.events.is_down = True

    answer = await tenant.api.post(f"/persons/{ann['id']}/split/", json=body)

    assert answer.status_code == 202, answer.text
    tenant.server.events.is_down = False
    await split(tenant, ann, "cid", status=201)  # what was left follows with the next
    assert await users(tenant) == 3
    left = select(person_splits.c.moves).where(person_splits.c.project_id == tenant.project_id)
    assert await tenant.server.records.fetch(left) == []


async def test_flags_with_continuity_answer_both_as_before(tenant: Tenant) -> None:
    ann = await merged(tenant, "ann", "bob")
    [(number,)] = await tenant.server.records.fetch(
        select(persons.c.id).where(persons.c.uuid == UUID(ann["id"]))
    )
    kept = {"project_id": tenant.project_id, "person_id": number, "flag_key": "beta"}
    async with tenant.server.records.write() as connection:
        await connection.execute(insert(flag_continuity), [{**kept, "hash_key": "anon"}])

    [made] = (await split(tenant, ann, "bob"))["persons"]

    rows = await tenant.server.records.fetch(
        select(persons.c.uuid, flag_continuity.c.hash_key)
        .join(flag_continuity, flag_continuity.c.person_id == persons.c.id)
        .where(persons.c.project_id == tenant.project_id)
    )
    assert {(str(row.uuid), row.hash_key) for row in rows} == {
        (ann["id"], "anon"),
        (made["id"], "anon"),
    }


async def test_the_activity_names_the_new_persons(tenant: Tenant) -> None:
    ann = await merged(tenant, "ann", "bob")
    [made] = (await split(tenant, ann, "bob"))["persons"]

    [entry] = (await tenant.get(f"/persons/{ann['id']}/activity/"))["results"]

    assert (entry["activity"], entry["user"]["email"]) == ("split_person", tenant.owner["email"])
    [change] = entry["detail"]["changes"]
    assert (change["field"], change["after"]) == ("split_persons", [made["id"]])
    assert "bob" not in str(entry)
