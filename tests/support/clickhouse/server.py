"""The start of the stand-in for a ClickHouse server, and its databases; see README.md."""

import json
import signal
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
ONE_SHARD = "one_shard"
REPLICATED = "replicated"
TWICE = "shards_with_replicas"
# The databases that are on a cluster.
CLUSTERS = {DISTRIBUTED: CLUSTER, ONE_SHARD: ONE_SHARD}
# Two names of this machine, since the engine takes shards of one address for replicas.
HOSTS = ("127.0.0.1", "localhost")
SHARDS = len(HOSTS)
# Between two looks for mutations. Those of the embedded engine grow up to a minute, and only its
# own callers end them (`resume_mutations`).
LONGEST_PAUSE = "background_processing_pool_task_sleep_seconds_when_no_work_max"

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
# Two shards with two replicas, all of them this engine: each has a name of its own.
_TWICE = """
    <shard>
      <internal_replication>true</internal_replication>
      <replica><host>127.0.0.1</host><port>9000</port></replica>
      <replica><host>127.1</host><port>9000</port></replica>
    </shard>
    <shard>
      <internal_replication>true</internal_replication>
      <replica><host>localhost</host><port>9000</port></replica>
      <replica><host>127.0.1</host><port>9000</port></replica>
    </shard>
"""
_CONFIG = """
  <clickhouse>
    <tcp_port>9000</tcp_port>
    <remote_servers>
      <{name}>{shards}</{name}>
      <{one}>{one_shard}</{one}>
      <{replicated}>{pair}</{replicated}>
      <{twice}>{shards_twice}</{twice}>
    </remote_servers>
  </clickhouse>
"""

# The rows of one shard; the number is 0 if a table is read as it is.
_OF_SHARD = f"shardNum() IN (0, {SHARDING_KEY} % {SHARDS} + 1)"
_FILTERS = {f"{DISTRIBUTED}.{table}{LOCAL_SUFFIX}": _OF_SHARD for table in EVENT_TABLES}


@dataclass
class ClickHouse:
    """A stand-in, which may be killed and started again on its files.

    Attributes:
        port: Any, until it has started.
    """

    folder: Path
    port: int = 0
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def url(self, database: str) -> str:
        """Return the URL of a database, of which some are on a cluster."""
        cluster = f"?cluster={CLUSTERS[database]}" if database in CLUSTERS else ""
        return f"clickhouse://127.0.0.1:{self.port}/{database}{cluster}"

    def client(self, database: str = "default", **options: Any) -> Client:
        return get_client(
            host="127.0.0.1",
            port=self.port,
            database=database,
            autogenerate_session_id=False,
            **options,
        )

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.clickhouse.front", *self._arguments()],
            cwd=Path(__file__).parents[3],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def close(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, by: signal.Signals) -> None:
        process = self.process
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        process.send_signal(by)
        process.wait(STOP_S)
        process.stdin.close()
        process.stdout.close()
        self.process = None

    def _arguments(self) -> tuple[str, str, str]:
        return (*_arguments(self.folder), str(self.port))


@contextmanager
def clickhouse(folder: Path) -> Iterator[ClickHouse]:
    """Run a stand-in that listens, with both databases empty."""
    server = ClickHouse(folder)
    try:
        server.start()
        client = server.client()
        for database in (SERVER, DISTRIBUTED):
            client.command(f"CREATE DATABASE {database}")
        client.close()
        yield server
    finally:
        server.close()


def _arguments(folder: Path) -> tuple[str, str]:
    config = folder / "config.xml"
    shards = "".join(_SHARD.format(host=host) for host in HOSTS)
    config.write_text(
        _CONFIG.format(
            name=CLUSTER,
            shards=shards,
            one=ONE_SHARD,
            one_shard=_SHARD.format(host=HOSTS[0]),
            replicated=REPLICATED,
            pair=_PAIR,
            twice=TWICE,
            shards_twice=_TWICE,
        )
    )
    options = {"config-file": str(config), **EMBEDDED_OPTIONS, LONGEST_PAUSE: 1}
    filters = "{" + ", ".join(f"'{name}': '{text}'" for name, text in _FILTERS.items()) + "}"
    defaults = {DISTRIBUTED: {"additional_table_filters": filters}}
    return f"{folder}/store?{urlencode(options)}", json.dumps(defaults)
