"""A large read for a user waits for its turn, and ends when the client leaves."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
import pytest

from fanion.events.event import EventQuery
from fanion.events.storage.compiled_query import QuestionLimits
from fanion.events.storage.store import EventStore
from fanion.events.turns.asker_service import Asker, reset_asker, set_asker
from fanion.events.turns.gate_service import Gate, GateLimits
from fanion.events.turns.turns_service import Turns
from tests.support.application import Json, Tenant
from tests.support.awaited import SOON_S, until_soon
from tests.support.cohorts import all_conditions, create_cohort, performed, person
from tests.support.exchange import MemoryRequest

REGEX = json.dumps([{"key": "plan", "operator": "regex", "value": "p.*o", "type": "event"}])
HAS_PLAN = json.dumps([{"key": "plan", "operator": "exact", "value": "pro", "type": "person"}])
CONDITION = {"properties": [{"key": "plan", "value": "pro", "type": "person"}]}
TREND: Json = {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "seen"}]}
# The method, path and body of requests that a viewer may send.
READS: dict[str, tuple[str, str, Json | None]] = {
    "events": ("GET", "/events/", None),
    "events with conditions": ("GET", f"/events/?properties={REGEX}", None),
    "values of events": ("GET", "/events/values?key=plan", None),
    "live visitors": ("GET", "/events/live_visitors", None),
    "volumes": ("GET", "/event_definitions/volumes", None),
    "the volume of an event": ("GET", "/event_definitions/{definition}/volume", None),
    "persons": ("GET", "/persons/", None),
    "persons found by text": ("GET", "/persons/?search=p", None),
    "persons with conditions": ("GET", f"/persons/?properties={HAS_PLAN}", None),
    "values of persons": ("GET", "/persons/values?key=plan", None),
    "a timeline": ("GET", "/persons/{person}/timeline", None),
    "groups": ("GET", "/groups/?group_type_index=0&search=a", None),
    "values of groups": ("GET", "/groups/property_values?group_type_index=0&key=a", None),
    "members of a cohort": ("GET", "/cohorts/{cohort}/persons", None),
    "a table of members": ("GET", "/cohorts/{cohort}/persons?format=csv", None),
    "a preview": ("POST", "/cohorts/preview/", {"filters": all_conditions(performed("seen"))}),
    "a trend": ("POST", "/query/", {"query": TREND}),
    "the ingestion report": ("GET", "/ingestion/", None),
    "dead letters": ("GET", "/ingestion/dead_letters", None),
    "whom a condition reaches": (
        "POST", "/feature_flags/user_blast_radius/", {"condition": CONDITION},
    ),
    "usage of flags": ("GET", "/feature_flags/overview", None),
}  # fmt: skip


@pytest.fixture
async def places(tenant: Tenant) -> dict[str, str]:
    """Return the parts of paths that differ."""
    await tenant.capture(person("p0"))
    cohort = await create_cohort(tenant, filters=all_conditions(performed("seen")))
    first_person = (await tenant.api.get("/persons/")).json()["results"][0]
    definitions = (await tenant.api.get("/event_definitions/")).json()["results"]
    return {
        "person": first_person["id"],
        "cohort": str(cohort["id"]),
        "definition": definitions[0]["id"],
    }


@asynccontextmanager
async def full(turns: Turns) -> AsyncGenerator[Gate]:
    """Take all places."""
    usual, gate = turns.gate, Gate(GateLimits(1, 1))
    turns.gate = gate
    await gate.enter(0)
    try:
        yield gate
    finally:
        turns.gate = usual


def request(tenant: Tenant, read: str, places: dict[str, str]) -> MemoryRequest:
    method, address, body = READS[read]
    for name, value in places.items():
        address = address.replace("{" + name + "}", value)
    url = httpx.URL(f"http://fanion/api/projects/{tenant.project_id}{address}")
    headers = {**dict(tenant.api.headers), "content-type": "application/json"}
    sent = b"" if body is None else json.dumps(body).encode()
    path, _, query = url.raw_path.decode().partition("?")
    return MemoryRequest(method, path, query, headers, "127.0.0.1:50000", sent)


@pytest.mark.parametrize("read", READS)
async def test_it_waits_for_its_turn_and_is_answered(
    tenant: Tenant, places: dict[str, str], read: str
) -> None:
    read_request = request(tenant, read, places)
    async with full(tenant.server.events.people) as gate:
        answering = asyncio.ensure_future(tenant.server.application.answer(read_request))
        await waiting(gate, answering)

        gate.leave(0)
        await asyncio.wait_for(answering, SOON_S)

    assert read_request.status == 200, read_request.content
    assert (gate.running, gate.waiting) == (0, 0)


@pytest.mark.parametrize("read", READS)
async def test_it_leaves_the_queue_with_its_client(
    tenant: Tenant, places: dict[str, str], read: str
) -> None:
    read_request = request(tenant, read, places)
    async with full(tenant.server.events.people) as gate:
        answering = asyncio.ensure_future(tenant.server.application.answer(read_request))
        await waiting(gate, answering)

        read_request.lose()
        await asyncio.wait({answering}, timeout=SOON_S)

        assert answering.done()
        assert (gate.running, gate.waiting) == (1, 0)


async def test_a_single_event_does_not_wait_for_lists(tenant: Tenant) -> None:
    await tenant.capture({"event": "seen", "distinct_id": "ann"})
    [event] = (await tenant.api.get("/events/?event=seen")).json()["results"]

    async with full(tenant.server.events.people):
        answer = await tenant.api.get(f"/events/{event['id']}/")

    assert answer.status_code == 200


async def test_ingestion_and_readiness_do_not_wait_for_people(tenant: Tenant) -> None:
    """Both use other threads than interactive reads."""
    events = tenant.server.events
    lanes = events._reads.lanes["people"]
    held = asyncio.Event()
    loop = asyncio.get_running_loop()
    waits = [
        asyncio.ensure_future(lanes.run(lambda _: asyncio.run_coroutine_threadsafe(
            held.wait(), loop
        ).result()))
        for _ in range(events.people.gate.limits.at_once)
    ]  # fmt: skip
    try:
        await events.ping()
        assert await events.existing(tenant.project_id, [uuid4()]) == {}
        assert await events.get(tenant.project_id, uuid4()) is None
        await tenant.capture({"event": "seen", "distinct_id": "ann"})
    finally:
        held.set()
        await asyncio.gather(*waits)


async def test_reads_of_one_turn_do_not_wait_for_each_other(events: EventStore) -> None:
    async with full(events.people) as gate:
        gate.leave(0)
        token = set_asker(Asker(7))
        try:
            async with events.turn(1):
                assert await events.list(1, EventQuery(limit=1)) == []
                assert gate.running == 1
        finally:
            reset_asker(token)
    assert gate.running == 0


ENDLESS = "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))"
LONG = "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash128(number))"
RUNNING = """
  SELECT count()
    FROM system.processes
   WHERE query LIKE '%sipHash128(number)%' AND query NOT LIKE '%processes%'
