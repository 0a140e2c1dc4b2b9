"""Static cohorts of the actors of stickiness, life cycles, funnels, retention and paths."""

import json

from tests.support.actors_cohorts import event_condition, event_of, event_series, members_behind
from tests.support.application import Json, Tenant


async def test_stickiness_counts_the_days_of_each_person(tenant: Tenant) -> None:
    await tenant.capture(
        event_of("ann", "02-27T10:00"),
        event_of("ann", "02-28T10:00"),
        event_of("ann", "02-28T11:00"),
        event_of("bob", "02-28T10:00"),
        event_of("bob", "02-29T10:00", "opened"),
        *(event_of("cid", f"02-{day}T10:00") for day in (26, 27, 28)),
        event_of("dan", "02-10T10:00"),
        event_of("dan", "02-28T10:00"),
    )
    query = {"insight": "STICKINESS", "events": event_series("seen"), "date_from": "2024-02-20"}

    result = [
        await members_behind(tenant, **query, stickiness_days=str(days)) for days in (1, 2, 3, 4)
    ]

    assert result == [["bob", "dan"], ["ann"], ["cid"], []]


async def test_stickiness_counts_other_intervals_too(tenant: Tenant) -> None:
    await tenant.capture(
        event_of("ann", "02-20T10:00"),
        event_of("ann", "02-28T10:00"),
        event_of("bob", "02-27T10:00"),
    )
    query = {"insight": "STICKINESS", "events": event_series("seen"), "date_from": "2024-02-18"}

    assert await members_behind(tenant, **query, interval="week", stickiness_days="2") == ["ann"]


async def lives(tenant: Tenant, day: str, **query: str) -> Json:
    """Return the persons of each status on a day."""
    question = {"insight": "LIFECYCLE", "events": event_series("seen"), "target_date": day, **query}
    return {
        status: await members_behind(tenant, **question, lifecycle_type=status)
        for status in ("new", "returning", "resurrecting", "dormant")
    }


async def test_a_life_cycle_finds_new_and_dormant_persons(tenant: Tenant) -> None:
    """Persons are created when their first event is taken, on 1 March unless the clock moves."""
    await tenant.capture(event_of("ann", "02-29T10:00"), event_of("cid", "02-25T10:00"))
    await tenant.capture(event_of("dan", "02-29T10:00"), event_of("eve", "02-29T10:00", "opened"))
    tenant.server.clock.move(days=1)
    await tenant.capture(
        event_of("ann", "03-01T10:00"),
        event_of("bob", "03-02T10:00"),
        event_of("cid", "03-02T10:00"),
        event_of("eve", "03-02T10:00"),
        event_of("fay", "03-02T10:00", "opened"),
    )

    assert await lives(tenant, "2024-03-02") == {
        "new": ["bob"],
        "returning": [],
        "resurrecting": ["cid", "eve"],
        "dormant": ["ann"],
    }
    assert await lives(tenant, "2024-03-01T15:00:00Z") == {
        "new": [],
        "returning": ["ann"],
        "resurrecting": [],
        "dormant": ["dan"],
    }


async def test_a_life_cycle_begins_with_the_earliest_event_whatever_came_first(
    tenant: Tenant,
) -> None:
    await tenant.capture(event_of("ann", "02-28T10:00"))
    await tenant.capture(event_of("ann", "02-27T10:00"))

    assert await lives(tenant, "2024-02-28") == {
        "new": [],
        "returning": ["ann"],
        "resurrecting": [],
        "dormant": [],
    }


async def test_a_life_cycle_by_week_and_by_month(tenant: Tenant) -> None:
    await tenant.capture(event_of("ann", "02-10T10:00"), event_of("ann", "02-26T10:00"))
    await tenant.capture(event_of("bob", "02-20T10:00"), event_of("bob", "03-01T10:00"))

    by_week = await lives(tenant, "2024-02-28", interval="week")
    by_month = await lives(tenant, "2024-03-01", interval="month")

    assert by_week == {"new": [], "returning": ["bob"], "resurrecting": ["ann"], "dormant": []}
    assert by_month == {"new": [], "returning": ["bob"], "resurrecting": [], "dormant": ["ann"]}


async def funnel(tenant: Tenant, *names: str, **query: str) -> list[str]:
    return await members_behind(
        tenant, **{"insight": "FUNNELS", "events": event_series(*names), **query}
    )


async def test_a_funnel_finds_persons_who_reached_a_step_and_who_dropped_off(
    tenant: Tenant,
) -> None:
    await tenant.capture(
        event_of("ann", "02-27T10:00", "seen"),
        event_of("ann", "02-28T10:00", "opened"),
        event_of("ann", "02-29T10:00", "paid"),
        event_of("bob", "02-27T10:00", "seen"),
        event_of("bob", "02-28T10:00", "opened"),
        event_of("cid", "02-27T10:00", "seen"),
        event_of("cid", "02-28T10:00", "paid"),
        event_of("dan", "02-27T10:00", "opened"),
        event_of("dan", "02-28T10:00", "seen"),
        event_of("eve", "02-27T10:00", "paid"),
    )
    steps = ("seen", "opened", "paid")

    result = [await funnel(tenant, *steps, funnel_step=str(step)) for step in (1, 2, 3, -2, -3)]

    assert result == [
        ["ann", "bob", "cid", "dan"],
        ["ann", "bob"],
        ["ann"],
        ["cid", "dan"],
        ["bob"],
    ]


