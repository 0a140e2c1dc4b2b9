"""The command `fanion import-posthog`, from one real server into another."""

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from msgspec import json, structs

from fanion.cohorts.criteria.definition import filters_of_groups
from fanion.transfer.document import SECTIONS, Document, read_document
from tests.support import plain_http
from tests.support.awaited import has_caught_up, until
from tests.support.command import fanion
from tests.support.preloaded import PreloadedServer
from tests.support.rich_project import PERSONS, ProjectApi, make_rich_project
from tests.support.server import Keys

pytestmark = pytest.mark.long("copies from one real server to another")

Json = dict[str, Any]

FIRST = datetime(2021, 1, 1, tzinfo=UTC)
EVENTS_SPREAD = 1_000
EVENTS_AT_ONCE = 2_300  # a response has 2,000
WAIT_S = 120
POLL_S = 0.05


class ProjectServer:
    """A real server with its one project."""

    def __init__(self, folder: Path) -> None:
        self.server = PreloadedServer(folder)
        self.keys: Keys = self.server.setup_anew()
        self.server.start()

    def client(self) -> httpx.AsyncClient:
        headers = {"authorization": f"Bearer {self.keys.personal_api_key}"}
        return plain_http.AsyncClient(headers=headers)

    def exported(self) -> Document:
        project = str(self.keys.project_id)
        return read_document(fanion(self.server, "export", "--project", project).encode())

    def imported_from(self, source: "ProjectServer", *more: str) -> Json:
        report: Json = json.decode(fanion(self.server, *self.arguments(source, *more)))
        return report

    def arguments(self, source: "ProjectServer", *more: str) -> tuple[str, ...]:
        return (
            "import-posthog",
            *("--host", source.server.url),
            *("--personal-key", source.keys.personal_api_key),
            *("--project", str(source.keys.project_id)),
            *("--into", str(self.keys.project_id)),
            "--json",
            *more,
        )

    def capture(self, *items: Json, historical: bool = False) -> None:
        body = {"api_key": self.keys.project_api_key, "batch": items}
        answer = plain_http.post(
            f"{self.server.url}/batch/",
            json={**body, "historical_migration": historical},
            timeout=30,
        )
        assert answer.status_code == 200, answer.text
        self.ingested()

    def limit(self, **wishes: float | None) -> None:
        """Limit how many of the items sent to the project are accepted."""
        answer = plain_http.patch(
            f"{self.server.url}/api/projects/{self.keys.project_id}/",
            json={"ingestion": wishes},
            headers={"authorization": f"Bearer {self.keys.personal_api_key}"},
        )
        assert answer.status_code == 200, answer.text

    def await_flags(self, *keys: str) -> None:
        """Wait until the running server knows the flags that a command has changed."""
        body = {"api_key": self.keys.project_api_key, "distinct_id": "u"}
        values: Json = {}
        give_up = time.monotonic() + WAIT_S
        while values.keys() != set(keys):
            assert time.monotonic() < give_up, values
            answer = plain_http.post(f"{self.server.url}/decide?v=3", json=body)
            values = answer.json()["featureFlags"]
            time.sleep(POLL_S)

    def metrics(self) -> str:
        return plain_http.get(f"{self.server.url}/metrics").text

    def ingested(self) -> None:
        until(lambda: has_caught_up(self.metrics()), "events still wait for ingestion")

    def events(self, **query: str) -> dict[str, Json]:
        """Return all events by id."""
        path = f"{self.server.url}/api/projects/{self.keys.project_id}/events/"
        headers = {"authorization": f"Bearer {self.keys.personal_api_key}"}
        parameters = {"limit": "10000", "after": "1900-01-02", **query}
        page = plain_http.get(path, params=parameters, headers=headers).json()
        assert page["next"] is None
        return {event["id"]: event for event in page["results"]}

    def persons(self) -> dict[str, Json]:
        path = f"{self.server.url}/api/projects/{self.keys.project_id}/persons/"
        headers = {"authorization": f"Bearer {self.keys.personal_api_key}"}
        page = plain_http.get(path, params={"limit": "10000"}, headers=headers).json()
        return {person["distinct_ids"][0]: person["properties"] for person in page["results"]}

    def duplicates(self) -> int:
        reported = json.decode(fanion(self.server, "ingestion", "--json", "--minutes", "600"))
        return int(sum(minute["duplicates"] for minute in reported))


