"""Flags keep answering while the records store is stopped or frozen, and after a restart."""

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.support import plain_http
from tests.support.awaited import until
from tests.support.load import Load, LoadAnswer, requested_after
from tests.support.postgres import NoPostgres, Postgres, private_postgres
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer
from tests.support.suspended_process import processes, suspended_process

pytestmark = pytest.mark.long("starts real servers and kills them")

Json = dict[str, Any]

REQUESTS = 300
CAPTURES = 100
DECIDERS, CAPTURERS = 8, 4

NEEDS_NOTHING = {"groups": [{"rollout_percentage": 100}]}
NEEDS_STORE = {"groups": [{"properties": [{"key": "plan", "type": "person", "value": "pro"}]}]}


@dataclass
class ServerOnPostgres:
    """A server with its records and accept log in its own PostgreSQL."""

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


@pytest.fixture(scope="module")
def outage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerOnPostgres]:
    """Yield one server for all tests, which build on each other.

    The last but one stops PostgreSQL.
    """
    try:
        with private_postgres() as postgres:
            settings = {
                "FANION_DATABASE_URL": postgres.url("postgres"),
                "FANION_DECIDE_STORE_TIMEOUT_S": "0.5",
            }
            server = PreloadedServer(tmp_path_factory.mktemp("static") / "data", settings)
            outage = ServerOnPostgres(postgres, server, server.setup())
            server.start()
            try:
                store_flags(outage)
                yield outage
            finally:
                server.close()
    except NoPostgres as error:
        pytest.skip(str(error))


def store_flags(outage: ServerOnPostgres) -> None:
    """Create two flags and a person, and wait until all of it is on disk."""
    keys, url = outage.keys, outage.server.url
    headers = {"Authorization": f"Bearer {keys.personal_api_key}"}
    path = f"{url}/api/projects/{keys.project_id}/feature_flags/"
    for key, filters in (("static", NEEDS_NOTHING), ("pros", NEEDS_STORE)):
        body = {"key": key, "filters": filters}
        plain_http.post(path, json=body, headers=headers).raise_for_status()
    event = {"event": "$identify", "distinct_id": "ann", "$set": {"plan": "pro"}}
    plain_http.post(f"{url}/capture/", json={"api_key": keys.project_api_key, **event})
    with plain_http.Client() as client:
        both = {"static": True, "pros": True}
        until(lambda: outage.decide(client)["featureFlags"] == both, "the person did not arrive")
    until(lambda: len(stored_rows(outage)) == 1, "the flags were not stored")


def stored_rows(outage: ServerOnPostgres) -> list[Any]:
    """Return the rows that contain both flags."""
    try:
        with closing(sqlite3.connect(outage.server.data / "kept-flags.db")) as file:
            rows = file.execute("SELECT definitions FROM kept").fetchall()
            return [row for row in rows if b"pros" in row[0]]
    except sqlite3.OperationalError:
        return []


def check_load(load: Load) -> None:
    """Check the responses while the store does not answer.

    Flags that need nothing from the store are answered; the others are left out and marked. The
    server keeps captures on its own disk.
    """
    decided, captured = len(load.decided), len(load.captured)
    until(lambda: len(requested_after(load.decided, decided)) >= REQUESTS, "flags do not go on")
    until(lambda: len(requested_after(load.captured, captured)) >= CAPTURES, "no capture answers")

    for answer in requested_after(load.decided, decided):
        assert answer.status == 200
        assert answer.body["featureFlags"] == {"static": True}
        assert answer.body["errorsWhileComputingFlags"] is True
    assert statuses(load.captured, captured) == {200}


def check_stored(outage: ServerOnPostgres, load: Load) -> None:
    """Check that every acknowledged event is stored, from before, during and after the outage."""
    headers = {"Authorization": f"Bearer {outage.keys.personal_api_key}"}
    path = f"{outage.server.url}/api/projects/{outage.keys.project_id}/events/?limit=1000"

    def missing() -> set[str]:
        found: set[str] = set()
        page: str | None = path
        while page is not None:
            answer = plain_http.get(page, headers=headers).json()
            found |= {event["event"] for event in answer["results"]}
            page = answer["next"]
        return load.acknowledged - found

    until(lambda: not missing(), "an acknowledged event is not stored")


