"""Adding single persons to a static cohort, and removing them."""

from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from fanion.cohorts.calculation.lease_store import CohortLeaseStore
from fanion.cohorts.import_store import by_person_id
from fanion.cohorts.member_management_store import NAMED_MAX, PERSONS_MAX
from tests.support.application import Home, Json, error
from tests.support.cohorts import (
    all_of,
    create,
    flag_on,
    members,
    person,
    person_is,
    retrieve,
    three_persons,
    upload,
)

pytestmark = pytest.mark.every_engine

UNKNOWN = str(UUID(int=7))
BUSY = "Members of this cohort are being imported. Please retry."


async def uuid_of(home: Home, distinct_id: str) -> str:
    return str((await home.person(distinct_id))["uuid"])


async def add(home: Home, cohort: Json, *persons: str) -> httpx.Response:
    path = f"/cohorts/{cohort['id']}/add_persons_to_static_cohort/"
    return await home.api.patch(path, json={"person_ids": persons})


async def remove(home: Home, cohort: Json, who: str) -> httpx.Response:
    path = f"/cohorts/{cohort['id']}/remove_person_from_static_cohort/"
    return await home.api.patch(path, json={"person_id": who})


async def test_persons_are_added_and_removed_at_once(home: Home) -> None:
    await three_persons(home)
    ann, bob, cid = [await uuid_of(home, name) for name in ("ann", "bob", "cid")]
    cohort = await create(home, is_static=True, name="picked")

    added = await add(home, cohort, ann, bob, ann)
    first = await members(home, cohort)
    await add(home, cohort, bob, cid)
    counted = await retrieve(home, cohort)
    removed = await remove(home, cohort, bob)
    again = await remove(home, cohort, bob)

    assert (added.status_code, added.json()) == (200, {"success": True})
    assert (first, counted["count"]) == (["ann", "bob"], 3)
    assert counted["last_calculation"] == "2024-03-01T12:00:00Z"
    assert (removed.status_code, removed.json()) == (200, {"success": True})
    assert (again.status_code, again.json()) == (
        404,
        error("invalid_request", "not_found", "Person is not in this cohort."),
    )
    assert await members(home, cohort) == ["ann", "cid"]
    assert (await retrieve(home, cohort))["count"] == 2


async def test_a_removed_person_can_be_added_again(home: Home) -> None:
    await three_persons(home)
    ann = await uuid_of(home, "ann")
    cohort = await upload(home, "ann\nbob\n")
    await home.site.calculated()

    await remove(home, cohort, ann)
    without = await members(home, cohort)
    await add(home, cohort, ann)
    with_ann = await members(home, cohort)
    await remove(home, cohort, ann)
    await upload(home, "ann\n", cohort)
    await home.site.calculated()

    assert (without, with_ann) == (["bob"], ["ann", "bob"])
    assert await members(home, cohort) == ["ann", "bob"]
    assert (await retrieve(home, cohort))["count"] == 2


async def test_a_pending_import_adds_to_members_changed_meanwhile(home: Home) -> None:
    await three_persons(home)
    ann, cid = [await uuid_of(home, name) for name in ("ann", "cid")]
    cohort = await upload(home, "ann\nbob\n")

    await add(home, cohort, ann, cid)
    await remove(home, cohort, cid)
    waiting = await retrieve(home, cohort)
    await home.site.calculated()

    assert (waiting["count"], waiting["is_calculating"]) == (1, True)
    assert await members(home, cohort) == ["ann", "bob"]
    done = await retrieve(home, cohort)
    assert (done["count"], done["is_calculating"]) == (2, False)


async def test_unknown_persons_are_listed_and_the_others_added(home: Home) -> None:
    await three_persons(home)
    ann = await uuid_of(home, "ann")
    cohort = await create(home, is_static=True)

    some = await add(home, cohort, UNKNOWN, ann)
    none = await add(home, cohort, UNKNOWN)

    assert (some.status_code, some.json()) == (200, {"success": True, "unmatched": [UNKNOWN]})
    assert (none.status_code, none.json()) == (
        400,
        error("validation_error", "invalid_input", "No valid users to add to cohort", "person_ids"),
    )
    assert await members(home, cohort) == ["ann"]


async def test_merged_persons_stand_for_the_survivors(home: Home) -> None:
    await three_persons(home)
    ann = await uuid_of(home, "ann")
    merge = {"event": "$merge_dangerously", "distinct_id": "bob", "properties": {"alias": "ann"}}
    await home.capture(merge)
    cohort = await create(home, is_static=True)

    await add(home, cohort, ann)
    count = (await retrieve(home, cohort))["count"]
    gone = await remove(home, cohort, ann)

    assert count == 1
    assert gone.status_code == 200
    assert await members(home, cohort) == []


async def test_flags_use_the_current_members(home: Home) -> None:
    await three_persons(home)
    ann = await uuid_of(home, "ann")
    cohort = await create(home, is_static=True)
    key = await flag_on(home, cohort)

    await add(home, cohort, ann)
    inside = (await home.decide("ann"))["featureFlags"][key]
    await remove(home, cohort, ann)
    outside = (await home.decide("ann"))["featureFlags"][key]

    assert (inside, outside) == (True, False)


