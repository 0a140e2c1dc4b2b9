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
from fanion.persons.merge_request_store import DISTINCT_IDS_MAX, PERSONS_MAX, read_request
from fanion.persons.merge_service import NotMerged, PersonMerges, envelope_of
from tests.support.application import Home, Json, error, open_home
from tests.support.awaited import until_soon
from tests.support.management import invalid

NOT_FOUND = error("invalid_request", "not_found", "Not found.")
UNKNOWN = "This project has no person with this id."


def seen(distinct_id: str, /, **values: Any) -> Json:
    return {"event": "seen", "distinct_id": distinct_id, "properties": {"$set": values}}


def identified(distinct_id: str, /, **values: Any) -> Json:
    properties = {"$anon_distinct_id": f"{distinct_id}-anon", "$set": values}
    return {"event": "$identify", "distinct_id": distinct_id, "properties": properties}


async def merge(home: Home, into: Json, *others: Json) -> Json:
    answer = await home.api.post(f"/persons/{into['id']}/merge/", json=body(*others))
    assert answer.status_code == 201, answer.text
    merged: Json = answer.json()
    return merged


async def preview(home: Home, into: Json, *others: Json) -> Json:
    answer = await home.api.post(f"/persons/{into['id']}/merge/preview/", json=body(*others))
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def body(*others: Json) -> Json:
    return {"ids": [other["id"] for other in others]}


async def numbers(home: Home, *people: Json) -> list[int]:
    """Return the ids of persons in the records store."""
    ids = {}
    for person in people:
        statement = select(persons.c.id).where(persons.c.uuid == UUID(person["id"]))
        [(ids[person["id"]],)] = await home.site.records.fetch(statement)
    return list(ids.values())


async def author_of(home: Home) -> Author:
    project = await home.site.running.public.flags.projects.by_id(home.project_id)
    assert project is not None
    return Author(
        project_id=project.id,
        organization_id=project.organization_id,
        user_id=home.user_id,
        now=home.site.clock.now(),
    )


# ── What becomes of the persons ──────────────────────────────────────────────────────────


@pytest.mark.every_engine
async def test_identified_persons_become_one(home: Home) -> None:
    await home.capture(
        identified("ann", plan="free", a=1), identified("bob", plan="pro", b=2), seen("cid", b=3)
    )
    ann, bob, cid = [await home.person(name) for name in ("ann", "bob", "cid")]

    merged = await merge(home, ann, bob, cid)

    assert merged == await home.person("cid") == await home.person("bob-anon")
    assert merged["id"] == ann["id"]
    assert merged["distinct_ids"] == ["ann", "ann-anon", "bob", "bob-anon", "cid"]
    assert merged["properties"] == {"plan": "free", "a": 1, "b": 2}
    assert merged["is_identified"]
    assert [(await home.get(f"/persons/{person['id']}/"))["id"] for person in (bob, cid)] == [
        ann["id"]
    ] * 2
    names = {event["distinct_id"] for event in await home.events(person_id=ann["id"])}
    assert names == {"ann", "bob", "cid"}


@pytest.mark.every_engine
async def test_later_events_of_all_ids_change_the_one_person(home: Home) -> None:
    await home.capture(identified("ann"), identified("bob"))
    ann = await home.person("ann")
    await merge(home, ann, await home.person("bob"))

    await home.capture(seen("ann", a=1), seen("bob", b=2), seen("bob-anon", c=3))

    assert (await home.person("ann"))["properties"] == {"a": 1, "b": 2, "c": 3}
    assert len(await home.events(person_id=ann["id"])) == 6


