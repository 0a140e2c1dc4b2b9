"""Merges of persons by request, and their previews."""

import asyncio
from collections.abc import Awaitable
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from sqlalchemy import insert, select

from fanion.accept_log.port import Envelope, LogFull
from fanion.activity.model import Author
from fanion.db.schema.flags import flag_continuity
from fanion.db.schema.tables import person_distinct_ids, persons
from fanion.errors import Unavailable
from fanion.events.storage.store import EventStore
from fanion.persons.merge_requests.service import NotMerged, PersonMerges, envelope_of
from fanion.persons.merge_requests.store import DISTINCT_IDS_MAX, PERSONS_MAX, read_request
from tests.support.application import Json, Tenant, error, open_tenant
from tests.support.awaited import SOON_S, until_soon
from tests.support.management import invalid

NOT_FOUND = error("invalid_request", "not_found", "Not found.")
UNKNOWN = "This project has no person with this id."


def seen(distinct_id: str, /, **values: Any) -> Json:
    return {"event": "seen", "distinct_id": distinct_id, "properties": {"$set": values}}


def identified(distinct_id: str, /, **values: Any) -> Json:
    properties = {"$anon_distinct_id": f"{distinct_id}-anon", "$set": values}
    return {"event": "$identify", "distinct_id": distinct_id, "properties": properties}


async def merge(tenant: Tenant, into: Json, *others: Json) -> Json:
    answer = await tenant.api.post(f"/persons/{into['id']}/merge/", json=body(*others))
    assert answer.status_code == 201, answer.text
    merged: Json = answer.json()
    return merged


async def preview(tenant: Tenant, into: Json, *others: Json) -> Json:
    answer = await tenant.api.post(f"/persons/{into['id']}/merge/preview/", json=body(*others))
    assert answer.status_code == 200, answer.text
    previewed: Json = answer.json()
    return previewed


async def until_events(tenant: Tenant, person: Json, count: int) -> None:
    """Wait until a person has this many events: the event store learns of merges after records."""

    async def are_there() -> bool:
        return len(await tenant.events(person_id=person["id"])) == count

    await until_soon(are_there, f"{person['id']} never had {count} events")


def body(*others: Json) -> Json:
    return {"ids": [other["id"] for other in others]}


async def numbers(tenant: Tenant, *people: Json) -> list[int]:
    """Return the ids of persons in the records store."""
    ids = {}
    for person in people:
        statement = select(persons.c.id).where(persons.c.uuid == UUID(person["id"]))
        [(ids[person["id"]],)] = await tenant.server.records.fetch(statement)
    return list(ids.values())


async def author_of(tenant: Tenant) -> Author:
    project = await tenant.server.running.public.flags.projects.by_id(tenant.project_id)
    assert project is not None
    return Author(
        project_id=project.id,
        organization_id=project.organization_id,
        user_id=tenant.user_id,
        now=tenant.server.clock.now(),
    )


# ── What becomes of the persons ──────────────────────────────────────────────────────────


@pytest.mark.every_engine
async def test_identified_persons_become_one(tenant: Tenant) -> None:
    await tenant.capture(
        identified("ann", plan="free", a=1), identified("bob", plan="pro", b=2), seen("cid", b=3)
    )
    ann, bob, cid = [await tenant.person(name) for name in ("ann", "bob", "cid")]

    merged = await merge(tenant, ann, bob, cid)

    assert merged == await tenant.person("cid") == await tenant.person("bob-anon")
    assert merged["id"] == ann["id"]
    assert merged["distinct_ids"] == ["ann", "ann-anon", "bob", "bob-anon", "cid"]
    assert merged["properties"] == {"plan": "free", "a": 1, "b": 2}
    assert merged["is_identified"]
    assert [(await tenant.get(f"/persons/{person['id']}/"))["id"] for person in (bob, cid)] == [
        ann["id"]
    ] * 2
    await until_events(tenant, ann, 5)
    names = {event["distinct_id"] for event in await tenant.events(person_id=ann["id"])}
    assert names == {"ann", "bob", "cid"}


