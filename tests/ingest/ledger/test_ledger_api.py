"""The outcomes of captured events over HTTP: the ledger and the dead letters."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select, update

from fanion.accept_log.port import Envelope
from fanion.db.schema.tables import dead_letters
from fanion.ingest.ledger.api import BODY_CHARS_MAX
from fanion.ingest.pipeline.prepare import Context
from tests.support.application import Json, Tenant, error
from tests.support.management import NOW

UNREADABLE = b'[{"event": "paid", "distinct_id": "u1"}, {"event": '
READABLE = b'[{"event": "paid", "distinct_id": "u1"}, {"event": "left"}]'
WAIT_S = 60

NOTHING = {"accepted": 0, "stored": 0, "duplicates": 0, "dropped": 0, "dead_lettered": 0}
ID = "0190d0a6-0000-7000-8000-0000000000aa"


def returned(time: Any) -> str:
    return str(time.isoformat().replace("+00:00", "Z"))


async def accept_damaged_body(tenant: Tenant, body: bytes = UNREADABLE) -> int:
    """Accept a request whose body is damaged afterwards; return its id in the log."""
    entry_id = await tenant.server.log.append(
        Envelope(tenant.project_id, tenant.server.clock.now(), "192.0.2.1", "curl/8", None, body)
    )
    await tenant.server.ingested()
    return entry_id


async def repair_body(tenant: Tenant, letter_id: int, body: bytes = READABLE) -> None:
    """Replace the body by one that can be read, as if another version could read the old one."""
    async with tenant.server.records.write() as connection:
        await connection.execute(
            update(dead_letters).where(dead_letters.c.id == letter_id).values(body=body)
        )


async def until(condition: Callable[[], Coroutine[Any, Any, bool]]) -> None:
    async with asyncio.timeout(WAIT_S):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.05)


async def letters(tenant: Tenant) -> list[Json]:
    letters: list[Json] = (await tenant.get("/ingestion/dead_letters/"))["results"]
    return letters


async def settled(tenant: Tenant) -> None:
    """Wait until no dead letter is marked for a retry."""

    async def none_marked() -> bool:
        return not any(letter["retry_requested_at"] for letter in await letters(tenant))

    await until(none_marked)


async def test_without_events_the_report_is_empty(tenant: Tenant) -> None:
    report = await tenant.get("/ingestion/")

    assert report == {
        "start": returned(NOW - timedelta(hours=1)),
        "end": returned(NOW),
        "totals": NOTHING,
        "reasons": [],
        "changes_not_made": [],
        "minutes": [],
        "waiting": {"requests": 0, "bytes": 0, "oldest": None},
    }


@pytest.mark.every_engine
async def test_every_accepted_item_is_found_in_the_ledger(tenant: Tenant) -> None:
    await tenant.capture(
        {"event": "paid", "distinct_id": "u1", "uuid": ID},
        {"event": "paid", "distinct_id": "u1", "uuid": ID},
        {"event": "seen", "distinct_id": "u2"},
        {"event": "lost", "properties": {"$lib": "web", "plan": "secret"}},
        {"distinct_id": "u3"},
        {"event": "$$heatmap", "distinct_id": "u4"},
    )
    report = await tenant.get("/ingestion/")

    counts = {"accepted": 6, "stored": 2, "duplicates": 1, "dropped": 3, "dead_lettered": 0}
    assert report["totals"] == counts
    assert report["minutes"] == [{"minute": returned(NOW), **counts}]
    assert {reason["reason"]: reason["items"] for reason in report["reasons"]} == {
        "duplicate": 1,
        "no_name": 1,
        "no_distinct_id": 1,
        "diverted_event": 1,
    }
    [lost] = [reason for reason in report["reasons"] if reason["reason"] == "no_distinct_id"]
    assert lost["meaning"] == "The event has no distinct_id, or an empty one."
    [example] = lost["examples"]
    detail = example.pop("detail")
    assert example == {
        "event": "lost",
        "distinct_id": None,
        "uuid": None,
        "received_at": returned(NOW),
    }
    assert "library: web; properties: $lib, plan; keys: event, properties" in detail
    assert "secret" not in detail


async def test_a_repeated_request_is_reported_as_a_duplicate_with_its_id(tenant: Tenant) -> None:
    await tenant.capture({"event": "paid", "distinct_id": "u1", "uuid": ID})
    tenant.server.clock.move(seconds=3)
    await tenant.capture({"event": "paid", "distinct_id": "u1", "uuid": ID})
    report = await tenant.get("/ingestion/")

    assert report["totals"]["stored"] == 1
    assert report["totals"]["duplicates"] == 1
    [duplicate] = report["reasons"]
    assert duplicate["examples"][0]["uuid"] == ID
    assert duplicate["examples"][0]["event"] == "paid"


@pytest.mark.every_engine
async def test_minutes_are_those_of_acceptance_and_may_be_chosen(tenant: Tenant) -> None:
    clock = tenant.server.clock
    await tenant.capture({"event": "a", "distinct_id": "u1"})
    clock.move(minutes=2)
    await tenant.capture({"event": "b", "distinct_id": "u1"}, {"event": "c", "distinct_id": "u1"})
    clock.move(minutes=90)

    hour = await tenant.get("/ingestion/")
    day = await tenant.get("/ingestion/", **{"from": "-1d"})
    first = await tenant.get(
        "/ingestion/", **{"from": NOW.isoformat(), "to": (NOW + timedelta(minutes=1)).isoformat()}
    )

    assert hour["minutes"] == []
    assert [(minute["minute"], minute["stored"]) for minute in day["minutes"]] == [
        (returned(NOW), 1),
        (returned(NOW + timedelta(minutes=2)), 2),
    ]
    assert [minute["stored"] for minute in first["minutes"]] == [1]


@pytest.mark.every_engine
async def test_only_the_newest_examples_are_stored_each_of_a_bounded_size(tenant: Tenant) -> None:
    await tenant.capture(*({"event": f"e{n}" + "é" * 5_000} for n in range(8)))
    await tenant.capture(*({"event": f"f{n}"} for n in range(8)), {str(n): n for n in range(500)})
    report = await tenant.get("/ingestion/")

    examples = {reason["reason"]: reason["examples"] for reason in report["reasons"]}
    names = [example["event"] for example in examples["no_distinct_id"]]
    assert names[:8] == [f"f{n}" for n in reversed(range(8))]
    assert [name[:2] for name in names[8:]] == ["e7", "e6"]
    assert all(len(str(example).encode()) <= 2_200 for of in examples.values() for example in of)


async def test_a_report_of_no_date_is_refused(tenant: Tenant) -> None:
    answer = await tenant.api.get("/ingestion/", params={"from": "yesterdayish"})

    assert answer.status_code == 400
    assert answer.json() == error(
        "validation_error",
        "invalid_input",
        "Enter a valid date or a relative one such as -4h.",
        "from",
    )


async def test_a_key_needs_the_scope_of_events(tenant: Tenant) -> None:
    async with tenant.server.client(None, f"/api/projects/{tenant.project_id}") as anonymous:
        answer = await anonymous.get("/ingestion/")

    assert answer.status_code == 401


@pytest.mark.every_engine
async def test_an_unreadable_request_is_put_aside_and_the_rest_goes_on(tenant: Tenant) -> None:
    await accept_damaged_body(tenant)
    await tenant.capture({"event": "fine", "distinct_id": "u1"})

    [letter] = await letters(tenant)
    report = await tenant.get("/ingestion/")

    assert letter["error"].startswith("InvalidPayload: ")
    assert (letter["items"], letter["attempts"], letter["retry_requested_at"]) == (1, 1, None)
    assert (letter["received_at"], letter["failed_at"]) == (returned(NOW), returned(NOW))
    assert letter["body_bytes"] == len(UNREADABLE)
    assert await tenant.get(f"/ingestion/dead_letters/{letter['id']}/") == letter
    assert [event["event"] for event in await tenant.events()] == ["fine"]
    assert report["totals"]["dead_lettered"] == 1
    [reason] = report["reasons"]
    assert (reason["reason"], reason["items"]) == ("dead_letter", 1)
    assert reason["examples"][0]["detail"] == letter["error"]


@pytest.mark.every_engine
async def test_a_retry_ingests_with_the_ids_of_the_first_time(tenant: Tenant) -> None:
    entry_id = await accept_damaged_body(tenant)
    [letter] = await letters(tenant)
    await repair_body(tenant, letter["id"])
    tenant.server.clock.move(minutes=5)

    answer = await tenant.api.post(f"/ingestion/dead_letters/{letter['id']}/retry/")
    await settled(tenant)

    assert (answer.status_code, answer.json()) == (202, {"dead_letters": 1})
    [event] = await tenant.events()
    expected = Context(tenant.project_id, entry_id, NOW).make_uuid(0)
    assert (UUID(event["id"]), event["event"], event["distinct_id"]) == (expected, "paid", "u1")
    assert event["timestamp"] == NOW.isoformat()
    assert (await tenant.person("u1"))["distinct_ids"] == ["u1"]
    assert await letters(tenant) == []
    totals = (await tenant.get("/ingestion/"))["totals"]
    assert totals == {
        "accepted": 2,
        "stored": 1,
        "duplicates": 0,
        "dropped": 1,
        "dead_lettered": 0,
    }


async def test_a_retry_that_fails_again_reports_the_new_error(tenant: Tenant) -> None:
    await accept_damaged_body(tenant)
    [letter] = await letters(tenant)
    await repair_body(tenant, letter["id"], b'{"batch": [17]}')
    tenant.server.clock.move(minutes=5)

    answer = await tenant.api.post("/ingestion/dead_letters/retry/")
    await settled(tenant)

    assert (answer.status_code, answer.json()) == (202, {"dead_letters": 1})
    [again] = await letters(tenant)
    assert again["id"] == letter["id"]
    assert again["error"] != letter["error"]
    assert again["attempts"] == 2
    assert again["received_at"] == letter["received_at"]
    assert again["failed_at"] == returned(NOW + timedelta(minutes=5))
    assert (await tenant.get("/ingestion/"))["totals"]["dead_lettered"] == 1


# It takes seconds: those between two attempts.
async def test_a_retry_waits_for_a_store_that_is_down(tenant: Tenant) -> None:
    await accept_damaged_body(tenant)
    [letter] = await letters(tenant)
    await repair_body(tenant, letter["id"])
    events, failures = tenant.server.events, await store_failures(tenant)

    events.is_down = True
    try:
        await tenant.api.post(f"/ingestion/dead_letters/{letter['id']}/retry/")
        await until(lambda: tried_in_vain(tenant, failures))
    finally:
        events.is_down = False
    await settled(tenant)

    assert await letters(tenant) == []
    assert [event["event"] for event in await tenant.events()] == ["paid"]


async def store_failures(tenant: Tenant) -> float:
    return await tenant.server.metric("fanion_store_errors_total", store="ingestion")


async def tried_in_vain(tenant: Tenant, before: float) -> bool:
    return await store_failures(tenant) > before


async def test_a_dropped_dead_letter_is_gone_and_reported_as_discarded(tenant: Tenant) -> None:
    await accept_damaged_body(tenant)
    [letter] = await letters(tenant)

    dropped = await tenant.api.delete(f"/ingestion/dead_letters/{letter['id']}/")
    again = await tenant.api.delete(f"/ingestion/dead_letters/{letter['id']}/")
    report = await tenant.get("/ingestion/")

    assert (dropped.status_code, dropped.content) == (204, b"")
    assert again.status_code == 404
    assert await letters(tenant) == []
    assert report["totals"] == {**NOTHING, "accepted": 1, "dropped": 1}
    assert [(reason["reason"], reason["items"]) for reason in report["reasons"]] == [
        ("discarded", 1)
    ]


async def test_what_a_dead_letter_contains_can_be_read(tenant: Tenant) -> None:
    await accept_damaged_body(tenant)
    await accept_damaged_body(tenant, UNREADABLE + b"\xff" + b"x" * BODY_CHARS_MAX)
    large, small = [letter["id"] for letter in await letters(tenant)]

    assert await tenant.get(f"/ingestion/dead_letters/{small}/body/") == {
        "body": UNREADABLE.decode(),
        "is_cut": False,
    }
    shown = await tenant.get(f"/ingestion/dead_letters/{large}/body/")
    assert shown["body"].startswith(UNREADABLE.decode() + "\ufffdx")
    assert (len(shown["body"]), shown["is_cut"]) == (BODY_CHARS_MAX, True)


@pytest.mark.parametrize(
    ("method", "path"), [("GET", ""), ("GET", "/body"), ("POST", "/retry"), ("DELETE", "")]
)
async def test_a_dead_letter_of_another_project_is_not_found(
    tenant: Tenant, method: str, path: str
) -> None:
    other = Envelope(tenant.project_id + 1_000_000, NOW, "", "", None, UNREADABLE)
    entry_id = await tenant.server.log.append(other)
    await tenant.server.ingested()
    async with tenant.server.records.read() as connection:
        statement = select(dead_letters.c.id).where(dead_letters.c.log_id == entry_id)
        letter_id = (await connection.execute(statement)).scalar_one()

    answer = await tenant.api.request(method, f"/ingestion/dead_letters/{letter_id}{path}/")

    assert answer.status_code == 404
    assert answer.json() == error("invalid_request", "not_found", "Not found.")
