"""Server-sent events that say when a project's flags have changed."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from fanion.errors import Unavailable
from fanion.flags.stream import HEARTBEAT, Broadcaster
from tests.application import Home

SOON_S = 10


async def following(home: Home) -> asyncio.Task[None]:
    """What `main` runs beside the server: it notices changes."""
    return asyncio.create_task(home.site.running.public.flags.flag_sets.watch())


@pytest.fixture
async def watching(home: Home) -> AsyncIterator[None]:
    task = await following(home)
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def broadcaster(home: Home) -> Broadcaster:
    return home.site.running.public.flags.broadcaster


async def version(home: Home) -> int:
    built = await home.site.running.public.flags.flag_sets.built(home.project_id)
    return built.definitions.version


def event(number: int) -> bytes:
    data = f'{{"type":"definitions","version":{number}}}'
    return f"id: {number}\nevent: definitions\ndata: {data}\n\n".encode()


async def test_the_present_version_comes_at_once_and_then_each_change(
    home: Home, watching: None, broadcaster: Broadcaster
) -> None:
    await home.create_flag(key="f", filters={"groups": [{}]})
    messages = broadcaster.messages(home.project_id)

    async with asyncio.timeout(SOON_S):
        first = await anext(messages)
        before = await version(home)
        await home.create_flag(key="g", filters={"groups": [{}]})
        second = await anext(messages)

    assert first == event(before)
    assert second == event(before + 1)
    await messages.aclose()


async def test_another_projects_change_is_none_of_its_business(
    home: Home, broadcaster: Broadcaster
) -> None:
    messages = broadcaster.messages(home.project_id)
    await anext(messages)
    waiting = asyncio.ensure_future(anext(messages))

    home.site.running.public.flags.flag_sets.changed(home.project_id + 1)
    await asyncio.wait([waiting], timeout=0.05)

    assert not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_silent_connection_is_kept_open(home: Home) -> None:
    broadcaster = Broadcaster(home.site.running.public.flags.flag_sets, 10, heartbeat_s=0.05)
    beating = asyncio.create_task(broadcaster.beat())
    messages = broadcaster.messages(home.project_id)

    async with asyncio.timeout(SOON_S):
        await anext(messages)
        assert await anext(messages) == HEARTBEAT
        assert await anext(messages) == HEARTBEAT

    beating.cancel()
    await asyncio.gather(beating, messages.aclose(), return_exceptions=True)


async def test_closing_ends_every_listener_and_lets_no_other_in(home: Home) -> None:
    broadcaster = Broadcaster(home.site.running.public.flags.flag_sets, 100)
    listeners = [broadcaster.messages(home.project_id) for _ in range(100)]
    for messages in listeners:
        await anext(messages)
    ending = [asyncio.ensure_future(anext(messages, None)) for messages in listeners]
    await asyncio.sleep(0)

    broadcaster.close()

    async with asyncio.timeout(SOON_S):
        assert await asyncio.gather(*ending) == [None] * 100
    with pytest.raises(Unavailable):
        broadcaster.messages(home.project_id)


async def test_there_is_a_limit_to_listeners(home: Home) -> None:
    broadcaster = Broadcaster(home.site.running.public.flags.flag_sets, 1)
    messages = broadcaster.messages(home.project_id)
    await anext(messages)

    with pytest.raises(Unavailable):
        broadcaster.messages(home.project_id)

    await messages.aclose()
    again = broadcaster.messages(home.project_id)
    await anext(again)
    await again.aclose()


async def test_over_http_it_needs_a_key_that_reads_definitions(home: Home) -> None:
    path = f"/api/projects/{home.project_id}/feature_flags/stream/"

    nobody = await home.public.get(path)
    public = await home.public.get(path, headers={"authorization": f"Bearer {home.token}"})

    assert (nobody.status_code, nobody.json()["code"]) == (401, "not_authenticated")
    assert public.status_code == 401
