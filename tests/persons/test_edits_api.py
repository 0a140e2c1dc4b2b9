"""Changes and deletions of persons through the API."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID, uuid4

import msgspec
import pytest
from sqlalchemy import func, select

from fanion.activity.model import Author
from fanion.db.schema.events import ingestion_examples
from fanion.db.schema.persons import person_erasures
from fanion.db.schema.tables import (
    dead_letters,
    person_distinct_ids,
    person_overrides,
    persons,
)
from fanion.events.event import Erasure
from fanion.events.storage.schema import EVENT_TABLES
from fanion.events.storage.store import EventStore
from fanion.persons.edits_store import PersonChanges
from fanion.persons.merge import PersonUpdate
from fanion.persons.state.versions_store import Versions
from tests.support.application import Json, Tenant, error, open_tenant
from tests.support.management import add_key

NOT_FOUND = error("invalid_request", "not_found", "Not found.")


def seen(distinct_id: str, **fields: Any) -> Json:
    return {"event": "seen", "distinct_id": distinct_id, **fields}


def setting(distinct_id: str, **values: Any) -> Json:
    return seen(distinct_id, properties={"$set": values})


async def delete(tenant: Tenant, person: Json, **query: Any) -> None:
    answer = await tenant.api.delete(f"/persons/{person['id']}/", params=query)
    assert (answer.status_code, answer.content) == (204, b""), answer.text
    tenant.server.clock.move(seconds=1)


async def stored_rows(events: EventStore, table: str, project_id: int) -> int:
    """Return the number of rows in the parts of a table, whatever readers would make of them."""
    statement = f"SELECT count() FROM {table} WHERE project_id = {{project_id:UInt64}}"
    [(count,)] = await events._reads.fetch(statement, {"project_id": project_id})
    return int(count)


async def rows(tenant: Tenant, table: Any) -> int:
    counted = select(func.count()).select_from(table).where(table.c.project_id == tenant.project_id)
    [(count,)] = await tenant.server.records.fetch(counted)
    return int(count)


# ── Changing ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.every_engine
async def test_given_properties_are_set_and_others_stay(tenant: Tenant) -> None:
    await tenant.capture(setting("ann", plan="free", email="Ann@example.com"))
    person = await tenant.person("ann")

    answer = await tenant.api.patch(
        f"/persons/{person['id']}/", json={"properties": {"plan": "pro", "left": None}}
    )
    again = await tenant.person("ann")

    assert answer.status_code == 200
    assert again == answer.json()
    assert again["properties"] == person["properties"] | {"plan": "pro", "left": None}
    assert {**again, "properties": None} == {**person, "properties": None}


async def test_the_next_event_builds_on_the_change(tenant: Tenant) -> None:
    await tenant.capture(setting("ann", plan="free", seats=1))
    person = await tenant.person("ann")

    await tenant.api.patch(f"/persons/{person['id']}/", json={"properties": {"plan": "pro"}})
    await tenant.capture(setting("ann", seats=2))

    properties = (await tenant.person("ann"))["properties"]
    assert (properties["plan"], properties["seats"]) == ("pro", 2)


async def test_one_property_is_set_and_removed(tenant: Tenant) -> None:
    await tenant.capture(setting("ann", plan="free"))
    path = f"/persons/{(await tenant.person('ann'))['id']}"

    put = await tenant.api.post(f"{path}/update_property/", json={"key": "a", "value": [1]})
    gone = await tenant.api.post(f"{path}/delete_property/", json={"$unset": "plan"})
    absent = await tenant.api.post(f"{path}/delete_property/", json={"$unset": "nothing"})

    properties = (await tenant.person("ann"))["properties"]
    assert (put.status_code, put.content, "content-type" in put.headers) == (202, b"", False)
    assert (gone.status_code, gone.json()) == (201, {"success": True})
    assert absent.status_code == 201
    assert properties["a"] == [1]
    assert "plan" not in properties


@pytest.mark.every_engine
async def test_the_search_by_email_follows_a_change(tenant: Tenant) -> None:
    await tenant.capture(setting("ann", email="old@example.com"))
    person = await tenant.person("ann")

    await tenant.api.patch(
        f"/persons/{person['id']}/", json={"properties": {"email": "New@example.com"}}
    )

    counts = [
        len((await tenant.get("/persons/", email=email))["results"])
        for email in ("old@example.com", "new@example.com")
    ]
    assert counts == [0, 1]


@pytest.mark.every_engine
async def test_changes_and_events_at_once_lose_nothing(tenant: Tenant) -> None:
    """Each side sets its own property with every step."""
    await tenant.capture(setting("ann"))
    path = f"/persons/{(await tenant.person('ann'))['id']}/"

    async def change() -> None:
        for number in range(10):
            answer = await tenant.api.patch(path, json={"properties": {f"api{number}": number}})
            assert answer.status_code == 200

    async def capture() -> None:
        for number in range(10):
            await tenant.capture(setting("ann", **{f"event{number}": number}))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(change())
        tasks.create_task(capture())

    properties = (await tenant.person("ann"))["properties"]
    expected = {f"{side}{number}" for side in ("api", "event") for number in range(10)}
    assert expected - properties.keys() == set()


async def test_a_change_is_mirrored_for_analysis(tenant: Tenant, events: EventStore) -> None:
    await tenant.capture(setting("ann", plan="free"))
    person = await tenant.person("ann")

    await tenant.api.patch(f"/persons/{person['id']}/", json={"properties": {"plan": "pro"}})

    assert await mirrored_plan(tenant, events, person) == "pro"


async def mirrored_plan(tenant: Tenant, events: EventStore, person: Json) -> str:
    statement = """
      SELECT attributes.plan::String
        FROM persons FINAL
       WHERE project_id = {project_id:UInt64} AND person_id = {person:UUID}
    """
    parameters = {"project_id": tenant.project_id, "person": UUID(person["id"])}
    [(plan,)] = await events._reads.fetch(statement, parameters)
    return str(plan)


REFUSED: dict[str, tuple[str, str, Json, Json]] = {
    "no properties": (
        "PATCH",
        "",
        {},
        error("validation_error", "required", "This field is required.", "properties"),
    ),
    "properties of another kind": (
        "PUT",
        "",
        {"properties": []},
        error(
            "validation_error",
            "not_a_dict",
            'Expected a dictionary of items but got type "list".',
            "properties",
        ),
    ),
    "no key": (
        "POST",
        "update_property/",
        {"value": 1},
        error("validation_error", "required", "This field is required.", "key"),
    ),
    "nothing to remove": (
        "POST",
        "delete_property/",
        {"$unset": ""},
        error("validation_error", "blank", "This field may not be blank.", "$unset"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_change_that_makes_no_sense_is_refused(tenant: Tenant, name: str) -> None:
    method, part, values, expected = REFUSED[name]
    await tenant.capture(seen("ann"))
    person = await tenant.person("ann")

    answer = await tenant.api.request(method, f"/persons/{person['id']}/{part}", json=values)

    assert (answer.status_code, answer.json()) == (400, expected)
    assert await tenant.person("ann") == person


async def test_what_is_changed_while_the_event_store_is_down_is_mirrored_later(
    tenant: Tenant, events: EventStore
) -> None:
    await tenant.capture(setting("ann", plan="free"))
    person = await tenant.person("ann")

    tenant.server.events.is_down = True
    answer = await tenant.api.patch(
        f"/persons/{person['id']}/", json={"properties": {"plan": "pro"}}
    )
    tenant.server.events.is_down = False
    before = await mirrored_plan(tenant, events, person)
    worker = tenant.server.running.ingestion.mirroring
    for _ in range(2):
        await worker.look()

    assert (answer.status_code, answer.json()["properties"]) == (200, {"plan": "pro"})
    assert (before, await mirrored_plan(tenant, events, person)) == ("free", "pro")


CALLS: tuple[tuple[str, str, Json | None], ...] = (
    ("GET", "", None),
    ("PATCH", "", {"properties": {}}),
    ("PUT", "", {"properties": {}}),
    ("POST", "update_property/", {"key": "a", "value": 1}),
    ("POST", "delete_property/", {"$unset": "a"}),
    ("GET", "activity/", None),
    ("DELETE", "", None),
)


@pytest.mark.parametrize(("method", "part", "body"), CALLS)
async def test_persons_of_other_projects_are_not_found(
    tenant: Tenant, method: str, part: str, body: Json | None
) -> None:
    await tenant.capture(seen("ann"))
    person = await tenant.person("ann")

    async with open_tenant(tenant.server, tenant.project_id + 8_000_001) as neighbour:
        for person_id in (person["id"], str(uuid4())):
            path = f"/persons/{person_id}/{part}"
            answer = await neighbour.api.request(method, path, json=body)
            assert (answer.status_code, answer.json()) == (404, NOT_FOUND)

    assert await tenant.person("ann") == person


async def test_changes_and_deletions_are_reported_without_values(tenant: Tenant) -> None:
    await tenant.capture(setting("ann", plan="free"))
    person = await tenant.person("ann")
    path = f"/persons/{person['id']}/"

    for _ in range(2):
        await tenant.api.patch(path, json={"properties": {"plan": "pro"}})
    reported = (await tenant.get(f"{path}activity/"))["results"]
    await delete(tenant, person)
    all_reported = (await tenant.get("/persons/activity/"))["results"]

    [entry] = reported
    change = {"type": "Person", "action": "changed", "field": "properties"}
    assert entry["detail"]["changes"] == [{**change, "before": None, "after": None}]
    assert [(entry["activity"], entry["item_id"]) for entry in all_reported] == [
        ("deleted", person["id"]),
        ("updated", person["id"]),
    ]


SCOPES = {
    ("GET", ""): "person:read",
    ("PATCH", ""): "person:write",
    ("DELETE", ""): "person:write",
    ("GET", "activity/"): "activity_log:read",
}


@pytest.mark.parametrize(("method", "part"), SCOPES)
async def test_keys_need_the_scope(tenant: Tenant, method: str, part: str) -> None:
    await tenant.capture(seen("ann"))
    path = f"/api/projects/{tenant.project_id}/persons/{(await tenant.person('ann'))['id']}/{part}"
    body: Json | None = {"properties": {}} if method == "PATCH" else None
    suffix, records = uuid4().hex, tenant.server.records
    other = await add_key(records, tenant.user_id, f"phx_other{suffix}", ["cohort:write"])
    right = await add_key(records, tenant.user_id, f"phx_right{suffix}", [SCOPES[method, part]])

    async with tenant.server.client(other) as refused, tenant.server.client(right) as allowed:
        no = await refused.request(method, path, json=body)
        yes = await allowed.request(method, path, json=body)

    assert (no.status_code, no.json()["code"]) == (403, "permission_denied")
    assert yes.status_code in {200, 204}


# ── Deleting ─────────────────────────────────────────────────────────────────────────────

RECORDS = (persons, person_distinct_ids, person_overrides)
MIRRORS = ("persons", "person_overrides")


async def merged(tenant: Tenant) -> Json:
    """Create a person with three distinct ids, one of which used to be a separate person."""
    await tenant.capture(
        seen("anon"),
        setting("ann", plan="pro"),
        {"event": "$identify", "distinct_id": "ann", "properties": {"$anon_distinct_id": "anon"}},
        {"event": "$create_alias", "distinct_id": "ann", "properties": {"alias": "ann2"}},
        seen("ann", properties={"$process_person_profile": False}),
    )
    person = await tenant.person("ann2")
    assert sorted(person["distinct_ids"]) == ["ann", "ann2", "anon"]
    return person


@pytest.mark.every_engine
async def test_a_deleted_person_is_gone_from_everywhere(tenant: Tenant, events: EventStore) -> None:
    person = await merged(tenant)

    await delete(tenant, person, delete_events="true")

    gone = await tenant.api.get(f"/persons/{person['id']}/")
    listed = await tenant.get("/persons/")
    assert (gone.status_code, gone.json(), listed["results"]) == (404, NOT_FOUND, [])
    assert [await rows(tenant, table) for table in RECORDS] == [0, 0, 0]
    assert [await stored_rows(events, table, tenant.project_id) for table in MIRRORS] == [0, 0]
    assert [await stored_rows(events, table, tenant.project_id) for table in EVENT_TABLES] == [0, 0]


@pytest.mark.every_engine
async def test_others_keep_everything(tenant: Tenant, events: EventStore) -> None:
    await tenant.capture(seen("bob"), seen("bob"))
    bob = await tenant.person("bob")
    person = await merged(tenant)

    await delete(tenant, person, delete_events="true")

    assert await tenant.person("bob") == bob
    assert [await stored_rows(events, table, tenant.project_id) for table in EVENT_TABLES] == [2, 2]
    assert len(await tenant.events(person_id=bob["id"])) == 2
    assert len(await tenant.events(distinct_id="bob")) == 2


async def test_without_delete_events_the_events_stay(tenant: Tenant, events: EventStore) -> None:
    person = await merged(tenant)
    before = await stored_rows(events, "events", tenant.project_id)

    await delete(tenant, person)

    assert [await rows(tenant, table) for table in RECORDS] == [0, 0, 0]
    assert [await stored_rows(events, table, tenant.project_id) for table in MIRRORS] == [0, 0]
    assert await stored_rows(events, "events", tenant.project_id) == before
    assert {event["person"] for event in await tenant.events()} == {None}


@pytest.mark.every_engine
async def test_a_deleted_person_answers_by_number_and_by_old_id_no_more(tenant: Tenant) -> None:
    person = await merged(tenant)
    number = select(persons.c.id).where(persons.c.uuid == UUID(person["id"]))
    [(person_id,)] = await tenant.server.records.fetch(number)

    first = await tenant.api.delete(f"/persons/{person_id}/")
    second = await tenant.api.delete(f"/persons/{person_id}/")

    assert (first.status_code, second.status_code, second.json()) == (204, 404, NOT_FOUND)


async def test_a_flag_sees_the_properties_no_more(tenant: Tenant) -> None:
    await tenant.capture(setting("ann", plan="pro"))
    condition = {"key": "plan", "value": "pro", "operator": "exact", "type": "person"}
    groups = [{"properties": [condition], "rollout_percentage": 100}]
    await tenant.create_flag(key="for-pros", filters={"groups": groups})
    before = (await tenant.decide("ann"))["featureFlags"]

    await delete(tenant, await tenant.person("ann"))

    after = (await tenant.decide("ann"))["featureFlags"]
    assert (before, after) == ({"for-pros": True}, {"for-pros": False})


@pytest.mark.parametrize("with_events", ["true", "false"])
async def test_a_deleted_person_that_returns_is_new(
    tenant: Tenant, events: EventStore, with_events: str
) -> None:
    """The id is the same, as it derives from the distinct id; nothing old covers the person."""
    await tenant.capture(seen("ann"), *(setting("ann", step=n) for n in range(3)))
    for number in range(3):
        await tenant.capture(setting("ann", step=10 + number))
    old = await tenant.person("ann")

    await delete(tenant, old, delete_events=with_events)
    await tenant.capture(setting("ann", back=True))
    new = await tenant.person("ann")

    statement = """
      SELECT attributes.back::Bool, attributes.step
        FROM persons FINAL
       WHERE project_id = {project_id:UInt64}
    """
    mirrored = await events._reads.fetch(statement, {"project_id": tenant.project_id})
    assert new["id"] == old["id"]
    assert "step" not in new["properties"]
    assert [tuple(row) for row in mirrored] == [(True, None)]


@pytest.mark.every_engine
async def test_an_id_that_was_merged_comes_back_as_a_person_of_its_own(
    tenant: Tenant, events: EventStore
) -> None:
    person = await merged(tenant)

    await delete(tenant, person)
    await tenant.capture(setting("anon", back=True), seen("ann"))
    anon, ann = await tenant.person("anon"), await tenant.person("ann")

    assert anon["id"] != ann["id"]
    assert anon["distinct_ids"] == ["anon"]
    assert len(await tenant.events(person_id=anon["id"])) > 0
    assert await stored_rows(events, "persons", tenant.project_id) == 2


@pytest.mark.every_engine
async def test_what_comes_back_can_merge_again(tenant: Tenant) -> None:
    await delete(tenant, await merged(tenant), delete_events="true")

    person = await merged(tenant)

    events = await tenant.events(person_id=person["id"])
    assert len(events) == 4 + 1
    assert (await tenant.get("/persons/"))["results"] == [person]


@pytest.mark.every_engine
async def test_events_that_still_wait_are_left_out(tenant: Tenant, events: EventStore) -> None:
    """The event store is down, so that ingestion stands still at the moment of the deletion."""
    await tenant.capture(seen("ann"), seen("bob"))
    ann = await tenant.person("ann")
    tenant.server.events.is_down = True
    body = {
        "api_key": tenant.token,
        "batch": [setting("ann", late=True), seen("bob"), seen("ann")],
    }
    await tenant.public.post("/batch/", json=body)
    tenant.server.clock.move(seconds=1)

    deleting = asyncio.create_task(
        tenant.api.delete(f"/persons/{ann['id']}/", params={"delete_events": "true"})
    )
    for _ in range(500):
        if (await tenant.api.get(f"/persons/{ann['id']}/")).status_code == 404:
            break
        await asyncio.sleep(0.01)
    tenant.server.events.is_down = False
    answer = await deleting
    await tenant.server.ingested()

    listed = await tenant.events()
    assert answer.status_code == 204
    assert {event["distinct_id"] for event in listed} == {"bob"}
    assert len(listed) == 2
    assert await stored_rows(events, "events", tenant.project_id) == 2
    assert (await tenant.get("/persons/", distinct_id="ann"))["results"] == []


@pytest.mark.every_engine
async def test_dead_letters_lose_the_persons_items_only(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"))
    ann = await tenant.person("ann")
    both = [seen("ann", n=1), seen("bob"), {"event": "seen", "properties": {"distinct_id": "ann"}}]
    bodies = [both, [seen("ann")], [seen("bob")]]
    await put_aside(
        tenant, [encoded(body) for body in bodies] + [b'[{"distinct_id":"ann"', b"{bob"]
    )

    await delete(tenant, ann, delete_events="true")

    left = select(dead_letters.c.body).where(dead_letters.c.project_id == tenant.project_id)
    remaining = {bytes(row.body) for row in await tenant.server.records.fetch(left)}
    assert remaining == {encoded([seen("bob")]), b"{bob"}


@pytest.mark.every_engine
async def test_examples_of_refused_items_do_not_name_the_person(tenant: Tenant) -> None:
    await tenant.capture(
        seen("ann"),
        {"distinct_id": "ann", "properties": {"a": 1}},
        {"distinct_id": "bob"},
    )
    ann = await tenant.person("ann")

    await delete(tenant, ann, delete_events="true")

    returned = select(ingestion_examples.c.examples).where(
        ingestion_examples.c.project_id == tenant.project_id
    )
    examples = [
        example for row in await tenant.server.records.fetch(returned) for example in row.examples
    ]
    assert [example["distinct_id"] for example in examples] == ["bob"]


@pytest.mark.every_engine
async def test_a_deletion_that_cannot_end_now_ends_later(
    tenant: Tenant, events: EventStore
) -> None:
    await tenant.capture(seen("ann"))
    ann = await tenant.person("ann")

    tenant.server.events.is_down = True
    answer = await tenant.api.delete(f"/persons/{ann['id']}/", params={"delete_events": "true"})
    waiting = await rows(tenant, person_erasures)
    tenant.server.events.is_down = False
    await tenant.server.running.ingestion.erasing.finish_all()
    tenant.server.clock.move(minutes=2)
    await tenant.server.running.ingestion.erasing.finish_all()

    assert (answer.status_code, answer.content, waiting) == (202, b"", 1)
    assert await stored_rows(events, "events", tenant.project_id) == 0
    assert await rows(tenant, person_erasures) == 0


def encoded(items: Sequence[Json]) -> bytes:
    return msgspec.json.encode(items)


async def put_aside(tenant: Tenant, bodies: Sequence[bytes]) -> None:
    now = tenant.server.clock.now()
    async with tenant.server.records.write() as connection:
        await connection.execute(
            dead_letters.insert(),
            [
                {
                    "project_id": tenant.project_id,
                    "log_id": number,
                    "received_at": now,
                    "failed_at": now,
                    "client_ip": "",
                    "user_agent": "",
                    "sent_at": None,
                    "body": body,
                    "error": "it failed",
                    "items": 1,
                    "attempts": 1,
                }
                for number, body in enumerate(bodies)
            ],
        )


# ── With another server ────────────────────────────────────────────────────────────────


def another_server(tenant: Tenant) -> PersonChanges:
    """Return the changes of another server, which shares only the stores with this one."""

    async def finished(_: Erasure) -> bool:
        return False

    def changed(*_: object) -> None:
        """Do nothing, because this server is not notified."""

    records, events = tenant.server.records, cast(EventStore, tenant.server.events)
    return PersonChanges(records, events, asyncio.Lock(), changed, finished, Versions(records))


async def author_of(tenant: Tenant) -> Author:
    project = await tenant.server.running.public.flags.projects.by_id(tenant.project_id)
    assert project is not None
    return Author(
        project_id=project.id,
        organization_id=project.organization_id,
        user_id=tenant.user_id,
        now=tenant.server.clock.now(),
    )


@pytest.mark.every_engine
async def test_a_change_by_another_server_is_not_lost(tenant: Tenant) -> None:
    """This server has the former state of the person in memory."""
    await tenant.capture(setting("ann", plan="free", seats=1))
    person = await tenant.person("ann")

    await another_server(tenant).update_person(
        await author_of(tenant), UUID(person["id"]), PersonUpdate({"plan": "pro"}, {})
    )
    await tenant.capture(setting("ann", seats=2))

    properties = (await tenant.person("ann"))["properties"]
    assert (properties["plan"], properties["seats"]) == ("pro", 2)


@pytest.mark.every_engine
async def test_a_person_deleted_by_another_server_is_not_written_to(
    tenant: Tenant, events: EventStore
) -> None:
    await tenant.capture(setting("ann", plan="free"))
    person = await tenant.person("ann")

    await another_server(tenant).erase_person(
        await author_of(tenant), UUID(person["id"]), with_events=True
    )
    tenant.server.clock.move(seconds=1)
    await tenant.capture(setting("ann", seats=2), seen("ann"))
    await tenant.server.running.ingestion.erasing.finish_all()

    back = await tenant.person("ann")
    assert back["properties"].get("plan") is None
    assert back["properties"]["seats"] == 2
    assert len(await tenant.events(person_id=back["id"])) == 2
    assert await stored_rows(events, "events", tenant.project_id) == 2
    assert await stored_rows(events, "persons", tenant.project_id) == 1


@pytest.mark.every_engine
async def test_of_two_changes_at_once_both_count(tenant: Tenant) -> None:
    await tenant.capture(setting("ann"))
    person, author = await tenant.person("ann"), await author_of(tenant)
    servers = [another_server(tenant) for _ in range(3)]

    await asyncio.gather(
        *(
            server.update_person(
                author, UUID(person["id"]), PersonUpdate({f"p{number}": number}, {})
            )
            for number, server in enumerate(servers)
        )
    )

    properties = (await tenant.person("ann"))["properties"]
    assert {f"p{number}" for number in range(3)} <= properties.keys()
