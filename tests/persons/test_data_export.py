"""The export of everything that is stored about one person."""

import gzip
import json
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from fanion.activity.model import Author
from fanion.events.event import EventStoreUnavailable
from fanion.ingest.accepted_items_store import AcceptedItems
from fanion.persons.data_export.service import PersonExports
from tests.persons.test_edits_api import encoded, put_aside
from tests.support.application import Json, Tenant, error, open_tenant
from tests.support.cohorts import upload_cohort
from tests.support.management import NOW, add_key

PADDING = "x" * 10_000
EVENTS = 3_000
# A tenth of what the properties of EVENTS take.
MEMORY_MAX = 24 * 2**20


def item(number: int, distinct_id: str = "ann", **properties: Any) -> Json:
    at = NOW - timedelta(hours=1) + timedelta(milliseconds=number)
    return {
        "event": f"event {number}",
        "distinct_id": distinct_id,
        "uuid": str(uuid4()),
        "timestamp": at.isoformat(),
        "properties": properties,
    }


async def exported(tenant: Tenant, person: Json) -> Json:
    document: Json = await tenant.get(f"/persons/{person['uuid']}/export/")
    return document


async def opened_export(
    tenant: Tenant, person: Json, *, is_packed: bool = False
) -> AsyncGenerator[bytes]:
    """Return the pieces of the document, which no client gathers."""
    running, now = tenant.server.running, tenant.server.clock.now
    records, log = running.public.records, running.public.log
    exports = PersonExports(
        records,
        running.events,
        running.questions.cohorts.store.cohorts_of_person,
        AcceptedItems(records, log, now).of_ids,
    )
    project = await running.public.flags.projects.by_id(tenant.project_id)
    assert project is not None
    author = Author(
        project_id=project.id,
        organization_id=tenant.organization_id,
        user_id=tenant.user_id,
        now=now(),
    )
    uuid = UUID(person["uuid"])
    _, pieces = await exports.open_export(author, project, uuid, is_packed=is_packed)
    return pieces


@pytest.mark.every_engine
async def test_the_file_has_all_that_is_stored_about_a_person(tenant: Tenant) -> None:
    await tenant.capture(item(1, "anon", **{"$set": {"plan": "free"}}), item(2, "bob"))
    await tenant.capture(item(3, "ann", **{"$set": {"name": "Ann"}}))
    both = [await tenant.person("ann"), await tenant.person("anon")]
    merge = {"$anon_distinct_id": "anon"}
    await tenant.capture({**item(4, "ann", **merge), "event": "$identify"})
    cohort = await upload_cohort(tenant, "ann\n")
    await tenant.server.calculated()
    person = await tenant.person("ann")

    document = await exported(tenant, person)

    [former] = [each for each in both if each["uuid"] != person["uuid"]]
    assert document["project"]["id"] == tenant.project_id
    assert document["person"]["uuid"] == person["uuid"]
    assert document["person"]["properties"] == {"plan": "free", "name": "Ann"}
    assert document["person"]["distinct_ids"] == ["ann", "anon"]
    assert document["person"]["merged_persons"] == [former["uuid"]]
    assert [each["id"] for each in document["cohorts"]] == [cohort["id"]]
    assert [event["event"] for event in document["events"]] == ["event 1", "event 3", "$identify"]
    assert document["events"][0]["properties"]["$set"] == {"plan": "free"}
    assert document["accepted_events"] == []
    assert document["counts"] == {"accepted_events": 0, "events": 3}


@pytest.mark.every_engine
async def test_the_export_is_recorded_in_the_activity(tenant: Tenant) -> None:
    await tenant.capture(item(1))
    person = await tenant.person("ann")

    await exported(tenant, person)

    [entry] = (await tenant.get(f"/persons/{person['uuid']}/activity/"))["results"]
    assert (entry["activity"], entry["item_id"]) == ("exported", person["uuid"])
    assert entry["detail"]["name"] == person["uuid"]


async def test_the_file_is_offered_for_saving_plain_or_packed(tenant: Tenant) -> None:
    await tenant.capture(item(1))
    person = await tenant.person("ann")
    path = f"/persons/{person['uuid']}/export/"

    plain = await tenant.api.get(path)
    packed = await tenant.api.get(f"{path}?compression=gzip")
    wrong = await tenant.api.get(f"{path}?compression=zip")

    name = f'attachment; filename="person-{person["uuid"]}.json'
    assert plain.headers["content-disposition"] == f'{name}"'
    assert plain.headers["content-type"].startswith("application/json")
    assert packed.headers["content-disposition"] == f'{name}.gz"'
    assert packed.headers["content-type"].startswith("application/gzip")
    assert json.loads(gzip.decompress(packed.content))["events"] == plain.json()["events"]
    assert (wrong.status_code, wrong.json()["attr"]) == (400, "compression")


