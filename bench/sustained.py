"""Ingestion with many persons, identifies and merges, while single events are captured live."""

import asyncio
import multiprocessing
import os
import random
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection

import msgspec

from bench import paced, servers
from bench.capture import event
from bench.ingestion import batches, send, wait_until_ingested
from bench.report import Row
from tests.support.server import Keys

EVENTS = int(os.environ.get("BENCH_SUSTAINED", "1000000"))
PERSONS = EVENTS // 10
EVENTS_PER_S, P99_MS_MAX = 30_000.0, 50.0
LIVE_PER_S, LIVE_S = 50.0, 30.0


def run() -> Iterator[Row]:
    with servers.fanion() as (server, keys):
        bodies = list(batches(keys, EVENTS, item))  # beforehand: the server needs the processor
        live, results = _live(f"{server.url}/capture/", keys)
        started = time.perf_counter()
        asyncio.run(send(server, iter(bodies)))
        accepted = time.perf_counter() - started
        wait_until_ingested(server)
        rate = EVENTS / (time.perf_counter() - started)
        captured: paced.Paced = results.recv()
        live.join()
        assert captured.failed == 0, captured
    case = f"{EVENTS:,} events, {PERSONS:,} persons, 5 % identify, 1 % merges"
    ours = f"{rate:,.0f} events/s (accepted after {accepted:.1f} s)"
    yield Row(case, ours, f"{EVENTS_PER_S:,.0f} events/s", rate / EVENTS_PER_S, 1.0)
    p99 = captured.p99_ms
    yield Row("p99 of live capture meanwhile", f"{p99:.1f} ms", "50 ms", P99_MS_MAX / p99, 1.0)


def _live(url: str, keys: Keys) -> tuple[multiprocessing.Process, Connection]:
    """Send single events at a low rate from another process, while the others are ingested."""
    body = msgspec.json.encode({"api_key": keys.project_api_key, **event(0)})
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(
        target=lambda: theirs.send(paced.post(url, body, LIVE_PER_S, LIVE_S)), daemon=True
    )
    process.start()
    return process, ours


def item(number: int, chance: random.Random) -> dict[str, object]:
    """Return an event; of a hundred, one merges an anonymous visitor and five identify a person."""
    hundred, position = divmod(number, 100)
    visitor = f"visitor-{hundred}"
    row = event(chance.randrange(PERSONS))
    if position == 0:
        return {**row, "distinct_id": visitor}
    if position % 20 == 10:
        row["event"] = "$identify"
        row["$set"] = {"email": f"{row['distinct_id']}@example.com", "visits": number}
        if position == 10:
            row["properties"] = {"$anon_distinct_id": visitor}
    return row
