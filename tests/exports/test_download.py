"""Exports written to files, by a client that is killed and continues."""

import asyncio
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pytest

from fanion.events.storage.export_query import ExportFormat
from fanion.exports.download_client import TRIES_MAX, Download, DownloadFailed, PageReader, Progress
from tests.exports.test_events import answered, item
from tests.support.application import Tenant


class Killed(Exception):
    pass


@pytest.fixture
async def ten(tenant: Tenant) -> Tenant:
    await tenant.capture(*(item(number, text="a\nb") for number in range(10)))
    return tenant


def download(tenant: Tenant, output: Path, kind: ExportFormat, **options: Any) -> Download:
    path = f"/api/projects/{tenant.project_id}/events/export/"
    client = options.pop("client", None) or tenant.server.client(tenant.key)
    pages = PageReader(client, options.pop("sleep", asyncio.sleep), rows_max=3)
    return Download(pages, path, {"format": kind}, kind, output, **options)


async def killed(tenant: Tenant, output: Path, kind: ExportFormat, pages: int) -> None:
    """Run until some pages are written, and add what a killed run may have written behind them."""
    seen: list[Progress] = []

    def on_page(progress: Progress) -> None:
        if len(seen) == pages:
            raise Killed
        seen.append(progress)

    with pytest.raises(Killed):
        await download(tenant, output, kind, on_page=on_page).run()
    part = output / "000009.parquet" if kind == "parquet" else Path(f"{output}.part")
    if kind != "parquet":
        with part.open("ab") as file:
            file.write(b"half a li")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
async def test_a_killed_run_continues(ten: Tenant, tmp_path: Path, kind: ExportFormat) -> None:
    output = tmp_path / "events"
    whole = (await answered(ten, format=kind)).content

    for pages in (1, 2):
        await killed(ten, output, kind, pages)
        assert not output.exists()
    progress = await download(ten, output, kind).run()

    assert output.read_bytes() == whole
    assert progress.rows == 10


async def test_parquet_is_a_folder_of_files(ten: Tenant, tmp_path: Path) -> None:
    output = tmp_path / "events"

    await killed(ten, output, "parquet", 2)
    await download(ten, output, "parquet").run()

    found = duckdb.execute(f"SELECT count(DISTINCT uuid), count() FROM read_parquet('{output}/*')")
    assert found.fetchall() == [(10, 10)]
    assert sorted(path.name for path in output.iterdir())[0] == "000001.parquet"
    assert not (tmp_path / "events.state").exists()


async def test_what_is_there_is_left_alone(ten: Tenant, tmp_path: Path) -> None:
    output = tmp_path / "events"
    output.write_text("mine")
    with pytest.raises(DownloadFailed, match="is there already"):
        await download(ten, output, "csv").run()
    assert output.read_text() == "mine"

    other = tmp_path / "other"
    await killed(ten, other, "csv", 1)
    with pytest.raises(DownloadFailed, match="of another export"):
        await download(ten, other, "jsonl").run()


async def test_a_server_that_is_away_is_asked_again_and_a_refusal_is_told(
    ten: Tenant, tmp_path: Path
) -> None:
    waits: list[float] = []

    async def sleep(wait_s: float) -> None:
        waits.append(wait_s)
        ten.server.events.is_down = len(waits) < 3

    ten.server.events.is_down = True
    progress = await download(ten, tmp_path / "events", "csv", sleep=sleep).run()
    assert (progress.rows, waits) == (10, [1.0, 2.0, 4.0])

    stranger = ten.server.client("phx_unknown")
    with pytest.raises(DownloadFailed, match="answers 401: Personal API key"):
        await download(ten, tmp_path / "none", "csv", client=stranger).run()

    async def no_sleep(_: float) -> None:
        waits.append(0)

    waits.clear()
    away = httpx.AsyncClient(base_url="http://127.0.0.1:9")
    with pytest.raises(DownloadFailed, match="run the command again to continue"):
        await download(ten, tmp_path / "none", "csv", client=away, sleep=no_sleep).run()
    assert len(waits) == TRIES_MAX - 1
