"""The limit on the properties of a person and of a group, from the request to the ledger."""

from typing import Any
from uuid import uuid4

import pytest
from msgspec import json
from sqlalchemy import insert

from fanion.db.schema.tables import person_distinct_ids, persons
from fanion.properties.size import PROPERTIES_BYTES_MAX
from tests.support.application import Home, Json, error
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


async def not_made(home: Home) -> list[tuple[str, int]]:
    report = await home.get("/ingestion/")
    return [(change["reason"], change["count"]) for change in report["changes_not_made"]]


async def properties(home: Home, distinct_id: str) -> Json:
    stored: Json = (await home.person(distinct_id))["properties"]
    return stored


async def store_beyond_the_limit(home: Home, distinct_id: str) -> None:
    """Store a person as a server did that had no limit."""
    columns = {"project_id": home.project_id, "is_identified": False, "created_at": NOW}
    large = {"uuid": uuid4(), "version": 1, "properties": {"big": "x" * FULL * 3}}
    async with home.site.records.write() as connection:
        person_id = await connection.scalar(
            insert(persons).values(**columns, **large).returning(persons.c.id)
        )
        link = {"project_id": home.project_id, "distinct_id": distinct_id, "person_id": person_id}
        await connection.execute(insert(person_distinct_ids).values(**link))


async def test_a_change_beyond_the_limit_is_not_made_and_reported(home: Home) -> None:
    await home.capture(
        setting("ann", a=1), setting("ann", big="x" * FULL, b=2), setting("ann", c=3)
    )

    report = await home.get("/ingestion/")
    stored = await home.events(distinct_id="ann")

    assert await properties(home, "ann") == {"a": 1, "c": 3}
    assert len(stored) == 3
    assert sorted(len(json.encode(event["properties"]["$set"])) for event in stored)[-1] > FULL
    assert report["totals"]["accepted"] == report["totals"]["stored"] == 3
    assert report["reasons"] == []
    assert [minute["stored"] for minute in report["minutes"]] == [3]
    [reported] = report["changes_not_made"]
    [example] = reported.pop("examples")
    assert reported == {"reason": "person_too_large", "meaning": PERSON_MEANING, "count": 1}
    person = await home.person("ann")
    assert (example["event"], example["distinct_id"]) == ("seen", "ann")
    assert example["detail"] == f"person: {person['uuid']}; properties: big, b"


async def test_the_limit_holds_between_requests(home: Home) -> None:
    await home.capture(setting("ann", big="x" * FULL))

    await home.capture(setting("ann", a=1))
    full = await properties(home, "ann")
    await home.capture(setting("ann", big="y", a=1))

    assert list(full) == ["big"]
    assert await properties(home, "ann") == {"big": "y", "a": 1}
    assert await not_made(home) == [("person_too_large", 1)]


@pytest.mark.every_engine
async def test_what_is_counted_is_bytes(home: Home) -> None:
    await home.capture(
        setting("ann", big="é" * (FULL // 2)), setting("bob", big="é" * (FULL // 2 + 1))
    )

    assert len((await properties(home, "ann"))["big"]) == FULL // 2
    assert await properties(home, "bob") == {}


@pytest.mark.every_engine
async def test_a_merge_leaves_out_what_does_not_fit(home: Home) -> None:
    await home.capture(
        setting("ann", big="x" * (FULL - 200), plan="pro"),
        setting("visitor", plan="free", long="y" * 300, wide="z" * 250, small=1),
    )
    await home.capture(merging("ann", "visitor"))  # events of one request may change their order

    stored = await properties(home, "ann")

    assert {name: stored[name] for name in ("plan", "small")} == {"plan": "pro", "small": 1}
    assert stored.keys() == {"big", "plan", "small"}
    assert (await home.person("visitor"))["uuid"] == (await home.person("ann"))["uuid"]
    assert await not_made(home) == [("merge_left_out", 2)]


async def test_a_group_beyond_the_limit_keeps_what_it_has(home: Home) -> None:
    await home.capture(
        grouping(plan="pro"), grouping(big="x" * PROPERTIES_BYTES_MAX), grouping(a=1)
    )

    group = await home.get("/groups/find/", group_type_index=0, group_key="acme")
    report = await home.get("/ingestion/")

    assert group["group_properties"] == {"plan": "pro", "a": 1}
    [reported] = report["changes_not_made"]
    assert (reported["reason"], reported["count"]) == ("group_too_large", 1)
    assert reported["examples"][0]["detail"] == "group: company acme; properties: big"
    assert report["totals"]["stored"] == 3


async def test_a_group_whose_first_properties_are_too_large_is_there_without(home: Home) -> None:
    await home.capture(grouping(big="x" * PROPERTIES_BYTES_MAX))

    group = await home.get("/groups/find/", group_type_index=0, group_key="acme")

    assert group["group_properties"] == {}
    assert await not_made(home) == [("group_too_large", 1)]


async def test_edits_beyond_the_limit_are_refused(home: Home) -> None:
    await home.capture(setting("ann", a=1))
    path = f"/persons/{(await home.person('ann'))['id']}/"
    big = "x" * FULL

    patched = await home.api.patch(path, json={"properties": {"big": big}})
    put = await home.api.put(path, json={"properties": {"big": big}})
    update = await home.api.post(f"{path}update_property/", json={"key": "big", "value": big})

    size = PROPERTIES_BYTES_MAX + len('"a":1,')
    assert (patched.status_code, patched.json()) == (400, too_large(size))
    assert (put.status_code, put.json()) == (400, too_large(size))
    assert (update.status_code, update.json()) == (400, too_large(size, "value"))
    assert await properties(home, "ann") == {"a": 1}
    assert await not_made(home) == []


async def test_edits_may_make_what_is_too_large_smaller(home: Home) -> None:
    await store_beyond_the_limit(home, "old")
    path = f"/persons/{(await home.person('old'))['id']}/"

    larger = await home.api.patch(path, json={"properties": {"a": 1}})
    smaller = await home.api.patch(path, json={"properties": {"big": "x" * FULL * 2}})
    without = await home.api.post(f"{path}delete_property/", json={"$unset": "big"})

    assert (larger.status_code, larger.json()["attr"]) == (400, "properties")
    assert (smaller.status_code, without.status_code) == (200, 201)
    assert await properties(home, "old") == {}


async def test_events_may_make_a_person_from_before_the_limit_smaller(home: Home) -> None:
    await store_beyond_the_limit(home, "old")

    await home.capture(setting("old", a=1))
    grown = await properties(home, "old")
    await home.capture({**setting("old", a=1), "properties": {"$unset": ["big"]}})

    assert list(grown) == ["big"]
    assert await properties(home, "old") == {"a": 1}
    assert await not_made(home) == [("person_too_large", 1)]
