"""Changes requested by stored events and not made, as the ledger reports them: times and groups."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from tests.support.application import Json, Tenant
from tests.support.management import NOW


def seen(distinct_id: str, timestamp: Any, **more: Any) -> Json:
    return {"event": "seen", "distinct_id": distinct_id, "timestamp": timestamp, **more}


async def skipped(tenant: Tenant) -> dict[str, tuple[int, list[tuple[str, str]]]]:
    report = await tenant.get("/ingestion/")
    return {
        reason["reason"]: (
            reason["count"],
            [(example["distinct_id"], example["detail"]) for example in reason["examples"]],
        )
        for reason in report["changes_not_made"]
    }


async def test_times_that_are_not_stored_are_counted_with_what_was_sent(tenant: Tenant) -> None:
    ahead = (NOW + timedelta(days=1, seconds=1)).isoformat()

    await tenant.capture(seen("ann", "yesterday"), seen("bob", ahead), seen("cid", [1]))
    await tenant.capture(seen("dan", NOW.timestamp() - 60), seen("eve", "1709287200123"))

    times = {event["distinct_id"]: event["timestamp"] for event in await tenant.events()}
    arrived = NOW.isoformat()
    assert times == {
        "ann": arrived,
        "bob": arrived,
        "cid": arrived,
        "dan": (NOW - timedelta(minutes=1)).isoformat(),
        "eve": "2024-03-01T10:00:00.123000+00:00",
    }
    assert await skipped(tenant) == {
        "time_unreadable": (2, [("cid", "time: [1]"), ("ann", "time: yesterday")]),
        "time_ahead": (1, [("bob", f"time: {ahead}")]),
    }
    totals = (await tenant.get("/ingestion/"))["totals"]
    assert (totals["accepted"], totals["stored"], totals["dropped"]) == (5, 5, 0)


async def test_an_unreadable_time_of_sending_refuses_nothing_and_is_counted(tenant: Tenant) -> None:
    times = [(NOW - timedelta(minutes=minutes)).isoformat() for minutes in range(3)]
    large = {"filler": "x" * 70_000}

    await tenant.capture(seen("ann", times[0]), seen("bob", times[1]), sent_at="soon")
    await tenant.capture(seen("cid", times[2], properties=large), sent_at={"a": 1})
    readable = (NOW - timedelta(seconds=60)).isoformat()
    await tenant.capture(seen("dan", readable), sent_at="Fri, 01 Mar 2024 12:00:00 GMT")

    stored = {event["distinct_id"]: event["timestamp"] for event in await tenant.events()}
    assert stored == dict(zip(("ann", "bob", "cid", "dan"), [*times, readable], strict=True))
    assert await skipped(tenant) == {
        "sent_at_unreadable": (
            3,
            [("cid", "sent_at: {…}"), ("bob", "sent_at: soon"), ("ann", "sent_at: soon")],
        )
    }
    events = await tenant.events()
    assert all("$unreadable_sent_at" not in event["properties"] for event in events)


async def test_a_repeated_event_is_counted_once(tenant: Tenant) -> None:
    item = seen("ann", "soon", uuid=str(UUID(int=7)))

    await tenant.capture(item, item)

    assert await skipped(tenant) == {"time_unreadable": (1, [("ann", "time: soon")])}


async def test_a_sixth_group_type_is_counted_with_its_name(tenant: Tenant) -> None:
    types = {f"type{n}": "a" for n in range(5)}
    identify = {"$group_type": "seventh", "$group_key": "k", "$group_set": {"a": 1}}

    await tenant.capture(
        {"event": "seen", "distinct_id": "ann", "properties": {"$groups": types}},
        {"event": "seen", "distinct_id": "bob", "properties": {"$groups": {**types, "sixth": "b"}}},
    )
    await tenant.capture(
        {"event": "$groupidentify", "distinct_id": "cid", "properties": identify},
        {"event": "seen", "distinct_id": "dan", "properties": {"$groups": {"type3": "b"}}},
    )

    assert await skipped(tenant) == {
        "group_type_left_out": (
            2,
            [("cid", "group types: seventh"), ("bob", "group types: sixth")],
        )
    }
    [of_bob] = await tenant.events(distinct_id="bob")
    assert "$group_5" not in of_bob["properties"]
    assert (await tenant.get("/ingestion/"))["totals"]["stored"] == 4
