"""A server that is killed while it deletes a project goes on when it is started again."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.support import plain_http
from tests.support.awaited import has_caught_up, until
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys

pytestmark = pytest.mark.long("starts a real server and kills it")

PERSONS = 4_000
LEFT = "SELECT (SELECT count(*) FROM persons WHERE project_id = ?)"
SWEPT = "SELECT count(*) FROM project_deletions WHERE project_id = ? AND swept_at IS NOT NULL"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PreloadedServer]:
    server = PreloadedServer(tmp_path / "data")
    yield server
    server.close()


def count(server: PreloadedServer, statement: str, project_id: int) -> int:
    with closing(sqlite3.connect(server.data / "records.db", timeout=10)) as records:
        number: int = records.execute(statement, (project_id,)).fetchone()[0]
        return number


def client_of(server: PreloadedServer, keys: Keys) -> httpx.Client:
    headers = {"Authorization": f"Bearer {keys.personal_api_key}"}
    return plain_http.Client(base_url=server.url, headers=headers, timeout=60)


def filled_project(server: PreloadedServer, client: httpx.Client) -> int:
    made = client.post("/api/projects/", json={"name": "Shop"}).json()
    batch = [
        {"event": "seen", "distinct_id": f"ann{number}", "properties": {"$set": {"n": number}}}
        for number in range(PERSONS)
    ]
    sent = client.post("/batch/", json={"api_key": made["api_token"], "batch": batch})
    assert sent.is_success, sent.text
    until(lambda: has_caught_up(client.get("/metrics").text), "events still wait")
    project_id: int = made["id"]
    return project_id


def test_a_deletion_survives_a_kill_in_the_middle(server: PreloadedServer) -> None:
    keys = server.setup()
    server.start()
    with client_of(server, keys) as client:
        shop = filled_project(server, client)
        answer = client.delete(f"/api/projects/{shop}/")
        deleted = answer.json()["deleted"]

        until(lambda: count(server, LEFT, shop) < PERSONS, "nothing is deleted")
        server.kill()
        remaining = count(server, LEFT, shop)
        server.start()
        until(lambda: count(server, SWEPT, shop) == 1, "the deletion does not go on")

        assert answer.status_code == 202
        assert (deleted["events"], deleted["persons"]) == (PERSONS, PERSONS)
        assert 0 < remaining < PERSONS
        assert count(server, LEFT, shop) == 0
        gone = client.get(f"/api/projects/{shop}/")
        kept = client.get(f"/api/projects/{keys.project_id}/persons/")
        assert (gone.status_code, kept.status_code) == (404, 200)
