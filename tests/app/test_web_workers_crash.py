"""A real server with a web worker.

It answers like one process would, and outlives each of its processes.
"""

import json
import os
import re
import signal
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import pytest

from fanion.flags.evaluation.cache import ANSWERED_ON_LOOP_MAX, BUILD_WAIT_S
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("starts real servers and kills them")

IS_ON: dict[str, Any] = {"groups": [{"properties": [], "rollout_percentage": 100}]}
IS_OFF: dict[str, Any] = {"groups": [{"properties": [], "rollout_percentage": 0}]}


@dataclass
class WorkerServer:
    server: RealServer
    keys: Keys

    def client(self) -> httpx.Client:
        """Return a client with one connection, for as long as it is used."""
        headers = {"Authorization": f"Bearer {self.keys.personal_api_key}"}
        limits = httpx.Limits(max_connections=1)
        return plain_http.Client(
            base_url=self.server.url, headers=headers, limits=limits, timeout=20
        )

    @contextmanager
    def client_of_worker(self) -> Iterator[httpx.Client]:
        """Yield a client whose connection the web worker has, because it captures."""
        with self.client() as client:
            self.await_worker(client)
            yield client

    def await_worker(self, client: httpx.Client) -> None:
        until(
            lambda: answering_process(self.capture(client, "anyone")) != self.own(), "no web worker"
        )

    def own(self) -> str:
        """Return the start of the request ids of the server itself."""
        return answering_process(plain_http.get(f"{self.server.url}/_health"))

    def capture(self, client: httpx.Client, distinct_id: str, **more: Any) -> httpx.Response:
        body = {"api_key": self.keys.project_api_key, "event": "seen", "distinct_id": distinct_id}
        return client.post("/capture/", json=body | more)

    def decide(self, client: httpx.Client, distinct_id: str) -> httpx.Response:
        body = {"api_key": self.keys.project_api_key, "distinct_id": distinct_id}
        return client.post("/decide/?v=3", json=body)

    def decided(self, client: httpx.Client, distinct_id: str = "ann") -> Any:
        return self.decide(client, distinct_id).json()["featureFlags"]

    def await_flag(self, client: httpx.Client, key: str, expected: bool) -> None:
        """Wait until the client's answers show the value of a flag.

        It must be in the first answer, unless that took longer than reading flags may take.
        """
        answer = self.decide(client, "ann")
        if answer.elapsed.total_seconds() < BUILD_WAIT_S:
            assert answer.json()["featureFlags"].get(key) is expected
        else:
            until(lambda: self.decided(client).get(key) is expected, "the flag is not read")

    def path(self, rest: str) -> str:
        return f"/api/projects/{self.keys.project_id}/{rest}"

    def events(self) -> list[str]:
        with self.client() as client:
            answer = client.get(self.path("events/"), params={"limit": 500}).json()
        return [event["distinct_id"] for event in answer["results"] if event["event"] == "seen"]

    def process(self, program: str) -> int | None:
        """Return the id of this server's process that runs the program."""
        return child_process(self.server.pid, program)


def answering_process(answer: httpx.Response) -> str:
    """Return the process that has answered: its request ids have the same start."""
    return answer.headers["x-request-id"].partition("-")[0]


def child_process(parent: int, program: str) -> int | None:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            its_parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if its_parent == parent and program in (folder / "cmdline").read_text():
                return int(folder.name)
    return None


def add_flags(path: Path, project_id: int, flags: int) -> None:
    """Write flags into the records, because the API takes milliseconds for each."""
    rows = [(project_id, f"flag-{number}", json.dumps(IS_ON)) for number in range(flags)]
    with closing(sqlite3.connect(path, timeout=20)) as file, file:
        file.executemany(
            "INSERT INTO feature_flags (project_id, key, name, filters, active, deleted, tags,"
            " analytics_dashboards, has_enriched_analytics, version, created_at)"
            " SELECT ?, ?, '', ?, TRUE, FALSE, '[]', '[]', FALSE, 1, created_at"
            " FROM projects LIMIT 1",
            rows,
        )


def metric_value(text: str, name: str) -> float:
    match = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(match[1]) if match else 0.0


@pytest.fixture(scope="module")
def worker_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerServer]:
    settings = {"FANION_PROCESSES": "2", "FANION_DECIDE_STORE_TIMEOUT_S": "20"}
    server = PreloadedServer(tmp_path_factory.mktemp("web-workers") / "data", settings)
    keys = server.setup()
    server.start()
    try:
        running = WorkerServer(server, keys)
        with running.client_of_worker():
            yield running
    finally:
        server.close()


def test_one_connection_may_ask_for_everything(worker_server: WorkerServer) -> None:
    with worker_server.client_of_worker() as client:
        own, answers = worker_server.own(), []
        for _ in range(5):
            answers += [
                worker_server.capture(client, "ann"),
                client.get(worker_server.path("persons/")),
                client.post("/decide/?v=3", json={"api_key": worker_server.keys.project_api_key}),
                client.get("/api/projects/@current/"),
                client.get("/nowhere"),
            ]

    assert [answer.status_code for answer in answers[:5]] == [200, 200, 400, 200, 404]
    assert [answer.status_code for answer in answers] == [
        answer.status_code for answer in answers[:5]
    ] * 5
    assert [answering_process(answer) == own for answer in answers[:2]] == [False, True]