def history() -> Iterator[Json]:
    """Yield some thousand events.

    They are spread over years, and more are of one instant than one response holds.
    """
    for number in range(EVENTS_SPREAD):
        yield {
            "event": f"step {number % 7}",
            "distinct_id": f"user-{number % 50}",
            "timestamp": (FIRST + timedelta(hours=18.3 * number, microseconds=number)).isoformat(),
            "properties": {"number": number, "$ip": "203.0.113.7", "nested": {"a": [1, None]}},
            "$set": {"step": number},
            "uuid": str(UUID(int=number + 1)),
        }
    for number in range(EVENTS_AT_ONCE):
        yield {
            "event": f"imported {number % 3}",
            "distinct_id": f"user-{number % 50}",
            "timestamp": "2023-05-01T00:00:00Z",
            "uuid": str(UUID(int=number + 1_000_000)),
        }


async def make_project(server: ProjectServer) -> None:
    server.capture(*PERSONS)
    past = list(history())
    for start in range(0, len(past), 500):
        server.capture(*past[start : start + 500], historical=True)
    async with server.client() as client:
        project_api = ProjectApi(client, server.server.url, server.keys.project_id)
        me = (await client.get(f"{server.server.url}/api/users/@me/")).json()
        await make_rich_project(project_api, me["uuid"], lambda: members_known(project_api))


async def members_known(project_api: ProjectApi, count: int = 2) -> None:
    give_up = time.monotonic() + WAIT_S
    while True:
        cohorts = (await project_api.get("/cohorts/"))["results"]
        if any(cohort["name"] == "friends" and cohort["count"] == count for cohort in cohorts):
            return
        assert time.monotonic() < give_up, cohorts
        await asyncio.sleep(POLL_S)


async def friends_known(server: ProjectServer) -> None:
    async with server.client() as client:
        await members_known(ProjectApi(client, server.server.url, server.keys.project_id))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProjectServer]:
    server = ProjectServer(Path(tmp_path_factory.mktemp("source")) / "data")
    asyncio.run(make_project(server))
    yield server
    server.server.close()


@pytest.fixture
def target(tmp_path: Path) -> Iterator[ProjectServer]:
    server = ProjectServer(tmp_path / "data")
    yield server
    server.server.close()


def comparable(document: Document) -> Document:
    """Return the document without parts that the API does not return or that are a server's own."""
    none = {"created_at": None, "last_seen_at": None, "hidden": False, "verified": False}
    return structs.replace(
        document,
        event_definitions=[
            structs.replace(definition, **none) for definition in document.event_definitions
        ],
        cohorts=[
            structs.replace(
                cohort, filters=cohort.filters or filters_of_groups(cohort.groups), groups=[]
            )
            for cohort in document.cohorts
        ],
    )


def results(reported: Json, *kinds: str) -> list[Json]:
    return [outcome for outcome in reported["outcomes"] if outcome["result"] in kinds]


def test_a_project_is_taken_over_from_a_running_server(
    source: ProjectServer, target: ProjectServer
) -> None:
    target.capture(*PERSONS)

    trial = target.imported_from(source, "--dry-run")
    untouched = target.exported()
    made = target.imported_from(source)
    target.await_flags("base", "companies")
    again = target.imported_from(source)
    asyncio.run(friends_known(target))

    assert trial["outcomes"] == made["outcomes"]
    assert untouched.flags == []
    assert results(made, "skipped") == results(again, "created", "updated", "skipped") == []
    here, there = comparable(target.exported()), comparable(source.exported())
    for section in SECTIONS:
        assert getattr(here, section) == getattr(there, section)


