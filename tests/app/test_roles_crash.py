"""Processes with roles: each does its part, and those that answer SDKs need no event store."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from math import isnan
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import plain_http
from tests.support.awaited import until, until_soon
from tests.support.live_viewer import Viewer
from tests.support.postgres import Outage, Postgres
from tests.support.preloaded import PreloadedServer, run_fanion
from tests.support.server import Keys, RealServer, free_port, project_client

pytestmark = pytest.mark.long("starts real servers and kills them")

Json = dict[str, Any]
# Starts a process with a role and further settings, and returns once it is ready.
Start = Callable[..., RealServer]
FLAG = "answered-from-the-copy"
ROLES = ("web", "api", "ingest", "jobs")


def loads_engine(server: RealServer) -> bool:
    """Return whether the process has the embedded event engine in its memory."""
    return "_chdb" in Path(f"/proc/{server.pid}/maps").read_text()


@pytest.fixture
def launch(tmp_path: Path, postgres_url: str) -> Iterator[Start]:
    with ExitStack() as stack:

        def launch(role: str, name: str = "", **settings: str) -> RealServer:
            own = {"FANION_DATABASE_URL": postgres_url, "FANION_ROLE": role, **settings}
            server = PreloadedServer(tmp_path / (name or role), own)
            stack.callback(server.close)
            server.launch()
            until(lambda: is_up(server) and ready(server)[0] == 200, f"{role} is not ready")
            return server

        yield launch


@pytest.fixture
def keys(tmp_path: Path, postgres_url: str) -> Keys:
    return PreloadedServer(tmp_path / "setup", {"FANION_DATABASE_URL": postgres_url}).setup()


@pytest.fixture
def no_events() -> dict[str, str]:
    """Return settings that name a ClickHouse server that does not exist."""
    return {"FANION_EVENTS_URL": f"clickhouse://127.0.0.1:{free_port()}/fanion"}


@pytest.fixture
def events_url(own_events_url: str) -> dict[str, str]:
    return {"FANION_EVENTS_URL": own_events_url}


def ready(server: RealServer) -> tuple[int, Json]:
    with plain_http.Client() as client:
        answer = client.get(f"{server.url}/_ready")
    return answer.status_code, answer.json()


def status(server: RealServer, path: str) -> int:
    with plain_http.Client() as client:
        return int(client.get(f"{server.url}{path}").status_code)


def capture(server: RealServer, keys: Keys, event: str) -> int:
    body = {"api_key": keys.project_api_key, "event": event, "distinct_id": "u"}
    with plain_http.Client() as client:
        return int(client.post(f"{server.url}/capture/", json=body).status_code)


def decide_flags(server: RealServer, keys: Keys) -> Json:
    body = {"api_key": keys.project_api_key, "distinct_id": "u"}
    with plain_http.Client() as client:
        answer = client.post(f"{server.url}/decide?v=3", json=body)
    assert answer.status_code == 200, answer.text
    decisions: Json = answer.json()["featureFlags"]
    return decisions


async def create_flag(server: RealServer, keys: Keys, key: str) -> None:
    async with project_client(server, keys) as api:
        answer = await api.post("/feature_flags/", json={"key": key})
    assert answer.status_code == 201, answer.text


async def answered(server: RealServer, keys: Keys, path: str) -> httpx.Response:
    async with project_client(server, keys) as api:
        return await api.get(path)


@pytest.mark.parametrize("given", [("--role", "web,worker"), ("--role", "api", "--role", "worker")])
def test_an_unknown_role_is_refused_in_one_line(tmp_path: Path, given: tuple[str, ...]) -> None:
    done = run_fanion(("serve", "--data", str(tmp_path / "data"), *given), {})

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "fanion: FANION_ROLE must be all, or some of web, api, ingest, jobs, separated by commas; "
        "got 'worker'\n"
    )
    assert not (tmp_path / "data").exists()


def test_without_the_embedded_engine_its_package_is_named(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text("import sys\nsys.modules['chdb'] = None\n")
    path = f"{hidden}:{os.environ.get('PYTHONPATH', '')}"
    server = RealServer(tmp_path / "data", {"PYTHONPATH": path})

    done = server.run("serve")

    assert done.returncode == 2
    assert [line for line in done.stderr.splitlines() if not line.startswith("{")] == [
        "fanion: the event store cannot be used: the embedded engine is not installed; `pip "
        "install fanion` installs it, or name a ClickHouse server in FANION_EVENTS_URL"
    ]


@pytest.mark.postgresql
def test_web_starts_and_serves_without_the_event_store(
    launch: Start, keys: Keys, no_events: dict[str, str]
) -> None:
    web = launch("web", **no_events)

    checks = {"records": "ok", "accept_log": "ok", "spool": "ok"}
    assert ready(web) == (200, {"status": "ready", "checks": checks})
    assert (capture(web, keys, "seen"), decide_flags(web, keys)) == (200, {})
    assert [status(web, path) for path in ("/", "/api/projects/", "/metrics")] == [404, 404, 200]
    assert not loads_engine(web)


@pytest.mark.postgresql
async def test_web_answers_flags_and_stays_ready_without_postgresql(
    launch: Start,
    keys: Keys,
    no_events: dict[str, str],
    postgres: Postgres,
    postgres_url: str,
) -> None:
    web, api = launch("web", **no_events), launch("api", **no_events)
    await create_flag(api, keys, FLAG)
    until(lambda: decide_flags(web, keys) == {FLAG: True}, "the flag is not answered")
    until(lambda: FLAG.encode() in offline_flags(web), "the flag is not kept")

    async with Outage(postgres, postgres_url):
        during = ready(web), ready(api)[0], decide_flags(web, keys), capture(web, keys, "kept")
        exposed = metrics(web)
        web.stop()
        web.launch()
        until(lambda: is_up(web), "web does not start without PostgreSQL")
        again = ready(web), decide_flags(web, keys), capture(web, keys, "kept")
    until(lambda: metrics(web)["fanion_spool_requests"] == 0, "the spool is not sent")

    gone = {"records": "unreachable"}
    is_ready = {"status": "ready", "checks": {**gone, "accept_log": "unreachable", "spool": "ok"}}
    spooling = {"status": "ready", "checks": {**gone, "spool": "spooling"}}
    ages_s = [answers[0][1].pop("flags_age_s") for answers in (during, again)]
    for name in ("spool_bytes", "spool_age_s"):
        again[0][1].pop(name)
    assert during == ((200, is_ready), 503, {FLAG: True}, 200)
    assert again == ((200, spooling), {FLAG: True}, 200)
    assert metrics(web)["fanion_log_lag_envelopes"] == 2
    assert 0 <= ages_s[0] <= ages_s[1]
    assert 0 <= exposed["fanion_flags_age_seconds"] <= ages_s[1] + 1
    assert isnan(exposed["fanion_log_lag_envelopes"])


def metrics(server: RealServer) -> dict[str, float]:
    """Return the metrics without labels."""
    with plain_http.Client() as client:
        answer = client.get(f"{server.url}/metrics")
    assert answer.status_code == 200, answer.text
    samples = (line.split(" ") for line in answer.text.splitlines() if line[0] != "#")
    return {name: float(value) for name, value in samples if "{" not in name}


def offline_flags(server: RealServer) -> bytes:
    """Return the offline copy, including its journal while there is one."""
    content = b""
    for file in server.data.glob("kept-flags.db*"):
        with suppress(FileNotFoundError):  # the journal of a transaction that has ended
            content += file.read_bytes()
    return content


def is_up(server: RealServer) -> bool:
    try:
        return status(server, "/_health") == 200
    except httpx.TransportError:
        return False


@pytest.mark.postgresql
async def test_each_role_does_its_part(
    launch: Start, keys: Keys, events_url: dict[str, str]
) -> None:
    web, api, ingest, jobs = (launch(role, **events_url) for role in ROLES)
    await create_flag(api, keys, "on")
    until(lambda: decide_flags(web, keys) == {"on": True}, "the flag is not answered")
    assert capture(web, keys, "seen") == 200

    async def is_read() -> bool:
        answer = await answered(api, keys, "/events/")
        return [event["event"] for event in answer.json()["results"]] == ["seen"]

    await until_soon(is_read, "the event cannot be read")
    async with project_client(api, keys) as client:
        criteria = {"type": "behavioral", "value": "performed_event", "key": "seen"}
        within = {"event_type": "events", "time_value": 30, "time_interval": "day"}
        values = [{"type": "AND", "values": [{**criteria, **within}]}]
        filters = {"properties": {"type": "OR", "values": values}}
        created = await client.post("/cohorts/", json={"name": "Seen", "filters": filters})
        assert created.status_code == 201, created.text

    async def is_counted() -> bool:
        return bool(
            (await answered(api, keys, f"/cohorts/{created.json()['id']}/")).json()["count"]
        )

    await until_soon(is_counted, "the cohort is not calculated")
    viewer = await Viewer.open(api, keys)
    watching = asyncio.create_task(viewer.messages_until("live"))

    async def is_shown() -> bool:
        """Capture an event until the stream shows one stored after its first look."""
        await asyncio.to_thread(capture, web, keys, "live")
        return watching.done()

    await until_soon(is_shown, "the event is not shown")
    assert (await watching)[-1].data["distinct_id"] == "u"
    viewer.close()
    assert [loads_engine(server) for server in (web, api, ingest, jobs)] == [False] * 4
    assert [status(server, "/capture/") for server in (api, ingest, jobs)] == [404] * 3
    assert [status(server, "/api/projects/") for server in (web, ingest, jobs)] == [404] * 3
    stores = {"records": "ok", "events": "ok"}
    assert [ready(server)[1]["checks"] for server in (api, ingest, jobs)] == [
        stores,
        {**stores, "accept_log": "ok"},
        stores,
    ]


@pytest.mark.postgresql
async def test_two_servers_of_the_api_share_results_and_what_has_changed(
    launch: Start, keys: Keys, events_url: dict[str, str]
) -> None:
    first = launch("api", "one", **events_url)
    other = launch("api", "other", **events_url)
    query = {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "seen"}]}

    async def asked(server: RealServer) -> bool:
        async with project_client(server, keys) as api:
            answer = await api.post("/query/", json={"query": query})
        assert answer.status_code == 200, answer.text
        return bool(answer.json()["is_cached"])

    assert [await asked(server) for server in (first, other, first)] == [False, True, True]

    async with plain_http.AsyncClient(headers=bearer(keys)) as client:
        path = f"/api/projects/{keys.project_id}/"
        renamed = await client.patch(f"{first.url}{path}", json={"name": "Renamed"})
        assert renamed.status_code == 200, renamed.text

        async def is_renamed() -> bool:
            return bool((await client.get(f"{other.url}{path}")).json()["name"] == "Renamed")

        await until_soon(is_renamed, "the other server does not see the change")


def bearer(keys: Keys) -> dict[str, str]:
    return {"Authorization": f"Bearer {keys.personal_api_key}"}