async def test_the_last_step_of_a_funnel_lies_in_its_window(tenant: Tenant) -> None:
    await tenant.capture(
        event_of("ann", "02-01T10:00"),
        event_of("ann", "02-15T10:00", "opened"),
        event_of("bob", "02-01T10:00"),
        event_of("bob", "02-15T10:01", "opened"),
        event_of("cid", "02-01T10:00"),
        event_of("cid", "02-14T10:00"),
        event_of("cid", "02-15T10:01", "opened"),
    )
    question = {"funnel_step": "2", "date_from": "2024-02-01"}

    assert await funnel(tenant, "seen", "opened", **question) == ["ann", "cid"]
    assert await funnel(tenant, "seen", "opened", **question, funnel_window_days="2") == ["cid"]
    assert await funnel(tenant, "seen", "opened", **question, funnel_window_days="15") == [
        "ann",
        "bob",
        "cid",
    ]


async def test_an_event_is_not_its_own_next_step(tenant: Tenant) -> None:
    again = event_of("bob", "02-28T10:00")
    await tenant.capture(event_of("ann", "02-27T10:00"), event_of("ann", "02-28T10:00"), again)
    await tenant.capture(
        again, event_of("cid", "02-28T10:00"), event_of("cid", "02-28T10:00", "opened")
    )

    assert await funnel(tenant, "seen", "seen", funnel_step="2") == ["ann"]
    assert await funnel(tenant, "seen", "seen", funnel_step="-2") == ["bob", "cid"]
    assert await funnel(tenant, "seen", "opened", funnel_step="2") == ["cid"]


async def test_steps_of_a_funnel_have_filters_and_an_order(tenant: Tenant) -> None:
    await tenant.capture(
        event_of("ann", "02-27T10:00", "seen", page="a"),
        event_of("ann", "02-28T10:00", "seen", page="b"),
        event_of("bob", "02-27T10:00", "seen", page="b"),
        event_of("bob", "02-28T10:00", "seen", page="a"),
    )
    steps = [
        {"id": "seen", "order": 1, "properties": [event_condition("page", "b")]},
        {"id": "seen", "order": 0, "properties": [event_condition("page", "a")]},
    ]
    question = {"insight": "FUNNELS", "events": json.dumps(steps), "funnel_step": "2"}

    assert await members_behind(tenant, **question) == ["ann"]
    assert (
        await members_behind(
            tenant, **question, properties=json.dumps([event_condition("page", "a")])
        )
        == []
    )


async def test_persons_who_came_back_become_a_cohort_without_visitors(tenant: Tenant) -> None:
    visited = {
        **event_of("visitor", "02-28T10:00"),
        "properties": {"$process_person_profile": False},
    }
    await tenant.capture(
        visited,
        event_of("ann", "02-28T10:00"),
        event_of("ann", "02-29T10:00"),
        event_of("bob", "02-28T10:00"),
        event_of("cid", "02-29T10:00"),
    )
    entity = json.dumps({"id": "seen"})
    row = {
        "insight": "RETENTION",
        "total_intervals": "3",
        "date_to": "2024-03-01",
        "target_entity": entity,
        "returning_entity": entity,
    }

    assert await members_behind(tenant, **row, selected_interval="0") == ["ann", "bob"]
    assert await members_behind(tenant, **row, selected_interval="1") == ["ann", "cid"]
    came_back = await members_behind(tenant, **row, selected_interval="0", returning_interval="1")
    assert came_back == ["ann"]


async def test_every_order_of_a_funnel_and_paths_make_cohorts(tenant: Tenant) -> None:
    await tenant.capture(
        event_of("ann", "02-28T10:00"),
        event_of("ann", "02-28T10:01", "opened"),
        event_of("bob", "02-28T10:00"),
        event_of("bob", "02-28T10:01", "other"),
        event_of("bob", "02-28T10:02", "opened"),
        event_of("cid", "02-28T10:00", "opened"),
        event_of("cid", "02-28T10:01"),
    )
    done = {"insight": "FUNNELS", "events": event_series("seen", "opened"), "funnel_step": "2"}
    excluded = json.dumps([{"id": "other", "funnel_from_step": 0, "funnel_to_step": 1}])

    assert await members_behind(tenant, **done) == ["ann", "bob"]
    assert await members_behind(tenant, **done, funnel_order_type="strict") == ["ann"]
    assert await members_behind(tenant, **done, funnel_order_type="unordered") == [
        "ann",
        "bob",
        "cid",
    ]
    assert await members_behind(tenant, **done, exclusions=excluded) == ["ann"]
    edge = {"path_start_key": "1_seen", "path_end_key": "2_opened"}
    assert await members_behind(tenant, insight="PATHS", **edge) == ["ann"]
