"""Alembic, told where the migrations are."""

from collections.abc import Callable
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, delete, insert

from fanion.db.migrate import FOLDER, NEWEST
from fanion.db.schema.tables import schema_compatibility


def upgrade(connection: Connection, told: Callable[[int, int], None] | None) -> None:
    """Apply what is missing, and note which older programs may use the store all the same.

    told: as of `migrate`
    """
    config = config_of(connection)
    if told is not None:
        config.attributes["on_apply"] = _telling(told, _missing(config, connection))
    command.upgrade(config, "head")
    connection.execute(delete(schema_compatibility))
    connection.execute(
        insert(schema_compatibility).values(revision=NEWEST, oldest_program=oldest_program())
    )


def _telling(told: Callable[[int, int], None], missing: int) -> Callable[..., None]:
    applied = 0

    def on_apply(**_: Any) -> None:
        nonlocal applied
        applied += 1
        told(applied, missing)

    told(0, missing)
    return on_apply


def _missing(config: Config, connection: Connection) -> int:
    applied = MigrationContext.configure(connection).get_current_revision()
    scripts = ScriptDirectory.from_config(config)
    return len(list(scripts.iterate_revisions("head", applied or "base")))


def oldest_program() -> str:
    """That each of the migrations allows. The first ones say nothing of it: the programs of their
    time go on with no schema but their own."""
    revisions = ScriptDirectory(str(FOLDER)).walk_revisions()
    return max(getattr(revision.module, "oldest_program", "") for revision in revisions)


def config_of(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