"""


async def test_a_read_ends_in_the_store_when_the_client_leaves(events: EventStore) -> None:
    left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    token = set_asker(Asker(7, lambda: left))
    asking = asyncio.create_task(events.ask(LONG, {}, 300, estimated=False))
    reset_asker(token)

    async def runs() -> bool:
        return await running(events) == 1

    await until_soon(runs, "the statement does not run")
    left.set_result(None)
    with pytest.raises(Exception, match="disconnected"):
        await asyncio.wait_for(asking, SOON_S)

    assert await running(events) == 0
    assert events.people.gate.running == 0


async def running(events: EventStore) -> int:
    answer = await events.ask(RUNNING, {}, estimated=False)
    return int(answer.columns[0][0])


async def test_lists_have_the_limits_of_questions(events: EventStore) -> None:
    reads = events._reads
    usual, reads.question = reads.question, QuestionLimits(seconds=7, memory_bytes=123_456_789)
    names = ("max_execution_time", "max_memory_usage", "max_bytes_before_external_sort")
    try:
        rows = await reads.fetch(
            "SELECT name, value FROM system.settings WHERE name IN {names:Array(String)}",
            {"names": list(names)},
        )
    finally:
        reads.question = usual

    settings = sorted((name, value) for name, value in rows)
    assert settings == sorted(zip(names, ("7", "123456789", "61728394"), strict=True))


async def test_a_list_beyond_its_limits_is_refused_with_what_to_do(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanion.events.storage.list_query.CHOSEN", f"{ENDLESS} AND 1 ")
    monkeypatch.setattr("fanion.events.storage.list_query.NEWEST_DAY", "SELECT toInt64(1)")
    monkeypatch.setattr("fanion.events.storage.list_query._NEWEST_FIRST", "")
    store = tenant.server.events._store
    assert isinstance(store, EventStore)
    monkeypatch.setattr(store._reads, "question", QuestionLimits(seconds=1))

    answer = await tenant.api.get("/events/")

    assert (answer.status_code, answer.json()["code"]) == (400, "too_large")


async def waiting(gate: Gate, answering: "asyncio.Future[Any]") -> None:
    async def waits() -> bool:
        assert not answering.done(), "it does not wait for its turn"
        return gate.waiting == 1

    await until_soon(waits, "it does not wait for its turn")
