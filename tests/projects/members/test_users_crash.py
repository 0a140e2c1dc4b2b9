"""Users who are disabled and removed by a command, while a server has cached their keys."""

import json
from pathlib import Path

import pytest

from tests.support import plain_http
from tests.support.awaited import until
from tests.support.command import fanion
from tests.support.preloaded import PreloadedServer
from tests.support.server import RealServer

pytestmark = pytest.mark.long("starts real servers")

ADA = "ada@example.com"


@pytest.mark.parametrize("change", ["disable", "remove"])
def test_keys_of_a_user_end_in_a_running_server(change: str, tmp_path: Path) -> None:
    server = PreloadedServer(tmp_path / "data")
    keys = server.setup()
    key = added(server)
    server.start()
    try:
        with plain_http.Client(base_url=server.url) as client:

            def status(held: str) -> int:
                headers = {"Authorization": f"Bearer {held}"}
                return client.get("/api/users/@me/", headers=headers).status_code

            assert status(key) == 200

            fanion(server, "users", change, ADA)

            until(lambda: status(key) == 401, "the key is still accepted")
            assert status(keys.personal_api_key) == 200
            if change == "disable":
                fanion(server, "users", "enable", ADA)
                until(lambda: status(key) == 200, "the key is still refused")
    finally:
        server.close()


def added(server: RealServer) -> str:
    return str(json.loads(fanion(server, "users", "add", ADA, "--json"))["personal_api_key"])
