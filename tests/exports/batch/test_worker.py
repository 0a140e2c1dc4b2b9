"""Batch exports: each interval once, to a bucket that is slow, full or refuses."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fanion.activity.model import Author
from fanion.exports.batch import s3_client
from fanion.exports.batch.model import BatchExport, BatchExportRun
from fanion.exports.batch.runs_store import list_runs
from fanion.exports.batch.s3_client import S3Bucket
from fanion.exports.batch.schemas import (
    BatchExportChanges,
    DestinationChanges,
    NewBatchExport,
    S3ConfigChanges,
)
from fanion.exports.batch.service import BatchExportService
from fanion.exports.batch.store import LEASE, BatchExportStore
from fanion.exports.batch.worker import BatchExportWorker, ExportSources
from fanion.rest.validation import read_struct
from tests.exports.intervals.test_client import HOUR, events_in, hours_of_events
from tests.support.application import Tenant
from tests.support.awaited import until_soon
from tests.support.management import NOW
from tests.support.projects import another_project
from tests.support.s3_program import BUCKET as REAL_BUCKET
from tests.support.s3_program import LOGIN, s3_program
from tests.support.s3_server import BUCKET, KEY_ID, REGION, SECRET, S3Server, s3_server


@pytest.fixture
def server() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


class Exports:
    """The batch exports of a tenant, and a server that writes them.

    Attributes:
        sources: What the server reads; each file has at most two events.
    """

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.store = BatchExportStore(tenant.server.records)
        self.service = BatchExportService(self.store, allow_private=True)
        public = tenant.server.running.public
        self.sources = ExportSources(
            tenant.server.running.events, public.backlogs, _no_name, allow_private=True, rows_max=2
        )

    @property
    def author(self) -> Author:
        tenant = self.tenant
        return Author(
            project_id=tenant.project_id,
            organization_id=tenant.organization_id,
            user_id=tenant.user_id,
            now=tenant.server.clock.now(),
        )

    async def make(self, port: int, bucket: str = BUCKET, **sent: Any) -> BatchExport:
        keys = (KEY_ID, SECRET) if bucket == BUCKET and port else (LOGIN, LOGIN)
        config = {
            "bucket_name": bucket,
            "region": REGION,
            "prefix": "exported events",
            "endpoint_url": f"http://127.0.0.1:{port}",
            "aws_access_key_id": sent.pop("key", keys[0]),
            "aws_secret_access_key": sent.pop("secret", keys[1]),
        }
        destination = {"type": "S3", "config": config}
        body = {"name": "To S3", "interval": "hour", "start_at": NOW.isoformat(), **sent}
        new = read_struct(NewBatchExport, {"destination": destination, **body})
        return await self.service.create_export(self.author, new)

    @property
    def worker(self) -> BatchExportWorker:
        clock, projects = self.tenant.server.clock, self.tenant.server.running.public.flags.projects
        return BatchExportWorker(self.store, self.sources, projects.by_id, clock.now)

    async def all_written(self) -> None:
        worker = self.worker
        while await worker.work_once():
            pass

    async def runs(self, export: BatchExport) -> Sequence[BatchExportRun]:
        """Return the runs, the oldest first."""
        rows, _ = await list_runs(self.store.records, export.id, 100, 0)
        return list(reversed(rows))

    async def get(self, export: BatchExport) -> BatchExport:
        return await self.store.get_export(export.project_id, export.id)


async def _no_name(host: str, port: int) -> Sequence[str]:
    raise AssertionError(f"{host} is an address")


@pytest.fixture
async def exports(tenant: Tenant) -> AsyncIterator[Exports]:
    exports = Exports(tenant)
    yield exports
    for export in (await exports.store.list_exports(tenant.project_id, 100, 0))[0]:
        await exports.service.remove_export(exports.author, export.id)


def objects_of(exports: Exports, server: S3Server) -> dict[str, bytes]:
    folder = f"exported events/project-{exports.tenant.project_id}/"
    return {name.removeprefix(folder): text for name, text in server.objects.items()}


async def test_each_interval_is_written_once_when_it_is_over(
    exports: Exports, server: S3Server
) -> None:
    await hours_of_events(exports.tenant, 5, 0, 3)
    export = await exports.make(server.port)

    await exports.all_written()
    exports.tenant.server.clock.move(minutes=2)
    await exports.all_written()
    await exports.all_written()

    assert sorted(objects_of(exports, server)) == [
        *(f"2024-03-01T12/00000{n}.jsonl" for n in (1, 2, 3)),
        "2024-03-01T12/manifest.json",
        "2024-03-01T13/manifest.json",
        *(f"2024-03-01T14/00000{n}.jsonl" for n in (1, 2)),
        "2024-03-01T14/manifest.json",
    ]
    assert sorted(events_in(server.objects)) == [f"event {n}" for n in range(8)]
    runs = await exports.runs(export)
    assert [(run.status, run.records_completed, run.attempts) for run in runs] == [
        ("Completed", 5, 1),
        ("Completed", 0, 1),
        ("Completed", 3, 1),
    ]
    written = [file["bytes"] for file in json.loads(_manifest(exports, server, 12))["files"]]
    assert runs[0].bytes_exported == sum(written) > 0
    assert (await exports.get(export)).next_start == NOW + 3 * HOUR


def _manifest(exports: Exports, server: S3Server, hour: int) -> bytes:
    return objects_of(exports, server)[f"2024-03-01T{hour}/manifest.json"]


@pytest.mark.parametrize("failing", [403, 507])
async def test_a_bucket_that_refuses_or_is_full_is_tried_again_later(
    exports: Exports, server: S3Server, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    monkeypatch.setattr(s3_client, "_RETRIED", timedelta())
    clock = exports.tenant.server.clock
    await hours_of_events(exports.tenant, 3)
    clock.move(minutes=2)
    export = await exports.make(server.port)

    server.failing = failing
    await exports.all_written()
    failed = await exports.get(export)
    await exports.all_written()
    [tried] = await exports.runs(export)
    server.failing = 0
    clock.move(minutes=6)
    await exports.all_written()

    assert (tried.status, tried.attempts, tried.records_completed) == ("FailedRetryable", 1, None)
    assert failed.latest_error is not None
    assert failed.latest_error == tried.latest_error
    assert failed.latest_error.startswith(f"{BUCKET}: it answers {failing}")
    [run] = await exports.runs(export)
    assert (run.id, run.status, run.attempts, run.latest_error) == (tried.id, "Completed", 2, None)
    assert (await exports.get(export)).latest_error is None
    assert len(events_in(server.objects)) == 3


async def test_a_bucket_that_does_not_answer_holds_up_no_other_export(
    exports: Exports, server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_client, "TIMEOUT", timedelta(seconds=0.3))
    monkeypatch.setattr(s3_client, "_RETRIED", timedelta())
    await hours_of_events(exports.tenant, 1)
    exports.tenant.server.clock.move(minutes=2)
    slow = await exports.make(server.port)
    server.answers.clear()

    with s3_server() as other:
        quick = await exports.make(other.port)
        await exports.all_written()
        await exports.all_written()

        assert len(events_in(other.objects)) == 1
    assert (await exports.get(quick)).latest_error is None
    [run] = await exports.runs(slow)
    assert run.status == "FailedRetryable"
    assert "does not answer" in str(run.latest_error)


async def test_a_silent_bucket_delays_neither_other_projects_nor_the_end_of_the_server(
    exports: Exports, server: S3Server
) -> None:
    server.answers.clear()
    await hours_of_events(exports.tenant, 1)
    slow = await exports.make(server.port)
    exports.tenant.server.clock.move(minutes=2)
    running = asyncio.create_task(exports.worker.run())
    await until_soon(lambda: _is_asked(server), "nothing was sent")
    async with another_project(exports.tenant) as tenant:
        others = Exports(tenant)
        with s3_server() as other:
            quick = await others.make(other.port, start_at=(NOW - HOUR).isoformat())

            await until_soon(lambda: _has_begun(others, quick, NOW + HOUR), "another project waits")
            [unanswered] = await exports.runs(slow)
            running.cancel()
            await asyncio.wait([running])
            [broken_off] = await exports.runs(slow)
        await others.service.remove_export(others.author, quick.id)
    server.answers.set()
    await exports.all_written()

    assert unanswered.status == broken_off.status == "Running"
    [run] = await exports.runs(slow)
    assert (run.status, run.attempts) == ("Completed", 2)
    assert events_in(server.objects) == ["event 0"]


async def _is_asked(server: S3Server) -> bool:
    return server.unanswered > 0


async def _has_begun(exports: Exports, export: BatchExport, start: datetime) -> bool:
    return (await exports.get(export)).next_start == start


@pytest.mark.every_engine
async def test_a_server_that_dies_leaves_nothing_twice(
    exports: Exports, server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = exports.tenant.server.clock
    await hours_of_events(exports.tenant, 5, 3)
    clock.move(minutes=2)
    export = await exports.make(server.port)
    write = S3Bucket.write

    class Killed(BaseException):
        """The end of a process, after which nothing else is done."""

    for left in (0, 2, 3):
        with monkeypatch.context() as patched:
            patched.setattr(S3Bucket, "write", _dying(write, left, Killed))
            with pytest.raises(Killed):
                await exports.all_written()
        await exports.all_written()  # the lease is held
        assert [run.status for run in await exports.runs(export)] == ["Running"]
        clock.move(seconds=LEASE.total_seconds() + 1)
    server.objects[f"exported events/project-{export.project_id}/2024-03-01T12/000009.jsonl"] = b""
    await exports.all_written()

    assert sorted(events_in(server.objects)) == [f"event {n}" for n in range(8)]
    assert "2024-03-01T12/000009.jsonl" not in objects_of(exports, server)
    assert [run.attempts for run in await exports.runs(export)] == [4, 1]


def _dying(write: Callable[..., Any], left: int, error: type[BaseException]) -> Callable[..., Any]:
    """Return a method that writes so many objects, and then ends the process."""

    async def dying(bucket: S3Bucket, name: str, content: bytes) -> None:
        nonlocal left
        if not left:
            raise error
        left -= 1
        await write(bucket, name, content)

    return dying


async def test_what_waits_for_ingestion_is_waited_for(exports: Exports, server: S3Server) -> None:
    tenant = exports.tenant
    await hours_of_events(tenant, 1)
    export = await exports.make(server.port)

    async with tenant.server.running.ingestion.turn:
        body = {"api_key": tenant.token, "batch": [{"event": "late", "distinct_id": "ada"}]}
        tenant.server.clock.move(hours=-1)
        tenant.server.clock.move(minutes=59)
        assert (await tenant.public.post("/batch/", json=body)).status_code == 200
        tenant.server.clock.move(minutes=5)
        await exports.all_written()
        waiting = dict(server.objects)
    await tenant.server.ingested()
    tenant.server.clock.move(minutes=6)
    await exports.all_written()

    assert waiting == {}
    assert sorted(events_in(server.objects)) == ["event 0", "late"]
    assert (await exports.get(export)).latest_error is None


async def test_a_change_interrupts_what_is_being_written(
    exports: Exports, server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await hours_of_events(exports.tenant, 5)
    exports.tenant.server.clock.move(minutes=2)
    export = await exports.make(server.port)
    write = S3Bucket.write

    async def changed_meanwhile(bucket: S3Bucket, name: str, content: bytes) -> None:
        await write(bucket, name, content)
        config = S3ConfigChanges(prefix="elsewhere")
        sent = BatchExportChanges(destination=DestinationChanges(config=config))
        await exports.service.change_export(exports.author, export.id, sent)

    with monkeypatch.context() as patched:
        patched.setattr(S3Bucket, "write", changed_meanwhile)
        await exports.worker.work_once()
        [interrupted] = await exports.runs(export)
    await exports.all_written()

    assert (interrupted.status, interrupted.latest_error) == (
        "FailedRetryable",
        "The export was changed.",
    )
    moved = {name: text for name, text in server.objects.items() if name.startswith("elsewhere/")}
    assert sorted(events_in(moved)) == [f"event {n}" for n in range(5)]
    assert len(events_in(server.objects)) == 5


@pytest.mark.every_engine
async def test_a_pause_leaves_out_what_no_backfill_asks_for(
    exports: Exports, server: S3Server
) -> None:
    clock = exports.tenant.server.clock
    export = await exports.make(server.port)
    await hours_of_events(exports.tenant, 1)
    clock.move(minutes=2)
    await exports.all_written()
    await exports.service.set_paused(exports.author, export.id, paused=True)
    await hours_of_events(exports.tenant, 2, 3)
    await exports.all_written()
    paused = len(events_in(server.objects))
    await exports.service.set_paused(exports.author, export.id, paused=False)
    clock.move(hours=1, minutes=2)
    await exports.all_written()
    unpaused = sorted(objects_of(exports, server))

    before = {name: text for name, text in server.objects.items() if "T12" in name}
    await exports.service.begin_backfill(exports.author, export.id, NOW)
    await exports.all_written()

    assert paused == 1
    assert unpaused == [
        *("2024-03-01T12/000001.jsonl", "2024-03-01T12/manifest.json"),
        "2024-03-01T15/manifest.json",
    ]
    assert len(events_in(server.objects)) == 6
    assert before.items() <= server.objects.items()
    runs = await exports.runs(export)
    assert sorted(run.data_interval_start.hour for run in runs) == [12, 13, 14, 15]
    assert {run.status for run in runs} == {"Completed"}


async def test_a_private_address_is_refused_without_permission(
    exports: Exports, server: S3Server
) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    exports.sources = replace(exports.sources, resolve=resolve, allow_private=False)
    await hours_of_events(exports.tenant, 1)
    exports.tenant.server.clock.move(minutes=2)
    export = await exports.make(server.port)

    await exports.all_written()

    [run] = await exports.runs(export)
    assert run.latest_error == "Nothing is sent to 127.0.0.1: it has a loopback address."
    assert (server.objects, server.refused) == ({}, 0)


@pytest.mark.long("starts an S3 server twice")
async def test_a_real_server_that_is_killed_in_the_middle_has_each_hour_once(
    exports: Exports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = exports.tenant.server.clock
    await hours_of_events(exports.tenant, 5, 3)
    clock.move(minutes=2)
    write, written = S3Bucket.write, 0
    with s3_program(tmp_path / "objects") as program:
        export = await exports.make(program.port, REAL_BUCKET, key=LOGIN, secret=LOGIN)

        async def losing_its_server(bucket: S3Bucket, name: str, content: bytes) -> None:
            nonlocal written
            written += 1
            if written == 3:
                program.kill()
            await write(bucket, name, content)

        with monkeypatch.context() as patched:
            patched.setattr(S3Bucket, "write", losing_its_server)
            patched.setattr(s3_client, "_RETRIED", timedelta())
            await exports.all_written()
        failed = await exports.get(export)
        program.start()
        clock.move(minutes=6)
        await exports.all_written()
        keys = await exports.store.get_keys(export.project_id, export.id)
        async with s3_client.open_bucket(
            export.config, keys, _no_name, allow_private=True
        ) as bucket:
            names = await bucket.names(f"project-{export.project_id}")
            objects = {name: await bucket.read(name) or b"" for name in names}

    assert failed.latest_error is not None
    assert sorted(events_in(objects)) == [f"event {n}" for n in range(8)]
