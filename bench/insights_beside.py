"""The loss of flags and ingestion while questions are asked without a pause."""

import asyncio
import os
import time
from collections.abc import Iterator

import msgspec

from bench import decide, load
from bench.cohort_service import Meanwhile, client_of
from bench.ingestion import BATCH, batches, item, send, wait_until_ingested
from bench.insights_questions import QUESTIONS, Ask
from bench.report import Row
from tests.support.server import Keys, RealServer

FLAGS = 50
INGESTED = int(os.environ.get("BENCH_INSIGHTS_INGESTED", "200000")) // BATCH * BATCH
TIMES_SLOWER_MAX = 2.0
RATE_MIN = 0.9


def beside(server: RealServer, keys: Keys) -> Iterator[Row]:
    """Measure each alone first, on the same server, which is warm by then."""
    decide.store(server, keys, FLAGS)
    asks = _answered(server, keys)
    yield _flags(server, keys, asks)
    yield _ingestion(server, keys, asks)


def _flags(server: RealServer, keys: Keys, asks: list[Ask]) -> Row:
    body = msgspec.json.encode({"api_key": keys.project_api_key, "distinct_id": "user-1"})
    alone = load.post(f"{server.url}/decide?v=3", body)
    with Meanwhile(lambda: _ask(server, keys, asks)):
        beside = load.post(f"{server.url}/decide?v=3", body)
    assert alone.failed == beside.failed == 0, (alone, beside)
    return Row(
        f"decide, {FLAGS} flags, beside questions",
        f"p99 {beside.p99_ms:.1f} ms",
        f"{alone.p99_ms:.1f} ms alone",
        TIMES_SLOWER_MAX * alone.p99_ms / beside.p99_ms,
        1.0,
    )


def _ingestion(server: RealServer, keys: Keys, asks: list[Ask]) -> Row:
    _rate(server, keys)  # a server that has not ingested anything yet is slower
    alone = _rate(server, keys)
    with Meanwhile(lambda: _ask(server, keys, asks)):
        beside = _rate(server, keys)
    return Row(
        "ingestion beside questions",
        f"{beside:,.0f} events/s",
        f"{alone:,.0f} events/s alone",
        beside / alone,
        RATE_MIN,
    )


def _rate(server: RealServer, keys: Keys) -> float:
    started = time.perf_counter()
    asyncio.run(send(server, batches(keys, INGESTED, item)))
    wait_until_ingested(server)
    return INGESTED / (time.perf_counter() - started)


def _answered(server: RealServer, keys: Keys) -> list[Ask]:
    """Return the questions that this version answers."""
    asks = [ask for question in QUESTIONS for ask in question.asks]
    with client_of(server, keys) as client:
        return [ask for ask in asks if client.post(ask[0], json=ask[1]).is_success]


def _ask(server: RealServer, keys: Keys, asks: list[Ask]) -> None:
    with client_of(server, keys) as client:
        for path, body in asks:
            client.post(path, json={**body, "refresh": True}).raise_for_status()
