"""Live events on a server that does not ingest, while another one on the same stores does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import httpx
import pytest

from fanion.events.event import EventStoreUnavailable
from fanion.events.live.follow_worker import LiveFollower
from fanion.events.storage.store import EventStore
from tests.actions.test_api import create
from tests.support.application import AppServer, Tenant, open_app_server, open_tenant
from tests.support.awaited import until_soon
from tests.support.sse import Message, messages

SOON_S = 60
pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.long("opens two servers for each test, which takes three seconds"),
]


@dataclass
class Pair:
    """Two servers: that of `tenant` ingests, and `second` does not."""

    tenant: Tenant
    second: AppServer
    follower: LiveFollower
    client: httpx.AsyncClient

    @asynccontextmanager
    async def looking(self, query: str = "", last: str = "") -> AsyncIterator["Viewer"]:
        """Open a stream at the second server, which has looked once."""
        headers = {"last-event-id": last} if last else {}
        request = self.client.build_request("GET", f"/events/stream/{query}", headers=headers)
        answer = await self.client.send(request, stream=True)
        pieces = answer.aiter_raw()
        async with asyncio.timeout(SOON_S):
            await anext(pieces)
            await self.follower.look()
            yield Viewer(pieces)
        await answer.aclose()


@dataclass
class Viewer:
    pieces: AsyncIterator[bytes]

    async def read(self, number: int) -> list[Message]:
        received: list[Message] = []
        while len(received) < number:
            received += messages((await anext(self.pieces)).decode())
        return received


def consumes(app_server: AppServer) -> bool:
    return app_server.running.ingestion.ingests_all()


@pytest.fixture
async def pair(
    records_url: str, events: EventStore, project_id: int, tmp_path: Path
) -> AsyncIterator[Pair]:
    async with (
        open_app_server(records_url, events, tmp_path / "a") as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):

        async def is_first() -> bool:
            return consumes(app_server)

        await until_soon(is_first, "no server ingests")
        async with (
            open_app_server(records_url, events, tmp_path / "b") as second,
            second.client(tenant.key, f"/api/projects/{project_id}") as client,
        ):
            store = cast(EventStore, second.events)
            follower = LiveFollower(
                second.running.live.events, store, lambda: consumes(second), second.clock.now
            )
            yield Pair(tenant, second, follower, client)


async def test_only_the_server_with_the_lease_ingests(pair: Pair) -> None:
    assert (consumes(pair.tenant.server), consumes(pair.second)) == (True, False)


@pytest.mark.quick
async def test_what_another_server_stores_is_shown_once_and_in_order(pair: Pair) -> None:
    await pair.tenant.capture({"event": "before", "distinct_id": "ann"})
    async with pair.looking() as viewer:
        await pair.tenant.capture({"event": "a", "distinct_id": "ann", "$set": {"email": "a@x.y"}})
        await pair.follower.look()
        pair.tenant.server.clock.move(seconds=1)
        await pair.tenant.capture(
            {"event": "b", "distinct_id": "ann", "properties": {"$elements_chain": "a:b"}}
        )
        await pair.follower.look()
        await pair.follower.look()

        received = await viewer.read(2)

    listed = await pair.tenant.events()
    assert [message.data for message in received] == [listed[1], listed[0]]
    assert [message.id for message in received] == [message.data["id"] for message in received]


async def test_filters_count_merged_persons_and_know_actions(pair: Pair) -> None:
    await pair.tenant.capture({"event": "seen", "distinct_id": "ann"})
    person = (await pair.tenant.person("ann"))["id"]
    action = await create(pair.tenant, "Paid", {"event": "paid"})
    async with (
        pair.looking(f"?person_id={person}") as viewer,
        pair.looking(f"?action_id={action['id']}") as of_action,
    ):
        await pair.tenant.capture(
            {"event": "other", "distinct_id": "bob"},
            {
                "event": "$identify",
                "distinct_id": "ann",
                "properties": {"$anon_distinct_id": "device"},
            },
            {"event": "paid", "distinct_id": "device"},
        )
        await pair.follower.look()

        assert {message.data["event"] for message in await viewer.read(2)} == {"$identify", "paid"}
        assert [message.data["event"] for message in await of_action.read(1)] == ["paid"]


@pytest.mark.quick
async def test_a_stream_goes_on_behind_its_last_event(pair: Pair) -> None:
    async with pair.looking() as viewer:
        await pair.tenant.capture({"event": "a", "distinct_id": "x"})
        await pair.follower.look()
        [seen] = await viewer.read(1)
    await pair.tenant.capture({"event": "b", "distinct_id": "x"})

    async with pair.looking(last=seen.id) as viewer:
        assert [message.data["event"] for message in await viewer.read(1)] == ["b"]


async def test_a_place_of_the_other_server_is_unknown(pair: Pair) -> None:
    async with pair.looking(last="17-0") as viewer:
        [message] = await viewer.read(1)

    assert message.data == {"events": None, "reason": "reconnected"}


async def test_nothing_is_read_without_a_stream_or_where_the_server_ingests(pair: Pair) -> None:
    pair.second.events.is_down = True

    await pair.follower.look()

    stream = pair.client.build_request("GET", "/events/stream/")
    answer = await pair.client.send(stream, stream=True)
    try:
        await anext(answer.aiter_raw())
        with pytest.raises(EventStoreUnavailable):
            await pair.follower.look()
        own = LiveFollower(
            pair.second.running.live.events,
            cast(EventStore, pair.second.events),
            lambda: True,
            pair.second.clock.now,
        )
        await own.look()
    finally:
        await answer.aclose()
