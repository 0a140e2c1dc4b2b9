"""Server-sent events that notify listeners when a project's flags have changed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete

from fanion.db.engine import RecordsUnavailable
from fanion.db.schema.activity import activity_log
from fanion.db.schema.tables import memberships, projects
from fanion.errors import Unavailable
from fanion.flags.sdk.sse_service import Broadcaster
from fanion.wire.event_stream import HEARTBEAT
from tests.support.application import Tenant
from tests.support.management import NOW, add_member

SOON_S = 60


async def start_change_feed(tenant: Tenant) -> asyncio.Task[None]:
    """Start the task that notices changes, which `main` runs with the server."""
    return asyncio.create_task(tenant.server.running.public.flags.feed.run())


@pytest.fixture
async def watching(tenant: Tenant) -> AsyncIterator[None]:
    task = await start_change_feed(tenant)
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def broadcaster(tenant: Tenant) -> Broadcaster:
    return tenant.server.running.public.flags.broadcaster


@pytest.fixture
async def frequent_checks(broadcaster: Broadcaster) -> AsyncIterator[None]:
    """Check all grants often, for changes that only this check notices.

    Otherwise it runs every 3 s.
    """

    async def check() -> None:
        while True:
            await asyncio.sleep(0.1)
            broadcaster.check_grants(0)

    task = asyncio.create_task(check())
    yield
    task.cancel()


async def version(tenant: Tenant) -> int:
    built = await tenant.server.running.public.flags.flag_sets.compiled_flags(tenant.project_id)
    return built.definitions.version


def event(number: int) -> bytes:
    data = f'{{"type":"definitions","version":{number}}}'
    return f"id: {number}\nevent: definitions\ndata: {data}\n\n".encode()


async def test_the_present_version_comes_at_once_and_then_each_change(
    tenant: Tenant, watching: None, broadcaster: Broadcaster
) -> None:
    await tenant.create_flag(key="f", filters={"groups": [{}]})
    messages = broadcaster.messages(tenant.project_id)

    async with asyncio.timeout(SOON_S):
        first = await anext(messages)
        before = await version(tenant)
        await tenant.create_flag(key="g", filters={"groups": [{}]})
        second = await anext(messages)

    assert first == event(before)
    assert second == event(before + 1)
    await messages.aclose()


async def test_another_projects_change_is_none_of_its_business(
    tenant: Tenant, broadcaster: Broadcaster
) -> None:
    messages = broadcaster.messages(tenant.project_id)
    await anext(messages)
    waiting = asyncio.ensure_future(anext(messages))

    tenant.server.running.public.flags.flag_sets.invalidate(tenant.project_id + 1)
    await asyncio.wait([waiting], timeout=0.05)

    assert not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_silent_connection_stays_open(tenant: Tenant) -> None:
    broadcaster = Broadcaster(tenant.server.running.public.flags.flag_sets, 10, heartbeat_s=0.05)
    beating = asyncio.create_task(broadcaster.run_heartbeat())
    messages = broadcaster.messages(tenant.project_id)

    async with asyncio.timeout(SOON_S):
        await anext(messages)
        assert await anext(messages) == HEARTBEAT
        assert await anext(messages) == HEARTBEAT

    beating.cancel()
    await asyncio.gather(beating, messages.aclose(), return_exceptions=True)


async def test_closing_ends_every_listener_and_lets_no_other_in(tenant: Tenant) -> None:
    broadcaster = Broadcaster(tenant.server.running.public.flags.flag_sets, 100)
    listeners = [broadcaster.messages(tenant.project_id) for _ in range(100)]
    for messages in listeners:
        await anext(messages)
    ending = [asyncio.ensure_future(anext(messages, None)) for messages in listeners]
    await asyncio.sleep(0)

    broadcaster.close()

    async with asyncio.timeout(SOON_S):
        assert await asyncio.gather(*ending) == [None] * 100
    with pytest.raises(Unavailable):
        broadcaster.messages(tenant.project_id)


async def test_there_is_a_limit_to_listeners(tenant: Tenant) -> None:
    broadcaster = Broadcaster(tenant.server.running.public.flags.flag_sets, 1)
    messages = broadcaster.messages(tenant.project_id)
    await anext(messages)

    with pytest.raises(Unavailable):
        broadcaster.messages(tenant.project_id)

    await messages.aclose()
    again = broadcaster.messages(tenant.project_id)
    await anext(again)
    await again.aclose()


async def test_over_http_it_needs_a_key_that_reads_definitions(tenant: Tenant) -> None:
    path = f"/api/projects/{tenant.project_id}/feature_flags/stream/"

    anonymous = await tenant.public.get(path)
    public = await tenant.public.get(path, headers={"authorization": f"Bearer {tenant.token}"})

    assert (anonymous.status_code, anonymous.json()["code"]) == (401, "not_authenticated")
    assert public.status_code == 401


# ── Keys that lose their access ──────────────────────────────────────────────────────────


def path_of(tenant: Tenant) -> str:
    return f"/api/projects/{tenant.project_id}/feature_flags/stream/"


@asynccontextmanager
async def stream_messages(tenant: Tenant, key: str) -> AsyncIterator[AsyncIterator[bytes]]:
    """Yield the messages after the first, while the server's background work runs."""
    flags = tenant.server.running.public.flags
    task = asyncio.ensure_future(flags.loops["flag_stream_keys"]())
    request = tenant.public.build_request(
        "GET", path_of(tenant), headers={"authorization": f"Bearer {key}"}
    )
    answer = await tenant.public.send(request, stream=True)
    assert answer.status_code == 200
    messages = answer.aiter_raw()
    try:
        async with asyncio.timeout(SOON_S):
            await anext(messages)
            yield messages
    finally:
        await answer.aclose()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def ends(messages: AsyncIterator[bytes]) -> bool:
    return [received async for received in messages if received != HEARTBEAT] == []


