"""Released versions of the program and this one on the same stores.

They run side by side on one PostgreSQL, as in a rolling upgrade, and one after the other.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from fanion.db.migrate import migrate, oldest_program
from fanion.events.storage.schema import OLDEST_PROGRAM
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.postgres import ENGINES, POSTGRESQL, Postgres
from tests.support.preloaded import PreloadedServer
from tests.support.releases import (
    COMMITS,
    VERSION_BEFORE,
    check_out_version,
    newest_schema_of,
)
from tests.support.schemas import records_schema
from tests.support.server import Keys, RealServer

pytestmark = [pytest.mark.postgresql, pytest.mark.long("starts servers of several versions")]

ROOT = Path(__file__).parents[2]
KEY = "checkout"


@pytest.fixture
async def url(postgres: Postgres) -> str:
    """Return the URL of an empty database, which is dropped with the PostgreSQL of the tests."""
    return postgres.url(await postgres.create_database())


# The oldest released version and the newest; those in between would take minutes more.
BESIDE = sorted({next(iter(COMMITS)), list(COMMITS)[-1]})


@pytest.fixture(params=BESIDE)
def released(
    request: pytest.FixtureRequest, url: str, own_events_url: str, tmp_path: Path
) -> Iterator[RealServer]:
    source = check_out_version(request.param, tmp_path / "released")
    settings = {"FANION_DATABASE_URL": url, "FANION_EVENTS_URL": own_events_url}
    settings["PYTHONPATH"] = str(source)
    server = RealServer(tmp_path / "old", settings)
    yield server
    server.close()


@pytest.fixture
def present(url: str, own_events_url: str, tmp_path: Path) -> Iterator[RealServer]:
    settings = {"FANION_DATABASE_URL": url, "FANION_EVENTS_URL": own_events_url}
    server = PreloadedServer(tmp_path / "new", settings)
    yield server
    server.close()


def test_a_version_goes_on_beside_this_one_or_is_refused(
    released: RealServer, present: RealServer
) -> None:
    if newest_schema_of(Path(released.settings["PYTHONPATH"])) >= oldest_program():
        check_they_serve_together(released, present)
    else:
        check_refused(released, present)


def check_refused(released: RealServer, present: RealServer) -> None:
    present.command("setup")

    done = released.run("serve")

    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert f"for programs of schema {oldest_program()} and newer" in line


def check_they_serve_together(released: RealServer, present: RealServer) -> None:
    keys = released.setup_anew()
    released.start()
    present.start()
    with ExitStack() as stack:
        old, new = (stack.enter_context(_client(server, keys)) for server in (released, present))
        check_changes_are_seen(keys, changed_by=new, seen_by=old)
        check_changes_are_seen(keys, changed_by=old, seen_by=new)
        check_it_ingests(keys, old, new, "ada")

        check_it_ingests(keys, old, new, "ben")
        check_it_merges_and_deletes(keys, old, new)

        assert released.stop() == 0
        released.start()
        check_changes_are_seen(keys, changed_by=old, seen_by=new)


def _client(server: RealServer, keys: Keys) -> httpx.Client:
    headers = {"authorization": f"Bearer {keys.personal_api_key}"}
    return plain_http.Client(base_url=server.url, headers=headers, timeout=30)


def check_changes_are_seen(keys: Keys, *, changed_by: httpx.Client, seen_by: httpx.Client) -> None:
    """Check that changes of a flag and of the project are seen."""
    project = f"/api/projects/{keys.project_id}"
    everyone = {"groups": [{"properties": [], "rollout_percentage": 100}]}
    created = changed_by.post(f"{project}/feature_flags/", json={"key": KEY, "filters": everyone})
    assert created.status_code == 201, created.text
    until(lambda: _flags(keys, seen_by) == {KEY: True}, "the new flag is not seen")
    path = f"{project}/feature_flags/{created.json()['id']}/"
    assert changed_by.patch(path, json={"deleted": True}).status_code == 200
    until(lambda: _flags(keys, seen_by) == {}, "the deletion is not seen")

    name = f"renamed by {changed_by.base_url}"
    assert changed_by.patch(f"{project}/", json={"name": name}).status_code == 200
    until(lambda: seen_by.get(f"{project}/").json()["name"] == name, "the name is not seen")


def _flags(keys: Keys, client: httpx.Client) -> object:
    answer = client.post("/decide/?v=3", json={"api_key": keys.project_api_key, "distinct_id": "d"})
    assert answer.status_code == 200, answer.text
    return answer.json()["featureFlags"]


def check_it_ingests(keys: Keys, old: httpx.Client, new: httpx.Client, name: str) -> None:
    """Check that what the released version captures is ingested and shown by both."""
    plan = f"plan {uuid4()}"
    event = {"event": "signed up", "distinct_id": name, "properties": {"$set": {"plan": plan}}}
    captured = old.post("/capture/", json={"api_key": keys.project_api_key, **event})
    assert captured.status_code == 200, captured.text

    def plans(client: httpx.Client) -> list[object]:
        return [person["properties"].get("plan") for person in _persons(keys, client, name)]

    until(lambda: plans(new) == [plan], "the person is not there")
    assert plans(old) == [plan]


def check_it_merges_and_deletes(keys: Keys, old: httpx.Client, new: httpx.Client) -> None:
    """Check that the released version captures merges and deletes a person, as both show."""
    [ada], [ben] = _persons(keys, new, "ada"), _persons(keys, new, "ben")
    merge = {
        "event": "$identify",
        "distinct_id": "ada",
        "properties": {"$anon_distinct_id": "visitor"},
    }
    alias = {
        "event": "$merge_dangerously",
        "distinct_id": "ada",
        "properties": {"alias": "ben"},
    }
    for event in (merge, alias):
        captured = old.post("/capture/", json={"api_key": keys.project_api_key, **event})
        assert captured.status_code == 200, captured.text
    until(
        lambda: [person["id"] for person in _persons(keys, new, "ben")] == [ada["id"]],
        "the persons are not merged",
    )
    merged = old.get(f"/api/projects/{keys.project_id}/persons/{ada['uuid']}/")
    assert sorted(merged.json()["distinct_ids"]) == ["ada", "ben", "visitor"]
    assert ben["id"] != ada["id"]

    gone = old.delete(f"/api/projects/{keys.project_id}/persons/{ada['uuid']}/")
    assert gone.status_code in (202, 204), gone.text
    assert _persons(keys, new, "ada") == _persons(keys, old, "ben") == []


def _persons(keys: Keys, client: httpx.Client, distinct_id: str) -> list[dict[str, Any]]:
    answer = client.get(
        f"/api/projects/{keys.project_id}/persons/", params={"distinct_id": distinct_id}
    )
    assert answer.status_code == 200, answer.text
    persons: list[dict[str, Any]] = answer.json()["results"]
    return persons


def test_the_documentation_names_the_oldest_version_that_goes_on(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs/upgrade.md").read_text()
    schemas = {
        version: newest_schema_of(check_out_version(version, tmp_path / version))
        for version in COMMITS
    }

    going_on = [version for version, schema in schemas.items() if schema >= oldest_program()]

    oldest = f"Versions from {going_on[0]} on" if going_on else "No earlier version"
    assert f"{oldest} can run alongside this one" in " ".join(text.split())


def test_the_version_before_can_always_run_beside_this_one(tmp_path: Path) -> None:
    """Check rule 3 of decision 32 for both stores."""
    source = check_out_version(VERSION_BEFORE, tmp_path / "released")
    read_version = "from fanion.events.storage.schema import VERSION; print(VERSION)"

    events = int(run_python(read_version, "", str(source)))

    assert oldest_program() <= newest_schema_of(source)
    assert events >= OLDEST_PROGRAM


# ── One after the other ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("version", COMMITS)
@pytest.mark.parametrize("kind", ENGINES)
async def test_records_of_a_released_version_get_the_schema_of_new_ones(
    version: str, kind: str, postgres: Postgres, tmp_path: Path
) -> None:
    source = check_out_version(version, tmp_path / "released")
    old, new = [await empty_url(kind, postgres, tmp_path / f"{name}.db") for name in ("old", "new")]
    released = RealServer(tmp_path, {"FANION_DATABASE_URL": old, "PYTHONPATH": str(source)})

    released.command("migrate")
    await migrate(old)
    await migrate(new)

    assert await records_schema(old) == await records_schema(new)


async def empty_url(kind: str, postgres: Postgres, path: Path) -> str:
    """Return the URL of an empty records store: the file, or a new database on PostgreSQL.

    The database is dropped with the PostgreSQL of the tests.
    """
    if kind == POSTGRESQL:
        return postgres.url(await postgres.create_database())
    await asyncio.to_thread(path.touch)
    return f"sqlite:///{path}"


# This program creates the tables of events, or upgrades them to the schema of the program in use.
OPEN_EVENTS = """
import sys
from fanion.events.storage.client import engine_at, open_clients
open_clients(engine_at(sys.argv[1]))
"""


@pytest.mark.parametrize("version", COMMITS)
async def test_events_of_a_released_version_get_the_schema_of_new_ones(
    version: str, tmp_path: Path
) -> None:
    source = check_out_version(version, tmp_path / "released")
    old, new = tmp_path / "old", tmp_path / "new"

    open_events(old, str(source))
    open_events(old)
    open_events(new)

    assert read_events_schema(old) == read_events_schema(new)


def open_events(folder: Path, source: str = "") -> None:
    run_python(OPEN_EVENTS, f"chdb://{folder}", source)


# It runs in its own process, because the engine opens only one folder in each process.
READ_SCHEMA = """
import json, sys
from clickhouse_connect import get_client
from tests.support.schemas import events_schema
print(json.dumps(events_schema(get_client(interface="chdb", path=sys.argv[1]))))
"""


def read_events_schema(folder: Path) -> Any:
    return json.loads(run_python(READ_SCHEMA, str(folder)))


def run_python(program: str, argument: str, source: str = "") -> str:
    """Run a program with the source of a released version or of this one; return its output."""
    environment = {**os.environ, "PYTHONPATH": source} if source else None
    command = [sys.executable, "-c", program, argument]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