async def test_persons_can_only_be_added_to_static_cohorts(home: Home) -> None:
    await three_persons(home)
    ann = await uuid_of(home, "ann")
    cohort = await create(home, filters=all_of(person_is("plan", "pro")))

    for answer, word in (
        (await add(home, cohort, ann), "add"),
        (await remove(home, cohort, ann), ""),
    ):
        verb, preposition = ("add", "to") if word else ("remove", "from")
        assert answer.status_code == 400
        assert answer.json() == error(
            "validation_error",
            "invalid_input",
            f"Can only {verb} users {preposition} static cohorts",
        )


async def test_changes_of_members_are_refused_during_an_import(home: Home) -> None:
    await home.site.calculated()
    await three_persons(home)
    ann = await uuid_of(home, "ann")
    cohort = await upload(home, "bob\n")
    now = home.site.clock.now()
    claim = await CohortLeaseStore(home.site.records, lease_s=60).claim_cohort(
        now, "another server"
    )

    busy = [await add(home, cohort, ann), await remove(home, cohort, ann)]
    home.site.clock.move(seconds=61)
    free = await add(home, cohort, ann)
    await home.site.calculated()

    assert claim is not None
    for answer in busy:
        assert answer.status_code == 503
        assert answer.json() == error("server_error", "unavailable", BUSY)
    assert free.status_code == 200
    assert await members(home, cohort) == ["ann", "bob"]


async def test_rows_of_a_failed_import_stay_invisible(home: Home) -> None:
    await home.site.calculated()
    await three_persons(home)
    ann, bob = [await uuid_of(home, name) for name in ("ann", "bob")]
    cohort = await upload(home, "cid\n")
    now, work = home.site.clock.now(), CohortLeaseStore(home.site.records, lease_s=60)
    claim = await work.claim_cohort(now, "broken")
    assert claim is not None
    await work.add_members(claim, by_person_id(claim.project_id, [UUID(bob)]), now)
    await work.release_lease(claim)

    await add(home, cohort, ann)

    assert await members(home, cohort) == ["ann"]
    assert (await retrieve(home, cohort))["count"] == 1


@pytest.mark.parametrize(
    ("sent", "code", "detail", "attr"),
    [
        ({}, "required", "This field is required.", "person_ids"),
        ({"person_ids": []}, "invalid_input", "person_ids cannot be empty", "person_ids"),
        ({"person_ids": ["x"]}, "invalid_input", "Must be a valid UUID.", "person_ids__0"),
        (
            {"person_ids": [UNKNOWN], "persons": []},
            "invalid_input",
            'Unknown field "persons". Did you mean "person_ids"?',
            "persons",
        ),
        (
            {"person_ids": [str(UUID(int=n)) for n in range(PERSONS_MAX + 1)]},
            "invalid_input",
            "List size exceeds limit: 1001 persons, at most 1000.",
            "person_ids",
        ),
    ],
)
async def test_a_malformed_list_of_persons_is_refused(
    home: Home, sent: Json, code: str, detail: str, attr: str
) -> None:
    cohort = await create(home, is_static=True)

    answer = await home.api.patch(
        f"/cohorts/{cohort['id']}/add_persons_to_static_cohort/", json=sent
    )

    assert answer.status_code == 400
    assert answer.json() == error("validation_error", code, detail, attr)


@pytest.mark.parametrize(
    ("sent", "attr"), [({}, "person_id"), ({"person_id": 5}, "person_id"), ({"id": "x"}, "id")]
)
async def test_a_malformed_person_id_is_refused(home: Home, sent: Any, attr: str) -> None:
    cohort = await create(home, is_static=True)

    answer = await home.api.patch(
        f"/cohorts/{cohort['id']}/remove_person_from_static_cohort/", json=sent
    )

    assert (answer.status_code, answer.json()["attr"]) == (400, attr)


async def test_unknown_cohorts_are_not_found(home: Home) -> None:
    for answer in (
        await add(home, {"id": 99_999_999}, UNKNOWN),
        await remove(home, {"id": 9}, UNKNOWN),
    ):
        assert answer.status_code == 404
        assert answer.json() == error("invalid_request", "not_found", "Not found.")


async def test_the_activity_records_who_was_added_and_removed(home: Home) -> None:
    await home.capture(*(person(f"p{n}") for n in range(NAMED_MAX + 2)))
    persons = [await uuid_of(home, f"p{n}") for n in range(NAMED_MAX + 2)]
    cohort = await create(home, is_static=True, name="picked")

    await add(home, cohort, *persons, str(uuid4()))
    await remove(home, cohort, persons[0])

    gone, came, _ = (await home.get(f"/cohorts/{cohort['id']}/activity/"))["results"]
    assert gone["detail"]["changes"] == [
        {
            "type": "Cohort",
            "action": "deleted",
            "field": "members",
            "before": [persons[0]],
            "after": None,
        }
    ]
    [change] = came["detail"]["changes"]
    assert (change["action"], change["before"]) == ("created", None)
    assert change["after"] == [*persons[:NAMED_MAX], "and 2 more"]