def expect_same_history(target: ProjectServer, source: ProjectServer) -> None:
    """Check that events have all that they say, and that the persons are the same."""
    here, there = target.events(), source.events()
    assert len(there) == len(PERSONS) + EVENTS_SPREAD + EVENTS_AT_ONCE
    assert here.keys() == there.keys()
    for event_id, event in there.items():
        assert here[event_id] == event
    assert target.persons() == source.persons()


def test_events_are_copied_once_however_often_it_is_asked(
    source: ProjectServer, target: ProjectServer
) -> None:
    first = target.imported_from(source, "--events")
    target.ingested()
    asyncio.run(friends_known(target))
    expect_same_history(target, source)

    again = target.imported_from(source, "--events", "--since", "2022-01-01")
    target.ingested()
    caught_up = target.imported_from(source, "--events")

    assert first["events"] | {"start": None} == {
        "events": len(PERSONS) + EVENTS_SPREAD + EVENTS_AT_ONCE,
        "earlier": 0,
        "start": None,
        "unreadable": 0,
        "too_large": 0,
        "incomplete": [],
        "counted": len(PERSONS) + EVENTS_SPREAD + EVENTS_AT_ONCE,
        "uncounted": "",
        "differs": False,
    }
    assert results(first, "skipped") == results(again, "created", "updated", "skipped") == []
    assert again["events"]["events"] > EVENTS_AT_ONCE
    assert caught_up["events"]["events"] == caught_up["events"]["counted"] == 0
    expect_same_history(target, source)
    assert target.duplicates() == again["events"]["events"]


def has_progress(target: ProjectServer) -> bool:
    """Return whether the progress of a copy is stored.

    Events up to there are not copied again.
    """
    with closing(sqlite3.connect(target.server.data / "records.db")) as file:
        return bool(file.execute("SELECT 1 FROM event_copies").fetchone())


def test_a_copy_that_was_killed_goes_on(source: ProjectServer, target: ProjectServer) -> None:
    arguments = target.arguments(source, "--events")
    target.limit(items_per_second=1_000, burst_seconds=1)  # so that it takes some seconds
    killed = target.server.begin(*arguments)
    until(lambda: has_progress(target) or killed.poll() is not None, "nothing is noted")
    assert killed.poll() is None
    killed.kill()
    killed.wait()
    target.limit(items_per_second=None)
    target.ingested()
    partly = len(target.events())

    done = target.imported_from(source, "--events")
    target.ingested()

    assert 0 < partly < EVENTS_SPREAD + EVENTS_AT_ONCE
    copied = done["events"]
    assert 0 < copied["events"] < len(PERSONS) + EVENTS_SPREAD + EVENTS_AT_ONCE
    assert copied["earlier"] + copied["events"] == copied["counted"] == len(source.events())
    expect_same_history(target, source)


def test_without_a_server_events_wait_in_the_log(
    source: ProjectServer, target: ProjectServer
) -> None:
    target.server.stop()

    done = target.imported_from(source, "--events", "--since", "2023-01-01")
    again = target.imported_from(source, "--events", "--since", "2023-01-01")
    target.server.start()
    target.ingested()

    [members] = results(done, "skipped")
    assert members["why"] == "no person of this project has the distinct ids: ann, bob"
    assert results(again, "skipped") == [members]
    expected = source.events(after="2022-12-31T23:59:59.999999Z")
    assert target.events() == expected
    assert done["events"]["events"] == again["events"]["events"] == len(expected)


def test_a_key_that_the_source_refuses_is_reported(
    source: ProjectServer, target: ProjectServer
) -> None:
    project = ("--project", str(source.keys.project_id), "--into", "1")
    key = ("--personal-key", "phx_wrong")
    done = target.server.run("import-posthog", "--host", source.server.url, *key, *project)

    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        "fanion: the source responds to /api/projects/1/ with 401: Personal API key found in "
        "request Authorization header is invalid.\n",
    )
