"""Lists behind a number, their tables and cohorts, in turn with questions and within limits."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
import pytest

from fanion.events.storage.compiled_query import QuestionLimits
from fanion.events.turns.gate_service import Gate, GateLimits
from tests.support.application import Json, Tenant
from tests.support.awaited import SOON_S, until_soon
from tests.support.cohorts import (
    all_conditions,
    cohort_members,
    create_cohort,
    performed,
    person,
    retrieve_cohort,
)
from tests.support.exchange import MemoryRequest
from tests.support.held_questions import hold_questions, wait_until_asked

SERIES = [{"kind": "EventsNode", "event": "seen"}]
TREND: Json = {"kind": "TrendsQuery", "series": SERIES, "dateRange": {"date_from": "-1d"}}
BEHIND: Json = {"kind": "InsightActorsQuery", "source": TREND, "series": 0}
LISTED: Json = {"events": [{"id": "seen"}], "date_from": "-1d"}
# Maps each way to ask to its address and body.
ASKED = {
    "a trend": ("/insights/trend/", LISTED),
    "a query": ("/query/", {"query": TREND}),
    "a list": ("/persons/trends/", LISTED),
    "a table": ("/persons/trends/", {**LISTED, "format": "csv"}),
    "a list by query": ("/query/", {"query": {"kind": "ActorsQuery", "source": BEHIND}}),
    "a preview": ("/cohorts/preview/", {"filters": all_conditions(performed("seen"))}),
}
every_way = pytest.mark.parametrize("way", ASKED)


@pytest.fixture
async def shop(tenant: Tenant) -> Tenant:
    await tenant.capture(*(person(f"p{n}") for n in range(3)))
    return tenant


@asynccontextmanager
async def full(tenant: Tenant, *, refusing: bool = False) -> AsyncGenerator[Gate]:
    """Take all places of the gate, with `refusing` those of the queue too."""
    turns, gate = (
        tenant.server.running.questions.statements.turns,
        Gate(GateLimits(1, 1, waiting=1)),
    )
    usual, turns.gate = turns.gate, gate
    await gate.enter(0)
    waiting = asyncio.ensure_future(gate.enter(0)) if refusing else None
    await asyncio.sleep(0)
    try:
        yield gate
    finally:
        turns.gate = usual
        if waiting is not None:
            waiting.cancel()


async def ask(tenant: Tenant, way: str) -> httpx.Response:
    path, body = ASKED[way]
    return await tenant.api.post(path, json=body)


@every_way
async def test_whatever_is_asked_waits_for_its_turn(shop: Tenant, way: str) -> None:
    async with full(shop) as gate:
        asking = asyncio.create_task(ask(shop, way))

        async def waits() -> bool:
            return gate.waiting == 1

        await until_soon(waits, f"{way} does not wait")
        gate.leave(0)
        answer = await asking

    assert answer.status_code == 200, answer.text
    assert (gate.running, gate.waiting) == (0, 0)


@every_way
async def test_whatever_is_asked_is_refused_when_too_many_wait(shop: Tenant, way: str) -> None:
    async with full(shop, refusing=True):
        answer = await ask(shop, way)

    assert answer.status_code == 503, answer.text
    assert answer.headers["retry-after"] == "5"


@pytest.mark.parametrize("way", ["a list", "a table", "a list by query"])
async def test_a_list_beyond_the_limits_says_what_to_make_smaller(shop: Tenant, way: str) -> None:
    statements = shop.server.running.questions.statements
    usual, statements.limits = statements.limits, QuestionLimits(memory_bytes=1)
    try:
        answer = await ask(shop, way)
    finally:
        statements.limits = usual

    assert answer.status_code == 400, answer.text
    body = answer.json()
    place = "query__source__source__dateRange__date_from" if "query" in way else "date_from"
    assert (body["code"], body["attr"]) == ("too_large", place)
    assert body["detail"].startswith("The question takes more than")


@pytest.mark.parametrize("answered", [0, 1])
async def test_a_table_whose_client_left_frees_its_place(shop: Tenant, answered: int) -> None:
    """The client leaves before the answer begins, or after its first line."""
    request = MemoryRequest(
        "GET",
        f"/api/projects/{shop.project_id}/persons/trends/",
        str(httpx.QueryParams(events=json.dumps(LISTED["events"]), date_from="-1d", format="csv")),
        dict(shop.api.headers),
        "127.0.0.1:50000",
    )
    with hold_questions(shop, answered) as found:
        answering = asyncio.ensure_future(shop.server.application.answer(request))
        await wait_until_asked(found)
        assert shop.server.running.questions.statements.turns.gate.running == 1
        assert request.begun.is_set() == bool(answered)

        request.lose()
        await asyncio.wait({answering}, timeout=SOON_S)

        assert answering.done()
        assert len(found.ended) == 1
    assert shop.server.running.questions.statements.turns.gate.running == 0


async def test_a_list_by_query_is_cancelled_by_its_name(shop: Tenant) -> None:
    path, body = ASKED["a list by query"]
    with hold_questions(shop) as found:
        asking = asyncio.create_task(shop.api.post(path, json={**body, "client_query_id": "mine"}))
        await wait_until_asked(found)

        await shop.api.delete("/query/mine/")
        answer = await asking

    assert (answer.status_code, answer.json()["code"]) == (400, "query_cancelled")
    assert len(found.ended) == 1


async def test_cohorts_do_not_wait_for_people(shop: Tenant) -> None:
    dynamic = await create_cohort(shop, filters=all_conditions(performed("seen")))
    query = {"insight": "TRENDS", "events": json.dumps(LISTED["events"])}
    made = await shop.api.post("/cohorts/", params=query, json={"is_static": True})

    async with full(shop):
        await shop.server.calculated()

    for cohort in (dynamic, made.json()):
        assert (await retrieve_cohort(shop, cohort))["errors_calculating"] == 0
        assert await cohort_members(shop, cohort) == ["p0", "p1", "p2"]
