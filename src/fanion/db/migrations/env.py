"""Alembic runs this file for every command.

To create a revision, change the tables in db/schema/ (a new module of it is listed below) and run

    python -m fanion.db.migrations "add a note to projects"

It migrates a throwaway SQLite file, compares it with the tables, and writes the difference to
versions/. Read the result: a renamed column looks like one dropped and one added, and values of
existing rows must be filled by hand. Set `oldest_program` to the oldest program that may go on
using the store (docs/decisions/0032-migrations.md); as generated, no older one may. Migrations only
go forward. SQLite drops the triggers of a table that is rebuilt: create those of `FED` in the
baseline again, and the view `person_keys` if `persons` was rebuilt. On PostgreSQL `persons` has
partitions and `person_keys` is a table. Tests then check on both engines that a migrated database
equals the tables.
"""

from typing import Any, Literal

from alembic import context
from sqlalchemy import Connection, TypeDecorator

from fanion.db.schema import (
    accounts,
    activity,
    cohorts,
    events,
    experiments,
    exports,
    flags,
    insights,
    organizations,
    persons,
    servers,
    webhooks,
)
from fanion.db.schema.tables import ID, metadata

# Modules that define tables: `metadata` is complete once they are imported.
TABLES = (
    accounts,
    activity,
    cohorts,
    events,
    experiments,
    exports,
    flags,
    insights,
    organizations,
    persons,
    servers,
    webhooks,
)


def _render(kind: str, item: Any, _: Any) -> str | Literal[False]:
    """Render own column types by the short names that script.py.mako gives them."""
    if kind != "type":
        return False
    if isinstance(item, TypeDecorator):
        return f"{type(item).__name__}()"
    return "Id" if item is ID else False


def run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=True,  # SQLite changes a table by copying it
        render_item=_render,
        transactional_ddl=True,
        on_version_apply=context.config.attributes.get("on_apply"),
    )
    with context.begin_transaction():
        context.run_migrations()


run(context.config.attributes["connection"])
