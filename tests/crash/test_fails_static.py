"""Flags keep answering while the records store is stopped or frozen, and after a restart."""

import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.postgres import NoPostgres, Postgres, private_postgres
from tests.server import Keys, RealServer

Json = dict[str, Any]

REQUESTS = 300
# Usual is one or two milliseconds; this leaves room for a busy machine, and none for a time-out.
MEDIAN_MS_MAX = 50
SOON_S = 30
# Two seconds on an idle machine, most of them for loading Python modules.
STARTED_S_MAX = 20

NEEDS_NOTHING = {"groups": [{"rollout_percentage": 100}]}
NEEDS_STORE = {"groups": [{"properties": [{"key": "plan", "type": "person", "value": "pro"}]}]}


@dataclass
class Place:
    """A server whose records, and accept log, are in a PostgreSQL of its own."""

    postgres: Postgres
    server: RealServer
    keys: Keys

    def decide(self, client: httpx.Client) -> Json:
        body = {"api_key": self.keys.project_api_key, "distinct_id": "ann"}
        answer = client.post(f"{self.server.url}/decide?v=3", json=body)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    def stop_postgres(self) -> None:
        if len(processes(self.postgres.pid)) > 1:
            os.kill(self.postgres.pid, signal.SIGINT)
            until(lambda: len(processes(self.postgres.pid)) == 1, "PostgreSQL did not stop")


@contextmanager
def frozen(place: Place) -> Iterator[None]:
    """PostgreSQL with each of its processes, which would go on by themselves."""
    stopped = processes(place.postgres.pid)
    tell(stopped, signal.SIGSTOP)
    try:
        yield
    finally:
        tell(stopped, signal.SIGCONT)


def tell(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # a session that was just ending
            os.kill(pid, number)


def processes(parent: int) -> list[int]:
    found = [parent]
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = status.read_text().splitlines()
        except OSError:
            continue
        if f"PPid:\t{parent}" in lines:
            found.append(int(status.parent.name))
    return found


def until(holds: Any, problem: str) -> None:
    give_up = time.monotonic() + SOON_S
    while not holds():
        assert time.monotonic() < give_up, problem
        time.sleep(0.02)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One for all tests, which follow on each other: PostgreSQL is stopped by the last but one."""
    try:
        with private_postgres() as postgres:
            settings = {"FANION_DATABASE_URL": postgres.url("postgres")}
            server = RealServer(tmp_path_factory.mktemp("static") / "data", settings)
            place = Place(postgres, server, server.setup())
            server.start()
            try:
                store(place)
                yield place
            finally:
                server.close()
    except NoPostgres as error:
        pytest.skip(str(error))


def store(place: Place) -> None:
    """Two flags, a person, and all of it kept on disk."""
    keys, url = place.keys, place.server.url
    headers = {"Authorization": f"Bearer {keys.personal_api_key}"}
    path = f"{url}/api/projects/{keys.project_id}/feature_flags/"
    for key, filters in (("static", NEEDS_NOTHING), ("pros", NEEDS_STORE)):
        body = {"key": key, "filters": filters}
        httpx.post(path, json=body, headers=headers).raise_for_status()
    event = {"event": "$identify", "distinct_id": "ann", "$set": {"plan": "pro"}}
    httpx.post(f"{url}/capture/", json={"api_key": keys.project_api_key, **event})
    with httpx.Client() as client:
        both = {"static": True, "pros": True}
        until(lambda: place.decide(client)["featureFlags"] == both, "the person did not arrive")
    until(lambda: len(kept(place)) == 1, "the flags were not kept")


def kept(place: Place) -> list[Any]:
    """The rows that hold both flags."""
    try:
        with closing(sqlite3.connect(place.server.data / "kept-flags.db")) as file:
            rows = file.execute("SELECT definitions FROM kept").fetchall()
            return [row for row in rows if b"pros" in row[0]]
    except sqlite3.OperationalError:
        return []


def check_static(place: Place) -> None:
    """Right away, without waiting for the store each time."""
    taken: list[float] = []
    with httpx.Client(timeout=10) as client:
        for _ in range(REQUESTS):
            started = time.perf_counter()
            found = place.decide(client)
            taken.append((time.perf_counter() - started) * 1000)

            assert found["featureFlags"] == {"static": True}
            assert found["errorsWhileComputingFlags"] is True
    assert statistics.median(taken) < MEDIAN_MS_MAX


def test_flags_go_on_while_the_records_store_is_frozen(place: Place) -> None:
    with frozen(place):
        check_static(place)

    check_recovery(place)


def test_a_server_that_starts_while_it_is_frozen_answers_with_what_was_kept(place: Place) -> None:
    place.server.kill()

    with frozen(place):
        check_start(place)

    place.server.wait_ready()
    check_recovery(place)


def test_flags_go_on_while_the_records_store_is_stopped(place: Place) -> None:
    place.stop_postgres()

    check_static(place)
    event = {"api_key": place.keys.project_api_key, "event": "e", "distinct_id": "ann"}
    refused = httpx.post(f"{place.server.url}/capture/", json=event, timeout=40)
    ready = httpx.get(f"{place.server.url}/_ready", timeout=40)

    assert refused.status_code == 503
    assert "retry-after" in refused.headers
    assert ready.status_code == 503


def test_a_server_that_starts_while_it_is_stopped_answers_with_what_was_kept(place: Place) -> None:
    place.stop_postgres()
    place.server.kill()

    check_start(place)

    assert place.server.stop() == 0


def check_start(place: Place) -> None:
    start(place.server)
    started = time.monotonic()
    until(lambda: answers(place.server), "the server does not serve")
    assert time.monotonic() - started < STARTED_S_MAX
    check_static(place)
    headers = {"Authorization": f"Bearer {place.keys.personal_api_key}"}
    management = httpx.get(f"{place.server.url}/api/projects/", headers=headers)
    capture = httpx.post(f"{place.server.url}/capture/", json={})
    ready = httpx.get(f"{place.server.url}/_ready")
    assert (management.status_code, capture.status_code, ready.status_code) == (503, 503, 503)


def check_recovery(place: Place) -> None:
    both = {"static": True, "pros": True}
    with httpx.Client(timeout=10) as client:
        until(lambda: place.decide(client)["featureFlags"] == both, "the store is not asked again")


def start(server: RealServer) -> None:
    """Without waiting until it is ready, which it will not be."""
    with server.log_path.open("ab") as log:
        server.process = subprocess.Popen(
            [sys.executable, "-m", "fanion", "serve"],
            env=server._environment(),
            stdout=log,
            stderr=log,
        )


def answers(server: RealServer) -> bool:
    try:
        return httpx.get(f"{server.url}/_health", timeout=1).status_code == 200
    except httpx.TransportError:
        return False
