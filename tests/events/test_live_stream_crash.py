"""Streams of live events on sockets of a real server: bursts, slow readers, broken connections."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanion.events.live.pace import EVENTS_PER_S
from tests.support import plain_http
from tests.support.awaited import until_soon
from tests.support.live_viewer import Viewer
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys
from tests.support.sse import Message

pytestmark = pytest.mark.long("starts real servers")

SOON_S = 60


@pytest.fixture(scope="module", params=["1", "2"], ids=["one process", "web workers"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[PreloadedServer, Keys]]:
    server = PreloadedServer(
        tmp_path_factory.mktemp("live") / "data", {"FANION_PROCESSES": request.param}
    )
    keys = server.setup()
    server.start()
    yield server, keys
    server.close()


async def send(server: PreloadedServer, keys: Keys, *events: dict[str, Any]) -> None:
    async with plain_http.AsyncClient() as client:
        body = {"api_key": keys.project_api_key, "batch": events}
        answer = await client.post(f"{server.url}/batch/", json=body)
    assert answer.status_code == 200, answer.text


def named(name: str, **properties: Any) -> dict[str, Any]:
    return {"event": name, "distinct_id": "ann", "properties": properties}


async def streams_open(server: PreloadedServer) -> int:
    async with plain_http.AsyncClient() as client:
        text = (await client.get(f"{server.url}/metrics")).text
    return next(
        int(float(line.split()[1]))
        for line in text.splitlines()
        if line.startswith("fanion_event_streams ")
    )


async def test_an_event_is_shown_as_the_list_shows_it(served: tuple[PreloadedServer, Keys]) -> None:
    server, keys = served
    async with asyncio.timeout(SOON_S):
        viewer = await Viewer.open(server, keys)
        await send(server, keys, named("shown", a="line\nend", b=[1, {"c": None}]))
        message = await viewer.next()
    viewer.close()

    async with plain_http.AsyncClient() as client:
        listed = await client.get(
            f"{server.url}/api/projects/{keys.project_id}/events/?event=shown",
            headers={"Authorization": f"Bearer {keys.personal_api_key}"},
        )
    assert message.data == listed.json()["results"][0]
    assert "transfer-encoding: chunked" in viewer.head
    assert "content-encoding" not in viewer.head


async def test_of_a_burst_a_sample_is_sent_and_all_are_counted(
    served: tuple[PreloadedServer, Keys],
) -> None:
    server, keys = served
    async with asyncio.timeout(SOON_S):
        viewer = await Viewer.open(server, keys)
        rare = await Viewer.open(server, keys, "?event=rare")
        burst = [named("burst", n=number) for number in range(5_000)]
        await send(server, keys, *burst[:10], named("rare"), *burst[10:])

        received: list[Message] = []
        while sum(message.data.get("events", 0) for message in received) < 5_001:
            received.append(await viewer.next())
        of_rare = await rare.next()
        await send(server, keys, named("last"))
        received += await viewer.messages_until("last")
    viewer.close()
    rare.close()

    samples = [message.data for message in received if message.event == "sample"]
    shown = [
        message
        for message in received
        if message.event == "message" and message.data["event"] == "burst"
    ]
    assert sum(message["events"] for message in samples) == 5_001
    assert len(shown) <= EVENTS_PER_S * len(samples)
    assert all(message["shown"] <= EVENTS_PER_S < message["events"] for message in samples)
    assert of_rare.data["event"] == "rare"
    places = [message.id for message in shown]
    assert len(set(places)) == len(places)


async def test_a_slow_reader_is_told_what_it_missed(
    served: tuple[PreloadedServer, Keys],
) -> None:
    server, keys = served
    async with asyncio.timeout(2 * SOON_S):
        slow = await Viewer.open(server, keys, "?event=heavy")
        quick = await Viewer.open(server, keys, "?event=done")
        text, rounds, of_round = "x" * 50_000, 25, 100
        for _ in range(rounds):
            await send(server, keys, *[named("heavy", text=text)] * of_round)
        await send(server, keys, named("done"))
        await quick.messages_until("done")
        counted, skipped = 0, 0
        while counted < rounds * of_round:
            message = await slow.next()
            if message.event == "message":
                counted += 1
            elif message.event == "sample":
                counted += message.data["events"] - message.data["shown"]
            else:
                skipped += message.data["events"]
                counted += message.data["events"]
    slow.close()
    quick.close()

    assert counted == rounds * of_round
    assert skipped > 0


async def test_a_broken_connection_goes_on_where_it_was(
    served: tuple[PreloadedServer, Keys],
) -> None:
    server, keys = served
    async with asyncio.timeout(SOON_S):
        first = await Viewer.open(server, keys, "?distinct_id=ann")
        await send(server, keys, named("one"), named("two"))
        seen = await first.messages_until("one")
        first.writer.transport.abort()
        await send(server, keys, named("three"))
        again = await Viewer.open(server, keys, "?distinct_id=ann", last=seen[-1].id)
        received = await again.messages_until("three")
        again.close()

    assert [message.data["event"] for message in received] == ["two", "three"]


async def test_a_place_that_is_not_kept_any_more_is_told(
    served: tuple[PreloadedServer, Keys],
) -> None:
    server, keys = served
    async with asyncio.timeout(SOON_S):
        first = await Viewer.open(server, keys)
        await send(server, keys, named("old"))
        old = (await first.messages_until("old"))[-1].id
        await send(server, keys, *[named("many")] * 1_500)
        await send(server, keys, named("new"))
        await first.messages_until("new")
        again = await Viewer.open(server, keys, last=old)
        message = await again.next()
        first.close()
        again.close()

    assert message == Message("skipped", "", {"events": None, "reason": "reconnected"})


@pytest.mark.parametrize("how", ["aborted", "closed"])
async def test_a_client_that_leaves_a_silent_stream_is_noticed(
    served: tuple[PreloadedServer, Keys], how: str
) -> None:
    server, keys = served
    viewers = [await Viewer.open(server, keys, "?event=never") for _ in range(5)]

    async def all_open() -> bool:
        return await streams_open(server) == 5

    async def none_open() -> bool:
        return await streams_open(server) == 0

    await until_soon(all_open, "the streams are not open")
    for viewer in viewers:
        if how == "aborted":
            viewer.writer.transport.abort()
        else:
            viewer.close()

    await until_soon(none_open, "the streams stay open")


async def test_a_revoked_key_ends_its_stream(served: tuple[PreloadedServer, Keys]) -> None:
    server, keys = served
    owner = {"Authorization": f"Bearer {keys.personal_api_key}"}
    async with (
        asyncio.timeout(SOON_S),
        plain_http.AsyncClient(base_url=server.url, headers=owner) as client,
    ):
        made = await client.post("/api/personal_api_keys/", json={"label": "live"})
        viewer = await Viewer.open(
            server, Keys(keys.project_id, keys.project_api_key, made.json()["value"])
        )
        await client.delete(f"/api/personal_api_keys/{made.json()['id']}/")

        await viewer.ends()
    viewer.close()


async def test_streams_end_with_the_server(tmp_path: Path) -> None:
    server = PreloadedServer(tmp_path / "data")
    keys = server.setup()
    server.start()
    try:
        async with asyncio.timeout(2 * SOON_S):
            viewers = [await Viewer.open(server, keys, f"?event=e{n}") for n in range(10)]
            stopping = asyncio.create_task(asyncio.to_thread(server.stop))
            await asyncio.gather(*(viewer.ends() for viewer in viewers))
            assert await stopping == 0
        for viewer in viewers:
            viewer.close()
    finally:
        server.close()
