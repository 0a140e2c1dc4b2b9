"""Static cohorts of the actors of a number of a trend."""

import json

from tests.support.actors_cohorts import ask, behind, did, events, stored, trend, where
from tests.support.application import Json, Tenant
from tests.support.cohorts import create, in_cohort, members, person, person_is, retrieve


async def test_actors_of_a_trend_become_a_static_cohort(tenant: Tenant) -> None:
    await tenant.capture(
        did("ann", "02-28T10:00"),
        did("bob", "02-28T10:00", "opened"),
        did("cid", "02-20T10:00"),
        did("dan", "02-29T23:59"),
    )

    cohort = await stored(
        tenant,
        insight="TRENDS",
        events=events("seen"),
        date_from="2024-02-28",
        date_to="2024-02-29",
    )

    assert (cohort["name"], cohort["is_static"], cohort["is_calculating"]) == (
        "Behind",
        True,
        True,
    )
    assert (cohort["count"], cohort["last_calculation"]) == (None, None)
    assert await members(tenant, cohort) == ["ann", "dan"]
    found = await retrieve(tenant, cohort)
    assert (found["count"], found["last_calculation"]) == (2, "2024-03-01T12:00:00Z")
    assert (found["errors_calculating"], found["is_calculating"]) == (0, False)


async def test_later_events_do_not_reach_the_cohort(tenant: Tenant) -> None:
    await tenant.capture(did("ann", "02-28T10:00"))
    cohort = await stored(tenant, insight="TRENDS", events=events("seen"))

    await tenant.capture(did("bob", "02-28T10:00"))
    await tenant.server.calculated()

    assert await members(tenant, cohort) == ["ann"]


async def test_relative_dates_are_resolved_at_the_time_of_the_request(tenant: Tenant) -> None:
    await tenant.capture(did("ann", "03-01T10:00"))
    query = {"insight": "TRENDS", "events": events("seen"), "date_from": "dStart"}
    answer = await ask(tenant, {"is_static": True}, **query)
    assert answer.status_code == 201, answer.text

    tenant.server.clock.move(days=2)
    await tenant.server.calculated()

    assert await members(tenant, answer.json()) == ["ann"]


async def test_the_days_of_a_trend_are_in_the_projects_zone(tenant: Tenant) -> None:
    answer = await tenant.api.patch("/", json={"timezone": "Pacific/Auckland"})
    assert answer.status_code == 200, answer.text
    await tenant.capture(did("ann", "02-27T10:59"), did("bob", "02-27T11:01"))

    day = {"date_from": "2024-02-28", "date_to": "2024-02-28"}

    assert await trend(tenant, **day) == ["bob"]


async def test_all_time_begins_with_the_first_event(tenant: Tenant) -> None:
    await tenant.capture(did("ann", "01-02T10:00"), did("bob", "02-28T10:00", "opened"))

    assert await trend(tenant, date_from="all") == ["ann"]
    assert await trend(tenant, date_from="all", entity_id="opened") == ["bob"]
    assert await trend(tenant, date_from="all", events="[]", entity_id="seen") == ["ann"]


async def test_the_entity_is_one_of_the_events_with_its_own_filters(tenant: Tenant) -> None:
    await tenant.capture(
        did("ann", "02-28T10:00", "opened", page="a"),
        did("bob", "02-28T10:00", "opened", page="b"),
        did("cid", "02-28T10:00", "seen", page="a"),
    )
    opened = {"id": "opened", "properties": [where("page", "a")]}
    both = json.dumps([{"id": "seen"}, opened])

    assert await trend(tenant, events=both) == ["cid"]
    assert await trend(tenant, events=both, entity_id="opened", entity_type="events") == ["ann"]
    assert await trend(tenant, events=events("seen"), entity_id="opened") == ["ann", "bob"]


async def test_filters_of_a_trend_are_on_events_persons_and_cohorts(tenant: Tenant) -> None:
    await tenant.capture(
        did("ann", "02-28T10:00", page="a"),
        did("bob", "02-28T10:00", page="a"),
        did("cid", "02-28T10:00", page="b"),
        person("ann", "other", plan="pro"),
        person("cid", "other", plan="pro"),
    )
    payers = await create(
        tenant,
        name="Payers",
        filters={"properties": {"type": "AND", "values": [person_is("plan", "pro")]}},
    )
    await tenant.server.calculated()

    async def filtered(*leaves: Json) -> list[str]:
        return await trend(tenant, properties=json.dumps(leaves))

    assert await filtered(where("page", "a")) == ["ann", "bob"]
    assert await filtered(person_is("plan", "pro")) == ["ann", "cid"]
    assert await filtered(in_cohort(payers["id"]), where("page", "b")) == ["cid"]


async def test_one_value_of_a_breakdown_has_its_own_actors(tenant: Tenant) -> None:
    await tenant.capture(
        did("ann", "02-28T10:00", page="a"),
        did("bob", "02-28T10:00", page="b"),
        did("cid", "02-28T10:00"),
        person("ann", "other", plan="pro"),
        person("bob", "other", plan="free"),
    )
    none = "$$_posthog_breakdown_null_$$"

    async def at(key: str, kind: str, value: str) -> list[str]:
        return await trend(tenant, breakdown=key, breakdown_type=kind, breakdown_value=value)

    assert await at("page", "event", "a") == ["ann"]
    assert await at("page", "event", none) == ["cid"]
    assert await at("plan", "person", "free") == ["bob"]
    assert await at("plan", "person", none) == ["cid"]
    assert await trend(tenant, breakdown="page") == ["ann", "bob", "cid"]
    shown = {"breakdown": "page", "breakdown_limit": "1"}
    rest = await trend(tenant, **shown, breakdown_value="$$_posthog_breakdown_other_$$")
    assert rest == ["ann", "bob"]


async def merge(tenant: Tenant, survivor: str, other: str) -> None:
    merging = {"event": "$create_alias", "distinct_id": survivor, "properties": {"alias": other}}
    await tenant.capture(merging)


async def test_a_merged_person_counts_as_the_survivor(tenant: Tenant) -> None:
    await tenant.capture(
        did("visitor", "02-27T10:00"), did("ann", "02-28T10:00"), did("bob", "02-28T10:00")
    )
    await merge(tenant, "ann", "visitor")

    assert await trend(tenant, date_to="2024-02-27") == ["ann"]
    query = {"insight": "STICKINESS", "events": events("seen"), "stickiness_days": "2"}
    assert await behind(tenant, **query) == ["ann"]
    steps = {"insight": "FUNNELS", "events": events("seen", "seen"), "funnel_step": "2"}
    assert await behind(tenant, **steps) == ["ann"]
