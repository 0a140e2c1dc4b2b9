"""The command `python -m bench capacity parts`: how many parts ingestion makes of each shard.

ClickHouse merges what is inserted, and refuses inserts once too many parts wait: several servers
that ingest a little each must not make more parts than one. Two shards are one stand-in.
"""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from bench import paced, servers
from bench.capacity_roles import Engines, engines
from bench.capture import event
from fanion.events.storage.cluster_schema import LOCAL_SUFFIX
from tests.support.awaited import until
from tests.support.clickhouse.server import DISTRIBUTED, SHARDS
from tests.support.server import START_S, RealServer

TABLE: Final = f"events{LOCAL_SUFFIX}"
INGESTERS: Final = (1, 2, 4)
REQUESTS_PER_S: Final = (2.0, 20.0)
# A request has an event of each of so many distinct ids, which are in nearly all partitions.
EVENTS_OF_REQUEST: Final = 100
RUN_S: Final = 30.0
# Of each shard: ten inserts a second, of all servers together.
PARTS_A_MINUTE_MAX: Final = 600
# A table numbers the parts that are inserted; merged parts keep the numbers of theirs.
_NUMBER: Final = """
  SELECT max(max_block_number) FROM system.parts WHERE database = {database:String}
     AND table = {table:String}
"""


def main() -> None:
    print(f"measured: parts a minute of each of {SHARDS} shards, and events a second")
    print("\n| Servers that ingest | Events a second | Parts a minute |\n|---|---|---|")
    with TemporaryDirectory() as folder, engines(Path(folder)) as on:
        for number in INGESTERS:
            with _running(on, number) as web:
                for requests in REQUESTS_PER_S:
                    print(_line(on, web, number, requests), flush=True)


def _line(on: Engines, web: RealServer, number: int, requests: float) -> str:
    before = _parts(on)
    sent = paced.post(f"{web.url}/batch/", _body(on), requests, RUN_S)
    assert sent.failed == 0, sent
    parts = (_parts(on) - before) / SHARDS / (RUN_S + paced.WARM_S) * 60
    missed = "" if parts <= PARTS_A_MINUTE_MAX else "  MISSED"
    return f"| {number} | {requests * EVENTS_OF_REQUEST:,.0f} | {parts:,.0f} |{missed}"


@contextmanager
def _running(on: Engines, number: int) -> Iterator[RealServer]:
    """Run a server that captures, and a number of servers that ingest into the cluster."""
    database = on.copy(on.template)
    with ExitStack() as stack:
        roles = ["web", "api,jobs", *["ingest"] * number]
        running = [
            stack.enter_context(
                closing(on.server(f"{number}-{index}", role, database, DISTRIBUTED))
            )
            for index, role in enumerate(roles)
        ]
        web, *others = running
        for server in others:
            server.start()
        servers.start_web(web)
        until(lambda: _has_tables(on), "no tables", START_S)
        yield web
        for server in running:
            assert server.stop() == 0
    on.drop(database)


def _has_tables(on: Engines) -> bool:
    with closing(on.clickhouse.client(DISTRIBUTED)) as client:
        return client.command(f"EXISTS TABLE {TABLE}") == 1


def _parts(on: Engines) -> int:
    """Return how many parts were inserted into the table of events, of all shards."""
    with closing(on.clickhouse.client()) as client:
        given = {"database": DISTRIBUTED, "table": TABLE}
        [[number]] = client.query(_NUMBER, given).result_rows
    return int(number)


def _body(on: Engines) -> bytes:
    items = [event(number) for number in range(EVENTS_OF_REQUEST)]
    return msgspec.json.encode({"api_key": on.keys.project_api_key, "batch": items})
