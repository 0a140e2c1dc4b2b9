"""A start serves capture and flags before the event store is open, and loses nothing of it."""

import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import plain_http
from tests.application import error
from tests.awaited import until
from tests.preloaded import PreloadedServer
from tests.server import Keys, RealServer

STARTING = error("server_error", "unavailable", "The server is still starting. Please retry.")


@dataclass
class Opening:
    """silent: takes the connections that are meant for an event store, and never answers"""

    server: RealServer
    keys: Keys
    silent: socket.socket

    def capture(self, distinct_id: str) -> httpx.Response:
        body = {"event": "early", "distinct_id": distinct_id}
        key = {"api_key": self.keys.project_api_key}
        return plain_http.post(f"{self.server.url}/capture/", json=key | body)

    def get(self, path: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.keys.personal_api_key}"}
        return plain_http.get(f"{self.server.url}{path}", headers=headers)

    def distinct_ids(self) -> list[str]:
        found: dict[str, Any] = self.get(f"/api/projects/{self.keys.project_id}/events/").json()
        return sorted(event["distinct_id"] for event in found["results"])


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Opening]:
    """A server that serves, and cannot open its event store."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"clickhouse://127.0.0.1:{silent.getsockname()[1]}/default"
        server = PreloadedServer(tmp_path / "data", {"FANION_EVENTS_URL": url})
        keys = server.setup()
        server.launch()
        try:
            until(lambda: is_listening(server), "nothing is served")
            yield Opening(server, keys, silent)
        finally:
            server.close()


def is_listening(server: RealServer) -> bool:
    try:
        return plain_http.get(f"{server.url}/_health").status_code == 200
    except httpx.TransportError:
        return False


def test_capture_and_flags_do_not_wait_for_the_event_store(opening: Opening) -> None:
    key = {"api_key": opening.keys.project_api_key}

    captured = opening.capture("ann")
    decided = plain_http.post(f"{opening.server.url}/flags/?v=2", json=key | {"distinct_id": "ann"})

    assert (captured.status_code, captured.json()) == (200, {"status": 1})
    assert decided.status_code == 200
    assert decided.json()["errorsWhileComputingFlags"] is False


def test_whoever_needs_more_is_told_to_come_back(opening: Opening) -> None:
    ready = opening.get("/_ready")
    events = opening.get(f"/api/projects/{opening.keys.project_id}/events/")

    checks = {"records": "ok", "events": "opening"}
    assert (ready.status_code, ready.json()) == (503, {"status": "not ready", "checks": checks})
    assert (events.status_code, events.json()) == (503, STARTING)
    assert events.headers["retry-after"] == "1"


def test_an_event_store_that_cannot_be_opened_ends_the_server(opening: Opening) -> None:
    assert opening.capture("ann").status_code == 200

    opening.silent.close()

    assert opening.server.process is not None
    assert opening.server.process.wait(timeout=30) == 2
    told = opening.server.log_path.read_text().splitlines()[-1]
    assert told.startswith("fanion: the event store cannot be used: ")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_captured_before_is_ingested_by_the_next_start(
    opening: Opening, number: signal.Signals
) -> None:
    server = opening.server
    assert [opening.capture(f"user-{n}").status_code for n in range(3)] == [200] * 3
    assert server.process is not None

    server.process.send_signal(number)
    opening.silent.close()
    server.process.wait(timeout=30)
    server.settings = {}
    server.start()

    until(lambda: opening.distinct_ids() == ["user-0", "user-1", "user-2"], "events are missing")
