"""Static cohorts of the actors of a number of a trend."""

import json

from tests.support.actors_cohorts import (
    event_condition,
    event_of,
    event_series,
    members_behind,
    members_of_trend,
    post_cohort,
    stored_cohort,
)
from tests.support.application import Json, Tenant
from tests.support.cohorts import (
    cohort_members,
    create_cohort,
    in_cohort,
    person,
    person_is,
    retrieve_cohort,
)


async def test_actors_of_a_trend_become_a_static_cohort(tenant: Tenant) -> None:
    await tenant.capture(
        event_of("ann", "02-28T10:00"),
        event_of("bob", "02-28T10:00", "opened"),
        event_of("cid", "02-20T10:00"),
        event_of("dan", "02-29T23:59"),
    )

    cohort = await stored_cohort(
        tenant,
        insight="TRENDS",
        events=event_series("seen"),
        date_from="2024-02-28",
        date_to="2024-02-29",
    )

    assert (cohort["name"], cohort["is_static"], cohort["is_calculating"]) == (
        "Behind",
        True,
        True,
    )
    assert (cohort["count"], cohort["last_calculation"]) == (None, None)
    assert await cohort_members(tenant, cohort) == ["ann", "dan"]
    result = await retrieve_cohort(tenant, cohort)
    assert (result["count"], result["last_calculation"]) == (2, "2024-03-01T12:00:00Z")
    assert (result["errors_calculating"], result["is_calculating"]) == (0, False)


async def test_later_events_do_not_reach_the_cohort(tenant: Tenant) -> None:
    await tenant.capture(event_of("ann", "02-28T10:00"))
    cohort = await stored_cohort(tenant, insight="TRENDS", events=event_series("seen"))

    await tenant.capture(event_of("bob", "02-28T10:00"))
    await tenant.server.calculated()

    assert await cohort_members(tenant, cohort) == ["ann"]


async def test_relative_dates_are_resolved_at_the_time_of_the_request(tenant: Tenant) -> None:
    await tenant.capture(event_of("ann", "03-01T10:00"))
    query = {"insight": "TRENDS", "events": event_series("seen"), "date_from": "dStart"}
    answer = await post_cohort(tenant, {"is_static": True}, **query)
    assert answer.status_code == 201, answer.text

    tenant.server.clock.move(days=2)
    await tenant.server.calculated()

    assert await cohort_members(tenant, answer.json()) == ["ann"]


async def test_the_days_of_a_trend_are_in_the_projects_zone(tenant: Tenant) -> None:
    answer = await tenant.api.patch("/", json={"timezone": "Pacific/Auckland"})
    assert answer.status_code == 200, answer.text
    await tenant.capture(event_of("ann", "02-27T10:59"), event_of("bob", "02-27T11:01"))

    day = {"date_from": "2024-02-28", "date_to": "2024-02-28"}

    assert await members_of_trend(tenant, **day) == ["bob"]


async def test_all_time_begins_with_the_first_event(tenant: Tenant) -> None:
    await tenant.capture(event_of("ann", "01-02T10:00"), event_of("bob", "02-28T10:00", "opened"))

    assert await members_of_trend(tenant, date_from="all") == ["ann"]
    assert await members_of_trend(tenant, date_from="all", entity_id="opened") == ["bob"]
    assert await members_of_trend(tenant, date_from="all", events="[]", entity_id="seen") == ["ann"]


async def test_the_entity_is_one_of_the_events_with_its_own_filters(tenant: Tenant) -> None:
    await tenant.capture(
        event_of("ann", "02-28T10:00", "opened", page="a"),
        event_of("bob", "02-28T10:00", "opened", page="b"),
        event_of("cid", "02-28T10:00", "seen", page="a"),
    )
    opened = {"id": "opened", "properties": [event_condition("page", "a")]}
    both = json.dumps([{"id": "seen"}, opened])

    assert await members_of_trend(tenant, events=both) == ["cid"]
    assert await members_of_trend(
        tenant, events=both, entity_id="opened", entity_type="events"
    ) == ["ann"]
    assert await members_of_trend(tenant, events=event_series("seen"), entity_id="opened") == [
        "ann",
        "bob",
    ]


async def test_filters_of_a_trend_are_on_events_persons_and_cohorts(tenant: Tenant) -> None:
    await tenant.capture(
        event_of("ann", "02-28T10:00", page="a"),
        event_of("bob", "02-28T10:00", page="a"),
        event_of("cid", "02-28T10:00", page="b"),
        person("ann", "other", plan="pro"),
        person("cid", "other", plan="pro"),
    )
    payers = await create_cohort(
        tenant,
        name="Payers",
        filters={"properties": {"type": "AND", "values": [person_is("plan", "pro")]}},
    )
    await tenant.server.calculated()

    async def filtered(*leaves: Json) -> list[str]:
        return await members_of_trend(tenant, properties=json.dumps(leaves))

    assert await filtered(event_condition("page", "a")) == ["ann", "bob"]
    assert await filtered(person_is("plan", "pro")) == ["ann", "cid"]
    assert await filtered(in_cohort(payers["id"]), event_condition("page", "b")) == ["cid"]


async def test_one_value_of_a_breakdown_has_its_own_actors(tenant: Tenant) -> None:
    await tenant.capture(
        event_of("ann", "02-28T10:00", page="a"),
        event_of("bob", "02-28T10:00", page="b"),
        event_of("cid", "02-28T10:00"),
        person("ann", "other", plan="pro"),
        person("bob", "other", plan="free"),
    )
    none = "$$_posthog_breakdown_null_$$"

    async def at(key: str, kind: str, value: str) -> list[str]:
        return await members_of_trend(
            tenant, breakdown=key, breakdown_type=kind, breakdown_value=value
        )

    assert await at("page", "event", "a") == ["ann"]
    assert await at("page", "event", none) == ["cid"]
    assert await at("plan", "person", "free") == ["bob"]
    assert await at("plan", "person", none) == ["cid"]
    assert await members_of_trend(tenant, breakdown="page") == ["ann", "bob", "cid"]
    shown = {"breakdown": "page", "breakdown_limit": "1"}
    rest = await members_of_trend(tenant, **shown, breakdown_value="$$_posthog_breakdown_other_$$")
    assert rest == ["ann", "bob"]


async def merge(tenant: Tenant, survivor: str, other: str) -> None:
    merging = {"event": "$create_alias", "distinct_id": survivor, "properties": {"alias": other}}
    await tenant.capture(merging)


async def test_a_merged_person_counts_as_the_survivor(tenant: Tenant) -> None:
    await tenant.capture(
        event_of("visitor", "02-27T10:00"),
        event_of("ann", "02-28T10:00"),
        event_of("bob", "02-28T10:00"),
    )
    await merge(tenant, "ann", "visitor")

    assert await members_of_trend(tenant, date_to="2024-02-27") == ["ann"]
    query = {"insight": "STICKINESS", "events": event_series("seen"), "stickiness_days": "2"}
    assert await members_behind(tenant, **query) == ["ann"]
    steps = {"insight": "FUNNELS", "events": event_series("seen", "seen"), "funnel_step": "2"}
    assert await members_behind(tenant, **steps) == ["ann"]
