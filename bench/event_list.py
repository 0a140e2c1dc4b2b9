"""The newest events of one distinct id among ten million, as `GET …/events/?distinct_id=` asks."""

import asyncio
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

from bench import cohorts
from bench.report import Row
from fanion.events.event import EventQuery
from fanion.events.storage.store import open_events

WANTED_MS = 50.0
ASKED = 30


def run() -> Iterator[Row]:
    """Measure with the events of the cohort cases, which BENCH_COHORT_FOLDER keeps."""
    stored = os.environ.get("BENCH_COHORT_FOLDER")
    if stored:
        yield asyncio.run(_measured(Path(stored)))
        return
    with tempfile.TemporaryDirectory() as folder:
        yield asyncio.run(_measured(Path(folder)))


async def _measured(folder: Path) -> Row:
    url = f"chdb://{folder}/events"
    await cohorts.populate(url)
    store = await open_events(url)
    chance, milliseconds = random.Random(1), []
    try:
        for _ in range(ASKED):
            query = EventQuery(distinct_id=f"user-{chance.randrange(cohorts.PERSONS)}")
            started = perf_counter()
            await store.list(cohorts.PROJECT, query)
            milliseconds.append((perf_counter() - started) * 1000)
    finally:
        await store.close()
    ours = median(milliseconds)
    name = f"events of a distinct id, of {cohorts.EVENTS / 1e6:g} M"
    return Row(name, f"{ours:.0f} ms", f"{WANTED_MS:g} ms", WANTED_MS / ours, 1.0)
