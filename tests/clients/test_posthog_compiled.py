"""PostHog's clients for compiled languages against the real server.

What they capture arrives, also with a rate limit and while the server is away, and flags agree.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from tests.clients.compiled import COMPILED, go_program, java_program, rust_program
from tests.clients.management import Api, serving
from tests.support import plain_http
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("compiles clients, whose server goes away and comes back")

Json = dict[str, Any]

END_S = 60
PAYLOAD = {"hex": "#00f"}
PRO = {"type": "person", "key": "plan", "operator": "exact", "value": "pro"}
LARGE = {"type": "group", "group_type_index": 0, "key": "seats", "operator": "gt", "value": 5}
FLAGS: dict[str, Json] = {
    "color": {
        "groups": [{"properties": [PRO], "rollout_percentage": 100}],
        "multivariate": {"variants": [{"key": "blue", "rollout_percentage": 100}]},
        "payloads": {"blue": PAYLOAD},  # PostHog stores it as text, which typed clients require
    },
    "everyone": {"groups": [{"rollout_percentage": 100}]},
    "nobody": {"groups": [{"rollout_percentage": 0}]},
    "large": {"groups": [{"properties": [LARGE]}], "aggregation_group_type_index": 0},
}
VALUES: Json = {"color": "blue", "everyone": True, "nobody": False, "large": True}


@dataclass(frozen=True)
class Sdk:
    """A client, and how its program is started.

    Attributes:
        build: It compiles the program if needed, and returns its command. It skips the test where
            a tool is missing.
        library: The name that it sends with its events.
        requests_locally: Requests for flags that it should decide by itself. The client for Java
            looks for a group's properties in the wrong place, and then asks the server.
    """

    language: str
    build: Callable[[], list[str]]
    library: str
    requests_locally: int = 0


SDKS = (
    Sdk("go", partial(go_program, "posthog"), "posthog-go"),
    Sdk("java", partial(java_program, "PosthogProgram"), "posthog-server", requests_locally=1),
    Sdk("rust", rust_program, "posthog-rs"),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealServer, Keys]]:
    with serving(tmp_path_factory.mktemp("compiled")) as server:
        api = Api(*server)
        _prepare_flags(*server, api)
        api.close()
        yield server


def _prepare_flags(server: RealServer, keys: Keys, api: Api) -> None:
    """Create the flags, and before them the type of groups that one of them is about."""
    event = {"event": "signed in", "properties": {"$groups": {"company": "acme"}}}
    body = {"api_key": keys.project_api_key, "distinct_id": "for-its-group", **event}
    plain_http.post(f"{server.url}/capture/", json=body).raise_for_status()
    api.events("for-its-group", 1)
    for key, filters in FLAGS.items():
        api.create_flag(key=key, filters=filters)


@pytest.fixture(scope="module")
def api(server: tuple[RealServer, Keys]) -> Iterator[Api]:
    api = Api(*server)
    yield api
    api.close()


@dataclass(frozen=True)
class Program:
    """A program with a client of the server's project."""

    sdk: Sdk
    command: list[str]
    server: RealServer
    keys: Keys

    def user(self, name: str) -> str:
        """Return a distinct id that the programs of other clients do not use."""
        return f"{name}-{self.sdk.language}"

    @contextmanager
    def running(
        self, step: str, name: str, events: int = 0, retry_ms: int = 300
    ) -> Iterator["Running"]:
        """Run a step, until which the caller has seen what it does.

        Args:
            retry_ms: Between the attempts of a client whose delay can be set.
        """
        task = {
            "Step": step,
            "Host": self.server.url,
            "ProjectKey": self.keys.project_api_key,
            "PersonalKey": self.keys.personal_api_key,
            "Name": name,
            "Events": events,
            "RetryMs": retry_ms,
        }
        process = subprocess.Popen(
            self.command,
            cwd=COMPILED,
            env=os.environ | {"TASK": json.dumps(task)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            yield Running(process)
        finally:
            process.kill()
            process.communicate()

    def run(self, step: str, name: str) -> Json:
        with self.running(step, name) as running:
            return running.end()


@dataclass(frozen=True)
class Running:
    process: "subprocess.Popen[str]"

    def end(self) -> Json:
        """Close the standard input, which ends a program that waits, and return what it saw."""
        printed, _ = self.process.communicate(timeout=END_S)
        assert self.process.returncode == 0, printed
        seen: Json = json.loads(printed.splitlines()[-1])
        return seen


@pytest.fixture(scope="module", params=SDKS, ids=lambda sdk: sdk.language)
def program(request: pytest.FixtureRequest, server: tuple[RealServer, Keys]) -> Program:
    sdk: Sdk = request.param
    return Program(sdk, sdk.build(), *server)


def test_events_persons_and_groups_arrive(program: Program, api: Api) -> None:
    ann = program.user("ann")
    with program.running("capture", ann, 3) as running:
        events = _await_all(running, api, ann, 3)

    assert {event["properties"]["$lib"] for event in events} == {program.sdk.library}
    person = api.person(ann)
    assert person["properties"]["plan"] == "pro"
    assert set(person["distinct_ids"]) == {ann, f"{ann}-alias"}
    [group] = api.get("/groups/", group_type_index="0")["results"]
    assert (group["group_key"], group["group_properties"]["seats"]) == ("acme", 7)


def _await_all(running: Running, api: Api, user: str, count: int) -> list[Json]:
    """Await all events that a program captures, and check that none is lost or doubled."""
    captured = {"distinct_id": user, "event": "captured"}
    api.await_events(count, **captured)
    seen = running.end()
    events = api.await_events(count, **captured)
    assert seen.get("lost", 0) == 0
    assert sorted(event["properties"]["number"] for event in events) == list(range(count))
    return events


def test_the_server_evaluates_flags(program: Program, api: Api) -> None:
    requests_before = api.requests(route="flags")

    seen = program.run("flags", program.user("eva"))

    _check_flags(seen)
    assert api.requests(route="flags") > requests_before


def test_flags_are_evaluated_locally(program: Program, api: Api) -> None:
    requests_before = api.requests(route="flags")

    seen = program.run("local", program.user("eva"))

    _check_flags(seen)
    assert api.requests(route="flags") == requests_before + program.sdk.requests_locally


def _check_flags(seen: Json) -> None:
    assert {key: seen[key] for key in VALUES} == VALUES
    assert json.loads(seen["payload"]) == PAYLOAD
    every = seen.get("all", VALUES)  # the client for Java has no such call
    assert {key: every[key] for key in VALUES} == VALUES


def test_nothing_is_lost_to_a_rate_limit(program: Program, api: Api) -> None:
    limited = program.user("limited")
    refused_before = api.requests(status=503)
    _limit(program, 4)  # which each of them passes, also on a slow machine: an item a request
    try:
        with program.running("capture", limited, 10, retry_ms=1_000) as running:
            _await_all(running, api, limited, 10)
    finally:
        _limit(program, None)

    assert api.requests(status=503) > refused_before


def _limit(program: Program, items_per_second: int | None) -> None:
    headers = {"Authorization": f"Bearer {program.keys.personal_api_key}"}
    body = {"ingestion": {"items_per_second": items_per_second, "burst_seconds": 1}}
    path = f"{program.server.url}/api/projects/{program.keys.project_id}/"
    answer = plain_http.patch(path, json=body, headers=headers)
    assert answer.status_code == 200, answer.text


def test_nothing_is_lost_while_the_server_is_away(program: Program, api: Api) -> None:
    patient = program.user("patient")
    program.server.kill()
    with program.running("capture", patient, 5, retry_ms=3_000) as running:
        program.server.start()
        _await_all(running, api, patient, 5)
