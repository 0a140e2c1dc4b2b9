"""A pool of PostgreSQL databases.

Emptying one takes a tenth of the time of copying the hundreds of files of a template.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import asyncpg
from alembic.script import ScriptDirectory

from fanion.db.migrate import FOLDER, OLDEST
from tests.support.postgres import Postgres

# Statements that make the rows of a new accept log.
_OPEN_LOG = ScriptDirectory(str(FOLDER)).get_revision(OLDEST).module.OPEN_LOG
# Deleted rows stay on disk (no autovacuum), and every scan of the table reads them.
KEPT_BYTES_MAX = 8 * 2**20  # the schema itself takes two

# A change of a schema or a setting writes to one of these catalogs; deletes and sequences do not.
_CATALOGS = (
    *("pg_class", "pg_attribute", "pg_attrdef", "pg_index", "pg_constraint", "pg_type"),
    *("pg_proc", "pg_trigger", "pg_namespace", "pg_extension", "pg_statistic"),
    *("pg_database", "pg_db_role_setting"),
)
_SCHEMA = " UNION ALL ".join(
    f"SELECT '{name}', count(*), coalesce(max(xmin::text::bigint), 0) FROM {name}"
    for name in _CATALOGS
)

_EMPTY = """
DO $$
DECLARE found regclass;
BEGIN
  PERFORM set_config('session_replication_role', 'replica', true);  -- in any order
  FOR found IN
    SELECT oid FROM pg_class
     WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
       AND relname NOT IN ('alembic_version', 'schema_compatibility', 'installation')
       AND pg_relation_size(oid) > 0
  LOOP
    EXECUTE format('DELETE FROM %s', found);
  END LOOP;
  UPDATE installation SET id = gen_random_uuid(), event_store = NULL;
  PERFORM setval(seqrelid, seqstart, false) FROM pg_sequence;
END $$
"""

_BYTES = """
  SELECT coalesce(sum(pg_total_relation_size(oid)), 0)
    FROM pg_class
   WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""

_END_SESSIONS = """
  SELECT pg_terminate_backend(pid, 10000)
    FROM pg_stat_activity
   WHERE datname = $1
"""


@dataclass(frozen=True)
class DatabasePool:
    """Copies of a template, each equal to it when a test acquires one."""

    postgres: Postgres
    template: str
    _free: list[str] = field(default_factory=list)
    _schemas: dict[str, object] = field(default_factory=dict)

    async def acquire(self) -> str:
        if self._free:
            return self._free.pop()
        name = await self.postgres.create_database(self.template)
        async with _connected(self.postgres.url(name)) as connection:
            self._schemas[name] = await connection.fetch(_SCHEMA)
        return name

    async def release(self, name: str) -> None:
        if await self._is_as_new(name):
            self._free.append(name)
        else:
            await self.postgres.drop_database(name)

    async def _is_as_new(self, name: str) -> bool:
        """Empty a database; return False if its schema has changed or its files are too large."""
        async with _connected(self.postgres.url("postgres")) as connection:
            await connection.fetch(_END_SESSIONS, name)
        try:
            async with _connected(self.postgres.url(name)) as connection:
                await connection.execute(_EMPTY)
                for statement in _OPEN_LOG:
                    await connection.execute(statement)
                schema, size = await connection.fetch(_SCHEMA), await connection.fetchval(_BYTES)
        except asyncpg.PostgresError:  # for example because it accepts no connections
            return False
        return schema == self._schemas[name] and size <= KEPT_BYTES_MAX


@asynccontextmanager
async def _connected(url: str) -> AsyncGenerator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()