def test_a_changed_flag_is_seen_by_the_next_request_of_every_process(
    worker_server: WorkerServer,
) -> None:
    with (
        worker_server.client() as managing,
        worker_server.client_of_worker() as worker,
        worker_server.client() as client,
    ):
        flag = {"key": "beta", "active": True, "filters": IS_OFF}
        created = managing.post(worker_server.path("feature_flags/"), json=flag).json()
        of_flag = worker_server.path(f"feature_flags/{created['id']}/")
        for number in range(60):
            expected = number % 2 == 0
            changed = managing.patch(of_flag, json={"filters": IS_ON if expected else IS_OFF})
            changed.raise_for_status()
            for each_client in (worker, client):
                worker_server.await_flag(each_client, "beta", expected)


def test_what_another_program_writes_is_soon_seen_by_every_process(
    worker_server: WorkerServer,
) -> None:
    records = worker_server.server.data / "records.db"
    with (
        worker_server.client() as managing,
        worker_server.client_of_worker() as worker,
        worker_server.client() as client,
    ):
        flag = {"key": "foreign", "active": True, "filters": IS_OFF}
        created = managing.post(worker_server.path("feature_flags/"), json=flag).json()
        for filters in (IS_ON, IS_OFF, IS_ON):
            for each_client in (worker, client):
                worker_server.decided(each_client)
            with closing(sqlite3.connect(records, timeout=20)) as file, file:
                file.execute(
                    "UPDATE feature_flags SET filters = ? WHERE id = ?",
                    (json.dumps(filters), created["id"]),
                )
                file.execute(
                    "UPDATE flag_versions SET version = version + 1 WHERE project_id = ?",
                    (worker_server.keys.project_id,),
                )
            for each_client in (worker, client):
                is_seen = partial(_answers, worker_server, each_client, filters == IS_ON)
                until(is_seen, "the change of another program is not seen")


def _answers(server: WorkerServer, client: httpx.Client, expected: bool) -> bool:
    return server.decided(client)["foreign"] is expected


def test_a_new_project_is_known_to_every_process_at_once(worker_server: WorkerServer) -> None:
    with worker_server.client() as managing, worker_server.client_of_worker() as worker:
        answers = []
        for number in range(10):
            body = {"event": "seen", "distinct_id": "ann", "api_key": f"phc_{'x' * 43}"}
            assert worker.post("/capture/", json=body).status_code == 401
            project = managing.post("/api/projects/", json={"name": f"p{number}"}).json()
            body["api_key"] = project["api_token"]
            answers.append(worker.post("/capture/", json=body).status_code)

    assert answers == [200] * 10


def test_another_project_key_is_taken_by_every_process_at_once(worker_server: WorkerServer) -> None:
    with worker_server.client() as managing, worker_server.client_of_worker() as worker:
        project = managing.post("/api/projects/", json={"name": "rotating"}).json()
        path, tokens = f"/api/projects/{project['id']}/reset_token/", [project["api_token"]]
        statuses = []
        for former_valid_s in (60, 60, 0):
            reset = managing.patch(path, json={"former_valid_s": former_valid_s})
            tokens.append(reset.json()["api_token"])
            for client in (worker, managing):
                body = {"event": "seen", "distinct_id": "ann"}
                statuses.append(
                    [
                        client.post("/capture/", json=body | {"api_key": token}).status_code
                        for token in tokens
                    ]
                )

    assert statuses == [[200] * 2] * 2 + [[200] * 3] * 2 + [[401] * 3 + [200]] * 2


def test_stored_properties_are_seen_as_soon_as_they_are_ingested(
    worker_server: WorkerServer,
) -> None:
    plan = {"key": "plan", "type": "person", "operator": "exact", "value": "pro"}
    groups = [{"properties": [plan], "rollout_percentage": 100}]
    with worker_server.client() as managing, worker_server.client_of_worker() as worker:
        flag = {"key": "pro", "active": True, "filters": {"groups": groups}}
        managing.post(worker_server.path("feature_flags/"), json=flag).raise_for_status()
        for number in range(6):
            name = f"customer-{number % 2}"
            plan_now = "pro" if number % 4 < 2 else "free"
            worker_server.capture(worker, name, properties={"$set": {"plan": plan_now}})

            def is_stored(name: str = name, plan_now: str = plan_now) -> bool:
                answer = managing.get(
                    worker_server.path("persons/"), params={"distinct_id": name}
                ).json()
                persons = answer["results"]
                return bool(persons) and persons[0]["properties"].get("plan") == plan_now

            until(is_stored, "not ingested")
            assert worker_server.decided(worker, name)["pro"] is (plan_now == "pro")


