"""The limit on the properties of a person and of a group, from the request to the ledger."""

from typing import Any
from uuid import uuid4

import pytest
from msgspec import json
from sqlalchemy import insert

from fanion.db.schema.tables import person_distinct_ids, persons
from fanion.properties.size import PROPERTIES_BYTES_MAX
from tests.support.application import Json, Tenant, error
from tests.support.management import NOW

FULL = PROPERTIES_BYTES_MAX - len('{"big":""}')  # bytes of the value of `big`
PERSON_MEANING = (
    "Its person would have exceeded 512 KB of properties, so that its properties were not changed. "
    "The event is stored."
)


def setting(distinct_id: str, **values: Any) -> Json:
    return {"event": "seen", "distinct_id": distinct_id, "$set": values}


def merging(distinct_id: str, other: str, **values: Any) -> Json:
    return {
        "event": "$identify",
        "distinct_id": distinct_id,
        "properties": {"$anon_distinct_id": other, "$set": values},
    }


def grouping(**values: Any) -> Json:
    named = {"$group_type": "company", "$group_key": "acme", "$group_set": values}
    return {"event": "$groupidentify", "distinct_id": "company_acme", "properties": named}


def too_large(size: int, attr: str = "properties") -> Json:
    detail = (
        "Ensure the properties of a person have no more than 524288 bytes as JSON "
        f"(this change makes it {size})."
    )
    return error("validation_error", "invalid_input", detail, attr)


async def not_made(tenant: Tenant) -> list[tuple[str, int]]:
    report = await tenant.get("/ingestion/")
    return [(change["reason"], change["count"]) for change in report["changes_not_made"]]


async def properties(tenant: Tenant, distinct_id: str) -> Json:
    stored: Json = (await tenant.person(distinct_id))["properties"]
    return stored


async def store_beyond_the_limit(tenant: Tenant, distinct_id: str) -> None:
    """Store a person as a server did that had no limit."""
    columns = {"project_id": tenant.project_id, "is_identified": False, "created_at": NOW}
    large = {"uuid": uuid4(), "version": 1, "properties": {"big": "x" * FULL * 3}}
    async with tenant.server.records.write() as connection:
        person_id = await connection.scalar(
            insert(persons).values(**columns, **large).returning(persons.c.id)
        )
        link = {"project_id": tenant.project_id, "distinct_id": distinct_id, "person_id": person_id}
        await connection.execute(insert(person_distinct_ids).values(**link))


async def test_a_change_beyond_the_limit_is_not_made_and_reported(tenant: Tenant) -> None:
    await tenant.capture(
        setting("ann", a=1), setting("ann", big="x" * FULL, b=2), setting("ann", c=3)
    )

    report = await tenant.get("/ingestion/")
    stored = await tenant.events(distinct_id="ann")

    assert await properties(tenant, "ann") == {"a": 1, "c": 3}
    assert len(stored) == 3
    assert sorted(len(json.encode(event["properties"]["$set"])) for event in stored)[-1] > FULL
    assert report["totals"]["accepted"] == report["totals"]["stored"] == 3
    assert report["reasons"] == []
    assert [minute["stored"] for minute in report["minutes"]] == [3]
    [reported] = report["changes_not_made"]
    [example] = reported.pop("examples")
    assert reported == {"reason": "person_too_large", "meaning": PERSON_MEANING, "count": 1}
    person = await tenant.person("ann")
    assert (example["event"], example["distinct_id"]) == ("seen", "ann")
    assert example["detail"] == f"person: {person['uuid']}; properties: big, b"


async def test_the_limit_holds_between_requests(tenant: Tenant) -> None:
    await tenant.capture(setting("ann", big="x" * FULL))

    await tenant.capture(setting("ann", a=1))
    full = await properties(tenant, "ann")
    await tenant.capture(setting("ann", big="y", a=1))

    assert list(full) == ["big"]
    assert await properties(tenant, "ann") == {"big": "y", "a": 1}
    assert await not_made(tenant) == [("person_too_large", 1)]