def statuses(answers: list[LoadAnswer], after: int = 0) -> set[int]:
    return {answer.status for answer in requested_after(answers, after)}


def check_static(outage: ServerOnPostgres) -> None:
    """Check that flags answer right away, without waiting for the store."""
    with plain_http.Client() as client:
        for _ in range(REQUESTS):
            found = outage.decide(client)

            assert found["featureFlags"] == {"static": True}
            assert found["errorsWhileComputingFlags"] is True


def test_flags_go_on_under_load_while_the_records_store_is_frozen(outage: ServerOnPostgres) -> None:
    """The accept log is in the same PostgreSQL: captures are kept on disk, and sent afterwards."""
    load = Load(outage.server.url, outage.keys.project_api_key)
    with load.running(DECIDERS, CAPTURERS):
        until(lambda: load.acknowledged and load.decided, "no answers")
        with suspended_process(outage.postgres.pid):
            check_load(load)

    check_recovery(outage)
    assert statuses(load.captured) == {200}
    check_stored(outage, load)


def test_a_server_that_starts_while_it_is_frozen_answers_with_what_was_stored(
    outage: ServerOnPostgres,
) -> None:
    outage.server.kill()

    with suspended_process(outage.postgres.pid):
        check_start(outage)

    outage.server.wait_ready()
    check_recovery(outage)


def test_flags_go_on_under_load_while_the_records_store_is_stopped(
    outage: ServerOnPostgres,
) -> None:
    load = Load(outage.server.url, outage.keys.project_api_key)
    with load.running(DECIDERS, CAPTURERS):
        until(lambda: load.acknowledged and load.decided, "no answers")
        outage.stop_postgres()
        check_load(load)

    event = {"api_key": outage.keys.project_api_key, "event": "e", "distinct_id": "ann"}
    captured = plain_http.post(f"{outage.server.url}/capture/", json=event)
    ready = plain_http.get(f"{outage.server.url}/_ready")

    assert (captured.status_code, ready.status_code) == (200, 503)


def test_a_server_that_starts_while_it_is_stopped_answers_with_what_was_stored(
    outage: ServerOnPostgres,
) -> None:
    outage.stop_postgres()
    outage.server.kill()

    check_start(outage)

    assert outage.server.stop() == 0


def check_start(outage: ServerOnPostgres) -> None:
    outage.server.launch()
    until(lambda: answers(outage.server), "the server does not serve")
    check_static(outage)
    headers = {"Authorization": f"Bearer {outage.keys.personal_api_key}"}
    management = plain_http.get(f"{outage.server.url}/api/projects/", headers=headers)
    event = {"api_key": outage.keys.project_api_key, "event": "e", "distinct_id": "ann"}
    capture = plain_http.post(f"{outage.server.url}/capture/", json=event)
    ready = plain_http.get(f"{outage.server.url}/_ready")
    assert (management.status_code, capture.status_code, ready.status_code) == (503, 200, 503)
    # The response reveals neither the address of the store nor its error message.
    shown = {"status", "checks", "flags_age_s", "spool_bytes", "spool_age_s"}
    assert ready.json().keys() == shown
    assert ready.json()["checks"] == {"records": "unreachable", "spool": "spooling"}


def check_recovery(outage: ServerOnPostgres) -> None:
    both = {"static": True, "pros": True}
    with plain_http.Client() as client:
        until(lambda: outage.decide(client)["featureFlags"] == both, "the store is not asked again")


def answers(server: RealServer) -> bool:
    try:
        return plain_http.get(f"{server.url}/_health", timeout=1).status_code == 200
    except httpx.TransportError:
        return False
