"""Single captures into the accept log in PostgreSQL, beside the embedded log.

The server has two web workers. The two alternate, and the best round of each counts.
"""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from bench import load, servers
from bench.capture import event
from bench.report import Row
from tests.support.postgres import Postgres, private_postgres
from tests.support.server import Keys, RealServer

ROUNDS = 2
# The first process of a server hands captures to the others, each of which has its own log.
SETTINGS = {"FANION_ROLE": "web", "FANION_PROCESSES": "3"}


def run() -> Iterator[Row]:
    with private_postgres(("fsync=on",)) as postgres:
        embedded, ours = [], []
        for _ in range(ROUNDS):
            with servers.fanion() as (server, keys):
                embedded.append(_capture(server, keys))
            ours.append(_on_postgres(postgres))
    best, floor = (
        max(results, key=lambda result: result.requests_per_s) for results in (ours, embedded)
    )
    yield Row(
        "single-event capture on PostgreSQL",
        f"{best.requests_per_s:,.0f}/s (p99 {best.p99_ms:.1f} ms)",
        f"{floor.requests_per_s:,.0f}/s embedded",
        best.requests_per_s / floor.requests_per_s,
        0.5,
    )


def _on_postgres(postgres: Postgres) -> load.Load:
    database = asyncio.run(postgres.create_database())
    with TemporaryDirectory() as folder:
        settings = {"FANION_DATABASE_URL": postgres.url(database), **SETTINGS}
        with closing(RealServer(Path(folder) / "data", settings)) as server:
            keys = server.setup_anew()
            servers.start_web(server)
            return _capture(server, keys)


def _capture(server: RealServer, keys: Keys) -> load.Load:
    body = msgspec.json.encode({"api_key": keys.project_api_key, **event(0)})
    result = load.post(f"{server.url}/capture/", body)
    assert result.failed == 0, result
    return result