@pytest.mark.every_engine
async def test_what_is_counted_is_bytes(tenant: Tenant) -> None:
    await tenant.capture(
        setting("ann", big="é" * (FULL // 2)), setting("bob", big="é" * (FULL // 2 + 1))
    )

    assert len((await properties(tenant, "ann"))["big"]) == FULL // 2
    assert await properties(tenant, "bob") == {}


@pytest.mark.every_engine
async def test_a_merge_leaves_out_what_does_not_fit(tenant: Tenant) -> None:
    await tenant.capture(
        setting("ann", big="x" * (FULL - 200), plan="pro"),
        setting("visitor", plan="free", long="y" * 300, wide="z" * 250, small=1),
    )
    await tenant.capture(merging("ann", "visitor"))  # events of one request may change their order

    stored = await properties(tenant, "ann")

    assert {name: stored[name] for name in ("plan", "small")} == {"plan": "pro", "small": 1}
    assert stored.keys() == {"big", "plan", "small"}
    assert (await tenant.person("visitor"))["uuid"] == (await tenant.person("ann"))["uuid"]
    assert await not_made(tenant) == [("merge_left_out", 2)]


async def test_a_group_beyond_the_limit_keeps_what_it_has(tenant: Tenant) -> None:
    await tenant.capture(
        grouping(plan="pro"), grouping(big="x" * PROPERTIES_BYTES_MAX), grouping(a=1)
    )

    group = await tenant.get("/groups/find/", group_type_index=0, group_key="acme")
    report = await tenant.get("/ingestion/")

    assert group["group_properties"] == {"plan": "pro", "a": 1}
    [reported] = report["changes_not_made"]
    assert (reported["reason"], reported["count"]) == ("group_too_large", 1)
    assert reported["examples"][0]["detail"] == "group: company acme; properties: big"
    assert report["totals"]["stored"] == 3


async def test_a_group_whose_first_properties_are_too_large_is_there_without(
    tenant: Tenant,
) -> None:
    await tenant.capture(grouping(big="x" * PROPERTIES_BYTES_MAX))

    group = await tenant.get("/groups/find/", group_type_index=0, group_key="acme")

    assert group["group_properties"] == {}
    assert await not_made(tenant) == [("group_too_large", 1)]


async def test_edits_beyond_the_limit_are_refused(tenant: Tenant) -> None:
    await tenant.capture(setting("ann", a=1))
    path = f"/persons/{(await tenant.person('ann'))['id']}/"
    big = "x" * FULL

    patched = await tenant.api.patch(path, json={"properties": {"big": big}})
    put = await tenant.api.put(path, json={"properties": {"big": big}})
    update = await tenant.api.post(f"{path}update_property/", json={"key": "big", "value": big})

    size = PROPERTIES_BYTES_MAX + len('"a":1,')
    assert (patched.status_code, patched.json()) == (400, too_large(size))
    assert (put.status_code, put.json()) == (400, too_large(size))
    assert (update.status_code, update.json()) == (400, too_large(size, "value"))
    assert await properties(tenant, "ann") == {"a": 1}
    assert await not_made(tenant) == []


async def test_edits_may_make_what_is_too_large_smaller(tenant: Tenant) -> None:
    await store_beyond_the_limit(tenant, "old")
    path = f"/persons/{(await tenant.person('old'))['id']}/"

    larger = await tenant.api.patch(path, json={"properties": {"a": 1}})
    smaller = await tenant.api.patch(path, json={"properties": {"big": "x" * FULL * 2}})
    without = await tenant.api.post(f"{path}delete_property/", json={"$unset": "big"})

    assert (larger.status_code, larger.json()["attr"]) == (400, "properties")
    assert (smaller.status_code, without.status_code) == (200, 201)
    assert await properties(tenant, "old") == {}


async def test_events_may_make_a_person_from_before_the_limit_smaller(tenant: Tenant) -> None:
    await store_beyond_the_limit(tenant, "old")

    await tenant.capture(setting("old", a=1))
    grown = await properties(tenant, "old")
    await tenant.capture({**setting("old", a=1), "properties": {"$unset": ["big"]}})

    assert list(grown) == ["big"]
    assert await properties(tenant, "old") == {"a": 1}
    assert await not_made(tenant) == [("person_too_large", 1)]
