"""A start serves capture and flags before the event store is open, and loses no event."""

import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import plain_http
from tests.support.application import error
from tests.support.awaited import until
from tests.support.preloaded import PreloadedServer
from tests.support.server import STOP_S, Keys, RealServer

pytestmark = pytest.mark.long("starts real servers and kills them")

STARTING = error("server_error", "unavailable", "The server is still starting. Please retry.")


UNAVAILABLE = error(
    "server_error", "unavailable", "The service is temporarily unavailable. Please retry."
)


@dataclass
class Opening:
    """A server that cannot open its event store.

    Attributes:
        silent: Accepts the connections meant for an event store, and never answers.
    """

    server: RealServer
    keys: Keys
    silent: socket.socket | None = None

    def capture(self, distinct_id: str) -> httpx.Response:
        body = {"event": "early", "distinct_id": distinct_id}
        key = {"api_key": self.keys.project_api_key}
        return plain_http.post(f"{self.server.url}/capture/", json=key | body)

    def get(self, path: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.keys.personal_api_key}"}
        return plain_http.get(f"{self.server.url}{path}", headers=headers)

    def post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.keys.personal_api_key}"}
        return plain_http.post(f"{self.server.url}{path}", json=body, headers=headers)

    def decide(self, distinct_id: str) -> Any:
        body = {"api_key": self.keys.project_api_key, "distinct_id": distinct_id}
        return plain_http.post(f"{self.server.url}/decide/?v=3", json=body).json()["featureFlags"]

    def is_stored(self, distinct_id: str) -> bool:
        answer = self.get(f"/api/projects/{self.keys.project_id}/events/")
        return answer.is_success and distinct_id in answer.text

    def distinct_ids(self) -> list[str]:
        answer: dict[str, Any] = self.get(f"/api/projects/{self.keys.project_id}/events/").json()
        return sorted(event["distinct_id"] for event in answer["results"])


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Opening]:
    """Yield a server that serves, and cannot open its event store."""
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


def test_requests_that_need_more_are_asked_to_retry(opening: Opening) -> None:
    ready = opening.get("/_ready")
    events = opening.get(f"/api/projects/{opening.keys.project_id}/events/")

    checks = {"records": "ok", "events": "opening"}
    assert (ready.status_code, ready.json()) == (503, {"status": "not ready", "checks": checks})
    assert (events.status_code, events.json()) == (503, STARTING)
    assert events.headers["retry-after"] == "1"


def test_a_silent_event_store_is_not_waited_for(opening: Opening) -> None:
    until(lambda: opening.get("/_ready").status_code == 200, "the server never becomes ready")

    checks = {"records": "ok", "events": "unreachable", "accept_log": "ok"}
    assert opening.get("/_ready").json() == {"status": "ready", "checks": checks}
    assert opening.server.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_captured_before_is_ingested_by_the_next_start(
    opening: Opening, number: signal.Signals
) -> None:
    server = opening.server
    assert [opening.capture(f"user-{n}").status_code for n in range(3)] == [200] * 3
    assert server.process is not None

    server.process.send_signal(number)
    assert opening.silent is not None
    opening.silent.close()
    server.process.wait(timeout=STOP_S)
    server.settings = {}
    server.start()

    until(lambda: opening.distinct_ids() == ["user-0", "user-1", "user-2"], "events are missing")


@dataclass
class Blocked:
    """A server whose event store is blocked.

    Attributes:
        blocked: A file where the event store would have its folder.
    """

    server: RealServer
    blocked: Path

    def log(self) -> str:
        return self.server.log_path.read_text()

    def unblock(self) -> None:
        self.blocked.unlink()


@pytest.fixture
def blocked(tmp_path: Path) -> Iterator[Blocked]:
    """Yield a server whose event store cannot be opened yet."""
    file = tmp_path / "blocked"
    file.touch()
    url = f"chdb://{file}/events?database=s3cret"
    server = PreloadedServer(tmp_path / "data", {"FANION_EVENTS_URL": url})
    yield Blocked(server, file)
    server.close()


def test_a_server_starts_without_the_event_store_and_ingests_once_it_is_there(
    blocked: Blocked,
) -> None:
    server = blocked.server
    opening = Opening(server, server.setup())
    server.launch()
    until(lambda: is_listening(server) and opening.get("/_ready").is_success, "it is not ready")

    captured = opening.capture("ann")
    flag = {"key": "on", "filters": {"groups": [{"rollout_percentage": 100}]}}
    created = opening.post(f"/api/projects/{opening.keys.project_id}/feature_flags/", flag)
    decided = opening.decide("ann")
    ready, listed = (
        opening.get("/_ready"),
        opening.get(f"/api/projects/{opening.keys.project_id}/events/"),
    )
    blocked.unblock()

    assert (captured.status_code, created.status_code) == (200, 201)
    assert decided == {"on": True}
    checks = {"records": "ok", "events": "unreachable", "accept_log": "ok"}
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "checks": checks})
    assert (listed.status_code, listed.json()) == (503, UNAVAILABLE)
    until(lambda: opening.is_stored("ann"), "nothing is ingested")
    assert opening.get("/_ready").json()["checks"]["events"] == "ok"
    assert server.stop() == 0


def test_the_first_start_prints_its_keys_without_the_event_store(blocked: Blocked) -> None:
    blocked.server.launch()
    reported = blocked.server.data / "first-start.txt"

    until(lambda: reported.exists() and "phc_" in reported.read_text(), "no keys are written")
    until(lambda: "The event store does not answer yet." in blocked.log(), "nothing is announced")

    assert blocked.server.stop() == 0
