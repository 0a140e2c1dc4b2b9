"""Cohorts on a whole server: a large upload, and capture while everything is recalculated."""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import md5
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import httpx
import msgspec

from bench import cohorts, load
from bench.capture import event
from bench.ingestion import LOOK_S
from bench.report import Row
from bench.servers import resident_mb, whole
from fanion.db.engine import open_records
from fanion.persons.merge import Changes, PersonState
from fanion.persons.state.store import write_changes
from tests.support.awaited import until
from tests.support.server import Keys, RealServer

UPLOADED = int(os.environ.get("BENCH_COHORT_UPLOAD", "1000000"))
UPLOAD_S = 60.0
UPLOAD_MB = 300.0
CAPTURE_P99_MS = 50.0
WRITTEN_AT_ONCE = 50_000
GIVE_UP_S = 300
# The cases of `bench.cohorts` that are calculated again and again during capture.
RECALCULATED = ("at least 3 times, one filter", "sequence", "three on events, two on persons")


def run() -> Iterator[Row]:
    yield from upload()
    yield _capture()


def upload() -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        server = whole(Path(folder) / "data")
        keys = server.setup()
        asyncio.run(add_persons(server, keys.project_id, UPLOADED, _uuid_text))
        csv = "\n".join(_uuid_text(number) for number in range(UPLOADED)).encode()
        server.start()
        try:
            idle = resident_mb(server.pid, "VmRSS")
            started = time.perf_counter()
            with client_of(server, keys) as client:
                answer = client.post(
                    "cohorts/",
                    data={"name": "All", "is_static": "true"},
                    files={"csv": ("all.csv", csv, "text/csv")},
                )
                answer.raise_for_status()
                answered_s = time.perf_counter() - started
                members = calculated(client, answer.json()["id"])["count"]
            seconds = time.perf_counter() - started
            more = resident_mb(server.pid) - idle
        finally:
            server.close()
    assert members == UPLOADED, members
    name = f"cohort: upload of {UPLOADED:,} ids"
    returned = f"{seconds:.1f} s, answered after {answered_s:.1f} s"
    yield Row(name, returned, f"{UPLOAD_S:g} s", UPLOAD_S / seconds, 1.0)
    yield Row(f"{name}, memory", f"{more:.0f} MB", f"{UPLOAD_MB:g} MB", UPLOAD_MB / more, 1.0)


def _capture() -> Row:
    with TemporaryDirectory() as folder:
        server = whole(Path(folder) / "data")
        keys = server.setup()
        asyncio.run(add_persons(server, keys.project_id, cohorts.PERSONS))
        asyncio.run(cohorts.populate(f"chdb://{folder}/data/events"))
        server.start()
        try:
            with client_of(server, keys) as client:
                ids = [_create(client, *case) for case in cohorts.CASES if case[0] in RECALCULATED]
                for cohort_id in ids:
                    calculated(client, cohort_id)
                with Meanwhile(lambda: _recalculate(client, ids)) as counted:
                    body = msgspec.json.encode({"api_key": keys.project_api_key, **event(0)})
                    captured = load.post(f"{server.url}/capture/", body)
                assert captured.failed == 0, captured
        finally:
            server.close()
    return Row(
        "capture p99 while cohorts recalculate",
        f"{captured.p99_ms:.0f} ms at {captured.requests_per_s:,.0f}/s, {counted.runs} runs",
        f"{CAPTURE_P99_MS:g} ms",
        CAPTURE_P99_MS / captured.p99_ms,
        1.0,
    )


def user_name(number: int) -> str:
    """Return the distinct id that the benchmark's events have for a person."""
    return f"user-{number}"


def _uuid_text(number: int) -> str:
    """Return a distinct id of the usual form: 36 characters, in no order."""
    return str(UUID(bytes=md5(b"%d" % number, usedforsecurity=False).digest()))


async def add_persons(
    server: RealServer, project_id: int, count: int, name: Callable[[int], str] = user_name
) -> None:
    """Add persons in the way that ingestion writes them."""
    records = await open_records(f"sqlite:///{server.data}/records.db")
    try:
        for start in range(0, count, WRITTEN_AT_ONCE):
            numbers = range(start, min(start + WRITTEN_AT_ONCE, count))
            persons = {name(number): _person(number) for number in numbers}
            changes = Changes(tuple(persons.values()), (), persons, (), {})
            async with records.write() as connection:
                await connection.run_sync(write_changes, project_id, changes, {}, 1)
    finally:
        await records.close()


def _person(number: int) -> PersonState:
    uuid = UUID(int=0x0187F3A0000000000000000000000000 + number)
    return PersonState(None, uuid, {"visits": number % 500}, False, cohorts.NOW, 1)


def _create(client: httpx.Client, name: str, leaves: list[cohorts.Json], _: float) -> int:
    filters = {"properties": {"type": "AND", "values": leaves}}
    answer = client.post("cohorts/", json={"name": name, "filters": filters})
    answer.raise_for_status()
    cohort_id: int = answer.json()["id"]
    return cohort_id


def _recalculate(client: httpx.Client, ids: list[int]) -> None:
    for cohort_id in ids:
        client.patch(f"cohorts/{cohort_id}/", json={"name": f"{time.time()}"}).raise_for_status()
    for cohort_id in ids:
        calculated(client, cohort_id)


def calculated(client: httpx.Client, cohort_id: int) -> cohorts.Json:
    cohort: cohorts.Json = {}

    def is_calculated() -> bool:
        cohort.update(client.get(f"cohorts/{cohort_id}/").json())
        assert cohort["errors_calculating"] == 0, cohort
        return not cohort["is_calculating"] and bool(cohort["last_calculation"])

    until(is_calculated, f"not calculated after {GIVE_UP_S} s", GIVE_UP_S, LOOK_S)
    return cohort


class Meanwhile:
    """A thread that does the work again and again until the block ends.

    Attributes:
        runs: How often the work was done.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.runs = 0

    def __enter__(self) -> "Meanwhile":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        assert self.runs > 0, "nothing was done meanwhile"

    def _run(self) -> None:
        while not self._ended.is_set():
            self._work()
            self.runs += 1


def client_of(server: RealServer, keys: Keys) -> httpx.Client:
    headers = {"Authorization": f"Bearer {keys.personal_api_key}"}
    base = f"{server.url}/api/projects/{keys.project_id}/"
    return httpx.Client(base_url=base, headers=headers, timeout=120)