async def test_persons_are_named_by_number_as_well(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    ann, bob = await home.person("ann"), await home.person("bob")
    first, second = await numbers(home, ann, bob)

    answer = await home.api.post(f"/persons/{first}/merge/", json={"ids": [second, str(second)]})

    assert (answer.status_code, answer.json()["id"]) == (201, ann["id"])
    assert answer.json()["distinct_ids"] == ["ann", "bob"]


async def test_the_mirror_of_analysis_follows(home: Home, events: EventStore) -> None:
    await home.capture(seen("ann", plan="free"), seen("bob", plan="pro", b=2))
    ann, bob = await home.person("ann"), await home.person("bob")

    await merge(home, ann, bob)

    await home.site.ingested()  # the mirror is notified after the commit that is answered
    statement = """
      SELECT person_id, properties FROM persons FINAL WHERE project_id = {project_id:UInt64}
    """
    [(person, properties)] = await events._read(statement, {"project_id": home.project_id})
    assert str(person) == ann["id"]
    assert b'"b":2' in (properties if isinstance(properties, bytes) else properties.encode())


@pytest.mark.every_engine
async def test_a_repeated_merge_changes_nothing(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    ann, bob = await home.person("ann"), await home.person("bob")

    first = await merge(home, ann, bob)
    again = await merge(home, ann, bob)
    by_old_id = await merge(home, bob, ann)

    assert first == again == by_old_id
    assert len(await home.events(event="$merge_dangerously")) == 1
    assert len((await home.get(f"/persons/{ann['id']}/activity/"))["results"]) == 1


async def test_a_person_named_twice_is_merged_once(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    ann, bob = await home.person("ann"), await home.person("bob")

    await merge(home, ann, bob, bob)

    assert len(await home.events(event="$merge_dangerously")) == 1


async def test_chains_of_merges_lead_to_the_last_person(home: Home) -> None:
    await home.capture(*(seen(name, **{name: 1}) for name in ("ann", "bob", "cid")))
    ann, bob, cid = [await home.person(name) for name in ("ann", "bob", "cid")]

    await merge(home, bob, cid)
    await merge(home, ann, cid)

    person = await home.get(f"/persons/{cid['id']}/")
    assert person["id"] == ann["id"]
    assert person["distinct_ids"] == ["ann", "bob", "cid"]
    assert len(await home.events(person_id=ann["id"])) == 5


async def test_the_merge_is_in_the_activity_without_values(home: Home) -> None:
    await home.capture(seen("ann", plan="free"), seen("bob", plan="pro"))
    ann, bob = await home.person("ann"), await home.person("bob")

    await merge(home, ann, bob)

    [entry] = (await home.get(f"/persons/{bob['id']}/activity/"))["results"]
    assert (entry["activity"], entry["item_id"]) == ("people_merged_into", ann["id"])
    assert entry["user"]["email"] == home.owner["email"]
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


async def refused(home: Home, into: Json, sent: Json) -> list[tuple[int, Json]]:
    """Return the answers of the merge and of the preview."""
    path = f"/persons/{into['id']}/merge"
    answers = [await home.api.post(f"{path}{part}/", json=sent) for part in ("", "/preview")]
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
async def test_a_wrong_request_merges_nothing(home: Home, name: str) -> None:
    sent, expected = WRONG[name]
    await home.capture(seen("ann"))
    ann = await home.person("ann")

    assert await refused(home, ann, sent) == [(400, expected)] * 2
    assert await home.person("ann") == ann


async def test_a_person_is_not_merged_with_itself(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    ann, bob = await home.person("ann"), await home.person("bob")
    expected = invalid("invalid_input", "A person cannot be merged with itself.", "ids__1")
    [number] = await numbers(home, ann)

    for itself in (ann["id"], number):
        sent = {"ids": [bob["id"], itself]}
        assert await refused(home, ann, sent) == [(400, expected)] * 2
    assert (await home.person("bob"))["id"] == bob["id"]


async def test_a_deleted_person_is_unknown(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    ann, bob = await home.person("ann"), await home.person("bob")
    await home.api.delete(f"/persons/{bob['id']}/")

    assert (
        await refused(home, ann, body(bob))
        == [(400, invalid("invalid_input", UNKNOWN, "ids__0"))] * 2
    )
    assert await refused(home, bob, body(ann)) == [(404, NOT_FOUND)] * 2


async def test_a_person_of_another_project_is_unknown(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    async with open_home(home.site, home.project_id + 9_000_001) as neighbour:
        await neighbour.capture(seen("zoe"))
        zoe, ann = await neighbour.person("zoe"), await home.person("ann")

        inside = await refused(home, ann, body(zoe))
        outside = await refused(home, zoe, body(ann))

        assert inside == [(400, invalid("invalid_input", UNKNOWN, "ids__0"))] * 2
        assert outside == [(404, NOT_FOUND)] * 2
        assert await neighbour.person("zoe") == zoe


async def test_a_person_of_ids_that_stand_for_many_users_is_not_merged(home: Home) -> None:
    """Rule 2 of merges forbids it."""
    await home.capture(seen("ann"), seen("anonymous"))
    ann, nobody = await home.person("ann"), await home.person("anonymous")
    detail = "This person cannot be merged: clients send each of its distinct ids for many users."

    into = await refused(home, ann, body(nobody))
    other = await refused(home, nobody, body(ann))

    assert into == [(400, invalid("invalid_input", detail, "ids__0"))] * 2
    assert other == [(400, invalid("invalid_input", detail))] * 2


@pytest.mark.every_engine
async def test_more_distinct_ids_than_one_request_may_move_are_refused(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    ann, bob = await home.person("ann"), await home.person("bob")
    await add_distinct_ids(home, bob, DISTINCT_IDS_MAX)

    [(status, answer), _] = await refused(home, ann, body(bob))

    assert (status, answer["attr"]) == (400, "ids")
    assert "10000 distinct ids together (they have 10001)" in answer["detail"]


@pytest.mark.every_engine
async def test_as_many_distinct_ids_as_one_request_may_move_are_moved(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    ann, bob = await home.person("ann"), await home.person("bob")
    await add_distinct_ids(home, bob, DISTINCT_IDS_MAX - 1)

    foreseen = await preview(home, ann, bob)
    merged = await merge(home, ann, bob)

    assert foreseen["distinct_ids_count"] == len(merged["distinct_ids"]) == DISTINCT_IDS_MAX + 1
    assert foreseen["distinct_ids"] == merged["distinct_ids"][:1_000]


async def add_distinct_ids(home: Home, person: Json, number: int) -> None:
    [person_id] = await numbers(home, person)
    rows = [
        {
            "project_id": home.project_id,
            "distinct_id": f"device {index:05}",
            "person_id": person_id,
        }
        for index in range(number)
    ]
    async with home.site.records.write() as connection:
        await connection.execute(insert(person_distinct_ids), rows)


async def test_a_project_without_the_property_of_merges_refuses_them(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    ann, bob = await home.person("ann"), await home.person("bob")
    changed = await home.public.patch(
        f"/api/projects/{home.project_id}/",
        json={"ingestion": {"removed_properties": ["alias"]}},
        headers={"authorization": f"Bearer {home.key}"},
    )
    assert changed.status_code == 200, changed.text

    [(status, answer), _] = await refused(home, ann, body(bob))

    assert status == 400
    assert "removes the property alias" in answer["detail"]


# ── At the same time as others ───────────────────────────────────────────────────────────


@pytest.mark.every_engine
async def test_what_was_accepted_before_the_merge_is_ingested_before_it(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    ann, bob = await home.person("ann"), await home.person("bob")

    async with home.site.running.ingestion.turn:  # nothing is ingested meanwhile
        items = [seen("ann", last="ann"), seen("bob", last="bob", only=1)]
        sent = await home.public.post("/batch/", json={"api_key": home.token, "batch": items})
        assert sent.status_code == 200
        merging = asyncio.create_task(merge(home, ann, bob))
        await appended(home)
        later = await home.public.post(
            "/batch/", json={"api_key": home.token, "batch": [seen("bob", last="after")]}
        )
        assert later.status_code == 200
    await home.site.ingested()

    merged = await merging
    assert merged["properties"]["only"] == 1
    assert (await home.person("ann"))["properties"]["last"] == "after"


async def appended(home: Home) -> None:
    """Return when the merge is in the log."""

    async def is_there() -> bool:
        last = home.site.log.last
        return last is not None and b"$merge_dangerously" in last.body

    await until_soon(is_there, "the merge was not accepted")


@pytest.mark.every_engine
async def test_merges_in_both_directions_at_once_keep_one_person(home: Home) -> None:
    await home.capture(seen("ann", a=1), seen("bob", b=1))
    ann, bob = await home.person("ann"), await home.person("bob")

    first, second = await asyncio.gather(merge(home, ann, bob), merge(home, bob, ann))

    person = await home.person("ann")
    assert person == await home.person("bob")
    assert person["id"] in {ann["id"], bob["id"]}
    assert first["distinct_ids"] == second["distinct_ids"] == ["ann", "bob"]
    assert person["properties"] == {"a": 1, "b": 1}
    assert len(await home.events(person_id=person["id"], event="seen")) == 2


@pytest.mark.every_engine
async def test_many_merges_edits_and_events_at_once_lose_nothing(home: Home) -> None:
    names = [f"p{number}" for number in range(8)]
    await home.capture(seen("ann"), *(identified(name, **{name: 1}) for name in names))
    ann, others = await home.person("ann"), [await home.person(name) for name in names]

    async def edit() -> None:
        for number in range(8):
            values = {"properties": {f"edit{number}": number}}
            answer = await home.api.patch(f"/persons/{ann['id']}/", json=values)
            assert answer.status_code == 200, answer.text

    async def capture() -> None:
        for number, name in enumerate(names):
            await home.capture(seen(name, **{f"event{number}": number}))

    await asyncio.gather(edit(), capture(), *(merge(home, ann, other) for other in others))

    merged = await home.person("ann")
    expected = {*names, *(f"{kind}{n}" for kind in ("edit", "event") for n in range(8))}
    assert merged["properties"].keys() == expected
    assert merged["distinct_ids"] == sorted(["ann", *names, *(f"{name}-anon" for name in names)])
    assert len(await home.events(person_id=ann["id"])) == 1 + 8 + 8 + 8


@pytest.mark.parametrize("with_events", [True, False])
async def test_a_deletion_between_reading_and_accepting_wins(home: Home, with_events: bool) -> None:
    await home.capture(seen("ann", a=1), seen("bob", b=1))
    ann, bob = await home.person("ann"), await home.person("bob")
    author = await author_of(home)
    uuids = UUID(ann["id"]), [UUID(bob["id"])]
    async with home.site.records.read() as connection:
        request = await connection.run_sync(read_request, home.project_id, *uuids)

    home.site.clock.move(seconds=1)
    query = {"delete_events": str(with_events).lower()}
    answer = await home.api.delete(f"/persons/{bob['id']}/", params=query)
    assert answer.status_code in {202, 204}, answer.text
    await home.site.log.append(envelope_of(author, request))
    await home.site.ingested()

    assert (await home.person("ann"))["distinct_ids"] == ["ann"]
    assert (await home.get("/persons/", distinct_id="bob"))["results"] == []


class FullLog:
    """A log that accepts nothing."""

    def append(self, _: Envelope) -> Awaitable[int]:
        raise LogFull

    def append_for(self, *_: object) -> None:
        raise LogFull


def service(home: Home, **fields: Any) -> PersonMerges:
    async def is_ingested(_: int) -> bool:
        await home.site.ingested()
        return True

    events = cast(EventStore, home.site.events)
    given = {"log": home.site.log, "is_ingested": is_ingested, **fields}
    return PersonMerges(home.site.records, events, **given)


async def test_a_deletion_before_the_answer_is_told(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    ann, bob = await home.person("ann"), await home.person("bob")

    async def deleted(_: int) -> bool:
        await home.site.ingested()
        await home.api.delete(f"/persons/{ann['id']}/")
        return True

    with pytest.raises(NotMerged):
        await service(home, is_ingested=deleted).merge(
            await author_of(home), (), UUID(ann["id"]), [UUID(bob["id"])]
        )


async def test_a_full_log_is_told_and_leaves_no_activity(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    ann, bob = await home.person("ann"), await home.person("bob")

    with pytest.raises(Unavailable) as refused:
        await service(home, log=FullLog()).merge(
            await author_of(home), (), UUID(ann["id"]), [UUID(bob["id"])]
        )

    assert refused.value.code == "log_full"
    assert (await home.get("/persons/activity/"))["results"] == []
    assert (await home.person("bob"))["id"] == bob["id"]


async def test_a_merge_that_waits_for_earlier_events_is_accepted(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    ann, bob = await home.person("ann"), await home.person("bob")

    async def never(_: int) -> bool:
        return False

    waiting = service(home, is_ingested=never, wait_s=0.05)
    done = await waiting.merge(await author_of(home), (), UUID(ann["id"]), [UUID(bob["id"])])
    await home.site.ingested()

    assert not done
    assert (await home.person("bob"))["id"] == ann["id"]


# ── The preview ──────────────────────────────────────────────────────────────────────────


@pytest.mark.every_engine
async def test_the_preview_tells_what_the_merge_then_does(home: Home) -> None:
    await home.capture(
        seen("ann", plan="free", same=1, a=1),
        identified("bob", plan="pro", same=1, b=2),
        seen("cid", plan=None, b=3),
        seen("cid"),
    )
    ann, bob, cid = [await home.person(name) for name in ("ann", "bob", "cid")]

    foreseen = await preview(home, ann, bob, cid)
    unchanged = [await home.person(name) for name in ("ann", "bob", "cid")]
    merged = await merge(home, ann, bob, cid)

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


async def test_the_preview_writes_nothing(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    ann, bob = await home.person("ann"), await home.person("bob")

    await preview(home, ann, bob)

    assert await home.events(event="$merge_dangerously") == []
    assert (await home.get("/persons/activity/"))["results"] == []


async def test_persons_that_were_merged_before_are_not_foreseen_again(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"))
    ann, bob = await home.person("ann"), await home.person("bob")
    await merge(home, ann, bob)

    foreseen = await preview(home, ann, bob)

    assert [person["id"] for person in foreseen["persons"]] == [ann["id"]]
    assert foreseen["events"] == 3
    assert foreseen["irreversible"] == []


@pytest.mark.every_engine
async def test_cohorts_and_flag_identities_are_foreseen_and_moved(home: Home) -> None:
    await home.capture(seen("ann"), seen("bob"), seen("cid"))
    people = ann, bob, cid = [await home.person(name) for name in ("ann", "bob", "cid")]
    both, new = [await static_cohort(home, *some) for some in ((ann, bob), (cid,))]
    first, second, third = await numbers(home, *people)
    await remember(home, first, kept="ann")
    await remember(home, second, kept="bob-1", moved="bob-2")
    await remember(home, third, kept="ann", moved="cid-1", last="cid-2")

    foreseen = await preview(home, ann, bob, cid)
    await merge(home, ann, bob, cid)

    assert [
        (cohort_body["id"], cohort_body["is_static"], cohort_body["is_new"])
        for cohort_body in foreseen["cohorts"]
    ] == [
        (both, True, False),
        (new, True, True),
    ]
    for cohort in (both, new):
        members = (await home.get(f"/cohorts/{cohort}/persons/"))["results"]
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
    rows = await home.site.records.fetch(stored)
    assert {row.flag_key: row.hash_key for row in rows} == {
        key: hash_key for key, (hash_key, _) in identities.items()
    }
    assert {reason["code"] for reason in foreseen["irreversible"]} >= {"flag_identities_lost"}


async def static_cohort(home: Home, *members: Json) -> int:
    answer = await home.api.post("/cohorts/", json={"name": "c", "is_static": True})
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["id"]
    added = await home.api.patch(
        f"/cohorts/{number}/add_persons_to_static_cohort/",
        json={"person_ids": [member["id"] for member in members]},
    )
    assert added.status_code == 200, added.text
    return number


async def remember(home: Home, person_id: int, **identities: str) -> None:
    rows = [
        {
            "project_id": home.project_id,
            "person_id": person_id,
            "flag_key": key,
            "hash_key": hash_key,
        }
        for key, hash_key in identities.items()
    ]
    async with home.site.records.write() as connection:
        await connection.execute(insert(flag_continuity), rows)


async def test_large_values_are_left_out_of_the_preview(home: Home) -> None:
    large = {f"p{number}": "x" * 1_900 for number in range(150)}
    await home.capture(seen("ann", **large, big="y" * 3_000), seen("bob", big="z" * 3_000))
    ann, bob = await home.person("ann"), await home.person("bob")

    foreseen = await preview(home, ann, bob)

    first, *rest = foreseen["properties"]
    assert first["name"] == "big"
    assert [first["remaining"][name] for name in ("value", "is_cut")] == [None, True]
    assert [lost_value["is_cut"] for lost_value in first["lost"]] == [True]
    shown = [prop["remaining"]["is_cut"] for prop in rest]
    assert foreseen["properties_count"] == len(foreseen["properties"]) == 151
    assert shown.count(False) == 256 * 1024 // 1_902
