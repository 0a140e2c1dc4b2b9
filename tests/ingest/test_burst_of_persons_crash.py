"""Flags can be saved and are answered while a burst of new persons is ingested."""

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import plain_http
from tests.support.awaited import has_caught_up, until
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("starts a real server and ingests 68,000 persons")

PERSONS, CLIENTS = 68_000, 4
FILTERS = {
    "groups": [
        {
            "properties": [{"key": "plan", "value": "pro", "type": "person"}],
            "rollout_percentage": 50,
        }
    ]
}


@pytest.mark.parametrize("persons_per_body", [1_000, PERSONS])
def test_nobody_is_refused_while_new_persons_are_ingested(
    tmp_path: Path, persons_per_body: int
) -> None:
    server = RealServer(tmp_path / "data")
    keys = server.setup()
    server.start()
    try:
        with (
            plain_http.Client(base_url=server.url, timeout=120) as client,
            busy_clients(server, keys) as statuses,
        ):
            for body in bodies(keys, persons_per_body):
                assert client.post("/batch/", content=body).status_code == 200
            until(lambda: has_caught_up(client.get("/metrics").text), "persons are missing")
            path = f"/api/projects/{keys.project_id}/persons/?limit=1&search=p{PERSONS - 1}"
            answer = client.get(path, headers=bearer(keys))
    finally:
        server.close()

    assert [person["distinct_ids"] for person in answer.json()["results"]] == [[f"p{PERSONS - 1}"]]
    assert len(statuses) > CLIENTS
    assert set(statuses) == {200}


def bodies(keys: Keys, persons_per_body: int) -> Iterator[bytes]:
    for start in range(0, PERSONS, persons_per_body):
        batch = [event_of(f"p{n}", n) for n in range(start, start + persons_per_body)]
        yield json.dumps({"api_key": keys.project_api_key, "batch": batch}).encode()


def event_of(distinct_id: str, number: int) -> dict[str, Any]:
    plan = "pro" if number % 3 else "free"
    properties = {"$set": {"email": f"{distinct_id}@example.com", "plan": plan}}
    return {"event": "bought", "distinct_id": distinct_id, "properties": properties}


@contextmanager
def busy_clients(server: RealServer, keys: Keys) -> Iterator[Sequence[int]]:
    """Let clients save flags and ask for them within the context, and yield all statuses."""
    statuses: list[int] = []
    stop = threading.Event()

    def work(number: int) -> None:
        with plain_http.Client(base_url=server.url, timeout=60) as client:
            flag = make_flag(client, keys, number)
            for turn in count():
                if stop.is_set():
                    return
                statuses.append(save_flag(client, keys, flag, active=turn % 2 == 0))
                statuses.append(ask_for_flags(client, keys, f"u{number}-{turn}"))

    with ThreadPoolExecutor(CLIENTS) as threads:
        working = [threads.submit(work, number) for number in range(CLIENTS)]
        try:
            yield statuses
        finally:
            stop.set()
        for client in working:
            client.result()


def make_flag(client: httpx.Client, keys: Keys, number: int) -> int:
    flag = {"key": f"flag-{number}", "ensure_experience_continuity": True, "filters": FILTERS}
    answer = client.post(flags_path(keys), json=flag, headers=bearer(keys))
    assert answer.status_code == 201, answer.text
    made: int = answer.json()["id"]
    return made


def save_flag(client: httpx.Client, keys: Keys, flag: int, *, active: bool) -> int:
    path = f"{flags_path(keys)}{flag}/"
    return client.patch(path, json={"active": active}, headers=bearer(keys)).status_code


def ask_for_flags(client: httpx.Client, keys: Keys, distinct_id: str) -> int:
    body = {
        "api_key": keys.project_api_key,
        "distinct_id": distinct_id,
        "$anon_distinct_id": f"anonymous-{distinct_id}",
    }
    return client.post("/flags/?v=2", json=body).status_code


def flags_path(keys: Keys) -> str:
    return f"/api/projects/{keys.project_id}/feature_flags/"


def bearer(keys: Keys) -> dict[str, str]:
    return {"authorization": f"Bearer {keys.personal_api_key}"}
