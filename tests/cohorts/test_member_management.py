"""Adding single persons to a static cohort, and removing them."""

from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from fanion.cohorts.calculation.lease_store import CohortLeaseStore
from fanion.cohorts.imports.store import by_person_id
from fanion.cohorts.members.pages_store import PERSONS_MAX
from fanion.cohorts.members_service import NAMED_MAX
from tests.support.application import Json, Tenant, error
from tests.support.cohorts import (
    all_conditions,
    cohort_members,
    create_cohort,
    flag_on,
    person,
    person_is,
    retrieve_cohort,
    three_persons,
    upload_cohort,
)

pytestmark = pytest.mark.every_engine

UNKNOWN = str(UUID(int=7))
BUSY = "Members of this cohort are being imported. Please retry."


async def uuid_of(tenant: Tenant, distinct_id: str) -> str:
    return str((await tenant.person(distinct_id))["uuid"])


async def add(tenant: Tenant, cohort: Json, *persons: str) -> httpx.Response:
    path = f"/cohorts/{cohort['id']}/add_persons_to_static_cohort/"
    return await tenant.api.patch(path, json={"person_ids": persons})


async def remove(tenant: Tenant, cohort: Json, who: str) -> httpx.Response:
    path = f"/cohorts/{cohort['id']}/remove_person_from_static_cohort/"
    return await tenant.api.patch(path, json={"person_id": who})


async def test_persons_are_added_and_removed_at_once(tenant: Tenant) -> None:
    await three_persons(tenant)
    ann, bob, cid = [await uuid_of(tenant, name) for name in ("ann", "bob", "cid")]
    cohort = await create_cohort(tenant, is_static=True, name="picked")

    added = await add(tenant, cohort, ann, bob, ann)
    first = await cohort_members(tenant, cohort)
    await add(tenant, cohort, bob, cid)
    counted = await retrieve_cohort(tenant, cohort)
    removed = await remove(tenant, cohort, bob)
    again = await remove(tenant, cohort, bob)

    assert (added.status_code, added.json()) == (200, {"success": True})
    assert (first, counted["count"]) == (["ann", "bob"], 3)
    assert counted["last_calculation"] == "2024-03-01T12:00:00Z"
    assert (removed.status_code, removed.json()) == (200, {"success": True})
    assert (again.status_code, again.json()) == (
        404,
        error("invalid_request", "not_found", "Person is not in this cohort."),
    )
    assert await cohort_members(tenant, cohort) == ["ann", "cid"]
    assert (await retrieve_cohort(tenant, cohort))["count"] == 2


async def test_a_removed_person_can_be_added_again(tenant: Tenant) -> None:
    await three_persons(tenant)
    ann = await uuid_of(tenant, "ann")
    cohort = await upload_cohort(tenant, "ann\nbob\n")
    await tenant.server.calculated()

    await remove(tenant, cohort, ann)
    without = await cohort_members(tenant, cohort)
    await add(tenant, cohort, ann)
    with_ann = await cohort_members(tenant, cohort)
    await remove(tenant, cohort, ann)
    await upload_cohort(tenant, "ann\n", cohort)
    await tenant.server.calculated()

    assert (without, with_ann) == (["bob"], ["ann", "bob"])
    assert await cohort_members(tenant, cohort) == ["ann", "bob"]
    assert (await retrieve_cohort(tenant, cohort))["count"] == 2


async def test_a_pending_import_adds_to_members_changed_meanwhile(tenant: Tenant) -> None:
    await three_persons(tenant)
    ann, cid = [await uuid_of(tenant, name) for name in ("ann", "cid")]
    cohort = await upload_cohort(tenant, "ann\nbob\n")

    await add(tenant, cohort, ann, cid)
    await remove(tenant, cohort, cid)
    waiting = await retrieve_cohort(tenant, cohort)
    await tenant.server.calculated()

    assert (waiting["count"], waiting["is_calculating"]) == (1, True)
    assert await cohort_members(tenant, cohort) == ["ann", "bob"]
    done = await retrieve_cohort(tenant, cohort)
    assert (done["count"], done["is_calculating"]) == (2, False)


async def test_unknown_persons_are_listed_and_the_others_added(tenant: Tenant) -> None:
    await three_persons(tenant)
    ann = await uuid_of(tenant, "ann")
    cohort = await create_cohort(tenant, is_static=True)

    some = await add(tenant, cohort, UNKNOWN, ann)
    none = await add(tenant, cohort, UNKNOWN)

    assert (some.status_code, some.json()) == (200, {"success": True, "unmatched": [UNKNOWN]})
    assert (none.status_code, none.json()) == (
        400,
        error("validation_error", "invalid_input", "No valid users to add to cohort", "person_ids"),
    )
    assert await cohort_members(tenant, cohort) == ["ann"]


