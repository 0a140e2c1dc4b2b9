"""The start of the stand-in for a ClickHouse server, and its databases; see README.md."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from clickhouse_connect import get_client
from clickhouse_connect.driver.client import Client

from fanion.events.storage.client import EMBEDDED_OPTIONS
from fanion.events.storage.cluster_schema import LOCAL_SUFFIX, SHARDING_KEY
from fanion.events.storage.schema import EVENT_TABLES
from tests.support.clickhouse.replica import ADDRESS

STOP_S = 30
SERVER = "server"
DISTRIBUTED = "distributed"
CLUSTER = "shards"
REPLICATED = "replicated"
# Two names of this machine, since the engine takes shards of one address for replicas.
HOSTS = ("127.0.0.1", "localhost")
SHARDS = len(HOSTS)

# A shard is local, because the port is the server's own, on which nothing listens.
_SHARD = """
    <shard><replica><host>{host}</host><port>9000</port></replica></shard>
"""
# One shard with two replicas, of which the second one is played by `replica.py`.
_PAIR = f"""
    <shard>
      <internal_replication>true</internal_replication>
      <replica><host>127.0.0.1</host><port>9000</port></replica>
      <replica><host>{ADDRESS}</host><port>9000</port></replica>
    </shard>
"""
_CONFIG = """
  <clickhouse>
    <tcp_port>9000</tcp_port>
    <remote_servers>
      <{name}>{shards}</{name}>
      <{replicated}>{pair}</{replicated}>
    </remote_servers>
  </clickhouse>
"""

# The rows of one shard; the number is 0 if a table is read as it is.
_OF_SHARD = f"shardNum() IN (0, {SHARDING_KEY} % {SHARDS} + 1)"
_FILTERS = {f"{DISTRIBUTED}.{table}{LOCAL_SUFFIX}": _OF_SHARD for table in EVENT_TABLES}


@dataclass(frozen=True)
class ClickHouse:
    port: int
    pid: int

    def url(self, database: str) -> str:
        """Return the URL of a database, of which `distributed` is on the cluster."""
        cluster = f"?cluster={CLUSTER}" if database == DISTRIBUTED else ""
        return f"clickhouse://127.0.0.1:{self.port}/{database}{cluster}"

    def client(self, database: str = "default", **options: Any) -> Client:
        return get_client(
            host="127.0.0.1",
            port=self.port,
            database=database,
            autogenerate_session_id=False,
            **options,
        )


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
    shards = "".join(_SHARD.format(host=host) for host in HOSTS)
    config.write_text(
        _CONFIG.format(name=CLUSTER, shards=shards, replicated=REPLICATED, pair=_PAIR)
    )
    options = {"config-file": str(config), **EMBEDDED_OPTIONS}
    filters = "{" + ", ".join(f"'{name}': '{text}'" for name, text in _FILTERS.items()) + "}"
    defaults = {DISTRIBUTED: {"additional_table_filters": filters}}
    return f"{folder}/store?{urlencode(options)}", json.dumps(defaults)
