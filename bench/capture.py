"""The capture cases: how close the durable answer comes to a handler that does nothing.

Another case is what an event costs a web worker in bodies of different sizes.
"""

import time
from collections.abc import Iterator

import msgspec

from bench import load, servers
from bench.report import Row

BATCH = 100
DECODE_S = 1.0
SIZES = (100, 500, 1_000, 4_000)  # 26 KB to 1 MB


def run() -> Iterator[Row]:
    with servers.floor() as floor, servers.fanion() as (server, keys):
        single = msgspec.json.encode({"api_key": keys.project_api_key, **event(0)})
        bare = load.post(floor, single)
        ours = load.post(f"{server.url}/capture/", single, processes=[server.pid])
        assert ours.failed == 0, ours
        yield Row(
            "single-event capture, 32 connections",
            f"{ours.requests_per_s:,.0f}/s ({ours.shown})",
            f"{bare.requests_per_s:,.0f}/s",
            ours.requests_per_s / bare.requests_per_s,
            0.55,
        )
    with servers.fanion() as (server, keys):
        items = [event(number) for number in range(BATCH)]
        batch = msgspec.json.encode({"api_key": keys.project_api_key, "batch": items})
        decoded = decode_rate(batch) * BATCH
        ours = load.post(f"{server.url}/batch/", batch, processes=[server.pid])
        assert ours.failed == 0, ours
        yield Row(
            "batch capture, 100 events a request",
            f"{ours.requests_per_s * BATCH:,.0f} events/s ({ours.shown})",
            f"{decoded:,.0f} events/s decoded",
            ours.requests_per_s * BATCH / decoded,
            0.5,
        )


def sizes() -> Iterator[Row]:
    """Compare the cost of an event in a web worker with that of decoding the same body."""
    for size in SIZES:
        with servers.fanion() as (server, keys):
            items = [event(number) for number in range(size)]
            body = msgspec.json.encode({"api_key": keys.project_api_key, "batch": items})
            workers = servers.web_workers(server.pid)
            ours = load.post(f"{server.url}/batch/", body, connections=4, processes=workers)
            assert ours.failed == 0, ours
        event_us, floor_us = ours.processor_us / size, 1e6 / (decode_rate(body) * size)
        yield Row(
            f"capture in a web worker, {size:,} events a request",
            f"{event_us:.2f} µs an event ({len(body) / 1000:,.0f} kB, p99 {ours.p99_ms:.0f} ms)",
            f"{floor_us:.2f} µs decoded",
            floor_us / event_us,
            0.5,
        )


def event(number: int) -> dict[str, object]:
    """Return an ordinary event in the form that a server SDK sends."""
    return {
        "event": "page viewed",
        "distinct_id": f"user-{number}",
        "timestamp": "2026-01-02T03:04:05.678901+00:00",
        "properties": {
            "$lib": "posthog-python",
            "$lib_version": "7.91.1",
            "$geoip_disable": True,
            "path": f"/products/{number}",
            "price": 19.99,
            "plan": "pro",
            "items": 3,
            "currency": "EUR",
        },
    }


def decode_rate(body: bytes) -> float:
    """Return how many bodies one thread decodes per second with msgspec."""
    decode = msgspec.json.Decoder().decode
    count, started = 0, time.perf_counter()
    while time.perf_counter() - started < DECODE_S:
        for _ in range(100):
            decode(body)
        count += 100
    return count / (time.perf_counter() - started)
