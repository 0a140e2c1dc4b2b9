"""Old and new clients of every kind, which do the same, so that the same arrives."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.clients.journey import (
    CLIENTS,
    CONTINUITY_KEYS,
    GROUP_KEY,
    KEYS,
    READERS,
    VARIANT_KEY,
    Client,
    Journey,
    create_continuity_flags,
    create_flags,
)
from tests.clients.management import Api, Json
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("real clients of a real server")

# Some clients send the time of sending: the delay until receipt moves the event's own time.
TRANSPORT = timedelta(seconds=5)
# The clients that `make test` runs: one of each language.
QUICK = {"python-new", "node-new", "js-new"}


def marks_of(client: Client) -> list[pytest.MarkDecorator]:
    return [
        *([pytest.mark.browser] if client.runtime == "browser" else []),
        *([pytest.mark.quick] if client.name in QUICK else []),
    ]


MARKED = [pytest.param(client, marks=marks_of(client)) for client in CLIENTS]
BROWSERS = [
    pytest.param(client, marks=marks_of(client))
    for client in CLIENTS
    if client.runtime == "browser"
]
NEWEST_PROTOCOL = [client for client in CLIENTS if client.mode == "v1"]
# Paths that show that a release sends the requests that the reference describes.
PATHS = {
    "js-new": {"/array/TOKEN/config.js", "/flags/", "/e/"},
    "js-old": {"/decide/", "/engage/", "/e/"},
}


@dataclass(frozen=True)
class StageResult:
    """A client that has done a stage.

    Attributes:
        seen: What its application saw.
    """

    client: Client
    journey: Journey
    seen: Json


StageRunner = Callable[[Client, str], StageResult]


def name_of(client: Client) -> str:
    return client.name


@pytest.fixture(scope="module")
def run_stage(
    server: tuple[RealServer, Keys], api: Api, tmp_path_factory: pytest.TempPathFactory
) -> StageRunner:
    """Have a client do a stage, once, and wait until the last of what it captured has arrived."""
    running, keys = server
    done: dict[tuple[str, str], StageResult] = {}

    def stage_of(client: Client, stage: str) -> StageResult:
        if (client.name, stage) not in done:
            journey = client.journey(stage, running.url, keys.project_api_key)
            folder = tmp_path_factory.mktemp(client.name) / stage
            result = StageResult(client, journey, client.run(journey, api, folder))
            await_arrival(result, api)
            done[client.name, stage] = result
        return done[client.name, stage]

    return stage_of


@pytest.fixture(scope="module", params=MARKED, ids=name_of)
def captured(request: pytest.FixtureRequest, run_stage: StageRunner) -> StageResult:
    client: Client = request.param
    client.require()
    return run_stage(client, "capture")


@pytest.fixture(scope="module")
def flags_made(api: Api) -> None:
    create_flags(api)


@pytest.fixture(scope="module")
def read(captured: StageResult, flags_made: None, run_stage: StageRunner) -> StageResult:
    return run_stage(captured.client, "flags")


@pytest.fixture(scope="module")
def read_by_python(flags_made: None, run_stage: StageRunner) -> StageResult:
    """Have the newest Python client read flags, after it has captured."""
    run_stage(CLIENTS[0], "capture")
    return run_stage(CLIENTS[0], "flags")


# It takes seconds: a real client in a process of its own, and a real server.
def test_the_application_sees_no_error(captured: StageResult, read: StageResult) -> None:
    assert captured.seen["errors"] == []
    assert read.seen["errors"] == []


def test_each_event_arrives_once_with_its_properties(captured: StageResult, api: Api) -> None:
    events = events_of_person(captured, api)
    by_name = {event["event"]: event for event in events}

    counts = Counter(event["event"] for event in events)
    numbers = [event["properties"]["n"] for event in events if event["event"] == "batched"]
    assert sorted(numbers) == list(range(captured.journey.batched))
    assert [counts[name] for name in ("page viewed", "order paid", "long ago")] == [1, 1, 1]
    viewed = by_name["page viewed"]
    assert viewed["distinct_id"] == captured.seen["anonymous"]
    assert viewed["properties"]["path"] == "/"
    assert viewed["properties"]["deep"] == {"list": [1, None]}
    assert viewed["properties"]["$lib"] == captured.client.library
    assert by_name["order paid"]["distinct_id"] == captured.journey.user
    assert by_name["order paid"]["properties"]["amount"] == 12.5
    assert (
        abs(time_of(by_name["long ago"]) - time_of({"timestamp": captured.journey.past}))
        < TRANSPORT
    )


@pytest.mark.parametrize("captured", NEWEST_PROTOCOL, ids=name_of, indirect=True)
def test_the_newest_protocol_is_used_when_requested(
    captured: StageResult, server: tuple[RealServer, Keys]
) -> None:
    assert '"path":"/i/v1/analytics/events"' in server[0].log_path.read_text()


@pytest.mark.parametrize("captured", BROWSERS, ids=name_of, indirect=True)
def test_a_page_that_goes_away_loses_nothing(captured: StageResult, api: Api) -> None:
    counts = Counter(event["event"] for event in events_of_person(captured, api))

    assert counts["last words"] == 1
    assert counts["$pageview"] == counts["$pageleave"] == 1


@pytest.mark.parametrize("captured", BROWSERS, ids=name_of, indirect=True)
def test_each_request_of_a_page_is_answered_across_origins(
    captured: StageResult, read: StageResult
) -> None:
    requests = captured.seen["requests"] + read.seen["requests"]
    token = captured.journey.token

    assert [request for request in requests if request[1] != 200] == []
    paths = {path.replace(token, "TOKEN") for path, _ in requests}
    assert paths >= PATHS[captured.client.name]


def test_visitor_and_user_become_one_person(captured: StageResult, api: Api) -> None:
    journey = captured.journey
    person = api.person(journey.user)

    assert set(person["distinct_ids"]) == {
        journey.user,
        journey.visitor,
        captured.seen["anonymous"],
    }
    assert person["is_identified"] is True
    own = {name: value for name, value in person["properties"].items() if not name.startswith("$")}
    assert own == {"plan": "pro", "email": journey.email, "source": "ad", "first": 1}


def test_a_group_has_its_events_and_properties(captured: StageResult, api: Api) -> None:
    (paid,) = api.await_events(1, event="order paid", distinct_id=captured.journey.user)

    assert paid["properties"]["$groups"] == {"company": captured.journey.company}
    assert paid["properties"]["$group_0"] == captured.journey.company
    group = api.get("/groups/find", group_type_index="0", group_key=captured.journey.company)
    assert group["group_properties"] == {"size": 10}


def test_flags_are_those_that_python_reads(read: StageResult, read_by_python: StageResult) -> None:
    expected = read_by_python.seen
    for reader in READERS:
        assert flags_of(read.seen["values"][reader]) == flags_of(expected["values"][reader])
        assert payloads_of(read.seen, reader) == payloads_of(expected, reader)
    colors = {values[VARIANT_KEY] for values in read.seen["values"].values()}
    halves = {values["journey-half"] for values in read.seen["values"].values()}
    assert len(colors) > 1
    assert halves == {True, False}


def test_flags_see_what_was_captured(read: StageResult) -> None:
    of_stranger, own = read.seen["values"][READERS[0]], read.seen["own"]

    assert of_stranger["journey-pro"] is False
    assert of_stranger[GROUP_KEY] is False
    assert own["journey-pro"] is True
    assert own[GROUP_KEY] is True
    assert own["journey-on"] is True
    assert own["journey-off"] is False
    assert decoded(read.seen["own_payload"]) == {"is": own[VARIANT_KEY], "n": [1, None]}


def test_each_flag_that_was_read_is_reported_once(read: StageResult, api: Api) -> None:
    query = {"event": "$feature_flag_called", "distinct_id": read.journey.user}
    called = [event["properties"] for event in api.await_events(len(KEYS), **query)]

    reported = [
        (properties["$feature_flag"], properties["$feature_flag_response"]) for properties in called
    ]
    assert sorted(reported) == sorted(read.seen["own"].items())


def test_an_event_carries_the_flags(read: StageResult, api: Api) -> None:
    (paid,) = api.await_events(1, event="order paid again", distinct_id=read.journey.user)

    own = read.seen["own"]
    assert {key: paid["properties"].get(f"$feature/{key}") for key in KEYS} == own
    active = set(paid["properties"]["$active_feature_flags"])
    assert active.intersection(KEYS) == {key for key in KEYS if own[key]}


@pytest.fixture(scope="module")
def continuity_flags_made(api: Api) -> None:
    create_continuity_flags(api)


@pytest.mark.parametrize("client", BROWSERS, ids=name_of)
def test_flags_keep_their_values_over_a_login(
    client: Client,
    continuity_flags_made: None,
    server: tuple[RealServer, Keys],
    api: Api,
    tmp_path: Path,
) -> None:
    client.require()
    running, keys = server
    planned = client.journey("login", running.url, keys.project_api_key)
    journey = replace(planned, user=f"{client.name}-login")

    seen = client.run(journey, api, tmp_path / "login")

    assert set(seen["before"]) == set(CONTINUITY_KEYS)
    assert seen["after"] == seen["before"]
    assert seen["id"] == journey.user
    assert seen["later"] == seen["before"]


def await_arrival(result: StageResult, api: Api) -> None:
    user = result.journey.user
    if result.journey.stage == "flags":
        api.await_events(1, event="order paid again", distinct_id=user)
        return
    for event in ("order paid", "long ago"):
        api.await_events(1, event=event, distinct_id=user)
    api.await_events(result.journey.batched, event="batched", distinct_id=user)
    api.await_events(1, event="page viewed", distinct_id=result.seen["anonymous"])
    if result.client.runtime == "browser":
        api.await_events(1, event="$pageleave", distinct_id=user)


def events_of_person(result: StageResult, api: Api) -> list[Json]:
    """Return the events of all ids that are one person by now."""
    person_id = api.person(result.journey.user)["id"]
    events: list[Json] = api.get("/events/", person_id=person_id, limit="1000")["results"]
    return events


def flags_of(values: Json) -> Json:
    """Return the values without the flags of other tests, which share the project."""
    return {key: value for key, value in values.items() if key in KEYS}


def payloads_of(seen: Json, reader: str) -> Any:
    return decoded(seen["payloads"][reader][VARIANT_KEY])


def decoded(payload: Any) -> Any:
    """Return the payload as a value: some releases return the text, others parse it."""
    return json.loads(payload) if isinstance(payload, str) else payload


def time_of(event: Json) -> datetime:
    return datetime.fromisoformat(event["timestamp"])
