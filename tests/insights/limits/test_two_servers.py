"""Questions to two servers on one PostgreSQL: they share limits, results and cancellations."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import func, update

from fanion.db.engine import Records
from fanion.db.schema.servers import question_places
from fanion.events.storage.store import EventStore
from fanion.insights.gate_service import GateLimits
from fanion.insights.places_store import SharedPlaces
from tests.support.application import Home, Json, error, open_home, open_site
from tests.support.held_questions import asked, held

pytestmark = pytest.mark.postgresql

QUERY: Json = {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "seen"}]}


@pytest.fixture
async def homes(
    records_url: str, events: EventStore, tmp_path: Path, project_id: int
) -> AsyncIterator[tuple[Home, Home]]:
    """The same project on a server that does everything and on one that answers the API alone."""
    path = f"/api/projects/{project_id}"
    async with (
        open_site(records_url, events, tmp_path / "a") as first,
        open_site(records_url, events, tmp_path / "b", role="api") as second,
        open_home(first, project_id) as home,
        second.client(home.key, path) as api,
    ):
        yield home, replace(home, site=second, api=api)


async def test_a_query_is_cancelled_through_another_server(homes: tuple[Home, Home]) -> None:
    here, there = homes
    cancellations = here.site.running.questions.insights.cancellations
    with held(here) as found:
        sent = {"query": QUERY, "client_query_id": "mine"}
        asking = asyncio.create_task(here.api.post("/query/", json=sent))
        await asked(found)

        cancelled = await there.api.delete("/query/mine/")
        await cancellations.look()
        answer = await asking

    assert cancelled.status_code == 204
    assert answer.status_code == 400
    detail = "The query was cancelled."
    assert answer.json() == error("invalid_request", "query_cancelled", detail)


async def test_a_cancellation_ends_no_later_query_of_that_name(homes: tuple[Home, Home]) -> None:
    here, there = homes
    cancellations = here.site.running.questions.insights.cancellations
    await there.api.delete("/query/mine/")
    await cancellations.look()
    with held(here) as found:
        sent = {"query": QUERY, "client_query_id": "mine"}
        asking = asyncio.create_task(here.api.post("/query/", json=sent))
        await asked(found)

        await cancellations.look()
        found.go.set()
        answer = await asking

    assert found.ended == []
    assert answer.status_code == 200


async def test_a_result_of_one_server_is_shown_by_the_other(homes: tuple[Home, Home]) -> None:
    here, there = homes

    first, second = [await one.api.post("/query/", json={"query": QUERY}) for one in (here, there)]

    assert (first.status_code, first.json()["is_cached"]) == (200, False)
    assert (second.status_code, second.json()["is_cached"]) == (200, True)
    assert second.json()["results"] == first.json()["results"]


async def test_a_question_waits_for_one_of_another_server(homes: tuple[Home, Home]) -> None:
    here, there = homes
    own = SharedPlaces(here.site.records, "asked", GateLimits())
    places = [await own.take(here.project_id) for _ in range(2)]
    with held(there) as found:
        asking = asyncio.create_task(there.api.post("/query/", json={"query": QUERY}))
        await asyncio.wait([asking], timeout=0.5)
        reached_the_store = not found.asked.locked()

        own.leave(places[0])
        await asked(found)
        found.go.set()
        answer = await asking
    own.leave(places[1])

    assert not reached_the_store
    assert answer.status_code == 200


def shared(records: Records, kind: str = "asked") -> SharedPlaces:
    return SharedPlaces(records, kind, GateLimits(at_once=3, at_once_of_project=2))


async def test_servers_share_places_in_all_and_of_a_project(records: Records) -> None:
    one, other = shared(records), shared(records)

    taken = [
        await server.try_take(uuid4(), project_id)
        for server, project_id in ((one, 1), (other, 1), (one, 1), (other, 2), (one, 3))
    ]

    assert taken == [True, True, False, True, False]


async def test_places_of_another_kind_are_others(records: Records) -> None:
    assert all([await shared(records).try_take(uuid4(), project) for project in (1, 1, 2)])

    assert await shared(records, "behind").try_take(uuid4(), 1)


async def test_many_at_the_same_time_take_no_more_places_than_there_are(records: Records) -> None:
    servers = [shared(records) for _ in range(8)]

    taken = await asyncio.gather(
        *(server.try_take(uuid4(), number) for number, server in enumerate(servers))
    )

    assert sum(taken) == 3


async def test_places_of_a_server_that_is_gone_become_free(records: Records) -> None:
    assert all([await shared(records).try_take(uuid4(), project) for project in (1, 2, 3)])
    async with records.write() as connection:
        await connection.execute(update(question_places).values(held_until=func.now()))

    assert await shared(records).try_take(uuid4(), 4)
