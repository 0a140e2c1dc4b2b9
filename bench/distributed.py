"""Questions and pages of events over a cluster of one shard, beside the same over plain tables.

BENCH_DISTRIBUTED_EVENTS: how many events; 2,000,000 by default.

Both are databases of one stand-in for ClickHouse, each with a server of its own, which are asked
in turn. The shard is in the same engine: no row crosses a socket.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

import httpx

from bench import servers
from bench.cohort_service import client_of
from bench.insights_events import person_id, store_events, store_persons
from bench.insights_questions import QUESTIONS, Ask
from bench.report import Row
from fanion.events.storage.cluster_schema import LOCAL_SUFFIX
from tests.support.awaited import until
from tests.support.clickhouse.server import ONE_SHARD, SERVER, ClickHouse, clickhouse
from tests.support.server import START_S

EVENTS: Final = int(os.environ.get("BENCH_DISTRIBUTED_EVENTS", "2000000"))
TURNS: Final = 12
TIMES_SLOWER_MAX: Final = 1.2
STORES: Final = (SERVER, ONE_SHARD)
# Inserts through a Distributed table would make other parts.
TABLES: Final = {SERVER: "events", ONE_SHARD: f"events{LOCAL_SUFFIX}"}


@dataclass
class Least:
    """The shortest time of a request on each store, in seconds."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STORES, float("inf")))

    def row(self, name: str) -> Row:
        plain, sharded = (self.seconds[store] * 1000 for store in STORES)
        return Row(
            name,
            f"{sharded:.1f} ms",
            f"{plain:.1f} ms",
            TIMES_SLOWER_MAX * plain / sharded,
            1.0,
        )


def run() -> Iterator[Row]:
    with TemporaryDirectory() as folder, clickhouse(Path(folder)) as on, ExitStack() as stack:
        clients = {name: _client(stack, on, Path(folder), name) for name in STORES}
        for question in QUESTIONS:
            name = f"{question.name}, {EVENTS:,}, one shard"
            yield _least(clients, partial(_ask, question.asks)).row(name)
        for name, path in _pages(clients[SERVER]).items():
            yield _least(clients, partial(_read, path)).row(name)


def _client(stack: ExitStack, on: ClickHouse, folder: Path, name: str) -> httpx.Client:
    """Start a server on a database of the stand-in, and store the events there."""
    with closing(on.client()) as client:
        client.command(f"CREATE DATABASE IF NOT EXISTS {name}")
    server = servers.whole(folder / f"data of {name}", FANION_EVENTS_URL=on.url(name))
    keys = server.setup()
    stack.callback(server.close)
    server.start()
    with closing(on.client(name)) as client:
        until(lambda: client.command("EXISTS TABLE events") == 1, "no table", START_S)
        given = store_persons(client, EVENTS, keys.project_id)
        for _ in store_events(client, EVENTS, given, TABLES[name]):
            pass
    return stack.enter_context(client_of(server, keys))


def _pages(client: httpx.Client) -> Mapping[str, str]:
    """Return the paths of lists of events, by their names."""
    event = client.get("events/?event=order placed").raise_for_status().json()["results"][0]
    distinct_id = event["distinct_id"]
    person = person_id(int(distinct_id.removeprefix("user-")))
    return {
        "page of all events": "events/",
        "page of one event": "events/?event=$pageview",
        "page of a distinct id": f"events/?distinct_id={distinct_id}",
        "page of a person": f"events/?person_id={person}",
    }


def _least(clients: Mapping[str, httpx.Client], ask: Callable[[httpx.Client], None]) -> Least:
    least = Least()
    for _ in range(TURNS):
        for store, client in clients.items():
            started = perf_counter()
            ask(client)
            least.seconds[store] = min(least.seconds[store], perf_counter() - started)
    return least


def _ask(asks: Sequence[Ask], client: httpx.Client) -> None:
    for path, body in asks:
        client.post(path, json={**body, "refresh": True}).raise_for_status()


def _read(path: str, client: httpx.Client) -> None:
    client.get(path).raise_for_status()