async def test_a_head_request_records_nothing(tenant: Tenant) -> None:
    await tenant.capture(item(1))
    person = await tenant.person("ann")

    answer = await tenant.api.head(f"/persons/{person['uuid']}/export/")

    assert (answer.status_code, answer.content) == (200, b"")
    assert (await tenant.get(f"/persons/{person['uuid']}/activity/"))["results"] == []


@pytest.mark.every_engine
async def test_what_is_accepted_and_not_stored_is_in_the_file_too(tenant: Tenant) -> None:
    """Ingestion stands still while its turn is taken."""
    await tenant.capture(item(1), item(2, "bob"))
    person = await tenant.person("ann")
    await put_aside(tenant, [encoded([item(3), item(4, "bob")]), b'[{"distinct_id":"ann"', b"{bob"])

    async with tenant.server.running.ingestion.turn:
        for historical in (False, True):
            batch = [item(5 + historical), item(7, "bob")]
            body = {"api_key": tenant.token, "batch": batch, "historical_migration": historical}
            assert (await tenant.public.post("/batch/", json=body)).status_code == 200
        document = await exported(tenant, person)

    found = [
        (each["state"], each["item"] and each["item"]["event"])
        for each in document["accepted_events"]
    ]
    assert sorted(found[:2]) == [("waiting", "event 5"), ("waiting", "event 6")]
    assert found[2:] == [("failed", "event 3"), ("failed", None)]
    assert document["counts"] == {"accepted_events": 4, "events": 1}


async def test_a_file_that_is_broken_off_can_be_told_from_a_whole_one(tenant: Tenant) -> None:
    await tenant.capture(*(item(number) for number in range(300)))
    person = await tenant.person("ann")
    read = b""

    pieces = await opened_export(tenant, person)
    async with aclosing(pieces):
        with pytest.raises(EventStoreUnavailable):
            async for piece in pieces:
                read += piece
                tenant.server.events.is_down = b"event 0" in read
    tenant.server.events.is_down = False

    assert b"event 0" in read
    with pytest.raises(json.JSONDecodeError):
        json.loads(read)


async def test_an_export_that_cannot_begin_says_so_and_is_not_recorded(tenant: Tenant) -> None:
    await tenant.capture(item(1))
    person = await tenant.person("ann")

    tenant.server.events.is_down = True
    answer = await tenant.api.get(f"/persons/{person['uuid']}/export/")
    tenant.server.events.is_down = False

    assert answer.status_code == 503
    assert (await tenant.get(f"/persons/{person['uuid']}/activity/"))["results"] == []


@pytest.mark.every_engine
async def test_many_events_take_little_memory(tenant: Tenant) -> None:
    for start in range(0, EVENTS, 500):
        await tenant.capture(*(item(start + number, padding=PADDING) for number in range(500)))
    person = await tenant.person("ann")
    pieces = await opened_export(tenant, person, is_packed=True)

    tracemalloc.start()
    try:
        packed = b"".join([piece async for piece in pieces])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    document = json.loads(gzip.decompress(packed))
    assert len({event["id"] for event in document["events"]}) == EVENTS
    assert document["counts"]["events"] == EVENTS
    assert peak < MEMORY_MAX


async def test_only_members_of_the_organization_get_the_file(tenant: Tenant) -> None:
    await tenant.capture(item(1))
    person = await tenant.person("ann")
    path = f"/api/projects/{tenant.project_id}/persons/{person['uuid']}/export/"

    async with open_tenant(tenant.server, tenant.project_id + 8_000_001) as neighbour:
        refused = await neighbour.api.get(f"http://fanion.test{path}")
        elsewhere = await neighbour.api.get(f"/persons/{person['uuid']}/export/")
    async with tenant.server.client() as client:
        nobody = await client.get(path)

    assert refused.status_code == 403
    assert refused.json() == error(
        "authentication_error", "permission_denied", "You don't have access to the project."
    )
    assert elsewhere.status_code == 404
    assert nobody.status_code == 401
    assert (await tenant.get(f"/persons/{person['uuid']}/activity/"))["results"] == []


SCOPES = [
    ["person:read"],
    ["person:read", "event:read"],
    ["person:read", "cohort:read"],
    ["event:read", "cohort:read"],
]


@pytest.mark.parametrize("scopes", SCOPES, ids=" ".join)
async def test_a_key_needs_the_scopes_of_all_that_the_file_has(
    tenant: Tenant, scopes: list[str]
) -> None:
    await tenant.capture(item(1))
    person = await tenant.person("ann")
    text = f"phx_{'_'.join(scopes)}_{tenant.project_id}"
    key = await add_key(tenant.server.records, tenant.user_id, text, scopes)

    async with tenant.server.client(key, f"/api/projects/{tenant.project_id}") as client:
        answer = await client.get(f"/persons/{person['uuid']}/export/")

    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
