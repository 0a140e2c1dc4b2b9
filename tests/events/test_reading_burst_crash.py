"""A viewer's burst of slow lists on a real server stalls neither readiness nor ingestion.

It ends when its connections are broken off.
"""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from urllib.parse import quote

import httpx
import pytest

from tests.support import plain_http
from tests.support.awaited import has_caught_up, until
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("starts real servers")

LISTS = 60
EVENTS = 6_000
# With twelve patterns on this text, one list takes most of a second.
TEXT = "lorem ipsum dolor sit amet consectetur " * 60
PATTERNS = [
    {"key": "text", "operator": "regex", "value": f"(l.*r.*m.*{n}z|[a-z]+ [a-z]+ q{n})"}
    for n in range(12)
]


# The test stores events of 14 MB on a real server, and reads them for seconds.
def test_a_burst_of_lists_stalls_nobody_and_ends_with_its_clients(tmp_path: Path) -> None:
    server = RealServer(tmp_path / "data")
    keys = server.setup()
    server.start()
    try:
        with plain_http.Client(base_url=server.url, timeout=120) as client:
            store(client, keys)
            with burst(server, keys) as lists:
                ready = client.get("/_ready")
                capture(client, keys, "marker")
                until(lambda: has_caught_up(client.get("/metrics").text), "it is not ingested")
                answered = len(select(lists, [], [], 0)[0])
                assert (ready.status_code, ready.json()["checks"]["events"]) == (200, "ok")
                assert ready.elapsed.total_seconds() < 5  # for a check that gives up after 0.8 s
                assert answered < LISTS / 2, "the event waited for the lists"
            answer = client.get(events_path(keys, "?event=marker"), headers=bearer(keys))
            until(lambda: lists_of_log(server) == LISTS, "some list goes on")
    finally:
        server.close()

    assert len(answer.json()["results"]) == 1
    left = [line for line in requests(server) if line["status"] == 499]
    assert len(left) >= LISTS / 2


def store(client: httpx.Client, keys: Keys) -> None:
    for start in range(0, EVENTS, 1_000):
        batch = [
            {"event": "read", "distinct_id": "ann", "properties": {"text": f"{TEXT}{n}"}}
            for n in range(start, start + 1_000)
        ]
        body = {"api_key": keys.project_api_key, "batch": batch}
        assert client.post("/batch/", json=body).status_code == 200
    until(lambda: has_caught_up(client.get("/metrics").text), "the events are not ingested")


def capture(client: httpx.Client, keys: Keys, event: str) -> None:
    body = {"api_key": keys.project_api_key, "event": event, "distinct_id": "bob"}
    assert client.post("/capture/", json=body).status_code == 200


@contextmanager
def burst(server: RealServer, keys: Keys) -> Iterator[list[socket.socket]]:
    """Request lists at once, and break the connections off at the end."""
    path = events_path(keys, f"?properties={quote(json.dumps(PATTERNS))}")
    head = f"GET {path} HTTP/1.1\r\nHost: fanion\r\nAuthorization: {bearer(keys)['authorization']}"
    sockets = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(LISTS)]
    try:
        for connection in sockets:
            connection.sendall(f"{head}\r\n\r\n".encode())
        yield sockets
    finally:
        for connection in sockets:
            connection.close()


def events_path(keys: Keys, query: str) -> str:
    return f"/api/projects/{keys.project_id}/events/{query}"


def bearer(keys: Keys) -> dict[str, str]:
    return {"authorization": f"Bearer {keys.personal_api_key}"}


def requests(server: RealServer) -> list[dict[str, object]]:
    """Return the logged requests of lists, whether answered or left."""
    lines = [line for line in server.log_lines() if line["event"] == "request"]
    return [line for line in lines if str(line["path"]).endswith("/events/")]


def lists_of_log(server: RealServer) -> int:
    return len(requests(server)) - 1  # without the one that looks for the marker