def test_a_limited_project_has_one_limit_in_all_processes(worker_server: WorkerServer) -> None:
    with worker_server.client() as managing, worker_server.client_of_worker() as worker:
        project = managing.post("/api/projects/", json={"name": "limited"}).json()
        limits = {"items_per_second": 1, "burst_seconds": 20}
        changed = managing.patch(f"/api/projects/{project['id']}/", json={"ingestion": limits})
        changed.raise_for_status()
        body = {"api_key": project["api_token"], "event": "seen", "distinct_id": "ann"}
        began = monotonic()
        answers = [
            (worker if number % 2 else managing).post("/capture/", json=body).status_code
            for number in range(60)
        ]
        grown = int(monotonic() - began) + 1

    assert set(answers) == {200, 503}
    assert 20 <= answers.count(200) <= 20 + grown


def test_metrics_are_those_of_all_processes(worker_server: WorkerServer) -> None:
    def accepted() -> float:
        return metric_value(client.get("/metrics").text, "fanion_items_accepted_total")

    with worker_server.client() as client, worker_server.client_of_worker() as worker:
        until(lambda: accepted() > 0, "nothing was counted")
        before = accepted()
        for _ in range(40):
            worker_server.capture(worker, "counted")

        until(lambda: accepted() >= before + 40, "the web worker's are missing")


def test_clients_that_ask_for_very_many_flags_ask_the_server(worker_server: WorkerServer) -> None:
    def is_own(client: httpx.Client, token: str) -> bool:
        """Return whether the server itself has answered."""
        body = {"api_key": token, "distinct_id": "ann"}
        return answering_process(client.post("/decide/?v=3", json=body)) == worker_server.own()

    with (
        worker_server.client() as managing,
        worker_server.client() as small,
        worker_server.client() as large,
    ):
        project = managing.post("/api/projects/", json={"name": "large"}).json()
        add_flags(worker_server.server.data / "records.db", project["id"], ANSWERED_ON_LOOP_MAX + 1)

        is_own(large, project["api_token"])
        afterwards = [is_own(large, project["api_token"]) for _ in range(3)]
        others = [is_own(small, worker_server.keys.project_api_key) for _ in range(3)]

    assert (afterwards, others) == ([True] * 3, [False] * 3)


def test_many_clients_lose_nothing_between_the_processes(worker_server: WorkerServer) -> None:
    def ask(number: int) -> None:
        with worker_server.client() as client:
            for turn in range(10):
                answer = worker_server.capture(client, f"many-{number}-{turn}")
                assert answer.status_code == 200, answer.text
                assert isinstance(worker_server.decided(client), dict)
                assert client.get("/_health").status_code == 200

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(ask, range(16)))

    def sent() -> list[str]:
        return [name for name in worker_server.events() if name.startswith("many-")]

    until(lambda: len(sent()) >= 160, "events are missing", look_s=0.1)
    assert len(set(sent())) == len(sent()) == 160


def test_a_web_worker_that_dies_is_started_again(worker_server: WorkerServer) -> None:
    first = worker_server.process("web_worker")
    assert first is not None
    with worker_server.client_of_worker() as client:
        os.kill(first, signal.SIGKILL)
        with suppress(httpx.TransportError):  # the request in progress there
            worker_server.capture(client, "cut off")

        assert worker_server.capture(client, "meanwhile").status_code == 200
    until(lambda: worker_server.process("web_worker") not in {None, first}, "no other web worker")
    with worker_server.client_of_worker():
        pass


def test_a_writer_of_the_log_that_dies_is_started_again_for_the_web_worker(
    worker_server: WorkerServer,
) -> None:
    with worker_server.client_of_worker() as client:
        writer = worker_server.process("writer_main")
        assert writer is not None
        os.kill(writer, signal.SIGKILL)

        until(
            lambda: worker_server.capture(client, "afterwards").status_code == 200,
            "nothing is taken",
        )
        assert answering_process(worker_server.capture(client, "afterwards")) != worker_server.own()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[WorkerServer]:
    """Yield a server of the test's own, to be stopped and killed."""
    server = PreloadedServer(tmp_path / "data", {"FANION_PROCESSES": "2"})
    try:
        running = WorkerServer(server, server.setup())
        server.start()
        yield running
    finally:
        server.close()


def test_a_stop_answers_and_ends_every_process(fresh: WorkerServer) -> None:
    with fresh.client_of_worker():
        parts = [fresh.process("web_worker"), fresh.process("writer_main")]

    code = fresh.server.stop()

    assert code == 0
    assert not [part for part in parts if Path(f"/proc/{part}").exists()]


def test_a_server_that_is_killed_takes_its_processes_with_it(fresh: WorkerServer) -> None:
    with fresh.client_of_worker() as client:
        names = [f"stored-{number}" for number in range(50)]
        sent_names = [name for name in names if fresh.capture(client, name).status_code == 200]
        parts = [fresh.process("web_worker"), fresh.process("writer_main")]
        fresh.server.kill()
    until(lambda: not any(map(is_running, parts)), "processes are left over")

    fresh.server.start()
    until(lambda: set(sent_names) <= set(fresh.events()), "events are missing", look_s=0.1)
    assert len(sent_names) == 50


def is_running(process: int | None) -> bool:
    """Return whether the process runs; one that has ended and was not waited for does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
