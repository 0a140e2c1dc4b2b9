"""A question ends when no client waits for its answer any more.

Source: insights.md, section 1b.
"""

import asyncio

from tests.support.application import Json, Tenant, error
from tests.support.awaited import until_soon
from tests.support.held_questions import hold_questions, wait_until_asked

QUERY: Json = {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "seen"}]}


async def test_a_query_is_cancelled_by_its_name(tenant: Tenant) -> None:
    with hold_questions(tenant) as found:
        sent = {"query": QUERY, "client_query_id": "mine"}
        asking = asyncio.create_task(tenant.api.post("/query/", json=sent))
        await wait_until_asked(found)

        cancelled = await tenant.api.delete("/query/mine/")
        answer = await asking

    assert (cancelled.status_code, cancelled.content) == (204, b"")
    assert answer.status_code == 400
    detail = "The query was cancelled."
    assert answer.json() == error("invalid_request", "query_cancelled", detail)
    assert len(found.ended) == 1


async def test_what_another_waits_for_too_is_answered(tenant: Tenant) -> None:
    with hold_questions(tenant) as found:
        mine = {"query": QUERY, "client_query_id": "mine"}
        asking = asyncio.create_task(tenant.api.post("/query/", json=mine))
        await wait_until_asked(found)
        other = asyncio.create_task(tenant.api.post("/query/", json={"query": QUERY}))
        cache = tenant.server.running.questions.questions.results

        async def both_wait() -> bool:
            return cache.waiting == 2

        await until_soon(both_wait, "the second request does not wait for the first")

        await tenant.api.delete("/query/mine/")
        assert (await asking).status_code == 400
        assert found.ended == []
        found.go.set()

    assert (await other).status_code == 200


async def test_a_name_of_another_project_cancels_nothing(tenant: Tenant) -> None:
    running = tenant.server.running.questions.questions.running
    work = asyncio.create_task(
        running.run_query(tenant.project_id + 1, "mine", asyncio.sleep(3600, result="done"))
    )
    await asyncio.sleep(0)

    answer = await tenant.api.delete("/query/mine/")

    assert answer.status_code == 204
    assert not work.done()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