@pytest.mark.every_engine
async def test_later_events_of_all_ids_change_the_one_person(tenant: Tenant) -> None:
    await tenant.capture(identified("ann"), identified("bob"))
    ann = await tenant.person("ann")
    await merge(tenant, ann, await tenant.person("bob"))

    await tenant.capture(seen("ann", a=1), seen("bob", b=2), seen("bob-anon", c=3))

    assert (await tenant.person("ann"))["properties"] == {"a": 1, "b": 2, "c": 3}
    assert len(await tenant.events(person_id=ann["id"])) == 6


async def test_persons_are_named_by_number_as_well(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")
    first, second = await numbers(tenant, ann, bob)

    answer = await tenant.api.post(f"/persons/{first}/merge/", json={"ids": [second, str(second)]})

    assert (answer.status_code, answer.json()["id"]) == (201, ann["id"])
    assert answer.json()["distinct_ids"] == ["ann", "bob"]


async def test_the_mirror_of_analysis_follows(tenant: Tenant, events: EventStore) -> None:
    await tenant.capture(seen("ann", plan="free"), seen("bob", plan="pro", b=2))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")

    await merge(tenant, ann, bob)

    await tenant.server.ingested()  # the mirror is notified after the commit that is answered
    statement = """
      SELECT person_id, properties FROM persons FINAL WHERE project_id = {project_id:UInt64}
    """
    [(person, properties)] = await events._reads.fetch(statement, {"project_id": tenant.project_id})
    assert str(person) == ann["id"]
    assert b'"b":2' in (properties if isinstance(properties, bytes) else properties.encode())


@pytest.mark.every_engine
async def test_a_repeated_merge_changes_nothing(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")

    first = await merge(tenant, ann, bob)
    again = await merge(tenant, ann, bob)
    by_old_id = await merge(tenant, bob, ann)

    assert first == again == by_old_id
    assert len(await tenant.events(event="$merge_dangerously")) == 1
    assert len((await tenant.get(f"/persons/{ann['id']}/activity/"))["results"]) == 1


async def test_a_person_named_twice_is_merged_once(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")

    await merge(tenant, ann, bob, bob)

    assert len(await tenant.events(event="$merge_dangerously")) == 1


async def test_chains_of_merges_lead_to_the_last_person(tenant: Tenant) -> None:
    await tenant.capture(*(seen(name, **{name: 1}) for name in ("ann", "bob", "cid")))
    ann, bob, cid = [await tenant.person(name) for name in ("ann", "bob", "cid")]

    await merge(tenant, bob, cid)
    await merge(tenant, ann, cid)

    person = await tenant.get(f"/persons/{cid['id']}/")
    assert person["id"] == ann["id"]
    assert person["distinct_ids"] == ["ann", "bob", "cid"]
    await until_events(tenant, ann, 5)


async def test_the_merge_is_in_the_activity_without_values(tenant: Tenant) -> None:
    await tenant.capture(seen("ann", plan="free"), seen("bob", plan="pro"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")

    await merge(tenant, ann, bob)

    [entry] = (await tenant.get(f"/persons/{bob['id']}/activity/"))["results"]
    assert (entry["activity"], entry["item_id"]) == ("people_merged_into", ann["id"])
    assert entry["user"]["email"] == tenant.owner["email"]
    assert entry["detail"]["changes"] == [
        {
            "type": "Person",
            "action": "changed",
            "field": "merged_persons",
            "before": None,
            "after": [bob["id"]],
        }
    ]


# ── What is refused ──────────────────────────────────────────────────────────────────────


async def refused(tenant: Tenant, into: Json, sent: Json) -> list[tuple[int, Json]]:
    """Return the answers of the merge and of the preview."""
    path = f"/persons/{into['id']}/merge"
    answers = [await tenant.api.post(f"{path}{part}/", json=sent) for part in ("", "/preview")]
    return [(answer.status_code, answer.json()) for answer in answers]


WRONG: dict[str, tuple[Json, Json]] = {
    "nothing": ({}, invalid("required", "This field is required.", "ids")),
    "no list": (
        {"ids": "x"},
        invalid("not_a_list", 'Expected a list of items but got type "str".', "ids"),
    ),
    "no id": ({"ids": []}, invalid("empty", "This list may not be empty.", "ids")),
    "too many": (
        {"ids": [str(uuid4()) for _ in range(PERSONS_MAX + 1)]},
        invalid("max_length", "Ensure this field has no more than 20 elements.", "ids"),
    ),
    "unknown": ({"ids": [str(uuid4())]}, invalid("invalid_input", UNKNOWN, "ids__0")),
    "an unknown number": ({"ids": [987654321]}, invalid("invalid_input", UNKNOWN, "ids__0")),
    "a distinct id": (
        {"ids": ["ann"]},
        invalid(
            "invalid_input",
            "The ID provided does not look like a personID. "
            "If you are using a distinctId, please use /persons?distinct_id=… instead.",
            "ids__0",
        ),
    ),
    "an unknown field": (
        {"ids": [str(uuid4())], "id": 1},
        invalid("invalid_input", 'Unknown field "id". Did you mean "ids"?', "id"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_request_merges_nothing(tenant: Tenant, name: str) -> None:
    sent, expected = WRONG[name]
    await tenant.capture(seen("ann"))
    ann = await tenant.person("ann")

    assert await refused(tenant, ann, sent) == [(400, expected)] * 2
    assert await tenant.person("ann") == ann


async def test_a_person_is_not_merged_with_itself(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")
    expected = invalid("invalid_input", "A person cannot be merged with itself.", "ids__1")
    [number] = await numbers(tenant, ann)

    for itself in (ann["id"], number):
        sent = {"ids": [bob["id"], itself]}
        assert await refused(tenant, ann, sent) == [(400, expected)] * 2
    assert (await tenant.person("bob"))["id"] == bob["id"]


async def test_a_deleted_person_is_unknown(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")
    await tenant.api.delete(f"/persons/{bob['id']}/")

    assert (
        await refused(tenant, ann, body(bob))
        == [(400, invalid("invalid_input", UNKNOWN, "ids__0"))] * 2
    )
    assert await refused(tenant, bob, body(ann)) == [(404, NOT_FOUND)] * 2


async def test_a_person_of_another_project_is_unknown(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    async with open_tenant(tenant.server, tenant.project_id + 9_000_001) as neighbour:
        await neighbour.capture(seen("zoe"))
        zoe, ann = await neighbour.person("zoe"), await tenant.person("ann")

        inside = await refused(tenant, ann, body(zoe))
        outside = await refused(tenant, zoe, body(ann))

        assert inside == [(400, invalid("invalid_input", UNKNOWN, "ids__0"))] * 2
        assert outside == [(404, NOT_FOUND)] * 2
        assert await neighbour.person("zoe") == zoe


async def test_a_person_of_ids_that_stand_for_many_users_is_not_merged(tenant: Tenant) -> None:
    """Rule 2 of merges forbids it."""
    await tenant.capture(seen("ann"), seen("anonymous"))
    ann, nobody = await tenant.person("ann"), await tenant.person("anonymous")
    detail = "This person cannot be merged: clients send each of its distinct ids for many users."

    into = await refused(tenant, ann, body(nobody))
    other = await refused(tenant, nobody, body(ann))

    assert into == [(400, invalid("invalid_input", detail, "ids__0"))] * 2
    assert other == [(400, invalid("invalid_input", detail))] * 2


@pytest.mark.every_engine
async def test_more_distinct_ids_than_one_request_may_move_are_refused(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")
    await add_distinct_ids(tenant, bob, DISTINCT_IDS_MAX)

    [(status, answer), _] = await refused(tenant, ann, body(bob))

    assert (status, answer["attr"]) == (400, "ids")
    assert "10000 distinct ids together (they have 10001)" in answer["detail"]


@pytest.mark.every_engine
async def test_as_many_distinct_ids_as_one_request_may_move_are_moved(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")
    await add_distinct_ids(tenant, bob, DISTINCT_IDS_MAX - 1)

    foreseen = await preview(tenant, ann, bob)
    merged = await merge(tenant, ann, bob)

    assert foreseen["distinct_ids_count"] == len(merged["distinct_ids"]) == DISTINCT_IDS_MAX + 1
    assert foreseen["distinct_ids"] == merged["distinct_ids"][:1_000]


async def add_distinct_ids(tenant: Tenant, person: Json, number: int) -> None:
    [person_id] = await numbers(tenant, person)
    rows = [
        {
            "project_id": tenant.project_id,
            "distinct_id": f"device {index:05}",
            "person_id": person_id,
        }
        for index in range(number)
    ]
    async with tenant.server.records.write() as connection:
        await connection.execute(insert(person_distinct_ids), rows)


async def test_a_project_without_the_property_of_merges_refuses_them(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")
    changed = await tenant.public.patch(
        f"/api/projects/{tenant.project_id}/",
        json={"ingestion": {"removed_properties": ["alias"]}},
        headers={"authorization": f"Bearer {tenant.key}"},
    )
    assert changed.status_code == 200, changed.text

    [(status, answer), _] = await refused(tenant, ann, body(bob))

    assert status == 400
    assert "removes the property alias" in answer["detail"]


# ── At the same time as others ───────────────────────────────────────────────────────────


@pytest.mark.every_engine
async def test_what_was_accepted_before_the_merge_is_ingested_before_it(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")

    async with tenant.server.running.ingestion.turn:  # nothing is ingested meanwhile
        items = [seen("ann", last="ann"), seen("bob", last="bob", only=1)]
        sent = await tenant.public.post("/batch/", json={"api_key": tenant.token, "batch": items})
        assert sent.status_code == 200
        merging = asyncio.create_task(merge(tenant, ann, bob))
        await appended(tenant)
        later = await tenant.public.post(
            "/batch/", json={"api_key": tenant.token, "batch": [seen("bob", last="after")]}
        )
        assert later.status_code == 200
    await tenant.server.ingested()

    merged = await merging
    assert merged["properties"]["only"] == 1
    assert (await tenant.person("ann"))["properties"]["last"] == "after"


async def appended(tenant: Tenant) -> None:
    """Return when the merge is in the log."""

    async def is_there() -> bool:
        last = tenant.server.log.last
        return last is not None and b"$merge_dangerously" in last.body

    await until_soon(is_there, "the merge was not accepted")


@pytest.mark.every_engine
async def test_merges_in_both_directions_at_once_keep_one_person(tenant: Tenant) -> None:
    await tenant.capture(seen("ann", a=1), seen("bob", b=1))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")

    first, second = await asyncio.gather(merge(tenant, ann, bob), merge(tenant, bob, ann))

    person = await tenant.person("ann")
    assert person == await tenant.person("bob")
    assert person["id"] in {ann["id"], bob["id"]}
    assert first["distinct_ids"] == second["distinct_ids"] == ["ann", "bob"]
    assert person["properties"] == {"a": 1, "b": 1}
    assert len(await tenant.events(person_id=person["id"], event="seen")) == 2


@pytest.mark.every_engine
async def test_many_merges_edits_and_events_at_once_lose_nothing(tenant: Tenant) -> None:
    names = [f"p{number}" for number in range(8)]
    await tenant.capture(seen("ann"), *(identified(name, **{name: 1}) for name in names))
    ann, others = await tenant.person("ann"), [await tenant.person(name) for name in names]

    async def edit() -> None:
        for number in range(8):
            values = {"properties": {f"edit{number}": number}}
            answer = await tenant.api.patch(f"/persons/{ann['id']}/", json=values)
            assert answer.status_code == 200, answer.text

    async def capture() -> None:
        for number, name in enumerate(names):
            await tenant.capture(seen(name, **{f"event{number}": number}))

    await asyncio.gather(edit(), capture(), *(merge(tenant, ann, other) for other in others))

    merged = await tenant.person("ann")
    expected = {*names, *(f"{kind}{n}" for kind in ("edit", "event") for n in range(8))}
    assert merged["properties"].keys() == expected
    assert merged["distinct_ids"] == sorted(["ann", *names, *(f"{name}-anon" for name in names)])
    await until_events(tenant, ann, 1 + 8 + 8 + 8)


@pytest.mark.parametrize("with_events", [True, False])
async def test_a_deletion_between_reading_and_accepting_wins(
    tenant: Tenant, with_events: bool
) -> None:
    await tenant.capture(seen("ann", a=1), seen("bob", b=1))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")
    author = await author_of(tenant)
    uuids = UUID(ann["id"]), [UUID(bob["id"])]
    async with tenant.server.records.read() as connection:
        request = await connection.run_sync(read_request, tenant.project_id, *uuids)

    tenant.server.clock.move(seconds=1)
    query = {"delete_events": str(with_events).lower()}
    answer = await tenant.api.delete(f"/persons/{bob['id']}/", params=query)
    assert answer.status_code in {202, 204}, answer.text
    await tenant.server.log.append(envelope_of(author, request, [uuid4()]))
    await tenant.server.ingested()

    assert (await tenant.person("ann"))["distinct_ids"] == ["ann"]
    assert (await tenant.get("/persons/", distinct_id="bob"))["results"] == []


class FullLog:
    """A log that accepts nothing."""

    def append(self, _: Envelope) -> Awaitable[int]:
        raise LogFull

    def append_for(self, *_: object) -> None:
        raise LogFull


def service(tenant: Tenant, **fields: Any) -> PersonMerges:
    async def is_ingested(_: int) -> bool:
        await tenant.server.ingested()
        return True

    events = cast(EventStore, tenant.server.events)
    given = {"log": tenant.server.log, "is_ingested": is_ingested, "wait_s": SOON_S, **fields}
    return PersonMerges(tenant.server.records, events, **given)


async def test_a_deletion_before_the_answer_is_told(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")

    async def deleted(_: int) -> bool:
        await tenant.server.ingested()
        await tenant.api.delete(f"/persons/{ann['id']}/")
        return True

    with pytest.raises(NotMerged):
        await service(tenant, is_ingested=deleted).merge(
            await author_of(tenant), (), UUID(ann["id"]), [UUID(bob["id"])]
        )


async def test_a_full_log_is_told_and_leaves_no_activity(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")

    with pytest.raises(Unavailable) as refused:
        await service(tenant, log=FullLog()).merge(
            await author_of(tenant), (), UUID(ann["id"]), [UUID(bob["id"])]
        )

    assert refused.value.code == "log_full"
    assert (await tenant.get("/persons/activity/"))["results"] == []
    assert (await tenant.person("bob"))["id"] == bob["id"]


async def test_a_merge_that_waits_for_earlier_events_is_accepted(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")

    async def never(_: int) -> bool:
        return False

    waiting = service(tenant, is_ingested=never, wait_s=0.05)
    done = await waiting.merge(await author_of(tenant), (), UUID(ann["id"]), [UUID(bob["id"])])
    await tenant.server.ingested()

    assert not done
    assert (await tenant.person("bob"))["id"] == ann["id"]


# ── The preview ──────────────────────────────────────────────────────────────────────────


@pytest.mark.every_engine
async def test_the_preview_tells_what_the_merge_then_does(tenant: Tenant) -> None:
    await tenant.capture(
        seen("ann", plan="free", same=1, a=1),
        identified("bob", plan="pro", same=1, b=2),
        seen("cid", plan=None, b=3),
        seen("cid"),
    )
    ann, bob, cid = [await tenant.person(name) for name in ("ann", "bob", "cid")]

    foreseen = await preview(tenant, ann, bob, cid)
    unchanged = [await tenant.person(name) for name in ("ann", "bob", "cid")]
    merged = await merge(tenant, ann, bob, cid)

    assert unchanged == [ann, bob, cid]
    for name in ("id", "name", "is_identified", "created_at", "distinct_ids"):
        assert foreseen[name] == merged[name]
    values = {prop["name"]: prop["remaining"]["value"] for prop in foreseen["properties"]}
    assert values == merged["properties"]
    assert foreseen["events"] == 4
    assert [
        (person["id"], person["events"], person["distinct_ids_count"])
        for person in foreseen["persons"]
    ] == [
        (ann["id"], 1, 1),
        (bob["id"], 1, 2),
        (cid["id"], 2, 1),
    ]
    lost = {
        prop["name"]: [(value["person"], value["value"]) for value in prop["lost"]]
        for prop in foreseen["properties"]
    }
    assert lost == {
        "b": [(cid["id"], 3)],
        "plan": [(bob["id"], "pro"), (cid["id"], None)],
        "a": [],
        "same": [],
    }
    assert {reason["code"] for reason in foreseen["irreversible"]} == {
        "persons_joined",
        "property_values_lost",
        "person_identified",
    }


async def test_the_preview_writes_nothing(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")

    await preview(tenant, ann, bob)

    assert await tenant.events(event="$merge_dangerously") == []
    assert (await tenant.get("/persons/activity/"))["results"] == []


async def test_persons_that_were_merged_before_are_not_foreseen_again(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")
    await merge(tenant, ann, bob)
    await tenant.server.ingested()  # the mirror is notified after the commit that is answered

    foreseen = await preview(tenant, ann, bob)

    assert [person["id"] for person in foreseen["persons"]] == [ann["id"]]
    assert foreseen["events"] == 3
    assert foreseen["irreversible"] == []


@pytest.mark.every_engine
async def test_cohorts_and_flag_identities_are_foreseen_and_moved(tenant: Tenant) -> None:
    await tenant.capture(seen("ann"), seen("bob"), seen("cid"))
    people = ann, bob, cid = [await tenant.person(name) for name in ("ann", "bob", "cid")]
    both, new = [await static_cohort(tenant, *some) for some in ((ann, bob), (cid,))]
    first, second, third = await numbers(tenant, *people)
    await remember(tenant, first, kept="ann")
    await remember(tenant, second, kept="bob-1", moved="bob-2")
    await remember(tenant, third, kept="ann", moved="cid-1", last="cid-2")

    foreseen = await preview(tenant, ann, bob, cid)
    await merge(tenant, ann, bob, cid)

    assert [
        (cohort_body["id"], cohort_body["is_static"], cohort_body["is_new"])
        for cohort_body in foreseen["cohorts"]
    ] == [
        (both, True, False),
        (new, True, True),
    ]
    for cohort in (both, new):
        members = (await tenant.get(f"/cohorts/{cohort}/persons/"))["results"]
        assert [member["id"] for member in members] == [ann["id"]]
    identities = {
        identity["flag_key"]: (identity["hash_key"], identity["lost"])
        for identity in foreseen["flag_identities"]
    }
    assert identities == {
        "kept": ("ann", ["bob-1"]),
        "moved": ("bob-2", ["cid-1"]),
        "last": ("cid-2", []),
    }
    stored = select(flag_continuity.c.flag_key, flag_continuity.c.hash_key).where(
        flag_continuity.c.person_id == first
    )
    rows = await tenant.server.records.fetch(stored)
    assert {row.flag_key: row.hash_key for row in rows} == {
        key: hash_key for key, (hash_key, _) in identities.items()
    }
    assert {reason["code"] for reason in foreseen["irreversible"]} >= {"flag_identities_lost"}


async def static_cohort(tenant: Tenant, *members: Json) -> int:
    answer = await tenant.api.post("/cohorts/", json={"name": "c", "is_static": True})
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["id"]
    added = await tenant.api.patch(
        f"/cohorts/{number}/add_persons_to_static_cohort/",
        json={"person_ids": [member["id"] for member in members]},
    )
    assert added.status_code == 200, added.text
    return number


async def remember(tenant: Tenant, person_id: int, **identities: str) -> None:
    rows = [
        {
            "project_id": tenant.project_id,
            "person_id": person_id,
            "flag_key": key,
            "hash_key": hash_key,
        }
        for key, hash_key in identities.items()
    ]
    async with tenant.server.records.write() as connection:
        await connection.execute(insert(flag_continuity), rows)


async def test_large_values_are_left_out_of_the_preview(tenant: Tenant) -> None:
    large = {f"p{number}": "x" * 1_900 for number in range(150)}
    await tenant.capture(seen("ann", **large, big="y" * 3_000), seen("bob", big="z" * 3_000))
    ann, bob = await tenant.person("ann"), await tenant.person("bob")

    foreseen = await preview(tenant, ann, bob)

    first, *rest = foreseen["properties"]
    assert first["name"] == "big"
    assert [first["remaining"][name] for name in ("value", "is_cut")] == [None, True]
    assert [lost_value["is_cut"] for lost_value in first["lost"]] == [True]
    shown = [prop["remaining"]["is_cut"] for prop in rest]
    assert foreseen["properties_count"] == len(foreseen["properties"]) == 151
    assert shown.count(False) == 256 * 1024 // 1_902
