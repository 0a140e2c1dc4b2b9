"""Ingestion while PostgreSQL is stopped, and after it is started again."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support import plain_http
from tests.support.awaited import until
from tests.support.postgres import (
    SPEED,
    NoPostgres,
    Postgres,
    binaries,
    private_postgres,
    start_server,
    stop_server,
)
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer
from tests.support.suspended_process import processes

pytestmark = pytest.mark.long("starts real servers and kills them")

# With half a second between attempts, this is longer than a server may be silent before it is taken
# to be dead and must take its place again.
ATTEMPTS_MIN = 20
FAILURES = 'fanion_store_errors_total{store="ingestion"} '


# The test stops and starts PostgreSQL, which loops must notice; that takes ten seconds.
def test_ingestion_goes_on_after_an_outage_which_each_loop_logs_once(tmp_path: Path) -> None:
    with started(tmp_path) as (postgres, server, keys), plain_http.Client() as client:
        capture(client, server, keys, "before")
        until(lambda: is_stored(client, server, keys, "before"), "the event did not arrive")
        stop(postgres)
        until(lambda: attempts(client, server) >= ATTEMPTS_MIN, "ingestion does not try again")

        again = start_server(binaries(), postgres.folder, postgres.port, SPEED)
        try:
            until(lambda: capture(client, server, keys, "after") == 200, "capture is refused")
            until(lambda: is_stored(client, server, keys, "after"), "ingestion does not go on")
            until(lambda: "ingestion_waits" in ended(server), "the end is not logged")
        finally:
            server.stop()
            stop_server(again)

    lines = Counter(line["event"] for line in server.log_lines() if line["level"] == "warning")
    del lines["failure_ended"]
    assert "ingestion_waits" in lines
    # Two for each lane: reading ahead, and renewing its position.
    assert lines.pop("ingestion_waits") <= 4
    assert lines.pop("store_not_ready", 0) <= 4
    assert {event: number for event, number in lines.items() if number > 1} == {}


@contextmanager
def started(folder: Path) -> Iterator[tuple[Postgres, RealServer, Keys]]:
    try:
        with private_postgres() as postgres:
            server = PreloadedServer(
                folder / "data",
                {"FANION_DATABASE_URL": postgres.url("postgres"), "FANION_LOG_LEVEL": "warning"},
            )
            keys = server.setup()
            server.start()
            try:
                yield postgres, server, keys
            finally:
                server.close()
    except NoPostgres as error:
        pytest.skip(str(error))


def stop(postgres: Postgres) -> None:
    os.kill(postgres.pid, signal.SIGINT)
    until(lambda: len(processes(postgres.pid)) == 1, "PostgreSQL did not stop")


def capture(client: httpx.Client, server: RealServer, keys: Keys, event: str) -> int:
    body = {"api_key": keys.project_api_key, "event": event, "distinct_id": "ann"}
    return client.post(f"{server.url}/capture/", json=body).status_code


def is_stored(client: httpx.Client, server: RealServer, keys: Keys, event: str) -> bool:
    answer = client.get(
        f"{server.url}/api/projects/{keys.project_id}/events/",
        params={"event": event},
        headers={"Authorization": f"Bearer {keys.personal_api_key}"},
    )
    return answer.status_code == 200 and bool(answer.json()["results"])


def attempts(client: httpx.Client, server: RealServer) -> float:
    text = client.get(f"{server.url}/metrics").text
    values = [line for line in text.splitlines() if line.startswith(FAILURES)]
    return sum(float(line.removeprefix(FAILURES)) for line in values)


def ended(server: RealServer) -> set[str]:
    return {line["failure"] for line in server.log_lines() if line["event"] == "failure_ended"}
