"""The export of events to a file, page by page, beside the engine that writes them alone.

The floor is one statement of the engine that writes the same columns of the same events straight
to a file. BENCH_EXPORT_STORE names a folder with a filled event store, which is only read.
"""

import asyncio
import os
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Final

import msgspec

from bench import cohorts, decide, load, servers
from bench.cohort_service import Meanwhile, client_of
from bench.ingestion import BATCH, batches, item, send, wait_until_ingested
from bench.report import Row
from fanion.events.storage.client import Engine
from fanion.events.storage.export_query import ExportFormat, ExportQuery
from fanion.events.storage.store import EventStore, open_events
from fanion.exports.events_service import EventPages
from fanion.exports.model import FORMATS
from fanion.exports.service import Exports
from tests.support.server import Keys, RealServer

WANTED_PER_S = 100_000.0
FLAGS = 50
INGESTED: Final = 200_000 // BATCH * BATCH
TIMES_SLOWER_MAX = 2.0
# Events of each measurement, the first ones.
EVENTS_MAX: Final = 2_000_000
PARQUET_ROWS: Final = 100_000
# The events of this project are exported.
_PROJECT = "SELECT project_id FROM events LIMIT 1"
_FLOOR = (
    "SELECT uuid, event, timestamp, distinct_id, person_id, received_at, properties FROM events "
    "WHERE project_id = {project} LIMIT {events} INTO OUTFILE '{file}' TRUNCATE FORMAT {format}"
)
_ENGINE_FORMATS = {"csv": "CSVWithNames", "jsonl": "JSONEachRow", "parquet": "Parquet"}


def run() -> Iterator[Row]:
    """Measure every format; the last row is how much memory grows while a slow client reads."""
    with tempfile.TemporaryDirectory() as folder:
        stored = os.environ.get("BENCH_EXPORT_STORE", "")
        if not stored:
            stored = f"{folder}/events"
            asyncio.run(cohorts.populate(f"chdb://{stored}"))
        yield from asyncio.run(_measured(stored, Path(folder)))
    with servers.fanion() as (server, keys):
        yield from _beside(server, keys)


def _beside(server: RealServer, keys: Keys) -> Iterator[Row]:
    """Measure flags, and the server's memory, while an export is read without a pause."""
    decide.store(server, keys, FLAGS)
    asyncio.run(send(server, batches(keys, INGESTED, item)))
    wait_until_ingested(server)
    body = msgspec.json.encode({"api_key": keys.project_api_key, "distinct_id": "user-1"})
    read: list[int] = []
    alone = load.post(f"{server.url}/decide?v=3", body)
    with Meanwhile(lambda: read.append(_read_export(server, keys))):
        beside = load.post(f"{server.url}/decide?v=3", body)
    assert alone.failed == beside.failed == 0, (alone, beside)
    yield Row(
        f"decide, {FLAGS} flags, beside {len(read)} exports",
        f"p99 {beside.p99_ms:.1f} ms",
        f"{alone.p99_ms:.1f} ms alone",
        TIMES_SLOWER_MAX * alone.p99_ms / beside.p99_ms,
        1.0,
    )
    started = perf_counter()
    events = _read_export(server, keys)
    ours = events / (perf_counter() - started)
    yield Row("export over HTTP", f"{ours:,.0f}/s", "100,000/s", ours / WANTED_PER_S, 1.0)


def _read_export(server: RealServer, keys: Keys) -> int:
    """Return the number of events of an export."""
    events = 0
    with (
        client_of(server, keys) as client,
        client.stream("GET", "events/export/?format=jsonl") as answer,
    ):
        for piece in answer.iter_raw():
            events += piece.count(b"\n")
    return events


async def _measured(stored: str, folder: Path) -> list[Row]:
    store = await open_events(f"chdb://{stored}")
    try:
        [[project_id]] = (await store.question(_PROJECT, {}, store.reads)).columns
        rows = [await _format(store, project_id, name, folder) for name in FORMATS]
        rows.append(await _memory(store, project_id, folder))
    finally:
        await store.close()
    return rows


async def _format(store: EventStore, project_id: int, name: ExportFormat, folder: Path) -> Row:
    file = folder / f"events.{name}"
    floor = _FLOOR.format(
        project=project_id, file=file, format=_ENGINE_FORMATS[name], events=EVENTS_MAX
    )
    started = perf_counter()
    await asyncio.to_thread(_command, store.engine, floor)
    floor_s = perf_counter() - started
    started = perf_counter()
    events = await _exported(store, project_id, name, file)
    ours = events / (perf_counter() - started)
    return Row(
        f"export of {events / 1e6:.1f} M events as {name}, beside {events / floor_s:,.0f}/s alone",
        f"{ours:,.0f}/s",
        f"{WANTED_PER_S:,.0f}/s",
        ours / WANTED_PER_S,
        1.0,
    )


def _command(engine: Engine, statement: str) -> None:
    client = engine.connect()
    client.command(statement)
    client.close()


async def _exported(store: EventStore, project_id: int, name: ExportFormat, file: Path) -> int:
    pages = EventPages(store, project_id, ExportQuery(name))
    events = 0
    with file.open("wb") as output:
        while True:
            page = await pages.next_page(PARQUET_ROWS)
            events += page.rows
            await asyncio.to_thread(output.write, page.text)
            if page.next is None or events >= EVENTS_MAX:
                return events


async def _memory(store: EventStore, project_id: int, folder: Path) -> Row:
    """Return how much the process grows while an export is read a second time."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _, pieces = await Exports(store).open_export(
        EventPages(store, project_id, ExportQuery("jsonl"))
    )
    with (folder / "again").open("wb") as output:
        events = 0
        async for piece in pieces:
            output.write(piece)
            events += piece.count(b"\n")
            if events >= EVENTS_MAX:
                break
    await pieces.aclose()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return Row(
        "memory that a second export adds", f"{grown:.0f} MiB", "64 MiB", 64 / max(grown, 1), 1.0
    )
