"""A real server with a web worker that drains: not ready, and as useful as before."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support import plain_http
from tests.support.awaited import until
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys

pytestmark = pytest.mark.long("starts real servers and stops them")

NEVER_S = "600"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PreloadedServer]:
    settings = {"FANION_PROCESSES": "2", "FANION_DRAIN_S": NEVER_S}
    server = PreloadedServer(tmp_path / "data", settings)
    yield server
    server.close()


def capture(client: httpx.Client, keys: Keys) -> httpx.Response:
    body = {"api_key": keys.project_api_key, "event": "seen", "distinct_id": "ann"}
    return client.post("/capture/", json=body)


def answered_by(answer: httpx.Response) -> str:
    """Return the process that has answered: its request ids have the same start."""
    return answer.headers["x-request-id"].partition("-")[0]


def test_a_draining_server_answers_until_a_second_signal(server: PreloadedServer) -> None:
    keys = server.setup()
    server.start()
    management = {"authorization": f"Bearer {keys.personal_api_key}"}
    with plain_http.Client(base_url=server.url, timeout=20) as kept:
        own = answered_by(kept.get("/_health"))
        until(lambda: answered_by(capture(kept, keys)) != own, "no web worker")

        os.kill(server.pid, signal.SIGTERM)
        until(lambda: plain_http.get(f"{server.url}/_ready").status_code == 503, "it is ready")
        of_worker, again = capture(kept, keys), capture(kept, keys)
        listed = kept.get("/api/projects/", headers=management)
    ready = plain_http.get(f"{server.url}/_ready").json()
    metrics = plain_http.get(f"{server.url}/metrics").text
    health = plain_http.get(f"{server.url}/_health").status_code

    assert (ready["status"], health) == ("draining", 200)
    assert "\nfanion_ready 0.0\n" in metrics
    for answer in (of_worker, again, listed):
        assert (answer.status_code, answer.headers["connection"]) == (200, "close")
    assert answered_by(of_worker) != own
    assert server.stop() == 0
    assert [line["seconds"] for line in server.log_lines() if line["event"] == "draining"] == [600]


def test_a_keyboard_interrupt_stops_a_server_that_would_drain(server: PreloadedServer) -> None:
    server.setup()
    server.start()

    assert server.stop(signal.SIGINT) == 0
    assert "draining" not in [line["event"] for line in server.log_lines()]
