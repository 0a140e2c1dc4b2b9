"""Ingestion from end to end: from the first request to the last visible row."""

import asyncio
import random
import time
from collections.abc import Callable, Iterator

import msgspec

from bench import servers
from bench.capture import event
from bench.processor_time import used_s
from bench.report import Row
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.server import Keys, RealServer

EVENTS = 500_000
PERSONS = 20_000
BATCH = 500
CLIENTS = 4
GIVE_UP_S = 300
LOOK_S = 0.25  # a check every 0.05 s took a sixth of the machine from the measured server
MEMORY_MB_MAX = 1536

# Returns the event with a number.
Item = Callable[[int, random.Random], dict[str, object]]


def run() -> Iterator[Row]:
    with servers.fanion() as (server, keys):
        started, used_before = time.perf_counter(), used_s([server.pid])
        asyncio.run(send(server, batches(keys, EVENTS, item)))
        accepted = time.perf_counter() - started
        wait_until_ingested(server)
        seconds = time.perf_counter() - started
        processor_us = (used_s([server.pid]) - used_before) / EVENTS * 1e6
        memory = servers.resident_mb(server.pid)
        rate = EVENTS / seconds
        yield Row(
            f"end to end, {EVENTS:,} events, {PERSONS:,} persons",
            f"{rate:,.0f} events/s, {processor_us:.1f} µs of processor time an event, "
            f"{memory:,.0f} MB at most (accepted after {accepted:.1f} s)",
            "15,000 events/s",
            rate / 15_000,
            1.0,
        )


async def send(server: RealServer, bodies: Iterator[bytes]) -> None:
    async with plain_http.AsyncClient(base_url=server.url, timeout=60) as client:

        async def one_client() -> None:
            for body in bodies:
                answer = await client.post("/batch/", content=body)
                assert answer.status_code == 200, answer.text

        await asyncio.gather(*(one_client() for _ in range(CLIENTS)))


def batches(keys: Keys, events: int, item: Item, size: int = BATCH) -> Iterator[bytes]:
    chance = random.Random(1)
    for start in range(0, events, size):
        items = [item(start + offset, chance) for offset in range(size)]
        yield msgspec.json.encode({"api_key": keys.project_api_key, "batch": items})


def item(number: int, chance: random.Random) -> dict[str, object]:
    """Return an event of a random person; some events set properties."""
    person = chance.randrange(PERSONS)
    row = event(person)
    if number % 20 == 0:
        row["$set"] = {"email": f"user-{person}@example.com", "visits": number}
    return row


def wait_until_ingested(server: RealServer) -> None:
    with plain_http.Client(base_url=server.url, timeout=30) as client:

        def is_ingested() -> bool:
            return "\nfanion_log_lag_envelopes 0.0" in client.get("/metrics").text

        until(is_ingested, f"not ingested after {GIVE_UP_S} s", GIVE_UP_S, LOOK_S)