async def test_merged_persons_stand_for_the_survivors(tenant: Tenant) -> None:
    await three_persons(tenant)
    ann = await uuid_of(tenant, "ann")
    merge = {"event": "$merge_dangerously", "distinct_id": "bob", "properties": {"alias": "ann"}}
    await tenant.capture(merge)
    cohort = await create_cohort(tenant, is_static=True)

    await add(tenant, cohort, ann)
    count = (await retrieve_cohort(tenant, cohort))["count"]
    gone = await remove(tenant, cohort, ann)

    assert count == 1
    assert gone.status_code == 200
    assert await cohort_members(tenant, cohort) == []


async def test_flags_use_the_current_members(tenant: Tenant) -> None:
    await three_persons(tenant)
    ann = await uuid_of(tenant, "ann")
    cohort = await create_cohort(tenant, is_static=True)
    key = await flag_on(tenant, cohort)

    await add(tenant, cohort, ann)
    inside = (await tenant.decide("ann"))["featureFlags"][key]
    await remove(tenant, cohort, ann)
    outside = (await tenant.decide("ann"))["featureFlags"][key]

    assert (inside, outside) == (True, False)


async def test_persons_can_only_be_added_to_static_cohorts(tenant: Tenant) -> None:
    await three_persons(tenant)
    ann = await uuid_of(tenant, "ann")
    cohort = await create_cohort(tenant, filters=all_conditions(person_is("plan", "pro")))

    for answer, word in (
        (await add(tenant, cohort, ann), "add"),
        (await remove(tenant, cohort, ann), ""),
    ):
        verb, preposition = ("add", "to") if word else ("remove", "from")
        assert answer.status_code == 400
        assert answer.json() == error(
            "validation_error",
            "invalid_input",
            f"Can only {verb} users {preposition} static cohorts",
        )


async def test_changes_of_members_are_refused_during_an_import(tenant: Tenant) -> None:
    await tenant.server.calculated()
    await three_persons(tenant)
    ann = await uuid_of(tenant, "ann")
    cohort = await upload_cohort(tenant, "bob\n")
    now = tenant.server.clock.now()
    claim = await CohortLeaseStore(tenant.server.records, lease_s=60).claim_cohort(
        now, "another server"
    )

    busy = [await add(tenant, cohort, ann), await remove(tenant, cohort, ann)]
    tenant.server.clock.move(seconds=61)
    free = await add(tenant, cohort, ann)
    await tenant.server.calculated()

    assert claim is not None
    for answer in busy:
        assert answer.status_code == 503
        assert answer.json() == error("server_error", "unavailable", BUSY)
    assert free.status_code == 200
    assert await cohort_members(tenant, cohort) == ["ann", "bob"]


async def test_rows_of_a_failed_import_stay_invisible(tenant: Tenant) -> None:
    await tenant.server.calculated()
    await three_persons(tenant)
    ann, bob = [await uuid_of(tenant, name) for name in ("ann", "bob")]
    cohort = await upload_cohort(tenant, "cid\n")
    now, work = tenant.server.clock.now(), CohortLeaseStore(tenant.server.records, lease_s=60)
    claim = await work.claim_cohort(now, "broken")
    assert claim is not None
    await work.add_members(claim, by_person_id(claim.project_id, [UUID(bob)]), now)
    await work.release_lease(claim)

    await add(tenant, cohort, ann)

    assert await cohort_members(tenant, cohort) == ["ann"]
    assert (await retrieve_cohort(tenant, cohort))["count"] == 1


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
    tenant: Tenant, sent: Json, code: str, detail: str, attr: str
) -> None:
    cohort = await create_cohort(tenant, is_static=True)

    answer = await tenant.api.patch(
        f"/cohorts/{cohort['id']}/add_persons_to_static_cohort/", json=sent
    )

    assert answer.status_code == 400
    assert answer.json() == error("validation_error", code, detail, attr)


@pytest.mark.parametrize(
    ("sent", "attr"), [({}, "person_id"), ({"person_id": 5}, "person_id"), ({"id": "x"}, "id")]
)
async def test_a_malformed_person_id_is_refused(tenant: Tenant, sent: Any, attr: str) -> None:
    cohort = await create_cohort(tenant, is_static=True)

    answer = await tenant.api.patch(
        f"/cohorts/{cohort['id']}/remove_person_from_static_cohort/", json=sent
    )

    assert (answer.status_code, answer.json()["attr"]) == (400, attr)


async def test_unknown_cohorts_are_not_found(tenant: Tenant) -> None:
    for answer in (
        await add(tenant, {"id": 99_999_999}, UNKNOWN),
        await remove(tenant, {"id": 9}, UNKNOWN),
    ):
        assert answer.status_code == 404
        assert answer.json() == error("invalid_request", "not_found", "Not found.")


async def test_the_activity_records_who_was_added_and_removed(tenant: Tenant) -> None:
    await tenant.capture(*(person(f"p{n}") for n in range(NAMED_MAX + 2)))
    persons = [await uuid_of(tenant, f"p{n}") for n in range(NAMED_MAX + 2)]
    cohort = await create_cohort(tenant, is_static=True, name="picked")

    await add(tenant, cohort, *persons, str(uuid4()))
    await remove(tenant, cohort, persons[0])

    gone, came, _ = (await tenant.get(f"/cohorts/{cohort['id']}/activity/"))["results"]
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
