"""The start of the stand-in for a ClickHouse server, and its databases; see README.md."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from clickhouse_connect import get_client
from clickhouse_connect.driver.client import Client

from fanion.events.storage.client import EMBEDDED_OPTIONS
from fanion.events.storage.schema import COPIED, EVENT_TABLES

STOP_S = 30
SERVER = "server"
DISTRIBUTED = "distributed"
SHARDS = 2

# A shard is local, because the port is the server's own, on which nothing listens.
_SHARD = """
    <shard><weight>{weight}</weight><replica><host>127.0.0.1</host><port>9000</port></replica></shard>
"""
_CONFIG = """
  <clickhouse>
    <tcp_port>9000</tcp_port>
    <remote_servers><shards>{shards}</shards></remote_servers>
  </clickhouse>
"""

# The rows of one shard; the number is 0 if a table is read as it is.
_OF_SHARD = f"shardNum() IN (0, cityHash64(distinct_id) % {SHARDS} + 1)"
_FILTERS = {f"{DISTRIBUTED}.{table}_local": _OF_SHARD for table in EVENT_TABLES}

_DISTRIBUTE = (
    "DROP VIEW copy_by_distinct_id",
    "RENAME TABLE " + ", ".join(f"{table} TO {table}_local" for table in EVENT_TABLES),
    *(
        f"""CREATE TABLE {table} AS {table}_local
            ENGINE = Distributed(shards, {DISTRIBUTED}, {table}_local, cityHash64(distinct_id))"""
        for table in EVENT_TABLES
    ),
    "CREATE MATERIALIZED VIEW copy_by_distinct_id TO events_by_distinct_id_local AS "
    + COPIED.replace("FROM events", "FROM events_local"),
)


@dataclass(frozen=True)
class ClickHouse:
    port: int
    pid: int

    def url(self, database: str) -> str:
        return f"clickhouse://127.0.0.1:{self.port}/{database}"

    def client(self, database: str = "default", **options: object) -> Client:
        return get_client(
            host="127.0.0.1",
            port=self.port,
            database=database,
            autogenerate_session_id=False,
            **options,  # type: ignore[arg-type]  # those of get_client
        )

    def distribute(self) -> None:
        """Replace the tables that the product has made by Distributed ones."""
        client = self.client(DISTRIBUTED)
        for statement in _DISTRIBUTE:
            client.command(statement)
        client.close()


@contextmanager
def clickhouse(folder: Path) -> Iterator[ClickHouse]:
    """Run a stand-in that listens, with both databases empty."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.clickhouse.front", *_arguments(folder)],
        cwd=Path(__file__).parents[3],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        server = ClickHouse(int(process.stdout.readline()), process.pid)
        client = server.client()
        for database in (SERVER, DISTRIBUTED):
            client.command(f"CREATE DATABASE {database}")
        client.close()
        yield server
    finally:
        process.terminate()
        process.wait(STOP_S)
        process.stdin.close()
        process.stdout.close()


def _arguments(folder: Path) -> tuple[str, str]:
    config = folder / "config.xml"
    weights = (1, *[0] * (SHARDS - 1))
    shards = "".join(_SHARD.format(weight=weight) for weight in weights)
    config.write_text(_CONFIG.format(shards=shards))
    options = {"config-file": str(config), **EMBEDDED_OPTIONS}
    filters = "{" + ", ".join(f"'{name}': '{text}'" for name, text in _FILTERS.items()) + "}"
    defaults = {DISTRIBUTED: {"additional_table_filters": filters}}
    return f"{folder}/store?{urlencode(options)}", json.dumps(defaults)
