"""Flags beyond one request.

The cases: a steady rate, great numbers, a project of extreme size, two servers, and a start
without stores.
"""

import json
import multiprocessing
import sqlite3
import statistics
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from multiprocessing.synchronize import Event
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import msgspec

from bench import decide, load, paced, servers
from bench.report import Row
from tests.support.awaited import until
from tests.support.clickhouse.server import SERVER, clickhouse
from tests.support.postgres import private_postgres
from tests.support.server import Keys, RealServer
from tests.support.suspended_process import suspended_process

ROUNDS, P99_MS_MAX = 7, 10.0
PROJECTS, FLAGS = 1_000, 100
MEMORY_MB_MAX, CHANGE_MS_MAX = 1_024.0, 50.0
LARGE = 20_000
CHANGES, SEEN_S_MAX = 20, 1.0
STARTS, STARTED_S_MAX = 3, 2.0

_PROJECT = """
  INSERT INTO projects (id, uuid, organization_id, name, api_token, timezone, created_at)
  SELECT ?, ?, organization_id, ?, ?, timezone, created_at FROM projects LIMIT 1
"""
_FLAG = """
  INSERT INTO feature_flags
         (project_id, key, name, filters, active, deleted, tags, analytics_dashboards,
          has_enriched_analytics, version, created_at)
  SELECT ?, ?, '', ?, TRUE, FALSE, '[]', '[]', FALSE, 1, created_at FROM projects LIMIT 1
"""


def run() -> Iterator[Row]:
    yield _steady()
    yield from _many()
    yield _neighbour()
    yield _seen()
    yield _started()


def _steady() -> Row:
    """Measure several rounds and report the median.

    Within one round the machine may lose half of its speed, and then half the rate is all that it
    can do.
    """
    rates, p99s = [], []
    with servers.fanion() as (server, keys):
        decide.store(server, keys, 50)
        body = msgspec.json.encode({"api_key": keys.project_api_key, "distinct_id": "user-1"})
        url = f"{server.url}/decide?v=3"
        for _ in range(ROUNDS):
            rates.append(load.post(url, body).requests_per_s / 2)
            result = paced.post(url, body, rates[-1])
            assert result.failed == 0, result
            p99s.append(result.p99_ms)
    each = ", ".join(f"{p99:.1f}" for p99 in p99s)
    case = f"p99 of 50 flags at half the rate, {min(rates):,.0f} to {max(rates):,.0f}/s ({each})"
    return _at_most(case, statistics.median(p99s), P99_MS_MAX, "ms")


def _many() -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        server = servers.whole(Path(folder) / "data")
        keys = server.setup()
        add_flags(server.data / "records.db", range(10, 10 + PROJECTS), FLAGS)
        server.start()
        try:
            idle = servers.resident_mb(server.pid)
            with httpx.Client(base_url=server.url, timeout=60, verify=False) as client:
                for number in range(10, 10 + PROJECTS):
                    ask(client, token_of(number))
                used = servers.resident_mb(server.pid)
                took = [_change(client, keys, 10, version) for version in range(1, CHANGES)]
        finally:
            server.close()
    case = f"{PROJECTS * FLAGS:,} flags, {PROJECTS:,} projects"
    yield _at_most(f"{case}: memory (idle {idle:.0f})", used, MEMORY_MB_MAX, "MB")
    changed = f"{case}: a change, next answer (middle {statistics.median(took) * 1000:.0f} ms)"
    yield _at_most(changed, max(took) * 1000, CHANGE_MS_MAX, "ms")


def _neighbour() -> Row:
    """Measure while flags of a very large project are evaluated and changed repeatedly."""
    with TemporaryDirectory() as folder:
        server = servers.whole(Path(folder) / "data")
        keys = server.setup()
        add_flags(server.data / "records.db", [10], LARGE)
        server.start()
        try:
            decide.store(server, keys, 50)
            body = msgspec.json.encode({"api_key": keys.project_api_key, "distinct_id": "user-1"})
            url = f"{server.url}/decide?v=3"
            alone = paced.post(url, body, 500)
            # A process of its own, because the measuring clients need this one's interpreter.
            processes = multiprocessing.get_context("fork")
            stop = processes.Event()
            neighbour = processes.Process(target=_large, args=(server.url, keys, stop), daemon=True)
            neighbour.start()
            result = paced.post(url, body, 500, run_s=10)
            stop.set()
            neighbour.join(60)
        finally:
            server.close()
    case = f"p99 with {LARGE:,} flags in another project (alone {alone.p99_ms:.1f} ms)"
    return _at_most(case, result.p99_ms, P99_MS_MAX, "ms")


def _large(url: str, keys: Keys, stop: Event) -> None:
    with httpx.Client(base_url=url, timeout=60, verify=False) as client:
        version = 0
        while not stop.is_set():
            ask(client, token_of(10))
            version += 1
            if version % 10 == 0:
                _change(client, keys, 10, version)
            stop.wait(0.3)


