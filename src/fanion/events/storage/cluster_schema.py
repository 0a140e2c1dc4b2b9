"""The tables of the event store on a ClickHouse cluster, made of the statements for one server.

Events are divided among the shards: the rows are in `events_local`, and the copy of them in
`events_by_distinct_id_local`, which the replicas of a shard replicate. `events` is a Distributed
table that reads all shards. Each other table is whole on every server, so that a condition on it is
local to the rows that it filters.

No statement names what an operator may choose: neither disks nor how long rows are kept.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from clickhouse_connect.driver.binding import quote_identifier

from fanion.events.storage.schema import BASELINE, EVENT_TABLES, MIGRATIONS

LOCAL_SUFFIX: Final = "_local"
# Also says where a row is inserted (`shard_hash.py`): all events of a distinct id are together.
SHARDING_KEY: Final = "sipHash64(project_id, distinct_id)"

# Tables in Keeper. A server of a cluster has the macros `shard` and `replica`.
_OF_SHARD: Final = "'/clickhouse/tables/{shard}/DATABASE/TABLE', '{replica}'"
_OF_ALL: Final = "'/clickhouse/tables/all/DATABASE/TABLE', '{shard}-{replica}'"

# A repeated insert is recognised by its token for this many blocks, and this long. In tables
# without it, equal rows would be taken for a repetition.
_BLOCKS_KEPT: Final = 10_000
_BLOCKS_KEPT_S: Final = 7 * 86_400
_REMEMBERS: Final = (
    f"replicated_deduplication_window = {_BLOCKS_KEPT},\n"
    f"           replicated_deduplication_window_seconds = {_BLOCKS_KEPT_S}"
)
_REMEMBERS_NOTHING: Final = "replicated_deduplication_window = 0"

_TABLE: Final = re.compile(r"\s*CREATE TABLE IF NOT EXISTS (\w+) \(")
_VIEW: Final = re.compile(
    r"\s*CREATE MATERIALIZED VIEW IF NOT EXISTS (\w+) TO (\w+) AS\s(.*?FROM) (\w+)\s*", re.DOTALL
)
_ALTER: Final = re.compile(r"\s*ALTER TABLE (\w+)\s")
_ENGINE: Final = re.compile(r"ENGINE = (\w*MergeTree)(?:\((.*?)\))?\n")
_WINDOW: Final = re.compile(r"non_replicated_deduplication_window = \d+")
_YEARS: Final = "greatest(toYear(timestamp), 2010)"
_MONTHS: Final = "greatest(toYYYYMM(timestamp), 201001)"
_COLUMN_CHANGE: Final = re.compile(r"\b(ADD|DROP|MODIFY|RENAME) COLUMN\b")

_DISTRIBUTED: Final = """
  CREATE TABLE IF NOT EXISTS {table} {on_cluster} AS {local}
  ENGINE = Distributed({cluster}, {database}, {name}, {key})
"""


@dataclass(frozen=True, slots=True)
class ClusterSchema:
    """The translation of statements for one server into those for a cluster.

    Attributes:
        cluster: The name of the cluster in the configuration of its servers.
    """

    cluster: str
    database: str

    @property
    def create_database(self) -> str:
        name = quote_identifier(self.database)
        return f"CREATE DATABASE IF NOT EXISTS {name} {self.on_cluster}"

    @property
    def on_cluster(self) -> str:
        return f"ON CLUSTER {quote_identifier(self.cluster)}"

    @property
    def tables(self) -> Sequence[str]:
        """Return the names of all tables and views that each server has to have."""
        made = (re.match(r"\s*CREATE .*?IF NOT EXISTS (\w+)", text) for text in SCHEMA)
        names = [match[1] for match in made if match]
        return [*names, *(f"{name}{LOCAL_SUFFIX}" for name in EVENT_TABLES)]

    def statements(self, statement: str) -> Sequence[str]:
        """Return the statements that do on a cluster what one does on a single server.

        Raises:
            ValueError: The statement has none of the forms that are known here.
        """
        if made := _TABLE.match(statement):
            return self._tables(statement, made[1])
        if made := _VIEW.match(statement):
            return [self._view(*made.groups())]
        if changed := _ALTER.match(statement):
            return self._changes(statement, changed[1])
        raise ValueError(f"not known on a cluster: {statement.strip()[:80]}")

    def _tables(self, statement: str, name: str) -> Sequence[str]:
        if name not in EVENT_TABLES:
            settings = _REMEMBERS_NOTHING
            return [self._replicated(statement, name, _OF_ALL, settings)]
        local = name + LOCAL_SUFFIX
        rows = _WINDOW.sub(_REMEMBERS, statement.replace(_YEARS, _MONTHS))
        return [self._replicated(rows, local, _OF_SHARD, ""), self._distributed(name, local)]

    def _replicated(self, statement: str, name: str, where: str, settings: str) -> str:
        path = where.replace("DATABASE", self.database).replace("TABLE", name)
        made = _TABLE.sub(
            lambda _: f"\n  CREATE TABLE IF NOT EXISTS {self._named(name)} {self.on_cluster} (",
            statement,
        )
        made = _ENGINE.sub(
            lambda engine: (
                f"ENGINE = Replicated{engine[1]}({', '.join(filter(None, (path, engine[2])))})\n"
            ),
            made,
        )
        if not settings:
            return made
        first = "SETTINGS "
        if first in made:
            return made.replace(first, f"{first}{settings},\n           ", 1)
        return f"{made.rstrip()}\n  {first}{settings}\n"

    def _distributed(self, name: str, local: str) -> str:
        return _DISTRIBUTED.format(
            table=self._named(name),
            on_cluster=self.on_cluster,
            local=self._named(local),
            cluster=_quoted(self.cluster),
            database=_quoted(self.database),
            name=_quoted(local),
            key=SHARDING_KEY,
        )

    def _view(self, name: str, target: str, select: str, source: str) -> str:
        return (
            f"\n  CREATE MATERIALIZED VIEW IF NOT EXISTS {self._named(name)} {self.on_cluster}"
            f" TO {self._named(target + LOCAL_SUFFIX)} AS\n"
            f"{select} {self._named(source + LOCAL_SUFFIX)}\n"
        )

    def _changes(self, statement: str, name: str) -> Sequence[str]:
        """Return a change of the rows of events on each shard, and of what reads them.

        A table that all servers replicate is changed on one of them.
        """
        if name not in EVENT_TABLES:
            return [self._altered(statement, self._named(name))]
        local = f"{self._named(name + LOCAL_SUFFIX)} {self.on_cluster}"
        changes = [self._altered(statement, local)]
        if _COLUMN_CHANGE.search(statement):
            changes.append(self._altered(statement, f"{self._named(name)} {self.on_cluster}"))
        return changes

    @staticmethod
    def _altered(statement: str, table: str) -> str:
        return _ALTER.sub(lambda _: f"\n  ALTER TABLE {table} ", statement)

    def _named(self, name: str) -> str:
        return f"{quote_identifier(self.database)}.{quote_identifier(name)}"


# The baseline and the migrations, which make all tables but those of versions.
SCHEMA: Final = (*BASELINE, *MIGRATIONS)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
