"""Two servers on one PostgreSQL share limits, results and cancellations of questions."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, select, update

from fanion.db.engine import Records
from fanion.db.schema.servers import question_places
from fanion.errors import Unavailable
from fanion.events.storage.store import EventStore
from fanion.events.turns.gate_service import GateLimits
from fanion.events.turns.places_store import SharedPlaces
from tests.support.application import Json, Tenant, error, open_app_server, open_tenant
from tests.support.awaited import until_soon
from tests.support.held_questions import hold_questions, wait_until_asked

pytestmark = pytest.mark.postgresql

QUERY: Json = {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "seen"}]}


@pytest.fixture
async def homes(
    records_url: str, events: EventStore, tmp_path: Path, project_id: int
) -> AsyncIterator[tuple[Tenant, Tenant]]:
    """Yield one project on a server with all roles, and on one that only answers the API."""
    path = f"/api/projects/{project_id}"
    async with (
        open_app_server(records_url, events, tmp_path / "a") as first,
        open_app_server(records_url, events, tmp_path / "b", role="api") as second,
        open_tenant(first, project_id) as tenant,
        second.client(tenant.key, path) as api,
    ):
        yield tenant, replace(tenant, server=second, api=api)


async def test_a_query_is_cancelled_through_another_server(homes: tuple[Tenant, Tenant]) -> None:
    here, there = homes
    cancellations = here.server.running.questions.questions.cancellations
    with hold_questions(here) as found:
        sent = {"query": QUERY, "client_query_id": "mine"}
        asking = asyncio.create_task(here.api.post("/query/", json=sent))
        await wait_until_asked(found)

        cancelled = await there.api.delete("/query/mine/")
        await cancellations.look()
        answer = await asking

    assert cancelled.status_code == 204
    assert answer.status_code == 400
    detail = "The query was cancelled."
    assert answer.json() == error("invalid_request", "query_cancelled", detail)


async def test_a_cancellation_ends_no_later_query_of_that_name(
    homes: tuple[Tenant, Tenant],
) -> None:
    here, there = homes
    cancellations = here.server.running.questions.questions.cancellations
    await there.api.delete("/query/mine/")
    await cancellations.look()
    with hold_questions(here) as found:
        sent = {"query": QUERY, "client_query_id": "mine"}
        asking = asyncio.create_task(here.api.post("/query/", json=sent))
        await wait_until_asked(found)

        await cancellations.look()
        found.go.set()
        answer = await asking

    assert found.ended == []
    assert answer.status_code == 200


async def test_a_result_of_one_server_is_shown_by_the_other(homes: tuple[Tenant, Tenant]) -> None:
    here, there = homes

    first, second = [
        await server.api.post("/query/", json={"query": QUERY}) for server in (here, there)
    ]

    assert (first.status_code, first.json()["is_cached"]) == (200, False)
    assert (second.status_code, second.json()["is_cached"]) == (200, True)
    assert second.json()["results"] == first.json()["results"]


async def test_a_question_waits_for_one_of_another_server(homes: tuple[Tenant, Tenant]) -> None:
    here, there = homes
    own = SharedPlaces(here.server.records, "asked", here.server.events.people.gate.limits)
    places = [await own.take_place(here.project_id) for _ in range(2)]
    with hold_questions(there) as found:
        asking = asyncio.create_task(there.api.post("/query/", json={"query": QUERY}))
        await asyncio.wait([asking], timeout=0.5)
        reached_the_store = not found.asked.locked()

        own.leave_place(places[0])
        await wait_until_asked(found)
        found.go.set()
        answer = await asking
    own.leave_place(places[1])

    assert not reached_the_store
    assert answer.status_code == 200


def shared(records: Records, kind: str = "asked") -> SharedPlaces:
    return SharedPlaces(records, kind, GateLimits(at_once=3, at_once_of_project=2))


async def test_servers_share_places_in_all_and_of_a_project(records: Records) -> None:
    one, other = shared(records), shared(records)

    taken = [
        await server.try_take_place(uuid4(), project_id)
        for server, project_id in ((one, 1), (other, 1), (one, 1), (other, 2), (one, 3))
    ]

    assert taken == [True, True, False, True, False]


async def test_servers_share_places_of_a_user_in_all_projects(records: Records) -> None:
    one, other = shared(records), shared(records)

    taken = [
        await server.try_take_place(uuid4(), project_id, user_id)
        for server, project_id, user_id in ((one, 1, 7), (other, 2, 7), (one, 3, 7), (other, 3, 8))
    ]

    assert taken == [True, True, False, True]


async def test_those_of_all_servers_are_let_in_in_the_order_in_which_they_asked(
    records: Records,
) -> None:
    one, other = shared(records), shared(records)
    held = [await one.take_place(project_id) for project_id in (1, 2, 3)]
    first, second, third = uuid4(), uuid4(), uuid4()
    assert not await other.try_take_place(first, 4)
    assert not await one.try_take_place(second, 5)
    assert not await other.try_take_place(third, 6)

    await left(one, held[0])

    assert not await other.try_take_place(third, 6)
    assert not await one.try_take_place(second, 5)
    assert not await one.try_take_place(uuid4(), 7), "it came later"
    assert await other.try_take_place(first, 4)
    await left(one, held[1])
    assert not await other.try_take_place(third, 6)
    assert await one.try_take_place(second, 5)
    await left(one, held[2])


async def test_who_gives_up_or_is_dead_holds_up_nobody(records: Records) -> None:
    one, other = shared(records), shared(records)
    held = [await one.take_place(project_id) for project_id in (1, 2, 3)]
    waiting, dead = asyncio.ensure_future(other.take_place(4)), uuid4()

    async def waits() -> bool:
        return len(await rows(records)) == 4

    await until_soon(waits, "it does not wait")
    assert not await other.try_take_place(dead, 5)

    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await asyncio.gather(*other._leaving)
    async with records.write() as connection:
        is_dead = question_places.c.id == dead
        await connection.execute(
            update(question_places).where(is_dead).values(held_until=func.now())
        )
    await left(one, held[0])

    assert await other.try_take_place(uuid4(), 6)
    for place in held[1:]:
        await left(one, place)


async def test_who_waits_for_too_long_is_refused(records: Records) -> None:
    one = SharedPlaces(records, "asked", GateLimits(at_once=1, at_once_of_project=1, wait_s=0.2))
    held = await one.take_place(1)

    with pytest.raises(Unavailable):
        await one.take_place(2)

    await asyncio.gather(*one._leaving)
    assert [row.id for row in await rows(records)] == [held]
    await left(one, held)


async def rows(records: Records) -> Sequence[Any]:
    return await records.fetch(select(question_places))


async def left(server: SharedPlaces, place: UUID) -> None:
    server.leave_place(place)
    await asyncio.gather(*server._leaving)


async def test_places_of_another_kind_are_others(records: Records) -> None:
    assert all([await shared(records).try_take_place(uuid4(), project) for project in (1, 1, 2)])

    assert await shared(records, "behind").try_take_place(uuid4(), 1)


async def test_many_at_the_same_time_take_no_more_places_than_there_are(records: Records) -> None:
    servers = [shared(records) for _ in range(8)]

    taken = await asyncio.gather(
        *(server.try_take_place(uuid4(), number) for number, server in enumerate(servers))
    )

    assert sum(taken) == 3


async def test_places_of_a_server_that_is_gone_become_free(records: Records) -> None:
    assert all([await shared(records).try_take_place(uuid4(), project) for project in (1, 2, 3)])
    async with records.write() as connection:
        await connection.execute(update(question_places).values(held_until=func.now()))

    assert await shared(records).try_take_place(uuid4(), 4)
