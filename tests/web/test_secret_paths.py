"""The tokens of links that sign in are part of paths, and never of a log line."""

import asyncio
import json

from fanion.events.storage.store import EventStore
from tests.support.application import open_app_server

TOKEN = "t0ken-of-a-link"


async def test_the_line_of_a_request_has_no_token_of_a_link(
    sqlite_url: str, events: EventStore, tmp_path: object
) -> None:
    async with open_app_server(sqlite_url, events, tmp_path) as app_server:
        async with app_server.client() as client:
            for path in ("reset", "sign_in_links", "signup"):
                await client.get(f"/api/{path}/{TOKEN}/")
                await client.post(f"/api/{path}/{TOKEN}/", json={"password": 1})
        await asyncio.to_thread(app_server.writer.close)
        lines = [json.loads(line) for line in app_server.lines.getvalue().splitlines()]

    paths = [line["path"] for line in lines if line["event"] == "request"]
    assert paths[::2] == ["/api/reset/…/", "/api/sign_in_links/…/", "/api/signup/…/"]
    assert len(paths) == 6
    assert TOKEN not in str(lines)
