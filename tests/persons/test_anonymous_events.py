"""Events of a visitor without a profile.

They belong to the person that the visitor turns out to be, in every answer, whatever arrives first.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from fanion.events.storage.store import EventStore
from fanion.persons.merge import person_uuid
from tests.support.application import AppServer, Json, Tenant, open_app_server, open_tenant
from tests.support.cohorts import all_conditions, cohort_members, create_cohort, performed
from tests.support.events_engine import next_project

SILENT = {"$process_person_profile": False}
DAY = {"date_from": "2024-02-28", "date_to": "2024-03-01"}
VISITOR, USER = "anon1", "ann"


def event(name: str, who: str, at: str, **properties: Any) -> Json:
    """Return an event.

    Args:
        at: A time of 28 or 29 February 2024, as `28T10:00`.
    """
    return {
        "event": name,
        "distinct_id": who,
        "timestamp": f"2024-02-{at}:00Z",
        "properties": properties,
    }


def visit(at: str = "28T10:00", who: str = VISITOR) -> Json:
    return event("$pageview", who, at, **SILENT, **{"$session_id": "s1"})


IDENTIFY = event("$identify", USER, "28T10:01", **{"$anon_distinct_id": VISITOR})
SIGN_UP = event("signed up", USER, "28T10:02", **{"$session_id": "s1"})
# The events in the order in which posthog-js sends them.
JOURNEY = [visit(), IDENTIFY, SIGN_UP]


async def ask(tenant: Tenant, path: str, *events: Json, **more: Any) -> Any:
    answer = await tenant.api.post(f"/insights/{path}/", json={"events": events, **DAY, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


async def funnel(tenant: Tenant, *names: str, **more: Any) -> list[int]:
    steps = [{"id": name, "order": order} for order, name in enumerate(names)]
    return [
        step["count"] for step in await ask(tenant, "funnel", *steps, insight="FUNNELS", **more)
    ]


async def users(tenant: Tenant, **more: Any) -> int:
    """Return the daily active users of 28 February."""
    [series] = await ask(tenant, "trend", {"id": None, "math": "dau"}, **more)
    return int(series["data"][0])


async def expect_joined(tenant: Tenant) -> None:
    """Check that the journey is that of one person."""
    assert await funnel(tenant, "$pageview", "signed up") == [1, 1]
    assert await users(tenant) == 1
    person = await tenant.person(USER)
    assert sorted(person["distinct_ids"]) == [USER, VISITOR]
    listed = await tenant.events(person_id=person["uuid"])
    assert {event["event"] for event in listed} == {"$pageview", "$identify", "signed up"}
    timeline = await tenant.get(f"/persons/{person['id']}/timeline/", kind="event")
    assert {entry["event"]["name"] for entry in timeline["results"]} == {
        event["event"] for event in listed
    }


@pytest.fixture
async def layout(
    every_layout: EventStore, sqlite_url: str, tmp_path: Path
) -> AsyncIterator[AppServer]:
    async with open_app_server(sqlite_url, every_layout, tmp_path) as app_server:
        yield app_server


AT_ONCE = pytest.param(1, marks=pytest.mark.long("ingests all six orders again"))


@pytest.mark.parametrize("requests", [AT_ONCE, 3])
async def test_a_visit_joins_in_every_order_of_arrival(layout: AppServer, requests: int) -> None:
    """The test takes seconds: each of the six orders is ingested in its own project."""
    for order in permutations(JOURNEY):
        async with open_tenant(layout, next_project()) as tenant:
            for some in [order] if requests == 1 else [[sent] for sent in order]:
                await tenant.capture(*some)

            await expect_joined(tenant)


# Ways in which an id becomes one of a person: what is sent, and who is then one with the visitor.
JOINING: Mapping[str, Sequence[Json]] = {
    "an alias of the user": [event("$create_alias", USER, "28T10:01", alias=VISITOR)],
    "an alias of the visitor": [event("$create_alias", VISITOR, "28T10:01", alias=USER)],
    "a merge": [event("$merge_dangerously", USER, "28T10:01", alias=VISITOR)],
    "the visitor identified as the user": [
        event("$identify", VISITOR, "28T10:01", **{"$anon_distinct_id": USER})
    ],
    "an identification of a known user": [event("opened", USER, "28T09:00"), IDENTIFY],
    "an event of the visitor's own": [event("opened", VISITOR, "28T09:00"), IDENTIFY],
    "a chain": [
        event("$create_alias", "middle", "28T10:00", alias=VISITOR),
        event("$merge_dangerously", USER, "28T10:01", alias="middle"),
    ],
    "a chain from its end": [
        event("$merge_dangerously", USER, "28T10:00", alias="middle"),
        event("$create_alias", "middle", "28T10:01", alias=VISITOR),
    ],
}


BACKWARDS = pytest.param(False, marks=pytest.mark.long("ingests every way again"))


@pytest.mark.parametrize("name", JOINING)
@pytest.mark.parametrize("visited_first", [True, BACKWARDS])
async def test_a_visit_joins_however_the_id_is_given_to_the_person(
    tenant: Tenant, name: str, visited_first: bool
) -> None:
    sent = [[visit()], *([joining] for joining in JOINING[name]), [SIGN_UP]]
    for some in sent if visited_first else reversed(sent):
        await tenant.capture(*some)

    assert await funnel(tenant, "$pageview", "signed up") == [1, 1]
    assert await users(tenant) == 1
    person = await tenant.person(VISITOR)
    assert person == await tenant.person(USER)
    events = await tenant.events(person_id=person["uuid"])
    assert {"$pageview", "signed up"} < {listed["event"] for listed in events}


@pytest.mark.every_engine
async def test_a_visit_follows_a_merge_by_request(tenant: Tenant) -> None:
    await tenant.capture(visit(), IDENTIFY)
    await tenant.capture(event("signed up", "other", "28T10:02"))
    ann, other = await tenant.person(USER), await tenant.person("other")

    answer = await tenant.api.post(f"/persons/{other['uuid']}/merge/", json={"ids": [ann["uuid"]]})

    assert answer.status_code == 201, answer.text
    await tenant.server.ingested()  # the event store is notified after the commit that is answered
    assert await funnel(tenant, "$pageview", "signed up") == [1, 1]
    assert await users(tenant) == 1


async def test_what_may_not_be_merged_stays_apart(tenant: Tenant) -> None:
    refused = event("$identify", USER, "28T10:01", **{"$anon_distinct_id": "null"})
    await tenant.capture(visit(who="null"), refused, SIGN_UP)
    await tenant.capture(event("$identify", "bob", "28T10:01", **{"$anon_distinct_id": "tab"}))
    # Bob is identified, so he stays another person.
    await tenant.capture(event("opened", "cat", "28T10:01"))
    await tenant.capture(event("$identify", "cat", "28T10:01", **{"$anon_distinct_id": "tab"}))

    assert await funnel(tenant, "$pageview", "signed up") == [1, 0]
    assert await users(tenant) == 4


async def test_a_visitor_is_counted_once_and_is_nobody_until_then(tenant: Tenant) -> None:
    await tenant.capture(visit(), visit("28T10:05"), visit("28T10:05", "anon2"), visit("29T10:00"))

    assert await users(tenant) == 2
    assert (await tenant.get("/persons/"))["results"] == []
    [first, *_] = await tenant.events(distinct_id=VISITOR)
    assert (first["person"], first["properties"].keys() & {"$set"}) == (None, set())
    future = person_uuid(tenant.project_id, VISITOR)
    assert len(await tenant.events(person_id=str(future))) == 3
    answer = await tenant.api.get(f"/persons/{future}/")
    assert answer.status_code == 404


async def test_only_persons_become_members_of_a_cohort(tenant: Tenant) -> None:
    await tenant.capture(visit(who="nobody"), visit())
    cohort = await create_cohort(
        tenant, name="Visitors", filters=all_conditions(performed("$pageview"))
    )
    await tenant.server.calculated()
    assert await cohort_members(tenant, cohort) == []

    await tenant.capture(IDENTIFY)
    tenant.server.clock.move(days=1)  # it is calculated again
    await tenant.server.calculated()
    assert await cohort_members(tenant, cohort) == [USER]


async def test_a_visit_counts_for_the_properties_of_the_person(tenant: Tenant) -> None:
    named = {**IDENTIFY, "properties": {**IDENTIFY["properties"], "$set": {"plan": "pro"}}}
    await tenant.capture(visit(), visit(who="nobody"), named, SIGN_UP)
    pro = [{"key": "plan", "value": "pro", "type": "person", "operator": "exact"}]

    assert await funnel(tenant, "$pageview", "signed up", properties=pro) == [1, 1]
    assert len(await tenant.events(properties=json.dumps(pro))) == 3
    others = [{**pro[0], "operator": "is_not"}]
    assert [
        listed["distinct_id"] for listed in await tenant.events(properties=json.dumps(others))
    ] == ["nobody"]


async def test_a_life_cycle_begins_with_the_first_visit(tenant: Tenant) -> None:
    late = {**IDENTIFY, "timestamp": "2024-02-29T10:01:00Z"}
    await tenant.capture(visit(), visit("29T10:00"), late)

    series = await ask(tenant, "trend", {"id": "$pageview"}, insight="LIFECYCLE")

    assert {status["status"]: status["data"] for status in series} == {
        "new": [1, 0, 0], "returning": [0, 1, 0], "resurrecting": [0, 0, 0], "dormant": [0, 0, -1],
    }  # fmt: skip


async def test_other_questions_see_one_person(tenant: Tenant) -> None:
    await tenant.capture(visit(), IDENTIFY, {**SIGN_UP, "timestamp": "2024-02-29T10:02:00Z"})

    stickiness = await ask(tenant, "trend", {"id": None}, insight="STICKINESS")
    assert stickiness[0]["data"] == [0, 1, 0]
    entity = {"target_entity": {"id": "$pageview"}, "returning_entity": {"id": "signed up"}}
    back = {"period": "Day", "total_intervals": 3, "date_to": "2024-03-01", **entity}
    retention = await ask(tenant, "retention", **back)
    assert [cell["count"] for cell in retention[0]["values"]] == [1, 1, 0]


async def test_a_person_that_was_deleted_with_its_events_takes_its_visits_along(
    tenant: Tenant,
) -> None:
    await tenant.capture(*JOURNEY, visit(who="nobody"))
    person = await tenant.person(USER)

    answer = await tenant.api.delete(f"/persons/{person['id']}/", params={"delete_events": "true"})

    assert answer.status_code in (202, 204), answer.text
    assert [listed["distinct_id"] for listed in await tenant.events()] == ["nobody"]


async def test_who_returns_after_a_deletion_joins_again(tenant: Tenant) -> None:
    await tenant.capture(*JOURNEY)
    person = await tenant.person(USER)
    await tenant.api.delete(f"/persons/{person['id']}/")

    await tenant.capture(visit("29T10:00"), event("$identify", "eve", "29T10:01"))
    assert (await tenant.get("/persons/", distinct_id=VISITOR))["results"] == []
    tenant.server.clock.move(seconds=1)
    await tenant.capture(
        event("$identify", "eve", "29T10:01", **{"$anon_distinct_id": VISITOR}),
        event("signed up", "eve", "29T10:02"),
    )

    eve = await tenant.person("eve")
    visits = await tenant.events(person_id=eve["uuid"], event="$pageview")
    assert len(visits) == 2  # the earlier one was kept, and is the same visitor's
