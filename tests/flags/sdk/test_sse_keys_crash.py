"""Listeners on real sockets whose keys are revoked while they listen."""

import asyncio
from pathlib import Path

import httpx
import pytest

from tests.flags.sdk.test_sse_shutdown_crash import SOON_S, Listener
from tests.support import plain_http
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("starts real servers")


async def test_listeners_leave_when_their_key_is_revoked(tmp_path: Path) -> None:
    server = PreloadedServer(tmp_path / "data")
    keys = server.setup()
    server.start()
    try:
        async with asyncio.timeout(SOON_S * 3):
            await revoke(server, keys)
    finally:
        server.close()


async def revoke(server: RealServer, keys: Keys) -> None:
    """Revoke one key over the API, and one with a command in another process."""
    headers = {"Authorization": f"Bearer {keys.personal_api_key}"}
    async with plain_http.AsyncClient(base_url=server.url, headers=headers) as client:
        first, second = await make_key(client), await make_key(client)
        staying = await Listener.open(server, keys)
        here = [await Listener.open(server, with_key(keys, first["value"])) for _ in range(5)]
        elsewhere = await Listener.open(server, with_key(keys, second["value"]))
        for listener in (staying, *here, elsewhere):
            await listener.version()

        gone = await client.delete(f"/api/personal_api_keys/{first['id']}/")
        await asyncio.gather(*(listener.over() for listener in here))
        await asyncio.to_thread(server.command, "keys", "revoke", second["id"])
        await elsewhere.over()
        flag = {"key": "f", "filters": {"groups": [{}]}}
        made = await client.post(f"/api/projects/{keys.project_id}/feature_flags/", json=flag)

    assert (gone.status_code, made.status_code) == (204, 201)
    assert await staying.version() > 0
    staying.close()


async def make_key(client: httpx.AsyncClient) -> dict[str, str]:
    answer = await client.post("/api/personal_api_keys/", json={"label": "stream"})
    assert answer.status_code == 201, answer.text
    made: dict[str, str] = answer.json()
    return made


def with_key(keys: Keys, key: str) -> Keys:
    return Keys(keys.project_id, keys.project_api_key, key)