async def create_key(tenant: Tenant, **more: Any) -> tuple[str, str]:
    """Create another personal key of the owner; return its text and its id."""
    async with tenant.server.client(tenant.key) as client:
        answer = await client.post("/api/personal_api_keys/", json={"label": "stream", **more})
    return answer.json()["value"], answer.json()["id"]


async def test_a_stream_ends_when_its_key_is_revoked(tenant: Tenant) -> None:
    key, key_id = await create_key(tenant)
    async with stream_messages(tenant, key) as messages, tenant.server.client(tenant.key) as client:
        await client.delete(f"/api/personal_api_keys/{key_id}/")

        assert await ends(messages)


@pytest.mark.usefixtures("frequent_checks")
async def test_a_stream_ends_when_its_key_expires(tenant: Tenant) -> None:
    key, _ = await create_key(tenant, expires_at=(NOW + timedelta(hours=1)).isoformat())
    async with stream_messages(tenant, key) as messages:
        tenant.server.clock.move(hours=1)

        assert await ends(messages)


# It takes seconds: rights are kept for two.
@pytest.mark.usefixtures("frequent_checks")
async def test_a_stream_ends_when_the_owner_leaves_the_organization(tenant: Tenant) -> None:
    name = f"mia-{tenant.project_id}"
    member = await add_member(tenant.server.records, name, organization_id=tenant.organization_id)
    async with stream_messages(tenant, member.key) as messages:
        async with tenant.server.records.write() as connection:
            await connection.execute(
                delete(memberships).where(memberships.c.user_id == member.user_id)
            )

        assert await ends(messages)


