"""A real server with a web worker and a separate management listener."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import plain_http
from tests.support.awaited import until
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, free_port, this_process

pytestmark = pytest.mark.long("starts real servers")


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[PreloadedServer, Keys, str]]:
    """Yield a server with its keys and the address of management."""
    port = free_port()
    settings = {"FANION_PROCESSES": "2", "FANION_MANAGEMENT_LISTEN": f"127.0.0.1:{port}"}
    server = PreloadedServer(Path(tmp_path_factory.mktemp("listeners")) / "data", settings)
    keys = server.setup()
    server.start()
    yield server, keys, f"http://127.0.0.1:{port}"
    server.close()


def bearer(keys: Keys) -> dict[str, str]:
    return {"authorization": f"Bearer {keys.personal_api_key}"}


def test_management_is_served_at_its_own_address_only(
    server: tuple[PreloadedServer, Keys, str],
) -> None:
    process, keys, management = server
    path = f"/api/projects/{keys.project_id}/persons/"
    body = {"api_key": keys.project_api_key, "event": "seen", "distinct_id": "ann"}

    captured = plain_http.post(f"{process.url}/capture/", json=body)
    public = plain_http.get(f"{process.url}{path}", headers=bearer(keys))
    sent = plain_http.post(f"{management}/capture/", json=body)

    def arrived() -> bool:
        answer = plain_http.get(f"{management}{path}", headers=bearer(keys)).json()
        return len(answer["results"]) == 1

    assert (captured.status_code, public.status_code, sent.status_code) == (200, 404, 404)
    until(arrived, "the event is missing")


def test_links_have_the_requested_address(
    server: tuple[PreloadedServer, Keys, str],
) -> None:
    _, keys, management = server
    plain_http.post(f"{management}/api/projects/", json={"name": "b"}, headers=bearer(keys))

    page = plain_http.get(f"{management}/api/projects/?limit=1", headers=bearer(keys)).json()

    assert page["next"].startswith(f"{management}/api/projects/")


def test_a_handed_over_connection_does_not_reach_management(
    server: tuple[PreloadedServer, Keys, str],
) -> None:
    """Captures are handed over to a web worker, which hands back requests for other paths."""
    process, keys, _ = server
    path = f"/api/projects/{keys.project_id}/persons/"
    body = {"api_key": keys.project_api_key, "event": "seen", "distinct_id": "ann"}
    with plain_http.Client(base_url=process.url) as client:
        own = client.get("/_health").headers["x-request-id"].partition("-")[0]

        def is_at_the_worker() -> bool:
            answer = client.post("/capture/", json=body)
            return bool(answer.headers["x-request-id"].partition("-")[0] != own)

        until(is_at_the_worker, "no web worker")
        passed_back = client.get(path, headers=bearer(keys))

    assert passed_back.status_code == 404
    assert passed_back.json()["code"] == "not_found"


def test_a_request_behind_a_capture_does_not_reach_management(
    server: tuple[PreloadedServer, Keys, str],
) -> None:
    process, keys, _ = server
    body = json.dumps({"api_key": keys.project_api_key, "event": "a", "distinct_id": "b"}).encode()
    head = b"POST /capture/ HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n" % len(body)
    get = (
        f"GET /api/projects/ HTTP/1.1\r\nhost: a\r\nconnection: close\r\n"
        f"authorization: Bearer {keys.personal_api_key}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", process.port), timeout=20) as line:
        line.sendall(head + body + get.encode())
        answered = b"".join(iter(lambda: line.recv(65_536), b""))

    assert b"200 OK" in answered
    assert keys.project_api_key.encode() not in answered


def test_a_taken_port_is_reported_before_anything_is_opened(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        server = PreloadedServer(tmp_path / "data", {"FANION_MANAGEMENT_LISTEN": address})

        done = server.run("serve")

    assert done.returncode == 2
    assert done.stderr == (
        f"fanion: cannot listen on {address}: Address already in use by {this_process()}. Stop the "
        "process that uses it, or choose another address with FANION_MANAGEMENT_LISTEN.\n"
    )
    assert not server.data.exists()