def _seen() -> Row:
    """Measure the longest time from the answer to a change until another server answers with it."""
    with (
        TemporaryDirectory() as folder,
        private_postgres() as postgres,
        clickhouse(Path(folder)) as events,
    ):
        settings = {
            "FANION_DATABASE_URL": postgres.url("postgres"),
            "FANION_EVENTS_URL": events.url(SERVER),
        }
        one, other = (servers.whole(Path(folder) / name, **settings) for name in ("one", "other"))
        keys = one.setup()
        took: list[float] = []
        try:
            one.start()
            other.start()
            headers = {"Authorization": f"Bearer {keys.personal_api_key}"}
            path = f"/api/projects/{keys.project_id}/feature_flags/"
            with (
                httpx.Client(base_url=one.url, headers=headers, verify=False) as changing,
                httpx.Client(base_url=other.url, verify=False) as asking,
            ):
                flag_id = changing.post(path, json={"key": "f"}).raise_for_status().json()["id"]
                for number in range(CHANGES):
                    on = bool(number % 2)
                    patch = changing.patch(f"{path}{flag_id}/", json={"active": on})
                    patch.raise_for_status()
                    started = time.perf_counter()
                    until(partial(_is_seen, asking, keys, on), "the change is not seen")
                    took.append(time.perf_counter() - started)
        finally:
            one.close()
            other.close()
    return _at_most("a change, seen by another server", max(took), SEEN_S_MAX, "s")


def _started() -> Row:
    """Measure the median time until flags are answered, with PostgreSQL frozen."""
    with private_postgres() as postgres, TemporaryDirectory() as folder:
        settings = {"FANION_DATABASE_URL": postgres.url("postgres")}
        server = servers.whole(Path(folder) / "data", **settings)
        keys = server.setup()
        server.start()
        took: list[float] = []
        try:
            decide.store(server, keys, 50)
            with httpx.Client(base_url=server.url, verify=False) as client:
                ask(client, keys.project_api_key)
            until(lambda: stored_flags(server) == 50, "the flags were not stored")
            for _ in range(STARTS):
                server.kill()
                with suspended_process(postgres.pid):
                    took.append(_until_answered(server, keys))
        finally:
            server.close()
    return _at_most("started while PostgreSQL is frozen", sorted(took)[1], STARTED_S_MAX, "s")


def _is_seen(client: httpx.Client, keys: Keys, on: bool) -> bool:
    return ("f" in ask(client, keys.project_api_key)) is on


def _until_answered(server: RealServer, keys: Keys) -> float:
    server.launch()
    started = time.perf_counter()
    with httpx.Client(base_url=server.url, verify=False) as client:

        def is_answered() -> bool:
            with suppress(httpx.TransportError):
                ask(client, keys.project_api_key)
                return True
            return False

        until(is_answered, "no flags are answered")
    return time.perf_counter() - started


def stored_flags(server: RealServer) -> int:
    """Return how many flags lie on disk for a start without the store."""
    with suppress(sqlite3.OperationalError), closing(_offline_file(server)) as file:
        return sum(row[0].count(b"flag-") for row in file.execute("SELECT definitions FROM kept"))
    return 0


def _offline_file(server: RealServer) -> sqlite3.Connection:
    return sqlite3.connect(server.data / "kept-flags.db")


def ask(client: httpx.Client, token: str) -> dict[str, object]:
    body = {"api_key": token, "distinct_id": "user-1"}
    answer = client.post("/decide?v=3", json=body).raise_for_status()
    values: dict[str, object] = answer.json()["featureFlags"]
    return values


def _change(client: httpx.Client, keys: Keys, project_id: int, version: int) -> float:
    """Return the seconds of the first answer after a change."""
    headers = {"Authorization": f"Bearer {keys.personal_api_key}"}
    path = f"/api/projects/{project_id}/feature_flags/"
    flag = client.get(f"{path}?limit=1", headers=headers).raise_for_status().json()["results"][0]
    changed = {"name": f"version {version}"}
    client.patch(f"{path}{flag['id']}/", json=changed, headers=headers).raise_for_status()
    started = time.perf_counter()
    ask(client, token_of(project_id))
    return time.perf_counter() - started


def add_flags(path: Path, project_ids: range | list[int], flags: int) -> None:
    """Write flags into a stopped server's records; the API takes milliseconds for each."""
    filters = [json.dumps(decide.flag(number)["filters"]) for number in range(flags)]
    with closing(sqlite3.connect(path)) as file, file:
        for number in project_ids:
            name = f"project {number}"
            file.execute(_PROJECT, (number, uuid.uuid4().hex, name, token_of(number)))
            file.executemany(_FLAG, ((number, f"flag-{i}", each) for i, each in enumerate(filters)))
            file.execute("INSERT INTO flag_versions VALUES (?, 1)", (number,))


def token_of(project_id: int) -> str:
    return f"phc_bench_{project_id}"


def _at_most(case: str, measured: float, limit: float, unit: str) -> Row:
    return Row(case, f"{measured:,.2f} {unit}", f"{limit:,.0f} {unit}", limit / measured, 1.0)