@pytest.mark.usefixtures("frequent_checks")
async def test_a_stream_ends_when_the_project_is_gone(tenant: Tenant) -> None:
    other = (await tenant.api.post("http://fanion.test/api/projects/", json={"name": "x"})).json()
    projects_of_site = tenant.server.running.public.flags.projects
    async with stream_messages(replace(tenant, project_id=other["id"]), tenant.key) as messages:
        async with tenant.server.records.write() as connection:
            await connection.execute(
                delete(activity_log).where(activity_log.c.project_id == other["id"])
            )
            await connection.execute(delete(projects).where(projects.c.id == other["id"]))
        await projects_of_site.refresh()

        assert await ends(messages)


@pytest.mark.parametrize("ended", ["replaced", "revoked", "over"])
async def test_a_stream_ends_with_the_secret_key(tenant: Tenant, ended: str) -> None:
    key = (await tenant.api.post("/secret_key/")).json()["secret_api_key"]
    async with stream_messages(tenant, key) as messages:
        if ended == "revoked":
            await tenant.api.delete("/secret_key/")
        else:
            valid_s = 60 if ended == "over" else 0
            await tenant.api.post("/secret_key/", json={"former_valid_s": valid_s})
            tenant.server.clock.move(seconds=valid_s)

        assert await ends(messages)


async def test_a_stream_goes_on_while_its_key_does(tenant: Tenant) -> None:
    key, _ = await create_key(tenant, scopes=["feature_flag:read"])
    _, other_id = await create_key(tenant)
    watching = await start_change_feed(tenant)
    async with stream_messages(tenant, key) as messages, tenant.server.client(tenant.key) as client:
        await client.delete(f"/api/personal_api_keys/{other_id}/")
        await tenant.create_flag(key="f", filters={"groups": [{}]})

        while (message := await anext(messages)) == HEARTBEAT:
            pass

    assert message.startswith(b"id: ")
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_while_the_store_is_away_streams_stay(
    tenant: Tenant, broadcaster: Broadcaster
) -> None:
    store_asked = asyncio.Event()

    async def away(_: object) -> bool:
        store_asked.set()
        raise RecordsUnavailable("down")

    own = Broadcaster(tenant.server.running.public.flags.flag_sets, 10, heartbeat_s=0.05)
    tasks = [
        asyncio.create_task(own.run_grant_checks(away)),
        asyncio.create_task(own.run_heartbeat()),
    ]
    messages = own.messages(tenant.project_id, "a key")

    async with asyncio.timeout(SOON_S):
        await anext(messages)
        own.check_grants(0)
        await store_asked.wait()
        assert await anext(messages) == HEARTBEAT

    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, messages.aclose(), return_exceptions=True)


# ── Members ──────────────────────────────────────────────────────────────────────────────


def changes_path(tenant: Tenant) -> str:
    return f"/api/projects/{tenant.project_id}/feature_flags/changes/stream/"


@pytest.mark.usefixtures("watching")
async def test_a_session_is_sent_each_change_until_it_signs_out(tenant: Tenant) -> None:
    checks = asyncio.ensure_future(tenant.server.running.public.flags.loops["flag_stream_keys"]())
    async with await tenant.server.browser(tenant.user_id) as browser:
        request = browser.build_request("GET", changes_path(tenant))
        answer = await browser.send(request, stream=True)
        messages = answer.aiter_raw()
        async with asyncio.timeout(SOON_S):
            before = await version(tenant)
            assert await anext(messages) == event(before)
            await tenant.create_flag(key="f", filters={"groups": [{}]})
            assert await anext(messages) == event(before + 1)

            await browser.post("/api/logout/")

            assert await ends(messages)
        await answer.aclose()
    checks.cancel()
    await asyncio.gather(checks, return_exceptions=True)
    assert answer.headers["content-type"].startswith("text/event-stream")


async def test_strangers_and_project_keys_read_no_changes(tenant: Tenant) -> None:
    anonymous = await tenant.public.get(changes_path(tenant))
    public = await tenant.public.get(
        changes_path(tenant), headers={"authorization": f"Bearer {tenant.token}"}
    )

    assert (anonymous.status_code, anonymous.json()["code"]) == (401, "not_authenticated")
    assert public.status_code == 401
