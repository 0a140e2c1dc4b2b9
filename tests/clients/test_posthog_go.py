"""PostHog's client for Go against the real server: what it captures arrives, and flags agree."""

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.generated.client import TOOLS, run
from tests.clients.management import Api, serving
from tests.support import plain_http
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("compiles a client, whose server goes away and comes back")

Json = dict[str, Any]

HERE = Path(__file__).parent / "go"
PROGRAM = TOOLS / "go" / "posthog_program"
PAYLOAD = {"hex": "#00f"}
PRO = {"type": "person", "key": "plan", "operator": "exact", "value": "pro"}
LARGE = {"type": "group", "group_type_index": 0, "key": "seats", "operator": "gt", "value": 5}
FLAGS: dict[str, Json] = {
    "color": {
        "groups": [{"properties": [PRO], "rollout_percentage": 100}],
        "multivariate": {"variants": [{"key": "blue", "rollout_percentage": 100}]},
        "payloads": {"blue": PAYLOAD},  # PostHog stores it as text, which this client requires
    },
    "everyone": {"groups": [{"rollout_percentage": 100}]},
    "nobody": {"groups": [{"rollout_percentage": 0}]},
    "large": {"groups": [{"properties": [LARGE]}], "aggregation_group_type_index": 0},
}
VALUES: Json = {"color": "blue", "everyone": True, "nobody": False, "large": True}


@pytest.fixture(scope="module")
def program() -> Path:
    if shutil.which("go") is None:
        pytest.skip("no Go found: install the package `golang-go`")
    if not (TOOLS / "go" / ".installed").exists():
        pytest.skip("modules of Go are missing: `make test-all` loads them")
    sources = [HERE / name for name in ("posthog_program.go", "go.mod", "go.sum")]
    changed_at = max(source.stat().st_mtime for source in sources)
    if not PROGRAM.exists() or PROGRAM.stat().st_mtime < changed_at:
        offline = {"GOPROXY": "off", "GOTOOLCHAIN": "local"}
        run(["go", "build", "-o", str(PROGRAM), "."], HERE, offline)
    return PROGRAM


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealServer, Keys]]:
    with serving(tmp_path_factory.mktemp("go")) as server:
        yield server


@pytest.fixture(scope="module")
def api(server: tuple[RealServer, Keys]) -> Iterator[Api]:
    api = Api(*server)
    yield api
    api.close()


def do(
    program: Path,
    server: tuple[RealServer, Keys],
    step: str,
    name: str,
    events: int,
    retry_ms: int = 300,
) -> Json:
    running, keys = server
    task = {
        "Step": step,
        "Host": running.url,
        "ProjectKey": keys.project_api_key,
        "PersonalKey": keys.personal_api_key,
        "Name": name,
        "Events": events,
        "RetryMs": retry_ms,  # between its ten attempts
    }
    seen: Json = json.loads(run([str(program)], program.parent, {"TASK": json.dumps(task)}))
    return seen


def test_events_persons_and_groups_arrive(
    program: Path, server: tuple[RealServer, Keys], api: Api
) -> None:
    seen = do(program, server, "capture", "ann", 3)

    # The captured ones, `$identify`, `$groupidentify` and `$create_alias`.
    events = api.events("ann", 5)
    assert seen == {"sent": 6, "lost": 0}
    assert {f"event {number}" for number in range(3)} < {event["event"] for event in events}
    assert {event["properties"]["$lib"] for event in events} == {"posthog-go"}
    person = api.person("ann")
    assert person["properties"]["plan"] == "pro"
    assert set(person["distinct_ids"]) == {"ann", "ann-alias"}
    [group] = api.get("/groups/", group_type_index="0")["results"]
    assert (group["group_key"], group["group_properties"]["seats"]) == ("acme", 7)


@pytest.mark.parametrize("step", ["flags", "local"])
def test_flags_payloads_and_groups_agree_remotely_and_locally(
    program: Path, server: tuple[RealServer, Keys], api: Api, step: str
) -> None:
    if step == "flags":
        do(program, server, "capture", "for-its-group", 1)
        api.events("for-its-group", 2)
        for key, filters in FLAGS.items():
            api.create_flag(key=key, filters=filters)

    seen = do(program, server, step, "ann", 0)

    assert {key: seen[key] for key in VALUES} == VALUES
    assert json.loads(seen["payload"]) == PAYLOAD
    assert {key: seen["all"][key] for key in VALUES} == VALUES


def test_nothing_is_lost_to_a_rate_limit(
    program: Path, server: tuple[RealServer, Keys], api: Api
) -> None:
    running, keys = server
    limit(running, keys, 5)
    try:
        seen = do(program, server, "capture", "limited", 20)
    finally:
        limit(running, keys, None)

    assert seen == {"sent": 23, "lost": 0}
    events = api.await_events(20, distinct_id="limited")
    names = [event["event"] for event in events if event["event"].startswith("event ")]
    assert sorted(names) == sorted(f"event {number}" for number in range(20))


def limit(server: RealServer, keys: Keys, items_per_second: int | None) -> None:
    headers = {"Authorization": f"Bearer {keys.personal_api_key}"}
    body = {"ingestion": {"items_per_second": items_per_second}}
    path = f"{server.url}/api/projects/{keys.project_id}/"
    answer = plain_http.patch(path, json=body, headers=headers)
    assert answer.status_code == 200, answer.text


def test_nothing_is_lost_while_the_server_is_away(
    program: Path, server: tuple[RealServer, Keys], api: Api
) -> None:
    running, _ = server
    running.kill()
    seen: list[Json] = []
    sending = threading.Thread(
        target=lambda: seen.append(do(program, server, "capture", "patient", 5, 5_000))
    )
    sending.start()
    running.start()
    sending.join()

    assert seen == [{"sent": 8, "lost": 0}]
    assert len({event["id"] for event in api.events("patient", 7)}) == 7
