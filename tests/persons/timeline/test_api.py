"""The timeline of a person: events, changes of properties and cohorts, page by page."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import insert, select

from fanion.db.schema.tables import person_distinct_ids, persons
from fanion.events.event import Event, Override
from fanion.events.storage.store import EventStore
from fanion.persons.merge import person_uuid
from tests.support.application import Json, Tenant
from tests.support.management import NOW, add_key, invalid

MANY = 10_000


def item(minute: float, event: str, distinct_id: str = "ann", /, **properties: Any) -> Json:
    at = (NOW - timedelta(minutes=60 - minute)).isoformat()
    return {
        "event": event,
        "distinct_id": distinct_id,
        "timestamp": at,
        "properties": properties,
    }


async def timeline(tenant: Tenant, person: Json, **query: Any) -> list[Json]:
    """Return the entries of all pages."""
    page = await tenant.get(f"/persons/{person['id']}/timeline/", **query)
    entries: list[Json] = page["results"]
    while page["next"]:
        page = (await tenant.api.get(page["next"])).json()
        entries += page["results"]
    return entries


def short(entry: Json) -> tuple[str, str]:
    thing = entry["cohort"] if entry["kind"] == "cohort" else entry["event"]
    return entry["kind"], thing["name"]


async def lived(tenant: Tenant) -> Json:
    """Create a person with two distinct ids and some history."""
    await tenant.capture(item(0, "first", "anon", **{"$set": {"plan": "free"}}))
    tenant.server.clock.move(seconds=1)
    session = {"$session_id": "s1"}
    called = {"$feature_flag": "beta", "$feature_flag_response": "blue"}
    await tenant.capture(
        item(1, "$identify", "ann", **{"$anon_distinct_id": "anon", "$set": {"plan": "pro"}}),
        item(2, "$feature_flag_called", "ann", **session, **called),
    )
    tenant.server.clock.move(seconds=1)
    await tenant.capture(item(3, "paid", "anon", **{"$unset": ["plan"], "$set": {"a": 1}}))
    person = await tenant.person("ann")
    answer = await tenant.api.post("/cohorts/", json={"name": "Payers", "is_static": True})
    cohort = answer.json()["id"]
    path = f"/cohorts/{cohort}/add_persons_to_static_cohort/"
    added = await tenant.api.patch(path, json={"person_ids": [person["id"]]})
    assert added.status_code == 200, added.text
    return person


@pytest.mark.every_engine
async def test_a_timeline_tells_events_changes_and_cohorts(tenant: Tenant) -> None:
    person = await lived(tenant)

    entries = await timeline(tenant, person)

    assert [short(entry) for entry in entries] == [
        ("cohort", "Payers"),
        ("event", "paid"),
        ("properties", "paid"),
        ("event", "$feature_flag_called"),
        ("event", "$identify"),
        ("properties", "$identify"),
        ("event", "first"),
        ("properties", "first"),
    ]
    assert entries[3]["session_id"] == "s1"
    assert entries[3]["event"]["flag"] == {"key": "beta", "value": "blue"}
    changes = [
        {
            change["name"]: (
                change["operation"],
                change["before"],
                change["value"],
                change["is_before_known"],
            )
        }
        for entry in entries
        for change in entry["changes"] or ()
    ]
    assert changes == [
        {"a": ("set", None, 1, True)},
        {"plan": ("unset", "pro", None, True)},
        {"plan": ("set", "free", "pro", True)},
        {"plan": ("set", None, "free", True)},
    ]


# It takes seconds: every page of some twenty walks is a question.
async def test_pages_of_any_length_tell_each_entry_once(tenant: Tenant) -> None:
    person = await lived(tenant)
    whole = await timeline(tenant, person)

    for kind in ("event", "properties", "cohort", "cohort,properties", ""):
        kinds = kind.split(",") if kind else ["event", "properties", "cohort"]
        for limit in (1, 2, 3, 100):
            paged = await timeline(tenant, person, limit=limit, kind=kind)
            assert paged == [entry for entry in whole if entry["kind"] in kinds], (kind, limit)


async def test_events_of_one_instant_are_told_once_across_pages(tenant: Tenant) -> None:
    await tenant.capture(*(item(0, f"e{n}", **{"$set": {"n": n}}) for n in range(11)))
    person = await tenant.person("ann")

    for limit in (1, 4, 11):
        entries = await timeline(tenant, person, limit=limit)
        assert sorted(entry["event"]["name"] for entry in entries if entry["kind"] == "event") == (
            sorted(f"e{n}" for n in range(11))
        )
        assert len(entries) == 22


async def test_an_edit_by_the_api_makes_former_values_unknown(tenant: Tenant) -> None:
    await tenant.capture(item(0, "one", **{"$set": {"plan": "free"}}))
    person = await tenant.person("ann")
    tenant.server.clock.move(seconds=1)
    await tenant.api.patch(f"/persons/{person['id']}/", json={"properties": {"plan": "other"}})
    tenant.server.clock.move(seconds=1)
    await tenant.capture(item(1, "two", **{"$set": {"plan": "pro"}}))

    [newest, _] = await timeline(tenant, person, kind="properties")

    [change] = newest["changes"]
    assert (change["before"], change["is_before_known"]) == (None, False)


async def test_a_merge_by_request_brings_the_other_timeline(tenant: Tenant) -> None:
    await tenant.capture(item(0, "old", "bob"), item(1, "new", "ann"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")

    merged = await tenant.api.post(f"/persons/{ann['id']}/merge/", json={"ids": [bob["id"]]})

    assert merged.status_code == 201
    names = [short(entry)[1] for entry in await timeline(tenant, bob)]
    assert names == ["$merge_dangerously", "new", "old"]


async def store_many(tenant: Tenant, events: EventStore, survivor: UUID) -> list[str]:
    """Store events of 10,000 persons that became one, a third of them at each of three instants."""
    stored = [
        Event(
            tenant.project_id,
            uuid4(),
            "seen",
            f"d{n}",
            person_uuid(tenant.project_id, f"d{n}"),
            NOW - timedelta(minutes=n % 3),
            NOW,
            b"{}",
        )
        for n in range(MANY)
    ]
    await events.insert(events.encoder.batch(stored), str(uuid4()))
    overrides = [Override(tenant.project_id, event.person_id, survivor, 1) for event in stored]
    await events.override_persons(overrides)
    return sorted(str(event.uuid) for event in stored)


# It takes seconds: 10,000 persons are stored.
async def test_a_person_of_10000_merged_persons_is_told_whole(
    tenant: Tenant, events: EventStore
) -> None:
    await tenant.capture(item(0, "own", "ann"))
    person = await tenant.person("ann")
    [own] = await tenant.events()
    number = (await tenant.server.records.fetch(_number(person)))[0].id
    rows = [
        {"project_id": tenant.project_id, "distinct_id": f"d{n}", "person_id": number}
        for n in range(MANY)
    ]
    async with tenant.server.records.write() as connection:
        await connection.execute(insert(person_distinct_ids), rows)
    expected = sorted([own["id"], *await store_many(tenant, events, UUID(person["id"]))])

    listed: list[Json] = []
    page = await tenant.get("/events/", person_id=person["id"], limit=1_000)
    listed += page["results"]
    while page["next"]:
        page = (await tenant.api.get(page["next"])).json()
        listed += page["results"]
    entries = await timeline(tenant, person, limit=500, kind="event")

    assert sorted(event["id"] for event in listed) == expected
    assert sorted(entry["event"]["id"] for entry in entries) == expected
    times = [entry["timestamp"] for entry in entries]
    assert times == sorted(times, reverse=True)
    await forget_merges(tenant, events)


async def forget_merges(tenant: Tenant, events: EventStore) -> None:
    """Delete the overrides, for which a later test's squash would rewrite events for a minute."""
    statement = "ALTER TABLE person_overrides DELETE WHERE project_id = {project_id:UInt64}"
    bound = {"project_id": tenant.project_id}
    await events._jobs.run(lambda client: client.command(statement, bound))


