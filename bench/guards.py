"""A check of 200 guarded releases over a year of events, and `/decide` beside it.

The events are those of `insights`; in the last day its 500,000 persons called a flag each, and a
part of them ordered. BENCH_INSIGHTS_EVENTS and BENCH_INSIGHTS_FOLDER are those of `insights`.
"""

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec
from sqlalchemy import update

from bench import load, servers
from bench.cohort_service import client_of
from bench.guards_events import FLAG, GUARDS, SINCE
from bench.insights import SIZES, STORED, make_events
from bench.insights_beside import TIMES_SLOWER_MAX
from bench.report import Row
from fanion.db.engine import open_records
from fanion.db.schema.experiments import guarded_releases
from tests.support.awaited import until
from tests.support.server import Keys, RealServer

CHECKED_S: Final = 60.0
AHEAD: Final = timedelta(seconds=30)  # after the server's start, until the checks are due
GIVE_UP_S: Final = 600
METRIC: Final = {
    "kind": "ExperimentMetric",
    "metric_type": "mean",
    "goal": "increase",
    "source": {"kind": "EventsNode", "event": "order placed"},
}
STEPS: Final = [{"rollout_percentage": 50, "hold_minutes": 14_400}, {"rollout_percentage": 100}]


def run() -> Iterator[Row]:
    for events in SIZES:
        with TemporaryDirectory() as folder:
            yield from _of_size(Path(STORED or folder) / str(events), events)


def _of_size(folder: Path, events: int) -> Iterator[Row]:
    with TemporaryDirectory() as data:
        server = servers.whole(Path(data) / "data")
        keys = server.setup()
        make_events(folder, events, keys.project_id)
        shutil.copytree(folder / "events", server.data / "events", symlinks=True)
        server.start()
        try:
            _start_releases(server, keys)
            server.stop()
            arguments = [str(server.data), str(events), str(keys.project_id)]
            subprocess.run([sys.executable, "-m", "bench.guards_events", *arguments], check=True)
            due = datetime.now(UTC) + AHEAD
            asyncio.run(_set_due(server.data, due))
            server.start()
            yield from _measured(server, keys, due)
        finally:
            server.close()


def _start_releases(server: RealServer, keys: Keys) -> None:
    with client_of(server, keys) as client:
        for number in range(GUARDS):
            flag = {"key": f"{FLAG}{number}", "filters": {"groups": [{"rollout_percentage": 5}]}}
            made = client.post("feature_flags/", json=flag).raise_for_status().json()
            release = {"steps": STEPS, "metrics": [METRIC]}
            path = f"feature_flags/{made['id']}/guarded_release/"
            client.post(path, json=release).raise_for_status()


async def _set_due(data: Path, due: datetime) -> None:
    records = await open_records(f"sqlite:///{data / 'records.db'}")
    try:
        async with records.write() as connection:
            await connection.execute(
                update(guarded_releases).values(
                    started_at=due - SINCE - AHEAD, step_started_at=due - SINCE - AHEAD, due_at=due
                )
            )
    finally:
        await records.close()


def _measured(server: RealServer, keys: Keys, due: datetime) -> Iterator[Row]:
    body = msgspec.json.encode({"api_key": keys.project_api_key, "distinct_id": "user-1"})
    alone = load.post(f"{server.url}/decide?v=3", body)
    assert datetime.now(UTC) < due, "the checks began before /decide was measured alone"
    until(lambda: _checked(server.data, due) > 0, "no release is checked", GIVE_UP_S)
    beside = load.post(f"{server.url}/decide?v=3", body)
    assert alone.failed == beside.failed == 0, (alone, beside)
    is_under_way = _checked(server.data, due) < GUARDS
    until(lambda: _checked(server.data, due) == GUARDS, "checks are missing", GIVE_UP_S)
    passed = (_last_check(server.data) - due).total_seconds()
    yield Row(
        f"check of {GUARDS} guarded releases",
        f"{passed:.1f} s",
        f"{CHECKED_S:g} s",
        CHECKED_S / passed,
        1.0,
    )
    if not is_under_way:
        print("/decide was measured for longer than the checks took")
    yield Row(
        f"decide, {GUARDS} flags, beside the checks",
        f"p99 {beside.p99_ms:.1f} ms",
        f"{alone.p99_ms:.1f} ms alone",
        TIMES_SLOWER_MAX * alone.p99_ms / beside.p99_ms,
        1.0,
    )


def _checked(data: Path, due: datetime) -> int:
    """Return how many releases were checked since they were due."""
    text = "SELECT count(*) FROM guarded_releases WHERE checked_at >= ? AND harms != '[]'"
    return int(_read(data, text, due.strftime("%Y-%m-%d %H:%M:%S")))


def _last_check(data: Path) -> datetime:
    found = _read(data, "SELECT max(checked_at) FROM guarded_releases")
    return datetime.fromisoformat(found).replace(tzinfo=UTC)


def _read(data: Path, text: str, *values: str) -> Any:
    with closing(sqlite3.connect(f"file:{data / 'records.db'}?mode=ro", uri=True)) as records:
        [(found,)] = records.execute(text, values)
        return found
