"""Regular exports: each hour once, to a bucket that fails, by a client that dies."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fanion.backup.destination import Destination, open_destination
from fanion.backup.model import BackupRefused
from fanion.exports.download_client import DownloadFailed, PageReader
from fanion.exports.intervals.client import RegularExport
from fanion.exports.intervals.model import Every, Manifest, whole_intervals
from tests.exports.test_events import lines
from tests.support.application import Tenant
from tests.support.management import NOW
from tests.support.s3_program import BUCKET as REAL_BUCKET
from tests.support.s3_program import s3_program
from tests.support.s3_server import BUCKET, S3Server, s3_server

HOUR = timedelta(hours=1)
FOLDER = "exported events/project-1"


@pytest.fixture
def server() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.fixture
def bucket(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Destination:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    return open_destination(f"s3://{BUCKET}/exported events")


async def hours_of_events(tenant: Tenant, *counts: int) -> datetime:
    """Accept so many events in each hour from NOW on, and return the time afterwards."""
    number = 0
    for count in counts:
        await tenant.capture(
            *(
                {"event": f"event {number + n}", "distinct_id": "ada", "timestamp": "2024-01-01"}
                for n in range(count)
            )
        )
        number += count
        tenant.server.clock.move(hours=1)
    later: datetime = tenant.server.clock.now()
    return later + timedelta(minutes=2)


def export(tenant: Tenant, bucket: Any, every: Every = "hour", **options: Any) -> RegularExport:
    pages = PageReader(tenant.server.client(tenant.key), rows_max=2)
    project = f"/api/projects/{tenant.project_id}"
    return RegularExport(pages, project, bucket, "project-1", every, {"format": "jsonl"}, **options)


def events_in(objects: dict[str, bytes]) -> list[str]:
    """Return the events of all files that a manifest lists."""
    found = []
    for name, content in sorted(objects.items()):
        if name.endswith("manifest.json"):
            folder = name.removesuffix("manifest.json")
            for file in json.loads(content)["files"]:
                rows = lines(objects[folder + file["name"]].decode())
                assert len(rows) == file["rows"]
                found += [row["event"] for row in rows]
    return found


async def test_each_hour_is_written_once(
    tenant: Tenant, server: S3Server, bucket: Destination
) -> None:
    now = await hours_of_events(tenant, 5, 0, 3)

    written = await export(tenant, bucket).run(NOW, now)
    before = dict(server.objects)
    assert await export(tenant, bucket).run(NOW, now) == []
    assert await export(tenant, bucket).run(None, now) == []

    assert [manifest.rows for manifest in written] == [5, 0, 3]
    assert sorted(server.objects) == [
        *(f"{FOLDER}/2024-03-01T12/00000{n}.jsonl" for n in (1, 2, 3)),
        f"{FOLDER}/2024-03-01T12/manifest.json",
        f"{FOLDER}/2024-03-01T13/manifest.json",
        *(f"{FOLDER}/2024-03-01T14/00000{n}.jsonl" for n in (1, 2)),
        f"{FOLDER}/2024-03-01T14/manifest.json",
    ]
    assert sorted(events_in(server.objects)) == [f"event {n}" for n in range(8)]
    later = await hours_of_events(tenant, 1)
    [more] = await export(tenant, bucket).run(None, later)
    assert (more.rows, before.items() <= server.objects.items()) == (1, True)


async def test_a_killed_run_leaves_no_half_hour_and_nothing_twice(
    tenant: Tenant, server: S3Server, bucket: Destination
) -> None:
    now = await hours_of_events(tenant, 5, 3)

    class Killed(Exception):
        pass

    class Dying:
        """A bucket whose client dies instead of writing its last object."""

        def __init__(self, left: int) -> None:
            self.left = left

        def __getattr__(self, name: str) -> Any:
            return getattr(bucket, name)

        def write(self, name: str, content: bytes) -> None:
            if not self.left:
                raise Killed
            self.left -= 1
            bucket.write(name, content)

    for left in (0, 2, 3, 1):
        with pytest.raises(Killed):
            await export(tenant, Dying(left)).run(NOW, now)
    server.objects[f"{FOLDER}/2024-03-01T13/000009.jsonl"] = b"left"
    await export(tenant, bucket).run(NOW, now)

    assert sorted(events_in(server.objects)) == [f"event {n}" for n in range(8)]
    assert f"{FOLDER}/2024-03-01T13/000009.jsonl" not in server.objects


async def test_what_waits_for_ingestion_is_waited_for(tenant: Tenant, tmp_path: Path) -> None:
    now = await hours_of_events(tenant, 1)
    folder = open_destination(str(tmp_path / "exports"))

    async with tenant.server.running.ingestion.turn:
        body = {"api_key": tenant.token, "batch": [{"event": "late", "distinct_id": "ada"}]}
        tenant.server.clock.move(minutes=1)
        assert (await tenant.public.post("/batch/", json=body)).status_code == 200
        waiting = await export(tenant, folder).run(NOW, now + 2 * HOUR)
    await tenant.server.ingested()
    after = await export(tenant, folder).run(NOW, now + HOUR)

    assert [manifest.rows for manifest in waiting] == [1]
    assert [manifest.rows for manifest in after] == [1]


async def test_a_bucket_that_refuses_is_named_and_the_next_run_goes_on(
    tenant: Tenant, server: S3Server, bucket: Destination
) -> None:
    now = await hours_of_events(tenant, 1)

    server.failing = 403
    with pytest.raises(BackupRefused, match=f"s3://{BUCKET}/exported"):
        await export(tenant, bucket).run(NOW, now)
    assert server.objects == {}
    server.failing = 0
    assert len(await export(tenant, bucket).run(NOW, now)) == 1

    pages = PageReader(tenant.server.client("phx_unknown"))
    project = f"/api/projects/{tenant.project_id}"
    stranger = RegularExport(pages, project, bucket, "other", "day", {"format": "csv"})
    with pytest.raises(DownloadFailed, match="401"):
        await stranger.run(NOW, now)


@pytest.mark.long("starts an S3 server twice")
async def test_a_real_server_that_is_killed_in_the_middle_has_each_hour_once(
    tenant: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = await hours_of_events(tenant, 5, 3)
    with s3_program(tmp_path / "objects") as program:
        for name, value in program.environment.items():
            monkeypatch.setenv(name, value)
        bucket = open_destination(f"s3://{REAL_BUCKET}/exported events")

        class Restarted:
            """A bucket whose server is killed before the third object, and starts again."""

            written = 0

            def __getattr__(self, name: str) -> Any:
                return getattr(bucket, name)

            def write(self, name: str, content: bytes) -> None:
                self.written += 1
                if self.written == 3:
                    program.kill()
                    program.start()
                bucket.write(name, content)

        written = await export(tenant, Restarted()).run(NOW, now)
        again = await export(tenant, bucket).run(NOW, now)
        objects = {name: bucket.read(name) for name in bucket.names("project-1")}

    assert ([manifest.rows for manifest in written], again) == ([5, 3], [])
    assert sorted(events_in(objects)) == [f"event {n}" for n in range(8)]


def test_days_and_hours_have_names_in_utc() -> None:
    first = datetime.fromisoformat("2026-01-01T23:30:00-01:00")
    until = datetime.fromisoformat("2026-01-04T00:00:00Z")

    days = list(whole_intervals(first, until, "day"))
    hours = list(whole_intervals(first, until - 46 * HOUR, "hour"))

    assert [day.name for day in days] == ["2026-01-02", "2026-01-03"]
    assert [hour.name for hour in hours] == ["2026-01-02T00", "2026-01-02T01"]
    assert Manifest.__struct_fields__[0] == "start"