def _number(person: Json) -> Any:
    return select(persons.c.id).where(persons.c.uuid == UUID(person["id"]))


WRONG: dict[str, tuple[Json, Json]] = {
    "kind": (
        {"kind": "events"},
        invalid(
            "invalid_choice",
            '"events" is not a valid choice. Did you mean "event"?',
            "kind",
        ),
    ),
    "before": (
        {"before": "soon"},
        invalid("invalid_input", "Enter a valid date or a relative one such as -4h.", "before"),
    ),
    "cursor": (
        {"cursor": "event-1", "before": "-1h"},
        invalid("invalid_input", "Use the cursor of a next link.", "cursor"),
    ),
    "cursor without before": (
        {"cursor": f"event-{UUID(int=1)}"},
        invalid("invalid_input", "Use cursor together with before, as in a next link.", "cursor"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_query_is_named(tenant: Tenant, name: str) -> None:
    query, expected = WRONG[name]
    await tenant.capture(item(0, "one"))
    person = await tenant.person("ann")

    answer = await tenant.api.get(f"/persons/{person['id']}/timeline/", params=query)

    assert (answer.status_code, answer.json()) == (400, expected)


async def test_a_person_that_does_not_exist_is_not_found(tenant: Tenant) -> None:
    answer = await tenant.api.get(f"/persons/{uuid4()}/timeline/")

    assert answer.status_code == 404


async def test_a_key_needs_the_scopes_of_what_is_told(tenant: Tenant) -> None:
    await tenant.capture(item(0, "one"))
    person = await tenant.person("ann")
    key = await add_key(
        tenant.server.records, tenant.user_id, f"phx_{uuid4().hex}", ["person:read", "cohort:read"]
    )
    path = f"/api/projects/{tenant.project_id}/persons/{person['id']}/timeline/"

    async with tenant.server.client(key) as client:
        whole = await client.get(path)
        cohorts = await client.get(path, params={"kind": "cohort"})

    assert whole.status_code == 403
    assert "event:read" in whole.json()["detail"]
    assert cohorts.json() == {"next": None, "results": []}
